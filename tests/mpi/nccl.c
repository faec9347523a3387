/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL as a path, by the stand-in of the simulated device, a GPU for each rank: nccl cases | mixes | cells | costs.
 *   cases  every collective that NCCL can express, from every pattern of memory over the ranks, in place or not, of nothing
 *          or of much, must give what the MPI below gives, and must have gone by NCCL wherever it can
 *   mixes  thousands of calls in which each rank has its buffers anywhere, with and without somebody who names NCCL, on
 *          several communicators: right, and never a hang
 *   cells  which types and ops go by NCCL, and what comes out
 *   costs  a vote is one allreduce of eight bytes, none where the answer is known; NCCL costs two driver calls more than
 *          calling it, the look-up of two addresses; where nobody asks for NCCL nothing is sent. Votes are counted by
 *          standing before the MPI's own function, which the library calls. */
#include <complex.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/cases.h"
#include "tests/mpi/nccl_direct.h"

/* ---- votes ---- */

static int votes, vote_bytes;

/* The library's calls of it come here first. */
__attribute__((visibility("default"))) int PMPI_Iallreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request *request)
{
    static int (*theirs)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
    int size;

    if (!theirs)
        *(void **)&theirs = dlsym(RTLD_NEXT, "PMPI_Iallreduce");
    PMPI_Type_size(type, &size);
    votes++;
    vote_bytes += n * size;
    return theirs(from, to, n, type, op, comm, request);
}

/* ---- who carried it out ---- */

static bool by_nccl(MPI_Comm comm, const char *id)
{
    return strncmp(test_choice(comm, id), "nccl (", 6) == 0;
}

/* Can NCCL express it? */
static bool is_for_nccl(const struct test_case *t)
{
    static const char *const reduced[] = {"int", "float", "signed char"};

    if (has(t, TT_NEIGHBOURS | TT_NO_BUFFER) || strcmp(t->row->id, "scan") == 0 || strcmp(t->row->id, "exscan") == 0)
        return false;
    for (int i = 0; i < 3 && has(t, TT_REDUCES); i++)
        if (strcmp(t->kind->name, reduced[i]) == 0)
            return true;
    return !has(t, TT_REDUCES);
}

/* ---- cases ---- */

static void try(const struct test_case *t, const struct pattern *pattern)
{
    const enum memory from = pattern->of(t->group->rank, SEND_SIDE, t->key);
    const enum memory to = pattern->of(t->group->rank, RECV_SIDE, t->key);
    struct region *send = &regions[from][SEND_SIDE], *recv = &regions[to][RECV_SIDE];
    const struct tt_call c = case_put(t, send, recv, 0);

    test_now("%s by NCCL, %s (here %s, %s)", case_words(t), pattern->name, memory_names[from], memory_names[to]);
    test_success(t->row->ours(&c));
    case_check(t, send, recv);
}

static void run_case(struct test_case *t)
{
    case_arrange(t);
    case_fill(t, t->key);
    case_ask_native(t);
    for (int m = 0; m < NPATTERNS; m++) {
        if (!pattern_exists(&patterns[m]))
            continue;
        try(t, &patterns[m]);
        test_check(by_nccl(t->group->comm, t->row->id) == is_for_nccl(t), "it was carried out by %s",
                   test_choice(t->group->comm, t->row->id));
    }
}

static uint64_t key;

/* MPICH 4.0.2 over UCX truncates long messages of types with padding. */
static const struct kind *kind_of(const struct test_case *t, uint64_t choice)
{
    const struct kind *k = &kinds[choice % NKINDS];

    return k->payload % 4 == 0 && k->payload < k->extent && !has(t, TT_REDUCES) && t->count > 64 ? &kinds[0] : k;
}

static void run_row(struct test_case *t, const struct row *row)
{
    const int counts[] = {0, 1, t->group->size + 1, 130, 1000};

    t->row = row;
    test_pin(row->id, "nccl");
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < (has(t, TT_REDUCES) ? NKINDS : 2); k++) {
            t->count = counts[i];
            t->key = ++key;
            t->kind = kind_of(t, has(t, TT_REDUCES) ? (uint64_t)k : test_random(key));
            t->root = (int)(test_random(key) % (unsigned)t->group->size);
            t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && test_random(key) >> 8 & 1;
            if (!case_breaks_native(t) || is_for_nccl(t))
                run_case(t);
        }
    test_pin(row->id, NULL);
}

static void run_cases(void)
{
    struct test_case t = case_make();

    for (int at = 0; at <= 1; at++) {
        struct group g = group_make(at);

        key = (uint64_t)(at + 1) << 20;
        t.group = &g;
        for (int row = 0; row < NROWS; row++)
            if (!(rows[row].traits & (TT_NEIGHBOURS | TT_NO_BUFFER)))
                run_row(&t, &rows[row]);
        group_free(&g);
    }
    case_free(&t);
}

