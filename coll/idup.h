/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_idup and its like. */
#ifndef TT_IDUP_H
#define TT_IDUP_H

#include <mpi.h>

/* The MPI's way to make a copy; info may mean nothing to it. */
typedef int tt_idup_way(MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request);

/* Does it, and under TUTTI_CHECK makes what checks need of the copy beside it. */
int tt_idup(tt_idup_way *way, MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request);

#endif
