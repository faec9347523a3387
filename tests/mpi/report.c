/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_REPORT: what is waiting and what is not, where it is known beforehand: report WHAT. The times that are slept
 * are so long that what a busy machine adds does not change which part is the greatest, and waiting can only be longer,
 * never shorter; the JSON file that comes of it is looked at by run.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/mpi/harness.h"

enum { CALLS = 300, LATE_MS = 20, LATE_CALLS = 20 };

static void sleep_ms(long ms)
{
    const struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&t, NULL);
}

/* Rank 1 comes late to each: the others wait for it, and it for nobody. */
static void late(void)
{
    int one = 1, sum = 0;

    for (int i = 0; i < LATE_CALLS; i++) {
        if (test_rank == 1)
            sleep_ms(LATE_MS);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* The root is late: leaves wait for it alone, though rank 1 comes later still, which only concerns itself. */
static void late_root(void)
{
    int word = 0;

    for (int i = 0; i < LATE_CALLS; i++) {
        if (test_rank == 0)
            sleep_ms(LATE_MS);
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

/* More calls than are compared at a time, of several classes, on communicators that come and go. */
static void many(void)
{
    static char out[1 << 17], in[1 << 17];

    for (int i = 0; i < CALLS; i++) {
        MPI_Allreduce(out, in, 1 + 1000 * (i % 2), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (i % 30 == 0) {
            MPI_Comm half;

            MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, 0, &half);
            MPI_Bcast(out, 16, MPI_CHAR, 0, half);
            MPI_Comm_free(&half);
        }
    }
}

/* A sum is under way while the program computes; then nothing is left to wait for. */
static void overlapped(void)
{
    for (int i = 0; i < LATE_CALLS; i++) {
        MPI_Request request;
        int one = 1, sum = 0, over = 0;

        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        sleep_ms(LATE_MS);
        while (!over)
            MPI_Test(&request, &over, MPI_STATUS_IGNORE);
    }
}

/* A pipeline of two: each waits for the other's turn, in point-to-point calls. */
static void turns(void)
{
    int token = 0;

    for (int i = 0; i < LATE_CALLS; i++) {
        if (test_rank == i % 2) {
            sleep_ms(LATE_MS);
            MPI_Send(&token, 1, MPI_INT, 1 - test_rank, 3, MPI_COMM_WORLD);
        } else if (test_rank < 2) {
            MPI_Recv(&token, 1, MPI_INT, 1 - test_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {{"late", late}, {"late_root", late_root}, {"many", many}, {"overlapped", overlapped}, {"turns", turns}};

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 120);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && strcmp(argv[1], all[i].name) == 0)
            all[i].run();
    return test_end();
}