/* ---- mixes ---- */

enum { MIXES = 3000, MIXED_GROUPS = 3 };

/* One call, of which the ranks know all but each other's memory. */
static void mix(struct test_case *t, const struct group *groups, uint64_t r)
{
    do
        t->row = &rows[test_random(r++) % NROWS];
    while (t->row->traits & (TT_NEIGHBOURS | TT_NO_BUFFER));
    t->group = &groups[test_random(r + 1) % MIXED_GROUPS];
    t->kind = &kinds[test_random(r + 2) % 3];
    t->count = (int)(test_random(r + 3) % 5 ? test_random(r + 4) % 300 : 0);
    t->root = (int)(test_random(r + 5) % (unsigned)t->group->size);
    t->inplace = has(t, TT_INPLACE_ALL | TT_INPLACE_ROOT) && test_random(r + 6) & 1;
    t->key = r;
}

static void run_mix(struct test_case *t, int i)
{
    const uint64_t r = test_random((uint64_t)i + 77);
    const struct pattern *pattern = &patterns[r % 4 ? 3 : 1];
    const bool named = r >> 8 & 1;

    if (case_breaks_native(t))
        return;
    case_arrange(t);
    case_fill(t, t->key);
    case_ask_native(t);
    test_pin(t->row->id, named ? "nccl" : NULL);
    try(t, pattern);
    test_pin(t->row->id, NULL);
}

static void run_mixes(void)
{
    struct test_case t = case_make();
    struct group groups[MIXED_GROUPS] = {group_make(0), group_make(1), group_make(2)};

    for (int i = 0; i < MIXES; i++) {
        mix(&t, groups, (uint64_t)i * 100);
        run_mix(&t, i);
    }
    for (int g = 0; g < MIXED_GROUPS; g++)
        group_free(&groups[g]);
    case_free(&t);
}

/* ---- cells ---- */

#define CELLS(C)                                                                                                       \
    C(MPI_SIGNED_CHAR, signed char, true, true)                                                                        \
    C(MPI_UNSIGNED_CHAR, unsigned char, true, true)                                                                    \
    C(MPI_SHORT, short, false, false)                                                                                  \
    C(MPI_INT, int, true, true)                                                                                        \
    C(MPI_UNSIGNED, unsigned, true, true)                                                                              \
    C(MPI_LONG, long, true, true)                                                                                      \
    C(MPI_UINT64_T, uint64_t, true, true)                                                                              \
    C(MPI_FLOAT, float, true, false)                                                                                   \
    C(MPI_DOUBLE, double, true, false)                                                                                 \
    C(MPI_C_FLOAT_COMPLEX, float complex, true, false)                                                                 \
    C(MPI_C_DOUBLE_COMPLEX, double complex, true, false)                                                               \
    C(MPI_LONG_DOUBLE, long double, false, false)

enum { CELL_COUNT = 37 };

static const struct cell_test {
    const char *name;
    MPI_Datatype type;
    size_t size;
    bool sums, orders; /* by NCCL: sums; max and min */
} cells[] = {
#define C(type_, ctype, sums_, orders_) {#type_, type_, sizeof(ctype), sums_, orders_},
    CELLS(C)
#undef C
};
enum { NCELLS = sizeof cells / sizeof *cells };

#define C(type_, ctype, sums_, orders_)                                                                                \
    static void fill_##type_(void *at)                                                                                 \
    {                                                                                                                  \
        for (int i = 0; i < CELL_COUNT; i++)                                                                           \
            ((ctype *)at)[i] = (ctype)((test_rank * 7 + i) % 5 + 1);                                                   \
    }
CELLS(C)
#undef C

static void (*const fills[NCELLS])(void *at) = {
#define C(type_, ctype, sums_, orders_) fill_##type_,
    CELLS(C)
#undef C
};

static void check_cell(const struct cell_test *cell, void (*fill)(void *), MPI_Op op, const char *name, bool nccl)
{
    char mine[CELL_COUNT * 32] = "", want[CELL_COUNT * 32], got[CELL_COUNT * 32];
    struct region *from = &regions[DEVICE][SEND_SIDE], *to = &regions[DEVICE][RECV_SIDE];
    const size_t bytes = CELL_COUNT * cell->size;
    char *send, *recv;

    test_now("%s of %s", name, cell->name);
    fill(mine);
    PMPI_Allreduce(mine, want, CELL_COUNT, cell->type, op, MPI_COMM_WORLD);
    send = region_set(from, 0, mine, bytes);
    recv = region_set(to, 0, mine, bytes);
    test_success(MPI_Allreduce(send, recv, CELL_COUNT, cell->type, op, MPI_COMM_WORLD));
    region_get(to, got);
    test_check(first_difference(got, want, CELL_COUNT, cell->size, cell->size > 12 && !nccl ? 10 : cell->size) < 0,
               "wrong");
    test_check(by_nccl(MPI_COMM_WORLD, "allreduce") == nccl, "carried out by %s", test_choice(MPI_COMM_WORLD, "allreduce"));
}

