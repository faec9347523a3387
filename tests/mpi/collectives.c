/* SPDX-License-Identifier: BSD-3-Clause */
/* Every collective, by every algorithm, from every kind of memory, against the MPI below. A case is one call:
 * collective, count, type and op, in place or not, root, communicator. The MPI below does it once, on host memory;
 * then Tutti does it by each of its algorithms and with each pattern of memory over the ranks, from buffers that
 * held the same before. What a rank receives must be equal to the last byte, what it sends unchanged, and the bytes
 * around both untouched; arguments that mean nothing on a rank are given as nonsense. Rows come from
 * collectives.def, so that a new collective is tested as soon as it is a row. About 20 us a call and rank. */
#include "tests/mpi/harness.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/rows.h"

/* ---- types and ops ---- */

/* Values are small, so that every order of adding and multiplying gives the same bits; v is from -3 to 3. */
#define FILL(name, ctype, value)                                                                                       \
    static void fill_##name(void *at, size_t n, uint64_t key)                                                          \
    {                                                                                                                  \
        ctype *x = at;                                                                                                 \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint64_t r = test_random(key + i);                                                                   \
            const int v = (int)(r % 7) - 3;                                                                            \
                                                                                                                       \
            x[i] = value;                                                                                              \
        }                                                                                                              \
    }

struct double_int {
    double value;
    int index, padding;
};

/* Powers of two Gaussian primes: no product of theirs has a part that is zero, whose sign would depend on the order. */
static const double complex units[] = {2 + I, -2 - I, 3 + 2 * I, -3 - 2 * I};

FILL(char, signed char, (signed char)v)
FILL(short, unsigned short, (unsigned short)(r >> 20) + (unsigned short)v)
FILL(int, int, v)
FILL(float, float, (float)v)
FILL(double, double, v)
FILL(long_double, long double, v)
FILL(complex, double complex, units[r % 4] * (v < 0 ? -1 : 1))
FILL(double_int, struct double_int, ((struct double_int){v, (int)(r >> 40) & 0xff, (int)(r >> 50)}))

static const struct kind {
    const char *name, *op_name;
    MPI_Datatype type;
    MPI_Op op;
    size_t extent, payload;
    void (*fill)(void *at, size_t n, uint64_t key);
} kinds[] = {
    {"int", "sum", MPI_INT, MPI_SUM, sizeof(int), sizeof(int), fill_int},
    {"double", "max", MPI_DOUBLE, MPI_MAX, sizeof(double), sizeof(double), fill_double},
    {"float", "sum", MPI_FLOAT, MPI_SUM, sizeof(float), sizeof(float), fill_float},
    {"double complex", "prod", MPI_C_DOUBLE_COMPLEX, MPI_PROD, sizeof(double complex), sizeof(double complex),
     fill_complex},
    {"double int", "minloc", MPI_DOUBLE_INT, MPI_MINLOC, sizeof(struct double_int), 12, fill_double_int},
    {"unsigned short", "bxor", MPI_UNSIGNED_SHORT, MPI_BXOR, sizeof(short), sizeof(short), fill_short},
    {"signed char", "min", MPI_SIGNED_CHAR, MPI_MIN, 1, 1, fill_char},
    {"long double", "sum", MPI_LONG_DOUBLE, MPI_SUM, sizeof(long double), 10, fill_long_double},
};
enum { NKINDS = sizeof kinds / sizeof *kinds, MAX_EXTENT = 16 };

/* ---- memory over the ranks ---- */

enum { SEND_SIDE, RECV_SIDE };

static enum memory all_host(int rank, int side, uint64_t r)
{
    return (void)rank, (void)side, (void)r, HOST;
}

static enum memory all_pinned(int rank, int side, uint64_t r)
{
    return (void)rank, (void)side, (void)r, PINNED;
}

static enum memory all_managed(int rank, int side, uint64_t r)
{
    return (void)rank, (void)side, (void)r, MANAGED;
}

static enum memory all_device(int rank, int side, uint64_t r)
{
    return (void)rank, (void)side, (void)r, DEVICE;
}

static enum memory odd_ranks_device(int rank, int side, uint64_t r)
{
    return (void)side, (void)r, rank % 2 ? DEVICE : HOST;
}

static enum memory from_host_to_device(int rank, int side, uint64_t r)
{
    return (void)rank, (void)r, side == SEND_SIDE ? HOST : DEVICE;
}

static enum memory from_device_to_host(int rank, int side, uint64_t r)
{
    return (void)rank, (void)r, side == SEND_SIDE ? DEVICE : HOST;
}

