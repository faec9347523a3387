/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload in front of Tutti, as tools are: it has MPI_Init and one collective, and passes both on as PMPI_. */
#include <mpi.h>

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

int MPI_Exscan(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Exscan(send, receive, count, type, op, comm);
}
