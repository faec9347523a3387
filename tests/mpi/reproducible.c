/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_REPRODUCIBLE=1: the bits of a reduction's result are a function of the number of ranks and of the operands,
 * and of nothing else. The function is written down here once more, and every reduction is held to it at every element:
 * whatever the count, so that two vectors reduced at once are what they are apart; whatever the root, in place or not,
 * on host and GPU; by nonblocking calls, even the first on a communicator; and allreduce, reduce and reduce_scatter are
 * held to the same. Numbers are such that another order would show, which is shown. */
#include "tests/mpi/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what the result must be ---- */

/* Element i of a rank's vector: of much the same magnitude and with no bit to spare, so that nearly every sum is
 * rounded. */
static double part_of(int rank, size_t i)
{
    const uint64_t r = test_random(((uint64_t)rank << 40) + i);

    return ldexp((double)(int64_t)r, (int)(r % 5));
}

static int half_of(int n)
{
    int half = 1;

    while (2 * half < n)
        half *= 2;
    return half;
}

/* A power of two of groups from `first` on, of which the first `pairs` are two ranks each. */
static double sum_of(int first, int groups, int pairs, size_t i)
{
    if (groups > 1)
        return sum_of(first, groups / 2, pairs, i) + sum_of(first + groups / 2, groups / 2, pairs, i);
    return first < pairs ? part_of(2 * first, i) + part_of(2 * first + 1, i) : part_of(first + pairs, i);
}

/* Of all ranks: those beyond a power of two are taken up by pairs at the beginning. */
static double sum_of_all(size_t i)
{
    const int half = half_of(test_size), groups = 2 * half == test_size ? test_size : half;

    return test_size == 1 ? part_of(0, i) : sum_of(0, groups, test_size - groups, i);
}

/* Of the ranks from first up to end: a power of two of them, and the rest. */
static double sum_up_to(int first, int end, size_t i)
{
    const int half = half_of(end - first);

    if (end - first == 1)
        return part_of(first, i);
    return sum_up_to(first, first + half, i) + sum_up_to(first + half, end, i);
}

/* ---- one call ---- */

enum { MOST = 300000 };
static double *result, *own;
static struct region send_side, recv_side;

static double *give(size_t n)
{
    for (size_t i = 0; i < n; i++)
        own[i] = part_of(test_rank, i);
    return (double *)region_set(&send_side, 0, own, n * sizeof *own);
}

/* A buffer for n results, which holds this rank's part already if the call is in place. */
static double *take(size_t n, bool inplace)
{
    for (size_t i = 0; i < n; i++)
        result[i] = inplace ? part_of(test_rank, i) : -1;
    return (double *)region_set(&recv_side, 0, result, n * sizeof *result);
}

enum wanted { ALL, UP_TO_HERE, BEFORE_HERE };

/* The first n results must be, to the last bit, those of the elements from `first` on. */
static void must_be(size_t n, size_t first, enum wanted wanted)
{
    size_t i = 0;
    double x = 0;

    test_check(region_get(&recv_side, result), "expected no byte written outside, seen some");
    for (; i < n; i++) {
        x = wanted == ALL ? sum_of_all(first + i) : sum_up_to(0, test_rank + (wanted == UP_TO_HERE), first + i);
        if (result[i] != x)
            break;
    }
    test_check(i == n, "element %zu: expected %a, seen %a", i, x, i < n ? result[i] : x);
}