/* which: an enum tutti_format. */
static void check_half(int which)
{
    static const uint16_t ones[] = {0x3c00, 0x3f80}, twos[] = {0x4000, 0x4000}, fours[] = {0x4400, 0x4080};
    uint16_t mine[CELL_COUNT], got[CELL_COUNT];
    MPI_Datatype type;
    char *recv;

    test_now("sum of 16-bit floats of format %d", which);
    test_check(test_format(which, &type) == MPI_SUCCESS, "there is no such type");
    for (int i = 0; i < CELL_COUNT; i++)
        mine[i] = ones[which];
    recv = region_set(&regions[DEVICE][RECV_SIDE], 0, mine, sizeof mine);
    test_success(MPI_Allreduce(MPI_IN_PLACE, recv, CELL_COUNT, type, MPI_SUM, MPI_COMM_WORLD));
    region_get(&regions[DEVICE][RECV_SIDE], got);
    for (int i = 0; i < CELL_COUNT; i++)
        test_check(got[i] == (test_size == 4 ? fours[which] : twos[which]), "element %d is %04x", i, got[i]);
    test_check(by_nccl(MPI_COMM_WORLD, "allreduce"), "carried out by %s", test_choice(MPI_COMM_WORLD, "allreduce"));
}

static void run_cells(void)
{
    test_pin("allreduce", "nccl");
    for (int i = 0; i < NCELLS; i++) {
        const bool is_complex = strstr(cells[i].name, "COMPLEX");

        check_cell(&cells[i], fills[i], MPI_SUM, "sum", cells[i].sums);
        check_cell(&cells[i], fills[i], MPI_PROD, "prod", cells[i].sums && !is_complex);
        if (!is_complex)
            check_cell(&cells[i], fills[i], MPI_MAX, "max", cells[i].orders);
        if (!is_complex)
            check_cell(&cells[i], fills[i], MPI_MIN, "min", cells[i].orders);
    }
    check_half(0);
    check_half(1);
    test_pin("allreduce", NULL);
}

/* ---- costs ---- */

static struct simcuda_counters counted;

static void begin_counting(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    simulator.reset();
    votes = vote_bytes = 0;
}

static void sum_on(char *send, char *recv, int n, MPI_Comm comm)
{
    begin_counting();
    test_success(MPI_Allreduce(send, recv, n, MPI_FLOAT, MPI_SUM, comm));
    simulator.counters(&counted);
}

/* What NCCL itself asks of the driver in such a call: of one that this program makes of it. */
static unsigned long long nccl_calls;

static void count_direct(char *send, char *recv, int n)
{
    nccl_calls = nccl_direct_calls(send, recv, n);
}

static void check_votes(int want)
{
    test_check(votes == want, "expected %d votes, counted %d", want, votes);
    test_check(vote_bytes == 8 * want, "expected %d bytes of votes, counted %d", 8 * want, vote_bytes);
}

/* Calls of the driver, but for asking whether it is done. */
static void check_calls(unsigned long long most)
{
    const unsigned long long calls = counted.calls - counted.queries;

    test_check(calls <= nccl_calls + most, "expected at most %llu driver calls besides NCCL's %llu, counted %llu", most,
               nccl_calls, calls);
}

static MPI_Comm comm_with(const char *name, const char *value)
{
    MPI_Info info;
    MPI_Comm comm;

    MPI_Info_create(&info);
    MPI_Info_set(info, name, value);
    test_success(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm));
    MPI_Info_free(&info);
    return comm;
}

/* The first call makes what is needed. */
static void check_pinned(char *send, char *recv, int n)
{
    test_pin("allreduce", "nccl");
    test_now("the first allreduce by NCCL");
    sum_on(send, recv, n, MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        test_now("allreduce by NCCL, call %d", i + 2);
        sum_on(send, recv, n, MPI_COMM_WORLD);
        check_votes(1);
        check_calls(2);
        test_check(by_nccl(MPI_COMM_WORLD, "allreduce"), "carried out by %s", test_choice(MPI_COMM_WORLD, "allreduce"));
    }
    test_now("allreduce by NCCL in place");
    sum_on(MPI_IN_PLACE, recv, n, MPI_COMM_WORLD);
    check_calls(1);
    test_pin("allreduce", NULL);
}