static enum memory to_other_device(int rank, int side, uint64_t r)
{
    return (void)rank, (void)r, side == SEND_SIDE ? DEVICE : OTHER_DEVICE;
}

static enum memory random_memory(int rank, int side, uint64_t r)
{
    return (enum memory)(test_random(r * 64 + (uint64_t)(rank * 2 + side)) % NMEMORIES);
}

static const struct pattern {
    const char *name;
    enum memory (*of)(int rank, int side, uint64_t r);
} patterns[] = {
    {"all host", all_host},
    {"all device", all_device},
    {"odd ranks device", odd_ranks_device},
    {"random", random_memory},
    {"all managed", all_managed},
    {"all pinned", all_pinned},
    {"send host, receive device", from_host_to_device},
    {"send device, receive host", from_device_to_host},
    {"receive on the other device", to_other_device},
};
enum { NPATTERNS = sizeof patterns / sizeof *patterns };

/* ---- a case ---- */

struct group {
    MPI_Comm comm;
    int rank, size;
};

enum { MAX_RANKS = 16, MAX_COUNT = 1000 };

struct test_case {
    const struct row *row;
    const struct kind *kind;
    const struct group *group;
    int count, root;
    bool inplace, large;
    uint64_t key;          /* of its random numbers */
    int counts[MAX_RANKS]; /* of a v-collective: uneven, and zero for some */
    MPI_Count wide_counts[MAX_RANKS];
    bool sends, receives, here_inplace; /* does this rank's side mean something? */
    size_t nsend, nrecv, nresult;       /* elements: sent, in the receive buffer, of it defined afterwards */
    char *send, *before, *want;         /* on the host: what is sent; the receive buffer before, and after */
};

static struct region regions[NMEMORIES][2];

static bool has(const struct test_case *t, unsigned trait)
{
    return t->row->traits & trait;
}

static void measure(struct test_case *t)
{
    const int p = t->group->size;
    const bool root = t->group->rank == t->root;
    size_t total = 0;

    for (int i = 0; i < p; i++) {
        t->counts[i] = t->count * ((i * 2 + 1) % 3);
        t->wide_counts[i] = t->counts[i];
        total += (size_t)t->counts[i];
    }
    t->here_inplace = t->inplace && (has(t, TT_INPLACE_ALL) || root);
    t->sends = !has(t, TT_NO_BUFFER | TT_ONE_BUFFER) && (!has(t, TT_SEND_AT_ROOT) || root) &&
               (!t->here_inplace || has(t, TT_SEND_AT_ROOT));
    t->receives =
        !has(t, TT_NO_BUFFER) && (!has(t, TT_RECV_AT_ROOT) || root) && !(t->here_inplace && has(t, TT_SEND_AT_ROOT));
    t->nsend = has(t, TT_COUNTS) ? total : (size_t)t->count * (size_t)(has(t, TT_SEND_BLOCKS) ? p : 1);
    t->nresult = has(t, TT_COUNTS) ? (size_t)t->counts[t->group->rank]
                                   : (size_t)t->count * (size_t)(has(t, TT_RECV_BLOCKS) ? p : 1);
    t->nrecv = t->here_inplace && has(t, TT_REDUCES) ? t->nsend : t->nresult;
}

/* The call, from these buffers. Where nonsense is allowed, nonsense is what the MPI that is tested gets. */
static struct tt_call call_of(const struct test_case *t, const void *send, void *recv, bool nonsense)
{
    struct tt_call c = {.send = {send, t->count, t->kind->type},
                        .recv = {recv, t->count, t->kind->type, t->counts},
                        .op = t->kind->op,
                        .root = t->root,
                        .comm = t->group->comm};

    if (t->large)
        c.recv.counts = t->wide_counts;
    if (t->here_inplace && has(t, TT_SEND_AT_ROOT))
        c.recv.out = MPI_IN_PLACE;
    else if (t->here_inplace)
        c.send.buf = MPI_IN_PLACE;
    if (!nonsense)
        return c;
    if (!t->sends && !t->here_inplace)
        c.send.buf = (void *)1;
    if (!t->receives && !t->here_inplace)
        c.recv.out = (void *)1;
    if (!t->sends && has(t, TT_SEND_AT_ROOT))
        c.send.count = -7;
    if (!t->receives && has(t, TT_RECV_AT_ROOT) && has(t, TT_RECV_BLOCKS))
        c.recv.count = -7;
    return c;
}

/* MPICH 4.0.2 crashes in MPI_Reduce in place at a root that is not rank 0, from 4 KiB on (it copies from
 * MPI_IN_PLACE). */
