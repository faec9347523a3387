/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_CHECK=1: ranks that do not call the same thing must all come back, with the same words, that name the ranks and
 * what differs; what does match must give the right results all the same. For 4 ranks or more; `timeout` is on ranks
 * that never meet, which takes as long as TUTTI_CHECK_TIMEOUT says. */
#include <config.h>
#include <mpi.h>
#include TT_PERSISTENT_HEADER
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/starve.h"

enum { ROOM = 4096 };

static int out[ROOM], in[ROOM];

static char text[MPI_MAX_ERROR_STRING];

/* The error of the last call must say so. */
static void say(int error, const char *words)
{
    int length;

    test_now("%s", words);
    *text = '\0';
    if (!test_check(error != MPI_SUCCESS, "there was no error"))
        return;
    PMPI_Error_string(error, text, &length);
    test_check(strstr(text, words) != NULL, "the text is \"%s\"", text);
}

/* All ranks must have failed alike. */
static void expect(int error, const char *words)
{
    char first[MPI_MAX_ERROR_STRING];

    say(error, words);
    memcpy(first, text, sizeof first);
    PMPI_Bcast(first, MPI_MAX_ERROR_STRING, MPI_CHAR, 0, MPI_COMM_WORLD);
    test_check(strcmp(first, text) == 0, "the text is \"%s\", on rank 0 it is \"%s\"", text, first);
}

/* ---- what may differ ---- */

