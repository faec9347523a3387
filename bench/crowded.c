/* SPDX-License-Identifier: BSD-3-Clause */
/* What waiting costs when ranks outnumber cores: 8-byte MPI_Allreduce by Tutti, which yields the core between polls,
 * against the MPI below on its own, which may spin. The two take turns in short batches on the same buffers; the median
 * batch of rank 0, in microseconds per call.
 *
 * tutti run -- mpiexec -n 4 bench/crowded */
#include <mpi.h>
#include <stdio.h>

#include "bench/median.h"

enum { BATCHES = 21, CALLS = 25 };

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

/* us per call */
static double batch(allreduce *call)
{
    double in = 1, out, start;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++)
        call(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return (MPI_Wtime() - start) / CALLS * 1e6;
}

int main(int argc, char **argv)
{
    static double native[BATCHES], own[BATCHES];
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < BATCHES; i++) {
        native[i] = batch(PMPI_Allreduce);
        own[i] = batch(MPI_Allreduce);
    }
    if (rank == 0) {
        const double n = median(native, BATCHES), o = median(own, BATCHES);

        printf("8-byte allreduce on %d ranks: native %.1f us, through Tutti %.1f us, ratio %.4f\n", size, n, o, o / n);
    }
    MPI_Finalize();
    return 0;
}
