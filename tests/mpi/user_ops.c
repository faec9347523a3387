/* SPDX-License-Identifier: BSD-3-Clause */
/* The user's ops with TUTTI_REPRODUCIBLE=1: products of 2x2 matrices, which do not commute, and of which another order
 * gives other bits, on communicators of 2 to all ranks. The result is written down here once more, as a fold of the
 * tree that the number of ranks alone decides, and every algorithm, collective and flavour is held to it to the last
 * bit. Every rank lays its matrices out in another way, with gaps, backwards, before the address it gives, under equal
 * signatures; the op has to get that rank's own datatype, and finds the matrices by it. */
#include "tests/mpi/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- matrices, and how they lie ---- */

enum { PARTS = 4, NLAYOUTS = 4, MOST = 6000, MAX_RANKS = 16 };

struct matrix {
    double m[PARTS];
};

/* In doubles: from one matrix to the next, and where its parts are. */
struct layout {
    int extent, at[PARTS];
    MPI_Datatype type;
};
static struct layout layouts[NLAYOUTS] = {{.extent = 4, .at = {0, 1, 2, 3}},
                                          {.extent = 6, .at = {0, 2, 3, 5}},
                                          {.extent = 5, .at = {3, 2, 1, 0}},
                                          {.extent = 7, .at = {-1, 4, 2, 1}}};
enum { BEFORE = 1 }; /* doubles of a buffer before its address */

static struct layout *own;    /* of this rank */
static MPI_Datatype expected; /* what the op is to be called with */
static long strange, calls;

static void layout_make(struct layout *l)
{
    int lengths[PARTS] = {1, 1, 1, 1};
    MPI_Aint at[PARTS];
    MPI_Datatype bare;

    for (int i = 0; i < PARTS; i++)
        at[i] = l->at[i] * (MPI_Aint)sizeof(double);
    PMPI_Type_create_hindexed(PARTS, lengths, at, MPI_DOUBLE, &bare);
    PMPI_Type_create_resized(bare, 0, l->extent * (MPI_Aint)sizeof(double), &l->type);
    PMPI_Type_free(&bare);
    PMPI_Type_commit(&l->type);
}

static struct matrix matrix_read(const double *from, const struct layout *l)
{
    struct matrix m;

    for (int i = 0; i < PARTS; i++)
        m.m[i] = from[l->at[i]];
    return m;
}

static void matrix_write(double *to, const struct layout *l, const struct matrix *m)
{
    for (int i = 0; i < PARTS; i++)
        to[l->at[i]] = m->m[i];
}

static struct matrix product(struct matrix a, struct matrix b)
{
    return (struct matrix){{a.m[0] * b.m[0] + a.m[1] * b.m[2], a.m[0] * b.m[1] + a.m[1] * b.m[3],
                            a.m[2] * b.m[0] + a.m[3] * b.m[2], a.m[2] * b.m[1] + a.m[3] * b.m[3]}};
}

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const double *a = in;
    double *b = inout;

    calls++;
    strange += *type != expected || (uintptr_t)in % sizeof(double) || (uintptr_t)inout % sizeof(double);
    for (int i = 0; i < *n; i++, a += own->extent, b += own->extent) {
        const struct matrix m = product(matrix_read(a, own), matrix_read(b, own));

        matrix_write(b, own, &m);
    }
}

/* ---- what the result must be ---- */

static MPI_Comm comm;
static int rank, size;

/* Of a size at which products stay of it, and with no bit to spare. */
static struct matrix part_of(int r, size_t i)
{
    struct matrix m;

    for (int j = 0; j < PARTS; j++)
        m.m[j] = ldexp((double)(int64_t)test_random(((uint64_t)r << 40) + i * PARTS + (uint64_t)j), -63);
    return m;
}

static int half_of(int n)
{
    int half = 1;

    while (2 * half < n)
        half *= 2;
    return half;
}

/* A power of two of groups from `first` on, of which the first `pairs` are two ranks each. */
static struct matrix fold(int first, int groups, int pairs, size_t i)
{
    if (groups > 1)
        return product(fold(first, groups / 2, pairs, i), fold(first + groups / 2, groups / 2, pairs, i));
    return first < pairs ? product(part_of(2 * first, i), part_of(2 * first + 1, i)) : part_of(first + pairs, i);
}

