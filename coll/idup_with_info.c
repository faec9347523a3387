/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI-4's. Built where the MPI has it. */
#include "coll/idup.h"

__attribute__((visibility("default"))) int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm,
                                                                   MPI_Request *request)
{
    return tt_idup(PMPI_Comm_idup_with_info, comm, info, newcomm, request);
}