static bool in_place_breaks_native(const struct test_case *t)
{
    return t->inplace && has(t, TT_REDUCES) && has(t, TT_ROOTED) && t->root > 0;
}

static void prepare(struct test_case *t)
{
    const struct kind *k = t->kind;
    const uint64_t key = test_random(t->key) + (uint64_t)t->group->rank * 1000000;
    struct tt_call c;

    measure(t);
    k->fill(t->send, t->nsend, key);
    k->fill(t->before, t->nrecv, key + 500000);
    memcpy(t->want, t->before, t->nrecv * k->extent);
    c = call_of(t, t->send, t->want, false);
    c.recv.counts = t->counts;
    if (t->here_inplace && in_place_breaks_native(t))
        c.send.buf = t->before;
    test_now("the MPI below: %s of %d %s, %s, on %d ranks", t->row->id, t->count, k->name, k->op_name, t->group->size);
    test_success(t->row->theirs(&c));
}

static void compare(const struct test_case *t, const struct region *r)
{
    static char now[MAX_COUNT * MAX_RANKS * MAX_EXTENT];
    const struct kind *k = t->kind;
    const bool whole = region_get(r, now);
    const long i = first_difference(now, t->want, t->nresult, k->extent, k->payload);
    unsigned long long got[2] = {0}, due[2] = {0};

    test_check(whole, "bytes before or behind the receive buffer were written");
    if (i >= 0) {
        memcpy(got, now + (size_t)i * k->extent, k->extent < 16 ? k->extent : 16);
        memcpy(due, t->want + (size_t)i * k->extent, k->extent < 16 ? k->extent : 16);
    }
    test_check(i < 0, "element %ld of %zu: expected bytes %016llx %016llx, got %016llx %016llx", i, t->nresult, due[0],
               due[1], got[0], got[1]);
}

static void try(const struct test_case *t, const char *algorithm, const struct pattern *pattern)
{
    const struct kind *k = t->kind;
    const enum memory from = pattern->of(t->group->rank, SEND_SIDE, t->key);
    const enum memory to = pattern->of(t->group->rank, RECV_SIDE, t->key);
    struct region *send = &regions[from][SEND_SIDE], *recv = &regions[to][RECV_SIDE];
    const size_t shift = k->extent * (test_random(t->key) % (64 / k->extent));
    struct tt_call c = call_of(t, region_set(send, shift, t->send, t->nsend * k->extent),
                               region_set(recv, shift, t->before, t->nrecv * k->extent), true);

    test_now("%s%s by %s of %d %s, %s, root %d%s, rank %d of %d, %s (here %s, %s), case %llu", t->row->id,
             t->large ? "_c" : "", algorithm, t->count, k->name, k->op_name, t->root, t->inplace ? ", in place" : "",
             t->group->rank, t->group->size, pattern->name, memory_names[from], memory_names[to],
             (unsigned long long)t->key);
    test_success((t->large ? t->row->large : t->row->ours)(&c));
    test_check(region_holds(send, t->send), "the send buffer, or bytes around it, were written");
    if (t->receives)
        compare(t, recv);
    else
        test_check(region_holds(recv, t->before), "a buffer that is no argument was written");
}

static bool pattern_exists(const struct pattern *pattern)
{
    if (pattern->of == all_host)
        return true;
    return pattern->of == to_other_device || pattern->of == random_memory ? test_gpus > 1 : test_gpus > 0;
}

/* ---- all cases of a group ---- */

/* Types, roots, patterns and so on are not crossed with each other: each (collective, count) meets VARIANTS of their
 * combinations, and each algorithm meets all of these, from every STRIDE-th pattern of memory, beginning elsewhere
 * each time. So that on every size of communicator each (algorithm, pattern) meets about fifteen cases, and other
 * ones with each seed. */
enum { VARIANTS = 5, STRIDE = 3 };

static void run_case(struct test_case *t)
{
    const char *algorithm;

    prepare(t);
    for (int a = 0; (algorithm = test_algorithm(t->row->id, a)); a++) {
        if (strcmp(algorithm, "native") == 0 && in_place_breaks_native(t))
            continue;
        test_pin(t->row->id, algorithm);
        for (int m = (int)(t->key % STRIDE); m < NPATTERNS; m += STRIDE)
            if (pattern_exists(&patterns[m]))
                try(t, algorithm, &patterns[m]);
    }
    test_pin(t->row->id, NULL);
}

/* MPICH 4.0.2 over UCX truncates long messages of types with padding, from 8 KiB on. */
static const struct kind *kind_of(const struct test_case *t, uint64_t choice)
{
    const struct kind *k = &kinds[choice % NKINDS];

    return k->payload % 4 == 0 && k->payload < k->extent && !has(t, TT_REDUCES) && t->count > 64 ? &kinds[0] : k;
}