static struct matrix fold_all(size_t i)
{
    const int half = half_of(size), groups = 2 * half == size ? size : half;

    return fold(0, groups, size - groups, i);
}

/* Of the ranks from first up to end: a power of two of them, and the rest. */
static struct matrix fold_up_to(int first, int end, size_t i)
{
    const int half = half_of(end - first);

    if (end - first == 1)
        return part_of(first, i);
    return product(fold_up_to(first, first + half, i), fold_up_to(first + half, end, i));
}

/* ---- buffers ---- */

enum { SENT, RECEIVED, NSIDES };
static struct region sides[NSIDES];
static double *spread, *before, *seen;

static size_t spread_bytes(size_t n)
{
    return (BEFORE + n * (size_t)own->extent + 8) * sizeof(double);
}

/* A buffer for n matrices, with this rank's in it or something else. What is in gaps is to stay. */
static void *buffer(int side, size_t n, bool mine)
{
    for (size_t i = 0; i < spread_bytes(n) / sizeof(double); i++)
        spread[i] = 1e300 + (double)i;
    for (size_t i = 0; mine && i < n; i++) {
        const struct matrix m = part_of(rank, i);

        matrix_write(spread + BEFORE + i * (size_t)own->extent, own, &m);
    }
    if (side == RECEIVED)
        memcpy(before, spread, spread_bytes(n));
    return region_set(&sides[side], 0, spread, spread_bytes(n)) + BEFORE * sizeof(double);
}

enum wanted { ALL, UP_TO_HERE, BEFORE_HERE };

/* The first n of `room` results must be, to the last bit, those from `first` on; what is in gaps, what it was. */
static void must_be(size_t room, size_t n, size_t first, enum wanted wanted)
{
    size_t wrong = 0, gaps = 0;

    test_check(region_get(&sides[RECEIVED], seen), "bytes around the receive buffer were written");
    for (size_t i = 0; i < room; i++) {
        const size_t at = BEFORE + i * (size_t)own->extent;
        const struct matrix got = matrix_read(seen + at, own);
        const struct matrix want = i >= n          ? got
                                   : wanted == ALL ? fold_all(first + i)
                                                   : fold_up_to(0, rank + (wanted == UP_TO_HERE), first + i);

        wrong += memcmp(&got, &want, sizeof got) != 0;
        matrix_write(before + at, own, &got);
    }
    gaps = memcmp(before, seen, spread_bytes(room)) != 0;
    test_check(wrong == 0, "%zu of %zu matrices have other bits", wrong, n);
    test_check(gaps == 0, "bytes in gaps were written");
}

/* ---- the collectives ---- */

static MPI_Op op;

static const void *from(size_t n, bool inplace)
{
    return inplace ? MPI_IN_PLACE : buffer(SENT, n, true);
}

static void try_allreduce(size_t n, bool inplace, const char *algorithm)
{
    test_now("allreduce of %zu matrices on %d ranks%s, pinned to \"%s\"", n, size, inplace ? ", in place" : "",
             algorithm);
    test_pin("allreduce", algorithm);
    test_success(MPI_Allreduce(from(n, inplace), buffer(RECEIVED, n, inplace), (int)n, own->type, op, comm));
    must_be(n, n, 0, ALL);
    test_pin("allreduce", "");
}

static void try_vectors(size_t n, bool inplace)
{
    static const char *const algorithms[] = {"", "doubling", "halving", "tree", "direct", "ring", "native"};

    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++)
        try_allreduce(n, inplace, algorithms[a]);
    for (int root = 0; root<size; root += size> 2 ? size / 2 : 1) {
        const bool here = inplace && rank == root;

        test_now("reduce of %zu matrices to %d of %d%s", n, root, size, inplace ? ", in place" : "");
        test_success(MPI_Reduce(from(n, here), buffer(RECEIVED, n, here), (int)n, own->type, op, root, comm));
        must_be(n, rank == root ? n : 0, 0, ALL);
    }
    test_now("scan of %zu matrices on %d ranks%s", n, size, inplace ? ", in place" : "");
    test_success(MPI_Scan(from(n, inplace), buffer(RECEIVED, n, inplace), (int)n, own->type, op, comm));
    must_be(n, n, 0, UP_TO_HERE);
    test_now("exscan of %zu matrices on %d ranks%s", n, size, inplace ? ", in place" : "");
    test_success(MPI_Exscan(from(n, inplace), buffer(RECEIVED, n, inplace), (int)n, own->type, op, comm));
    must_be(n, rank > 0 ? n : 0, 0, BEFORE_HERE);
}

