/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory that ranks of a node share: node GROUPS WAY | kill | leave | leave-long | leave-test | late. GROUPS of
 * ranks share it, told apart by their number modulo that; 0: nobody does. WAY is how it was made, as /proc/self/maps
 * names it. Sums come out right in any case, at sizes that go in one line, in one record, and in many; and nothing
 * stays in /dev/shm, which run.sh sees to. kill: one rank is killed in the middle, or leaves (long: among long
 * messages; test: the others only ever test); a rank that outlives it gets an error and says so. late: one rank comes a
 * second late, and the others, who wait, hardly use a core meanwhile, and are there soon. Not linked with the harness:
 * what ends here is looked at from outside. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/mpi/mapped.h"

static int rank, size, checks, failures;

static void expect(int ok, const char *what, long got)
{
    checks++;
    if (ok)
        return;
    failures++;
    fprintf(stderr, "FAIL rank %d: %s: %ld\n", rank, what, got);
}

static void check_groups(int groups, const char *way)
{
    long *all = malloc((size_t)size * sizeof *all);
    const long mine = groups ? mapped_file(way) : mapped_file("/dev/shm/tutti-") + mapped_file("memfd:tutti");

    PMPI_Allgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, MPI_COMM_WORLD);
    expect((mine != 0) == (groups != 0), "is there shared memory?", mine);
    for (int r = 0; groups && r < size; r++)
        expect((all[r] == mine) == (r % groups == rank % groups), "is it shared with this rank?", r);
    free(all);
}

static void check_sums(int n)
{
    double *mine = calloc((size_t)n, sizeof *mine), *sums = malloc((size_t)n * sizeof *sums);
    long wrong = 0;

    for (int i = 0; i < n; i++)
        mine[i] = rank + i % 7;
    MPI_Allreduce(mine, sums, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        wrong += sums[i] != size * (size - 1) / 2 + size * (i % 7);
    expect(wrong == 0, "wrong elements of a sum", wrong);
    MPI_Bcast(sums, n, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    MPI_Bcast(mine, n, MPI_DOUBLE, size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        wrong += mine[i] != size - 1 + i % 7;
    expect(wrong == 0, "wrong elements of a broadcast", wrong);
    free(mine);
    free(sums);
}

/* Who waits in a collective for a rank that waits for a message of his: it has to get through. */
static void check_message_under_way(void)
{
    enum { N = 1 << 17 };
    static double block[N];
    MPI_Request request = MPI_REQUEST_NULL;

    if (rank == 0)
        MPI_Isend(block, N, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
    if (rank == 1) {
        usleep(50000);
        MPI_Recv(block, N, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    check_sums(1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int look(int groups, const char *way)
{
    int total = 0;

    check_groups(groups, way);
    check_message_under_way();
    for (int n = 1; n < 1 << 19; n = n * 5 + 1)
        check_sums(n);
    PMPI_Reduce(&failures, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("node %d %s: %d ranks\n%d%%: Checks: %d, Failures: %d, Errors: 0\n", groups, way, size, total ? 0 : 100,
               checks, total);
    MPI_Finalize();
    return failures != 0;
}

static int reduce(double *x, double *sum, int n)
{
    return MPI_Allreduce(x, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* A program that never waits. */
static int reduce_and_test(double *x, double *sum, int n)
{
    MPI_Request request;
    int error = MPI_Iallreduce(x, sum, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);

    for (int over = 0; error == MPI_SUCCESS && !over;)
        error = MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    return error;
}

/* Each in its own loop, so that some are in a call when it happens. */
static int lose_one(int killed, int tests, int n)
{
    enum { LONG = 1 << 17 };
    static double x[LONG], sum[LONG];
    int error = MPI_SUCCESS;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 1000 && error == MPI_SUCCESS; i++) {
        if (i == 500 && rank == size - 1 && killed)
            kill(getpid(), SIGKILL);
        if (i == 500 && rank == size - 1)
            _exit(0);
        error = (tests ? reduce_and_test : reduce)(x, sum, n);
    }
    printf("rank %d %s\n", rank, error == MPI_SUCCESS ? "knows nothing" : "got an error in time");
    fflush(stdout);
    _exit(0);
}

static double seconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is compared is processor time, which a loaded machine does not lengthen. */
static int come_late(void)
{
    double before, used;

    MPI_Barrier(MPI_COMM_WORLD);
    before = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (rank == size - 1)
        usleep(1000000);
    MPI_Barrier(MPI_COMM_WORLD);
    used = seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    printf("rank %d %s: %.0f ms\n", rank, used < 0.2 ? "slept" : "was busy", 1000 * used);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    alarm(100);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "late") == 0)
        return come_late();
    return argc < 3 ? lose_one(strcmp(argv[1], "kill") == 0, strstr(argv[1], "test") != NULL,
                               strstr(argv[1], "long") ? 1 << 17 : 1)
                    : look(atoi(argv[1]), argv[2]);
}
