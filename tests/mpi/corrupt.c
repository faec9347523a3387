/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload that stands between a program and Tutti and spoils results: one bit of one element of every allreduce of more
 * than 16 elements, on rank 1. The bench must find it; what goes past it, to the MPI below, is right. */
#include <dlfcn.h>
#include <mpi.h>

int MPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    static int (*real)(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
    int rank, error;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "MPI_Allreduce");
    error = real(send, receive, count, type, op, comm);
    MPI_Comm_rank(comm, &rank);
    if (error == MPI_SUCCESS && rank == 1 && count > 16)
        ((unsigned char *)receive)[4 * (count - 1)] ^= 1;
    return error;
}