static void try_blocks(size_t n, bool inplace)
{
    const size_t even = n / (size_t)size;
    int counts[MAX_RANKS];
    size_t first = 0, total = 0;

    test_now("reduce_scatter_block of %zu matrices a block on %d ranks%s", even, size, inplace ? ", in place" : "");
    test_success(
        MPI_Reduce_scatter_block(from(n, inplace), buffer(RECEIVED, n, inplace), (int)even, own->type, op, comm));
    must_be(n, even, even * (size_t)rank, ALL);
    for (int r = 0; r < size; r++) {
        counts[r] = r == size - 1 ? (int)(n - total) : (int)even / (r % 3 + 1);
        first = r == rank ? total : first;
        total += (size_t)counts[r];
    }
    test_now("reduce_scatter of %zu matrices on %d ranks%s", n, size, inplace ? ", in place" : "");
    test_success(MPI_Reduce_scatter(from(n, inplace), buffer(RECEIVED, n, inplace), counts, own->type, op, comm));
    must_be(n, (size_t)counts[rank], first, ALL);
}

/* ---- what the user may free while it is under way ---- */

/* A datatype and an op of the call's own, which the op is to be called with although they are gone. */
static struct layout fleeting(MPI_Op *its_op)
{
    struct layout l = *own;

    layout_make(&l);
    expected = l.type;
    PMPI_Op_create(multiply, 0, its_op);
    return l;
}

static void free_both(struct layout *l, MPI_Op *its_op)
{
    MPI_Op another;
    struct layout more = *l;

    test_success(MPI_Type_free(&l->type));
    test_success(MPI_Op_free(its_op));
    layout_make(&more); /* which would get the handles of those, if they could be had */
    PMPI_Op_create(multiply, 1, &another);
    PMPI_Type_free(&more.type);
    PMPI_Op_free(&another);
}

static void try_nonblocking(size_t n)
{
    MPI_Request request;
    MPI_Op its_op;
    struct layout l = fleeting(&its_op);

    test_now("Iallreduce of %zu matrices on %d ranks, type and op freed at once", n, size);
    test_success(MPI_Iallreduce(from(n, false), buffer(RECEIVED, n, false), (int)n, l.type, its_op, comm, &request));
    free_both(&l, &its_op);
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    must_be(n, n, 0, ALL);
    expected = own->type;
}

#if MPI_VERSION >= 4
static void try_persistent(size_t n)
{
    MPI_Request request;
    MPI_Op its_op;
    struct layout l = fleeting(&its_op);
    void *to = buffer(RECEIVED, n, false);

    test_now("Scan_init of %zu matrices on %d ranks, type and op freed at once", n, size);
    test_success(MPI_Scan_init(from(n, false), to, (int)n, l.type, its_op, comm, MPI_INFO_NULL, &request));
    free_both(&l, &its_op);
    for (int i = 0; i < 2; i++) {
        buffer(RECEIVED, n, false);
        test_success(MPI_Start(&request));
        test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
        must_be(n, n, 0, UP_TO_HERE);
    }
    test_success(MPI_Request_free(&request));
    expected = own->type;
}

