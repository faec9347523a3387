/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that has nothing to do with CUDA: Tutti must not load the driver into it, whatever it calls. Not linked
 * with the harness, which has to do with CUDA. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    double mine = 1, sum = 0, all[64];
    int p, rank, failures = 0, total = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &p);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&mine, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Allgather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (sum != p && ++failures)
        fprintf(stderr, "FAIL rank %d: expected the sum %d, got %g\n", rank, p, sum);
    if (!dlsym(RTLD_DEFAULT, "tutti_version") && ++failures)
        fprintf(stderr, "FAIL rank %d: Tutti is not in this process\n", rank);
    if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) && ++failures)
        fprintf(stderr, "FAIL rank %d: the CUDA driver was loaded into a process that does not use it\n", rank);
    PMPI_Reduce(&failures, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("nocuda: %d ranks\n%d%%: Checks: %d, Failures: %d, Errors: 0\n", p, 100 - 100 * total / (3 * p), 3 * p,
               total);
    MPI_Finalize();
    return failures != 0;
}