static void check_vectors(size_t n, bool inplace)
{
    const void *in_place = MPI_IN_PLACE;
    const int roots[] = {0, test_size / 2, test_size - 1};
    double *out = take(n, inplace);

    test_now("allreduce of %zu doubles%s", n, inplace ? ", in place" : "");
    test_success(MPI_Allreduce(inplace ? in_place : give(n), out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    must_be(n, 0, ALL);
    for (int r = 0; r < 3; r++) {
        const bool here = inplace && test_rank == roots[r];

        out = take(n, here);
        test_now("reduce of %zu doubles to %d%s", n, roots[r], inplace ? ", in place" : "");
        test_success(MPI_Reduce(here ? in_place : give(n), out, (int)n, MPI_DOUBLE, MPI_SUM, roots[r], MPI_COMM_WORLD));
        if (test_rank == roots[r])
            must_be(n, 0, ALL);
    }
    test_now("scan of %zu doubles%s", n, inplace ? ", in place" : "");
    out = take(n, inplace);
    test_success(MPI_Scan(inplace ? in_place : give(n), out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    must_be(n, 0, UP_TO_HERE);
    test_now("exscan of %zu doubles%s", n, inplace ? ", in place" : "");
    out = take(n, inplace);
    test_success(MPI_Exscan(inplace ? in_place : give(n), out, (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    if (test_rank > 0)
        must_be(n, 0, BEFORE_HERE);
}

/* n doubles in all, cut into blocks of equal length and, what is left over included, of different length. */
static void check_blocks(size_t n, bool inplace)
{
    const void *in_place = MPI_IN_PLACE;
    const int even = (int)n / test_size;
    int counts[64];
    size_t first = 0, total = 0;
    double *out = take((size_t)(even * test_size), inplace);

    test_now("reduce_scatter_block of %d doubles%s", even, inplace ? ", in place" : "");
    test_success(MPI_Reduce_scatter_block(inplace ? in_place : give((size_t)(even * test_size)), out, even, MPI_DOUBLE,
                                          MPI_SUM, MPI_COMM_WORLD));
    must_be((size_t)even, (size_t)(even * test_rank), ALL);
    for (int r = 0; r < test_size; r++) {
        counts[r] = r == test_size - 1 ? (int)(n - total) : even / (r % 3 + 1);
        first = r == test_rank ? total : first;
        total += (size_t)counts[r];
    }
    test_now("reduce_scatter of %zu doubles%s", n, inplace ? ", in place" : "");
    out = take(n, inplace);
    test_success(MPI_Reduce_scatter(inplace ? in_place : give(n), out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    must_be((size_t)counts[test_rank], first, ALL);
}

/* ---- all of them ---- */

static void check_memory(enum memory memory)
{
    /* by each default: fewest rounds, few rounds, fewest bytes */
    static const size_t counts[] = {1, 17, 1000, 20001, 200003};

    region_make(&send_side, test_rank % 2 ? HOST : memory, MOST * sizeof(double));
    region_make(&recv_side, test_rank % 3 ? memory : HOST, MOST * sizeof(double));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int inplace = 0; inplace < 2; inplace++) {
            check_vectors(counts[i], inplace);
            check_blocks(counts[i], inplace);
        }
    region_free(&send_side);
    region_free(&recv_side);
}

/* ---- a communicator's first call is a nonblocking one ---- */

static int by_dup(MPI_Comm *made)
{
    return MPI_Comm_dup(MPI_COMM_WORLD, made);
}

static int by_split(MPI_Comm *made)
{
    return MPI_Comm_split(MPI_COMM_WORLD, 0, test_rank, made);
}

static int by_create(MPI_Comm *made)
{
    MPI_Group group;
    int error;

    PMPI_Comm_group(MPI_COMM_WORLD, &group);
    error = MPI_Comm_create(MPI_COMM_WORLD, group, made);
    PMPI_Group_free(&group);
    return error;
}

static int by_create_group(MPI_Comm *made)
{
    MPI_Group group;
    int error;

    PMPI_Comm_group(MPI_COMM_WORLD, &group);
    error = MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, made);
    PMPI_Group_free(&group);
    return error;
}

static int by_cart_create(MPI_Comm *made)
{
    const int periodic = 0;

    return MPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &periodic, 0, made);
}

static int by_merge(MPI_Comm *made)
{
    const int first = test_rank < test_size / 2;
    MPI_Comm part, inter;
    int error;

    MPI_Comm_split(MPI_COMM_WORLD, first, test_rank, &part);
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, first ? test_size / 2 : 0, 9, &inter);
    error = MPI_Intercomm_merge(inter, !first, made);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&part);
    return error;
}

static const struct maker {
    const char *call;
    int (*make)(MPI_Comm *made);
} makers[] = {
    {"MPI_Comm_dup", by_dup},
    {"MPI_Comm_split", by_split},
    {"MPI_Comm_create", by_create},
    {"MPI_Comm_create_group", by_create_group},
    {"MPI_Cart_create", by_cart_create},
    {"MPI_Intercomm_merge", by_merge},
};

/* A nonblocking reduction of n doubles, in blocks of n a rank where there are blocks. */
static int first_allreduce(double *out, int n, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Iallreduce(give((size_t)n), out, n, MPI_DOUBLE, MPI_SUM, comm, request);
}

static int first_scan(double *out, int n, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Iscan(give((size_t)n), out, n, MPI_DOUBLE, MPI_SUM, comm, request);
}

static int first_blocks(double *out, int n, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Ireduce_scatter_block(give((size_t)(n * test_size)), out, n, MPI_DOUBLE, MPI_SUM, comm, request);
}

static const struct first {
    const char *call;
    int (*start)(double *out, int n, MPI_Comm comm, MPI_Request *request);
    enum wanted wanted;
    bool blocks;
} firsts[] = {
    {"MPI_Iallreduce", first_allreduce, ALL, false},
    {"MPI_Iscan", first_scan, UP_TO_HERE, false},
    {"MPI_Ireduce_scatter_block", first_blocks, ALL, true},
};
enum { NFIRSTS = sizeof firsts / sizeof *firsts };

static void check_first_call(const struct maker *maker, const struct first *first, int n)
{
    MPI_Request request;
    MPI_Comm made;

    test_now("%s of %d doubles, the first call on a communicator of %s", first->call, n, maker->call);
    test_success(maker->make(&made));
    test_success(first->start(take((size_t)n, false), n, made, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    must_be((size_t)n, first->blocks ? (size_t)(n * test_rank) : 0, first->wanted);
    test_success(MPI_Comm_free(&made));
}

static void check_first_calls(void)
{
    region_make(&send_side, HOST, MOST * sizeof(double));
    region_make(&recv_side, HOST, MOST * sizeof(double));
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        for (int k = 0; k < NFIRSTS; k++) {
            check_first_call(&makers[i], &firsts[k], 10);
            check_first_call(&makers[i], &firsts[k], 20001);
        }
    region_free(&send_side);
    region_free(&recv_side);
}

/* How many elements of an allreduce by that algorithm have other bits. */
static long others(const char *algorithm, size_t n)
{
    long differ = 0;

    region_make(&send_side, HOST, MOST * sizeof(double));
    region_make(&recv_side, HOST, MOST * sizeof(double));
    test_now("allreduce of %zu doubles, pinned to %s", n, algorithm);
    test_pin("allreduce", algorithm);
    test_success(MPI_Allreduce(give(n), take(n, false), (int)n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    test_pin("allreduce", "");
    region_get(&recv_side, result);
    for (size_t i = 0; i < n; i++)
        differ += result[i] != sum_of_all(i);
    region_free(&send_side);
    region_free(&recv_side);
    return differ;
}

int main(int argc, char **argv)
{
    long differ;

    test_begin(&argc, &argv, 240);
    result = malloc(MOST * sizeof *result);
    own = malloc(MOST * sizeof *own);
    differ = others("ring", 1000);
    test_check(differ > 100, "expected a ring to give other bits in many of 1000 elements, seen %ld", differ);
    test_set("TUTTI_REPRODUCIBLE", "1");
    differ = others("ring", 1000);
    test_check(differ == 0, "expected no other bits although a ring is pinned, seen %ld", differ);
    check_first_calls();
    check_memory(HOST);
    if (memory_exists(DEVICE))
        check_memory(DEVICE);
    free(result);
    free(own);
    return test_end();
}
