/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop as the OSU micro-benchmarks time an allreduce: what `tutti bench --plain --format osu` prints is held against it
 * (run.sh). osu_loop BYTES CALLS prints the mean over ranks of each rank's mean, in us. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double mean_of(float *send, float *receive, int count, int calls)
{
    double all = 0;

    for (int i = -calls / 10; i < calls; i++) {
        const double start = MPI_Wtime();

        MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i >= 0)
            all += MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return all / calls;
}

int main(int argc, char **argv)
{
    double mean, sum;
    float *send, *receive;
    int count, calls, rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    count = argc > 2 ? atoi(argv[1]) / (int)sizeof *send : 1;
    calls = argc > 2 ? atoi(argv[2]) : 1000;
    send = calloc((size_t)count, sizeof *send);
    receive = calloc((size_t)count, sizeof *receive);
    if (!send || !receive)
        MPI_Abort(MPI_COMM_WORLD, 1);
    mean = mean_of(send, receive, count, calls);
    MPI_Reduce(&mean, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d %.3f\n", count * (int)sizeof *send, sum / size * 1e6);
    free(send);
    free(receive);
    MPI_Finalize();
    return 0;
}
