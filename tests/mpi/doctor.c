/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs with something wrong, for `tutti doctor` to find: doctor FAULT [RANK]. Whoever is to blame is RANK (1).
 * Those that hang are looked at and then killed by doctor.sh, which knows what has to be said of each; "ready" tells it
 * that all that will happen has happened. A line that a test names is marked by a comment. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/harness.h"

enum { CALLS = 6, N = 1000, FOREVER = 1000 };

static int rank, size, culprit = 1;
static float a[2 * N], b[64 * N];

static bool is_culprit(void)
{
    return rank == culprit;
}

static void nap(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

    while (nanosleep(&t, &t)) /* a signal has ended it early */
        ;
}

/* ---- a few calls that go well ---- */

static void allreduce(void)
{
    MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void go_well(int calls)
{
    for (int i = 0; i < calls; i++)
        allreduce();
}

/* ---- who stays away ---- */

static void sleeps(void)
{
    go_well(CALLS);
    if (is_culprit())
        nap(FOREVER);
    allreduce();
}

static void sleeps_before_wait(void)
{
    MPI_Request request;

    go_well(CALLS);
    if (is_culprit())
        nap(FOREVER);
    MPI_Iallreduce(a, b, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* It comes to its last call when the others are in it already, one behind. */
static void skips(void)
{
    for (int i = 0; i < CALLS; i++) {
        MPI_Bcast(a, N, MPI_FLOAT, 0, MPI_COMM_WORLD);
        if (!is_culprit() || i != 2)
            MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); /* the call that is skipped */
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void skips_alike(void)
{
    go_well(is_culprit() ? CALLS - 1 : CALLS);
}

static void ends_early(void)
{
    go_well(CALLS);
    if (is_culprit())
        exit(0);
    allreduce();
}

static void is_killed(void)
{
    go_well(CALLS);
    if (is_culprit())
        raise(SIGKILL);
    allreduce();
}

static void is_stopped(void)
{
    go_well(CALLS);
    if (is_culprit())
        raise(SIGSTOP);
    allreduce();
}

static void waits_outside(void)
{
    int got;

    go_well(CALLS);
    if (is_culprit())
        MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* nobody sends */
    allreduce();
}

/* It sleeps; another waits for its message, and the rest for that one. */
static void sends_late(void)
{
    int got = 0;

    go_well(CALLS);
    if (is_culprit())
        nap(FOREVER);
    if (rank == 0)
        MPI_Recv(&got, 1, MPI_INT, culprit, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    allreduce();
}

/* In a wait for a message, with a collective under way for which it does not wait. */
static void waits_for_message(void)
{
    MPI_Request request, sum;
    int got;

    go_well(CALLS);
    MPI_Iallreduce(a, b, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &sum);
    if (is_culprit()) {
        MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* nobody sends */
    }
    MPI_Wait(&sum, MPI_STATUS_IGNORE);
    allreduce();
}

/* The others wait by testing. */
static void tests_in_vain(void)
{
    MPI_Request request;
    int done = 0;

    go_well(CALLS);
    if (is_culprit())
        nap(FOREVER);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        nap(0.01);
    }
}

/* It looks for a message that nobody sends. */
static void looks_in_vain(void)
{
    int there = 0;

    go_well(CALLS);
    while (is_culprit() && !there) {
        MPI_Iprobe((rank + 1) % size, 7, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        nap(0.01);
    }
    allreduce();
}

/* Of two messages one has come; of a communicator with a name. */
static void misses_one_of_two(void)
{
    MPI_Request requests[2];
    MPI_Comm halo;
    int got[2] = {0, 0};

    MPI_Comm_dup(MPI_COMM_WORLD, &halo);
    MPI_Comm_set_name(halo, "halo");
    go_well(CALLS);
    if (is_culprit()) {
        MPI_Irecv(&got[0], 1, MPI_INT, 0, 6, halo, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, 2, 7, halo, &requests[1]);
        MPI_Waitall(2, requests, no_statuses); /* one does not come */
    } else if (rank == 0) {
        nap(0.2);
        MPI_Send(&got[0], 1, MPI_INT, culprit, 6, halo);
    }
    allreduce();
}

/* From a rank that has come to its end. */
static void receives_from_the_finished(void)
{
    int got;

    go_well(CALLS);
    if (is_culprit())
        MPI_Recv(&got, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void skips_a_fence(void)
{
    MPI_Win win;

    MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    go_well(CALLS);
    MPI_Win_fence(0, win);
    if (!is_culprit())
        MPI_Win_fence(0, win);
    allreduce();
}

/* Whoever has the lock sleeps; another waits for it. */
static void keeps_a_lock(void)
{
    MPI_Win win;

    MPI_Win_create(a, sizeof a, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    go_well(CALLS);
    if (is_culprit()) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        MPI_Put(b, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
        MPI_Win_flush(2, win);
        MPI_Send(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
        nap(FOREVER);
    }
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, culprit, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        MPI_Put(b, 1, MPI_INT, 2, 0, 1, MPI_INT, win);
        MPI_Win_unlock(2, win);
    }
    allreduce();
}

/* Between the culprit's group and the others'. */
static void sleeps_between_groups(void)
{
    MPI_Comm side, between;

    MPI_Comm_split(MPI_COMM_WORLD, is_culprit(), rank, &side);
    MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, is_culprit() ? 0 : culprit, 3, &between);
    MPI_Comm_set_name(between, "between");
    MPI_Barrier(between);
    if (is_culprit())
        nap(FOREVER);
    MPI_Barrier(between);
}

static void does_not_split(void)
{
    MPI_Comm half;

    go_well(CALLS);
    if (is_culprit())
        nap(FOREVER);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
}

/* Each receives from the next. */
static void receives_in_a_ring(void)
{
    int got;

    go_well(CALLS);
    MPI_Recv(&got, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* In the first call on communicators of rows and columns, of four ranks: 0 waits for 1, that for 3, for 2, for 0. */
static void crosses(void)
{
    MPI_Comm rows, columns;

    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &rows);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &columns);
    MPI_Comm_set_name(rows, "rows");
    MPI_Comm_set_name(columns, "columns");
    MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, rank == 0 || rank == 3 ? rows : columns);
    MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, rank == 0 || rank == 3 ? columns : rows);
}

static void aborts(void)
{
    go_well(CALLS);
    if (is_culprit())
        MPI_Abort(MPI_COMM_WORLD, 7);
    allreduce();
}

static void never_starts(void)
{
    if (is_culprit())
        nap(FOREVER);
    allreduce();
}

/* ---- who does something else ---- */

static void other_count(void)
{
    go_well(CALLS);
    MPI_Allreduce(a, b, is_culprit() ? N + 1 : N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    go_well(1);
}

static void other_type(void)
{
    go_well(CALLS);
    MPI_Allreduce(a, b, N, is_culprit() ? MPI_INT : MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void other_op(void)
{
    go_well(CALLS);
    MPI_Allreduce(a, b, N, MPI_FLOAT, is_culprit() ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);
}

static void other_root(void)
{
    go_well(CALLS);
    MPI_Bcast(a, N, MPI_FLOAT, is_culprit() ? 1 : 0, MPI_COMM_WORLD);
    allreduce();
}

static void other_collective(void)
{
    go_well(CALLS);
    if (is_culprit())
        MPI_Barrier(MPI_COMM_WORLD);
    else
        MPI_Bcast(a, N, MPI_FLOAT, 0, MPI_COMM_WORLD);
    go_well(1);
}

static void other_order(void)
{
    MPI_Comm rows, columns;

    MPI_Comm_dup(MPI_COMM_WORLD, &rows);
    MPI_Comm_dup(MPI_COMM_WORLD, &columns);
    MPI_Comm_set_name(rows, "rows");
    MPI_Comm_set_name(columns, "columns");
    MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, rows);
    MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, columns);
    if (is_culprit()) {
        MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, columns);
        MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, rows);
    } else {
        MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, rows);
        MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, columns);
    }
}

/* ---- who is slow, or fails ---- */

static void out_of_memory(void)
{
    char *device = memory_take(DEVICE, N * sizeof(float));

    go_well(CALLS);
    if (is_culprit())
        simulator.inject("oom:from=1");
    if (is_culprit())
        simulator.inject("pinned:from=1");
    MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    simulator.reset();
    memory_give(DEVICE, device);
}

/* NCCL takes its time to start, on all ranks. */
static void sets_up(void)
{
    char *device = memory_take(DEVICE, N * sizeof(float));

    simulator.inject("nccl-delay:ms=1500");
    MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    memory_give(DEVICE, device);
    puts("all as it should be");
}

static void works(double seconds)
{
    const double end = MPI_Wtime() + seconds;

    while (MPI_Wtime() < end)
        nap(seconds / 10);
}

static void slow(void)
{
    for (int i = 0; i < 40; i++) {
        works(is_culprit() ? 0.02 : 0.002);
        allreduce();
    }
}

/* The work of each is a copy on its GPU; the culprit's takes longer. */
static void slow_gpu(void)
{
    enum { NON_BLOCKING = 1, COPY_DEFAULT = 4 };
    char *device = memory_take(DEVICE, N * sizeof(float));
    void *stream;

    cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
    if (is_culprit())
        simulator.inject("delay:us=15000");
    for (int i = 0; i < 30; i++) {
        cudaMemcpyAsync(device, device, N * sizeof(float), COPY_DEFAULT, stream);
        cudaStreamSynchronize(stream);
        MPI_Allreduce(a, b, N, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    }
    cudaStreamDestroy(stream);
    memory_give(DEVICE, device);
}

static void jitter(void)
{
    for (int i = 0; i < 60; i++) {
        works(is_culprit() && i % 15 == 7 ? 0.08 : 0.001);
        allreduce();
    }
}

static void routing(void)
{
    int sends[64], receives[64], from[64], to[64];

    for (int step = 0; step < 20; step++) {
        for (int r = 0; r < size; r++) {
            sends[r] = r == culprit ? 700 : 100;
            receives[r] = is_culprit() ? 700 : 100;
            to[r] = 0;
            from[r] = r * 700;
        }
        MPI_Alltoallv(a, sends, to, MPI_FLOAT, b, receives, from, MPI_FLOAT, MPI_COMM_WORLD);
    }
}

static void fine(void)
{
    go_well(20);
}

static const struct {
    const char *name;
    void (*run)(void);
} faults[] = {
    {"fine", fine},
    {"sleeps", sleeps},
    {"sleeps-before-wait", sleeps_before_wait},
    {"skips", skips},
    {"skips-alike", skips_alike},
    {"ends-early", ends_early},
    {"is-killed", is_killed},
    {"is-stopped", is_stopped},
    {"waits-outside", waits_outside},
    {"sends-late", sends_late},
    {"waits-for-message", waits_for_message},
    {"tests-in-vain", tests_in_vain},
    {"looks-in-vain", looks_in_vain},
    {"misses-one-of-two", misses_one_of_two},
    {"receives-from-the-finished", receives_from_the_finished},
    {"skips-a-fence", skips_a_fence},
    {"keeps-a-lock", keeps_a_lock},
    {"sleeps-between-groups", sleeps_between_groups},
    {"does-not-split", does_not_split},
    {"receives-in-a-ring", receives_in_a_ring},
    {"crosses", crosses},
    {"aborts", aborts},
    {"never-starts", never_starts},
    {"other-count", other_count},
    {"other-type", other_type},
    {"other-op", other_op},
    {"other-root", other_root},
    {"other-collective", other_collective},
    {"other-order", other_order},
    {"out-of-memory", out_of_memory},
    {"sets-up", sets_up},
    {"slow", slow},
    {"slow-gpu", slow_gpu},
    {"jitter", jitter},
    {"routing", routing},
};

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "";

    if (argc > 2)
        culprit = atoi(argv[2]);
    test_begin(&argc, &argv, 120);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rank = test_rank;
    size = test_size;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, fault) == 0) {
            faults[i].run();
            MPI_Finalize();
            return 0;
        }
    fprintf(stderr, "there is no fault \"%s\"\n", fault);
    return 1;
}