/* Asserted: nobody asks, but in the first and every 64th call. */
static void check_asserted(MPI_Comm comm, char *send, char *recv, int n)
{
    int before = 0;

    test_pin("allreduce", "nccl");
    sum_on(send, recv, n, comm);
    for (int i = 1; i < 130; i++) {
        sum_on(send, recv, n, comm);
        before += votes;
        check_calls(2);
        test_check(by_nccl(comm, "allreduce"), "call %d was carried out by %s", i, test_choice(comm, "allreduce"));
    }
    test_check(before == 2, "expected 2 votes in 129 calls, counted %d", before);
    test_pin("allreduce", NULL);
}

static void pin_sum(const char *algorithm, char *send, char *recv, int want)
{
    test_now("allreduce by %s", algorithm ? algorithm : "whoever the model chooses");
    test_pin("allreduce", algorithm);
    sum_on(send, recv, 1 << 16, MPI_COMM_WORLD);
    check_votes(want);
    test_pin("allreduce", NULL);
}

/* Where another is named, or NCCL cannot do it, nothing is sent but what was without NCCL. Where it is the model's choice
 * for GPUs, the ranks are asked; also those on the host. */
static void check_asked(char *send, char *recv, char *host)
{
    pin_sum("ring", send, recv, 0);
    test_now("a sum of NCCL's by the model, of which it is made");
    sum_on(send, recv, 1 << 16, MPI_COMM_WORLD);
    pin_sum(NULL, send, recv, 1);
    test_check(by_nccl(MPI_COMM_WORLD, "allreduce"), "carried out by %s", test_choice(MPI_COMM_WORLD, "allreduce"));
    pin_sum(NULL, host, host + CASE_BYTES / 2, 1);
    test_check(!by_nccl(MPI_COMM_WORLD, "allreduce"), "host memory by NCCL");
    test_now("a maximum of floats");
    begin_counting();
    test_success(MPI_Allreduce(send, recv, 1 << 16, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD));
    check_votes(0);
    test_now("TUTTI_REPRODUCIBLE=1");
    test_set("TUTTI_REPRODUCIBLE", "1");
    pin_sum(NULL, send, recv, 0);
    test_set("TUTTI_REPRODUCIBLE", NULL);
}

/* Votes that say no are not asked for ever. */
static void check_rests(char *host, char *recv)
{
    int asked = 0;

    test_now("large allreduces on the host of one rank");
    for (int i = 0; i < 200; i++) {
        sum_on(test_rank == 1 ? host : recv, test_rank == 1 ? host + CASE_BYTES / 2 : recv + CASE_BYTES / 2,
               CASE_BYTES / 8, MPI_COMM_WORLD);
        asked += votes;
    }
    test_check(asked <= 12, "asked %d times in 200 calls", asked);
}

/* A rank's host memory goes along where NCCL is named; the key of the standard makes all GPUs' of it. */
static void run_costs(void)
{
    char *send = memory_take(DEVICE, CASE_BYTES), *recv = memory_take(DEVICE, CASE_BYTES);
    char *host = memory_take(HOST, CASE_BYTES);
    MPI_Comm told;

    memset(host, 0, CASE_BYTES);
    memory_put(DEVICE, send, host, CASE_BYTES);
    memory_put(DEVICE, recv, host, CASE_BYTES);
    check_asked(send, recv, host);
    test_now("NCCL, called by this program");
    count_direct(send, recv, 1000);
    check_pinned(send, recv, 1000);
    told = comm_with("mpi_assert_memory_alloc_kinds", "cuda:device");
    test_now("a communicator whose memory is told");
    check_asserted(told, send, recv, 1000);
    MPI_Comm_free(&told);
    test_set("TUTTI_UNIFORM", "1");
    test_now("TUTTI_UNIFORM=1");
    check_asserted(MPI_COMM_WORLD, send, recv, 1000);
    test_set("TUTTI_UNIFORM", NULL);
    check_rests(host, recv);
    memory_give(DEVICE, send);
    memory_give(DEVICE, recv);
    memory_give(HOST, host);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"cases", run_cases}, {"mixes", run_mixes}, {"cells", run_cells}, {"costs", run_costs}};

    test_begin(&argc, &argv, 200);
    regions_make();
    for (int i = 0; i < 4; i++)
        if (argc < 2 || strcmp(argv[1], parts[i].name) == 0)
            parts[i].run();
    regions_free();
    return test_end();
}