static void run_count(struct test_case *t, int count)
{
    const int roots[] = {0, t->group->size / 2, t->group->size - 1};
    static uint64_t key;

    t->count = count;
    for (int v = 0; v < VARIANTS; v++) {
        const uint64_t r = test_random(++key);

        t->key = key;
        t->kind = kind_of(t, key + (uint64_t)v);
        t->root = roots[r % 3];
        t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && r >> 8 & 1;
        t->large = t->row->large && (r >> 9) % 4 == 0;
        run_case(t);
    }
}

/* No rank may leave before the last has entered; the ranks share a node, hence a clock. */
static void run_barrier(const struct test_case *t, const char *algorithm)
{
    struct timespec now;
    double entered, left, last_in, first_out;

    test_now("barrier by %s, rank %d of %d", algorithm, t->group->rank, t->group->size);
    if (test_random(t->key) % (unsigned)t->group->size == (unsigned)t->group->rank)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    entered = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    test_success(MPI_Barrier(t->group->comm));
    clock_gettime(CLOCK_MONOTONIC, &now);
    left = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    PMPI_Allreduce(&entered, &last_in, 1, MPI_DOUBLE, MPI_MAX, t->group->comm);
    PMPI_Allreduce(&left, &first_out, 1, MPI_DOUBLE, MPI_MIN, t->group->comm);
    test_check(first_out >= last_in, "a rank left %g s before the last had entered", last_in - first_out);
}

static void run_barriers(struct test_case *t)
{
    const char *algorithm;

    for (int a = 0; (algorithm = test_algorithm(t->row->id, a)); a++) {
        test_pin(t->row->id, algorithm);
        for (int i = 0; i < 5; i++) {
            t->key = (uint64_t)i;
            run_barrier(t, algorithm);
        }
    }
    test_pin(t->row->id, NULL);
}

static void run_group(struct test_case *t, bool small_pieces)
{
    const int p = t->group->size;
    const int all[] = {0, 1, 2, p - 1, p, p + 1, 7, 64, MAX_COUNT}, large[] = {p + 1, 130, MAX_COUNT};
    const int *counts = small_pieces ? large : all;
    const int n = small_pieces ? (int)(sizeof large / sizeof *large) : (int)(sizeof all / sizeof *all);

    for (int row = 0; row < NROWS; row++) {
        t->row = &rows[row];
        if (row_apart(t->row))
            continue;
        if (has(t, TT_NO_BUFFER))
            run_barriers(t);
        for (int i = 0; i < n && !has(t, TT_NO_BUFFER); i++)
            run_count(t, counts[i]);
    }
}

/* ---- groups ---- */

/* Splits the world in front of rank `at`, the second part backwards; 0: the world itself, as a duplicate. */
static struct group group_make(int at)
{
    struct group g;

    if (at == 0)
        PMPI_Comm_dup(MPI_COMM_WORLD, &g.comm);
    else
        PMPI_Comm_split(MPI_COMM_WORLD, test_rank >= at, test_rank >= at ? -test_rank : test_rank, &g.comm);
    PMPI_Comm_set_errhandler(g.comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(g.comm, &g.rank);
    PMPI_Comm_size(g.comm, &g.size);
    return g;
}

static void regions_all(void (*each)(struct region *, enum memory))
{
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            each(&regions[m][side], (enum memory)m);
}

static void make_region(struct region *r, enum memory memory)
{
    region_make(r, memory, (size_t)MAX_COUNT * (size_t)test_size * MAX_EXTENT);
}

static void free_region(struct region *r, enum memory memory)
{
    (void)memory;
    region_free(r);
}

/* Splits in front of 1, 2, ..., n/2 give groups of all sizes from 1 to n-1. */
static void run_groups(struct test_case *t, bool small_pieces)
{
    for (int at = 0; at <= test_size / 2; at++) {
        struct group g = group_make(at);

        t->group = &g;
        run_group(t, small_pieces);
        MPI_Comm_free(&g.comm);
    }
}

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)MAX_COUNT * MAX_RANKS * MAX_EXTENT;
    struct test_case t = {.send = malloc(bytes), .before = malloc(bytes), .want = malloc(bytes)};

    test_begin(&argc, &argv, 300);
    regions_all(make_region);
    run_groups(&t, false);
    test_set("TUTTI_CHUNK", "1K");
    test_set("TUTTI_SEGMENT", "256");
    run_groups(&t, true);
    regions_all(free_region);
    free(t.send);
    free(t.before);
    free(t.want);
    return test_end();
}