static void counts_differ(void)
{
    expect(MPI_Allreduce(out, in, test_rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           "calls of MPI_Allreduce on MPI_COMM_WORLD do not match: the count differs: 100 x MPI_INT on ranks 0,2-3; "
           "99 x MPI_INT on rank 1");
    expect(MPI_Allgather(out, test_rank == 2 ? 3 : 4, MPI_INT, in, test_rank == 2 ? 3 : 4, MPI_INT, MPI_COMM_WORLD),
           "the count differs: 4 x MPI_INT on ranks 0-1,3; 3 x MPI_INT on rank 2");
}

static void types_differ(void)
{
    expect(MPI_Bcast(out, 10, test_rank == 0 ? MPI_INT : MPI_FLOAT, 0, MPI_COMM_WORLD),
           "calls of MPI_Bcast on MPI_COMM_WORLD do not match: the datatype differs: 10 x MPI_FLOAT on ranks 1-3; "
           "10 x MPI_INT on rank 0");
}

static void ops_differ(void)
{
    expect(MPI_Allreduce(out, in, 10, MPI_INT, test_rank == 3 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD),
           "calls of MPI_Allreduce on MPI_COMM_WORLD do not match: the op differs: MPI_SUM on ranks 0-2; MPI_MAX on "
           "rank 3");
}

static void roots_differ(void)
{
    expect(MPI_Reduce(out, in, 10, MPI_INT, MPI_SUM, test_rank == 2 ? 2 : 1, MPI_COMM_WORLD),
           "calls of MPI_Reduce on MPI_COMM_WORLD do not match: the root differs: 1 on ranks 0-1,3; 2 on rank 2");
}

static void collectives_differ(void)
{
    const int error = test_rank == 3 ? MPI_Allreduce(out, in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                                     : MPI_Bcast(out, 10, MPI_INT, 0, MPI_COMM_WORLD);

    expect(error, "calls on MPI_COMM_WORLD do not match: the collective differs: MPI_Bcast on ranks 0-2; "
                  "MPI_Allreduce on rank 3");
    expect(test_rank < 2 ? MPI_Barrier(MPI_COMM_WORLD) : MPI_Bcast(out, 10, MPI_INT, 0, MPI_COMM_WORLD),
           "the collective differs: MPI_Barrier on ranks 0-1; MPI_Bcast on ranks 2-3");
}

static void forms_differ(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = test_rank == 0 ? MPI_Ibarrier(MPI_COMM_WORLD, &request) : MPI_Barrier(MPI_COMM_WORLD);

    if (test_rank == 0 && error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(error, "calls on MPI_COMM_WORLD do not match: the form of the call differs: MPI_Barrier on ranks 1-3; "
                  "MPI_Ibarrier on rank 0");
}

static void places_differ(void)
{
    expect(MPI_Allreduce(test_rank == 1 ? MPI_IN_PLACE : out, in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           "MPI_IN_PLACE differs: not in place on ranks 0,2-3; in place on rank 1");
}

static void arrays_differ(void)
{
    int counts[16], displs[16];

    for (int i = 0; i < test_size; i++) {
        counts[i] = i + 1 + (i == 1 && test_rank == 2);
        displs[i] = 16 * i;
    }
    expect(MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           "the array of counts differs: 1,2,3,4 x MPI_INT on ranks 0-1,3; 1,3,3,4 x MPI_INT on rank 2");
    expect(MPI_Allgatherv(out, counts[test_rank], MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD),
           "the array of counts differs: 1,2,3,4 x MPI_INT on ranks 0-1,3; 1,3,3,4 x MPI_INT on rank 2");
}

/* ---- a count for each pair ---- */

static void pairs_differ(void)
{
    int sends[16], expects[16], displs[16];

    for (int i = 0; i < test_size; i++) {
        sends[i] = 1 + test_rank + i + 100 * (test_rank == 1 && i == 2);
        expects[i] = 1 + test_rank + i;
        displs[i] = 128 * i;
    }
    expect(MPI_Alltoallv(out, sends, displs, MPI_INT, in, expects, displs, MPI_INT, MPI_COMM_WORLD),
           "calls of MPI_Alltoallv on MPI_COMM_WORLD do not match: the count or datatype differs: rank 1 sends 104 x "
           "MPI_INT to rank 2, which expects 4 x MPI_INT");
    for (int i = 0; i < test_size; i++)
        expects[i] = 5 + (i == 3);
    expect(MPI_Gatherv(out, 5, MPI_INT, in, expects, displs, MPI_INT, 1, MPI_COMM_WORLD),
           "the count or datatype differs: rank 3 sends 5 x MPI_INT to rank 1, which expects 6 x MPI_INT");
    expect(MPI_Scatterv(out, expects, displs, MPI_INT, in,
                        test_rank == 3   ? 6
                        : test_rank == 2 ? 0
                                         : 5,
                        MPI_INT, 1, MPI_COMM_WORLD),
           "the count or datatype differs: rank 1 sends 5 x MPI_INT to rank 2, which expects nothing");
}

/* ---- one rank's own faults ---- */

static void buffers_overlap(void)
{
    expect(MPI_Allreduce(out, test_rank == 2 ? out + 9 : in, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           "MPI_Allreduce on MPI_COMM_WORLD: rank 2: the send and the receive buffer overlap");
    expect(MPI_Allgather(out, 10, MPI_INT, test_rank < 2 ? out : in, 10, MPI_INT, MPI_COMM_WORLD),
           "MPI_Allgather on MPI_COMM_WORLD: rank 0: the send and the receive buffer overlap (and 1 more rank)");
}

static void blocks_overlap(void)
{
    int counts[16], displs[16];

    for (int i = 0; i < test_size; i++) {
        counts[i] = 5;
        displs[i] = (test_rank == 3 ? 4 : 5) * i;
    }
    expect(MPI_Allgatherv(out, 5, MPI_INT, in, counts, displs, MPI_INT, MPI_COMM_WORLD),
           "MPI_Allgatherv on MPI_COMM_WORLD: rank 3: blocks of the receive buffer overlap");
}

static void counts_are_negative(void)
{
    expect(MPI_Allreduce(out, in, test_rank == 1 ? -1 : 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
           "MPI_Allreduce on MPI_COMM_WORLD: rank 1: a count is negative");
}

static void sides_differ(void)
{
    expect(MPI_Allgather(out, test_rank == 2 ? 3 : 4, MPI_INT, in, 4, MPI_INT, MPI_COMM_WORLD),
           "MPI_Allgather on MPI_COMM_WORLD: rank 2: it sends 3 x MPI_INT and expects 4 x MPI_INT of itself");
}

static void memory_is_gone(void)
{
    char *device, *freed;

    if (!test_gpus)
        return;
    device = memory_take(DEVICE, 1 << 16);
    freed = memory_take(DEVICE, 1 << 16);
    memory_give(DEVICE, freed);
    expect(MPI_Bcast(device + (1 << 16) - 40, test_rank == 1 ? 12 : 10, MPI_INT, 0, MPI_COMM_WORLD),
           "MPI_Bcast on MPI_COMM_WORLD: rank 1: the receive buffer, 48 bytes at ");
    expect(MPI_Bcast(test_rank == 3 ? freed : device, 10, MPI_INT, 0, MPI_COMM_WORLD),
           "MPI_Bcast on MPI_COMM_WORLD: rank 3: the receive buffer, 40 bytes at ");
    memory_give(DEVICE, device);
}

/* ---- nonblocking and persistent ---- */

/* The second of three does not match. */
static void one_of_three_differs(void)
{
    MPI_Request requests[3];
    int one = 1, sums[3], errors[3];
    static int ones[4] = {1, 1, 1, 1}, many[4];

    MPI_Iallreduce(&one, &sums[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(ones, many, test_rank == 0 ? 3 : 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(&one, &sums[2], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    for (int i = 2; i >= 0; i--)
        errors[i] = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    expect(errors[1], "calls of MPI_Iallreduce on MPI_COMM_WORLD do not match: the count differs: 4 x MPI_INT on ranks "
                      "1-3; 3 x MPI_INT on rank 0");
    test_success(errors[0]);
    test_success(errors[2]);
    test_check(sums[0] == test_size && sums[2] == test_size, "the sums are %d and %d", sums[0], sums[2]);
}

#if TT_HAVE_PERSISTENT
/* Making one is compared, and so is each start of what was made alike. */
static void persistent_differs(void)
{
    MPI_Request sum, largest;
    int error = TT_INIT_NAME(, Allreduce, )(out, in, test_rank == 1 ? 5 : 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                            MPI_INFO_NULL, &sum);

    expect(error, "calls of MPI_Allreduce_init on MPI_COMM_WORLD do not match: the count differs: 6 x MPI_INT on ranks "
                  "0,2-3; 5 x MPI_INT on rank 1");
    error =
        test_rank == 2 ? TT_INIT_NAME(, Barrier, )(MPI_COMM_WORLD, MPI_INFO_NULL, &sum) : MPI_Barrier(MPI_COMM_WORLD);
    expect(error, "calls on MPI_COMM_WORLD do not match: the form of the call differs: MPI_Barrier on ranks 0-1,3; "
                  "MPI_Barrier_init on rank 2");
    test_success(TT_INIT_NAME(, Allreduce, )(out, in, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &sum));
    test_success(TT_INIT_NAME(, Allreduce, )(out, in, 6, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &largest));
    test_success(MPI_Start(&sum));
    test_success(MPI_Wait(&sum, MPI_STATUS_IGNORE));
    MPI_Request_free(&sum);
    MPI_Request_free(&largest);
}

/* Each rank starts them in an order of its own, and calls others meanwhile. */
static void starts_have_no_order(void)
{
    enum { MANY = 6 };
    MPI_Request requests[MANY], barrier;
    int mine[MANY], sums[MANY], wrong = 0;

    test_now("persistent calls, started in another order on each rank");
    for (int i = 0; i < MANY; i++)
        test_success(TT_INIT_NAME(, Allreduce, )(&mine[i], &sums[i], 1, MPI_INT, i % 2 ? MPI_MAX : MPI_SUM,
                                                 MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]));
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < MANY; i++)
            mine[i] = 10 * i + turn + test_rank;
        for (int i = 0; i < MANY; i++) {
            if (i == test_rank)
                test_success(MPI_Ibarrier(MPI_COMM_WORLD, &barrier));
            test_success(MPI_Start(&requests[(i * 5 + test_rank + turn) % MANY]));
        }
        test_success(MPI_Wait(&barrier, MPI_STATUS_IGNORE));
        test_success(MPI_Waitall(MANY, requests, no_statuses));
        for (int i = 0; i < MANY; i++)
            wrong += sums[i] != (i % 2 ? 10 * i + turn + test_size - 1
                                       : test_size * (10 * i + turn) + test_size * (test_size - 1) / 2);
    }
    test_check(wrong == 0, "%d results are wrong", wrong);
    for (int i = 0; i < MANY; i++)
        MPI_Request_free(&requests[i]);
}
#else
static void persistent_differs(void)
{
}

static void starts_have_no_order(void)
{
}
#endif

/* Nonblocking calls stay so: rank 1 enters the barrier only when it has heard from rank 0, which is in it. */
static void nonblocking_does_not_wait(void)
{
    MPI_Request request;
    int token = 7;

    test_now("a message past a barrier under way");
    if (test_rank == 1)
        MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    if (test_rank == 0)
        MPI_Send(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* ---- copies, and communicators between groups ---- */

/* The first call on a copy that nobody has waited for together is a nonblocking one. */
static void copies_are_checked(void)
{
    MPI_Comm copies[2], one;
    MPI_Request requests[2];
    int mine = test_rank, sum = 0;

    for (int i = 0; i < 2; i++)
        test_success(MPI_Comm_idup(MPI_COMM_WORLD, &copies[i], &requests[i]));
    test_success(MPI_Waitall(2, requests, no_statuses));
    one = copies[1];
    MPI_Comm_set_name(one, "copy");
    MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
    test_success(MPI_Ibcast(&mine, test_rank == 2 ? 2 : 1, MPI_INT, 0, one, &requests[0]));
    expect(MPI_Wait(&requests[0], MPI_STATUS_IGNORE),
           "calls of MPI_Ibcast on copy do not match: the count differs: 1 x "
           "MPI_INT on ranks 0-1,3; 2 x MPI_INT on rank 2");
    for (int i = 0; i < 2; i++) {
        mine = test_rank;
        test_now("calls on a copy");
        test_success(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, copies[i], &requests[0]));
        test_success(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        test_check(sum == test_size * (test_size - 1) / 2, "the sum is %d", sum);
        test_success(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_MAX, copies[i]));
        test_check(sum == test_size - 1, "the largest is %d", sum);
        test_success(MPI_Comm_free(&copies[i]));
    }
}

/* Rank 0 on the one side, the others on the other. */
static MPI_Comm across(const char *name)
{
    MPI_Comm side, between;

    MPI_Comm_split(MPI_COMM_WORLD, test_rank == 0, test_rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, test_rank == 0 ? 1 : 0, 3, &between);
    MPI_Comm_free(&side);
    MPI_Comm_set_name(between, name);
    MPI_Comm_set_errhandler(between, MPI_ERRORS_RETURN);
    return between;
}

/* Roots by what each is told: that of rank 1 of the three, or of the one. */
static int root_on(bool of_three)
{
    if (of_three)
        return test_rank == 0 ? 1 : test_rank == 2 ? MPI_ROOT : MPI_PROC_NULL;
    return test_rank == 0 ? MPI_ROOT : 0;
}

/* Lengths one way need not be those of the other; and what each group scatters is as long in all. */
static void sides_match(MPI_Comm between)
{
    const int here = test_rank == 0, counts[3] = {1, 2, 3}, all[1] = {6};
    MPI_Request request;
    int mine = test_rank + 1, got = 0;

    test_now("calls between two groups");
    test_success(MPI_Barrier(between));
    test_success(MPI_Allreduce(&mine, &got, 1, MPI_INT, MPI_SUM, between));
    test_check(got == (here ? 9 : 1), "the sum is %d", got);
    test_success(MPI_Bcast(&mine, 1, MPI_INT, root_on(true), between));
    test_check(!here || mine == 3, "it brought %d", mine);
    test_success(MPI_Allgather(out, here ? 2 : 5, MPI_INT, in, here ? 5 : 2, MPI_INT, between));
    test_success(MPI_Alltoall(out, here ? 2 : 5, MPI_INT, in, here ? 5 : 2, MPI_INT, between));
    test_success(MPI_Gather(out, 4, MPI_INT, in, 4, MPI_INT, root_on(false), between));
    test_success(MPI_Scatter(out, 4, MPI_INT, in, 4, MPI_INT, root_on(true), between));
    test_success(MPI_Reduce(out, in, 4, MPI_INT, MPI_SUM, root_on(false), between));
    test_success(MPI_Reduce_scatter_block(out, in, here ? 6 : 2, MPI_INT, MPI_SUM, between));
    test_success(MPI_Reduce_scatter(out, in, here ? all : counts, MPI_INT, MPI_SUM, between));
    test_success(MPI_Iallreduce(&mine, &got, 1, MPI_INT, MPI_SUM, between, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void sides_do_not_match(MPI_Comm between)
{
    const int here = test_rank == 0, last = test_rank == 3;

    expect(here ? MPI_Barrier(between) : MPI_Bcast(out, 1, MPI_INT, root_on(true), between),
           "(ranks 0 | 1-3) do not match: the collective differs: MPI_Bcast on ranks 1-3; MPI_Barrier on "
           "rank 0");
    expect(MPI_Allreduce(out, in, last ? 3 : 2, MPI_INT, MPI_SUM, between),
           "the count differs: 2 x MPI_INT on ranks 0-2; 3 x MPI_INT on rank 3");
    expect(MPI_Bcast(out, last ? 3 : 2, MPI_INT, root_on(false), between),
           "the count differs: 2 x MPI_INT on ranks 0-2; 3 x MPI_INT on rank 3");
    expect(MPI_Reduce(out, in, 1, MPI_INT, last ? MPI_MAX : MPI_SUM, root_on(false), between),
           "the op differs: MPI_SUM on ranks 0-2; MPI_MAX on rank 3");
    expect(MPI_Allgather(out,
                         here   ? 2
                         : last ? 4
                                : 5,
                         MPI_INT, in, here ? 5 : 2, MPI_INT, between),
           "the count or datatype differs: rank 3 sends 4 x MPI_INT to rank 0, which expects 5 x MPI_INT");
    expect(MPI_Gather(out, last ? 5 : 4, MPI_INT, in, 4, MPI_INT, root_on(false), between),
           "the count or datatype differs: rank 3 sends 5 x MPI_INT to rank 0, which expects 4 x MPI_INT");
}

static void groups_are_checked(void)
{
    MPI_Comm between = across("between"), copy;
    MPI_Request request;

    sides_match(between);
    sides_do_not_match(between);
    sides_match(between);
    test_success(MPI_Comm_idup(between, &copy, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    sides_match(copy);
    sides_do_not_match(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&between);
}

/* ---- a rank without memory ---- */

/* It takes part all the same. */
static void memory_is_not_needed(void)
{
    int one = 1, sum = 0;

    test_now("a check, one rank being out of memory");
    test_starved = test_rank == 1;
    test_success(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    test_check(!test_starved, "nobody asked for memory");
    test_check(sum == test_size, "the sum is %d", sum);
    test_starved = test_rank == 2;
    expect(MPI_Allreduce(out, in, test_rank == 1 ? 99 : 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "the count differs");
}

/* ---- what matches ---- */

static void signatures_are_what_counts(void)
{
    MPI_Datatype pair, both;
    int twelve[12], lengths[] = {2, 1};
    MPI_Aint at[] = {0, 8};
    MPI_Datatype parts[] = {MPI_INT, MPI_FLOAT};
    int block[3] = {1, 2, 3};

    test_now("equal signatures by different datatypes");
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < 12; i++)
        twelve[i] = test_rank == 0 ? i : -1;
    test_success(MPI_Bcast(twelve, test_rank % 2 ? 6 : 12, test_rank % 2 ? pair : MPI_INT, 0, MPI_COMM_WORLD));
    test_check(twelve[0] == 0 && twelve[11] == 11, "it brought %d ... %d", twelve[0], twelve[11]);
    MPI_Type_create_struct(2, lengths, at, parts, &both);
    MPI_Type_commit(&both);
    expect(MPI_Bcast(block, test_rank == 2 ? 1 : 3, test_rank == 2 ? both : MPI_INT, 0, MPI_COMM_WORLD),
           "the datatype differs: 3 x MPI_INT on ranks 0-1,3; 1 x a derived type on rank 2");
    MPI_Type_free(&pair);
    MPI_Type_free(&both);
}

/* Columns of a matrix lie in one another's spans, and share no byte. */
static void columns_do_not_overlap(void)
{
    MPI_Datatype spread, column;

    test_now("columns");
    MPI_Type_vector(10, 1, 4, MPI_INT, &spread);
    MPI_Type_create_resized(spread, 0, 40 * sizeof(int), &column);
    MPI_Type_commit(&column);
    MPI_Type_free(&spread);
    test_success(MPI_Alltoall(out, 1, column, out + 1, 1, column, MPI_COMM_WORLD));
    test_success(MPI_Gather(in, 1, column, test_rank == 0 ? out : NULL, 10, MPI_INT, 0, MPI_COMM_WORLD));
    expect(MPI_Alltoall(out, 1, column, out + (test_rank == 1 ? 4 : 2), 1, column, MPI_COMM_WORLD),
           "MPI_Alltoall on MPI_COMM_WORLD: rank 1: the send and the receive buffer overlap");
    MPI_Type_free(&column);
}

/* Many under way at a time, whose types are freed at once. */
static void results_are_right(void)
{
    enum { MANY = 20 };
    MPI_Request requests[MANY];
    static int mine[MANY][8], sums[MANY][8];
    int wrong = 0;

    test_now("many nonblocking calls");
    for (int i = 0; i < MANY; i++) {
        MPI_Datatype type;

        for (int k = 0; k < 8; k++)
            mine[i][k] = test_rank + i + k;
        MPI_Type_contiguous(8, MPI_INT, &type);
        MPI_Type_commit(&type);
        if (i % 2)
            MPI_Iallreduce(mine[i], sums[i], 8, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Ibcast(mine[i], 1, type, i % test_size, MPI_COMM_WORLD, &requests[i]);
        MPI_Type_free(&type);
    }
    test_success(MPI_Waitall(MANY, requests, no_statuses));
    for (int i = 0; i < MANY; i++)
        for (int k = 0; k < 8; k++)
            wrong += i % 2 ? sums[i][k] != test_size * (i + k) + test_size * (test_size - 1) / 2
                           : mine[i][k] != i % test_size + i + k;
    test_check(wrong == 0, "%d elements are wrong", wrong);
}

/* Where all agree, a check is one message up and one down for each edge of a binomial tree (send_shim.c counts). */
static void messages_are_few(void)
{
    long (*sends)(void);
    long before, below = 0;

    *(void **)&sends = dlsym(RTLD_DEFAULT, "test_sends");
    test_now("messages of a check");
    if (!test_check(sends != NULL, "send_shim.so is not there"))
        return;
    for (int far = 1; test_rank + far < test_size && !(test_rank & far); far *= 2)
        below++;
    test_pin("barrier", "native");
    test_success(MPI_Barrier(MPI_COMM_WORLD));
    before = sends();
    for (int i = 0; i < 10; i++)
        test_success(MPI_Barrier(MPI_COMM_WORLD));
    test_check(sends() - before == 10 * (below + (test_rank > 0)), "ten barriers have sent %ld", sends() - before);
    test_pin("barrier", NULL);
}

/* ---- ranks that do not meet ---- */

static MPI_Comm copy_of_world(const char *name)
{
    MPI_Comm copy;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    MPI_Comm_set_name(copy, name);
    return copy;
}

/* All of comm but one come, which comes when they have left: it is told why, and so is whoever calls anything later. */
static void come_late(MPI_Comm comm, int late, const char *words, const char *to_late)
{
    int error;

    if (test_rank == late)
        for (int r = 0; r < test_size - 1; r++)
            PMPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    error = MPI_Barrier(comm);
    if (test_rank != late)
        PMPI_Send(NULL, 0, MPI_INT, late, 9, MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    say(error, test_rank == late ? to_late : words);
    error = MPI_Bcast(out, 1, MPI_INT, 0, comm);
    say(error, test_rank == late ? to_late : words);
}

static void one_does_not_come(void)
{
    static const char words[] =
        "MPI_Barrier on work was given up after 1 s (TUTTI_CHECK_TIMEOUT): rank 1 has not come to "
        "it, ranks 0,2-3 wait";
    MPI_Comm comm = copy_of_world("work");

    come_late(comm, 1, words, words);
    MPI_Comm_free(&comm);
}

static void the_first_does_not_come(void)
{
    MPI_Comm comm = copy_of_world("work");

    come_late(
        comm, 0,
        "MPI_Barrier on work was given up after 1 s (TUTTI_CHECK_TIMEOUT): rank 0, to which the others report, has "
        "not come to it",
        " had given it up when rank 0 came");
    MPI_Comm_free(&comm);
}

/* Two communicators in different orders. The first to be given up releases whoever waits in the other, which goes well
 * if none of its ranks has lost patience by then. */
static void orders_differ(void)
{
    MPI_Comm a = copy_of_world("a"), b = copy_of_world("b");

    if (test_rank >= 2 && MPI_Barrier(b) != MPI_SUCCESS)
        say(MPI_Bcast(out, 1, MPI_INT, 0, b), "MPI_Barrier on b");
    say(MPI_Barrier(a), "MPI_Barrier on a was given up after 1 s (TUTTI_CHECK_TIMEOUT): ranks 2-3 have not come to it, "
                        "ranks 0-1 wait");
    if (test_rank < 2 && MPI_Barrier(b) != MPI_SUCCESS)
        say(MPI_Bcast(out, 1, MPI_INT, 0, b), "MPI_Barrier on b");
    PMPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
}

static void all_that_differs(void)
{
    static void (*const tests[])(void) = {counts_differ,
                                          types_differ,
                                          ops_differ,
                                          roots_differ,
                                          collectives_differ,
                                          forms_differ,
                                          places_differ,
                                          arrays_differ,
                                          pairs_differ,
                                          buffers_overlap,
                                          blocks_overlap,
                                          counts_are_negative,
                                          sides_differ,
                                          memory_is_gone,
                                          one_of_three_differs,
                                          persistent_differs,
                                          starts_have_no_order,
                                          copies_are_checked,
                                          groups_are_checked,
                                          memory_is_not_needed,
                                          nonblocking_does_not_wait,
                                          signatures_are_what_counts,
                                          columns_do_not_overlap,
                                          results_are_right,
                                          messages_are_few};

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tests[i]();
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 120);
    if (argc > 1 && strcmp(argv[1], "timeout") == 0) {
        one_does_not_come();
        the_first_does_not_come();
        orders_differ();
    } else {
        all_that_differs();
    }
    return test_end();
}
