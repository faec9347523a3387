/* SPDX-License-Identifier: BSD-3-Clause */
/* What waiting costs when ranks outnumber cores: 8-byte MPI_Allreduce by Tutti, which yields the core between polls, against
 * the MPI below on its own, which may spin. The two are called in turn on the same buffers; medians over the calls of
 * rank 0, in microseconds.
 *
 * tutti run -- mpiexec -n 4 bench/crowded */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 101 };

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* us of one call, all ranks starting together as nearly as a barrier has it */
static double one(allreduce *call)
{
    double in = 1, out, start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    call(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (MPI_Wtime() - start) * 1e6;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, CALLS, sizeof *values, ascending);
    return values[CALLS / 2];
}

int main(int argc, char **argv)
{
    static double native[CALLS], own[CALLS];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < CALLS; i++) {
        native[i] = one(PMPI_Allreduce);
        own[i] = one(MPI_Allreduce);
    }
    if (rank == 0) {
        const double n = median(native), o = median(own);

        printf("8-byte allreduce on %d ranks: native %.1f us, through Tutti %.1f us, ratio %.4f\n", size, n, o, o / n);
    }
    MPI_Finalize();
    return 0;
}