/* The MPI below folds, in an order of its own; the op is to be called with the user's type all the same. */
static void try_persistent_native(size_t n)
{
    const long strange_before = strange;
    MPI_Request request;
    MPI_Op its_op;
    struct layout l = fleeting(&its_op);

    test_set("TUTTI_REPRODUCIBLE", "0");
    test_now("Allreduce_init of %zu matrices on %d ranks, left to the MPI below", n, size);
    test_success(MPI_Allreduce_init(from(n, false), buffer(RECEIVED, n, false), (int)n, l.type, its_op, comm,
                                    MPI_INFO_NULL, &request));
    free_both(&l, &its_op);
    test_success(MPI_Start(&request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test_check(strange == strange_before, "the op was called %ld times with another type", strange - strange_before);
    test_success(MPI_Request_free(&request));
    test_set("TUTTI_REPRODUCIBLE", "1");
    expected = own->type;
}
#else
static void try_persistent(size_t n)
{
    (void)n;
}

static void try_persistent_native(size_t n)
{
    (void)n;
}
#endif

/* ---- nothing to do ---- */

static void count_calls(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)type;
    calls += *n;
}

/* Elements without data, and no elements: nothing to fold, and nothing to stumble over. */
static void try_nothing(void)
{
    MPI_Datatype empty;
    MPI_Op count_op;
    int counts[MAX_RANKS];

    PMPI_Type_contiguous(0, MPI_DOUBLE, &empty);
    PMPI_Type_commit(&empty);
    PMPI_Op_create(count_calls, 1, &count_op);
    for (int r = 0; r < size; r++)
        counts[r] = 2;
    test_now("reductions of nothing on %d ranks", size);
    test_success(MPI_Allreduce(from(1, false), buffer(RECEIVED, 1, false), 5, empty, count_op, comm));
    must_be(1, 0, 0, ALL);
    test_success(MPI_Reduce_scatter(from(1, false), buffer(RECEIVED, 1, false), counts, empty, count_op, comm));
    must_be(1, 0, 0, ALL);
    test_success(MPI_Allreduce(from(1, false), buffer(RECEIVED, 1, false), 0, own->type, op, comm));
    must_be(1, 0, 0, ALL);
    PMPI_Op_free(&count_op);
    PMPI_Type_free(&empty);
}

/* ---- all of them ---- */

static void try_memory(enum memory memory)
{
    /* one; some; more than a piece of those that the op is called on; more than a message */
    static const size_t counts[] = {1, 23, 1500, MOST};

    region_make(&sides[SENT], rank % 2 ? HOST : memory, (MOST + 2) * 7 * sizeof(double));
    region_make(&sides[RECEIVED], rank % 3 ? memory : HOST, (MOST + 2) * 7 * sizeof(double));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i] > 100 && size < test_size)
            continue;
        for (int inplace = 0; inplace < 2; inplace++) {
            try_vectors(counts[i], inplace);
            try_blocks(counts[i], inplace);
        }
        try_nonblocking(counts[i]);
        try_persistent(counts[i]);
    }
    try_persistent_native(23);
    try_nothing();
    region_free(&sides[SENT]);
    region_free(&sides[RECEIVED]);
}

/* alike: on all ranks the plain layout, which is worked on where it is. */
static void try_size(int n, bool alike)
{
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < n ? 0 : MPI_UNDEFINED, test_rank, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    own = &layouts[alike ? 0 : rank % NLAYOUTS];
    expected = own->type;
    MPI_Barrier(comm);
    try_memory(HOST);
    if (memory_exists(DEVICE))
        try_memory(DEVICE);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 200);
    spread = malloc((MOST + 2) * 7 * sizeof(double));
    before = malloc((MOST + 2) * 7 * sizeof(double));
    seen = malloc((MOST + 2) * 7 * sizeof(double));
    for (int i = 0; i < NLAYOUTS; i++)
        layout_make(&layouts[i]);
    PMPI_Op_create(multiply, 0, &op);
    test_set("TUTTI_REPRODUCIBLE", "1");
    test_set("TUTTI_CHUNK", "100000");
    for (int n = 2; n <= test_size; n++)
        try_size(n, false);
    try_size(test_size, true);
    test_now("the user's op");
    test_check(strange == 0, "expected every call with the user's type, well aligned, got %ld of %ld others", strange,
               calls);
    test_check(calls > 0, "expected calls, got none");
    PMPI_Op_free(&op);
    for (int i = 0; i < NLAYOUTS; i++)
        PMPI_Type_free(&layouts[i].type);
    free(spread);
    free(before);
    free(seen);
    return test_end();
}
