/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done before and after a call of foreign.def, for those who make wrappers of its rows. */
#ifndef TT_FOREIGN_H
#define TT_FOREIGN_H

#include <mpi.h>

#include "coll/hints.h"

/* Before: where what waits inside the MPI below moves nothing else on, whoever the call waits for meets first. On every
 * rank alike, for nobody knows who has something under way. Handles that are none are left for the MPI below to see. */
void tt_foreign_comm(MPI_Comm comm);
void tt_foreign_group(MPI_Group group, int tag);
void tt_foreign_across(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag);
void tt_foreign_win(MPI_Win win);
void tt_foreign_file(MPI_File file);

/* After: a communicator has been made, perhaps MPI_COMM_NULL. With TUTTI_REPRODUCIBLE=1 it gets its private one at
 * once, since its first call may be a nonblocking one, which cannot wait for that. */
void tt_foreign_made(MPI_Comm comm);

/* The same with hints (hints.h). If these are refused, there is no communicator. Returns an MPI error code. */
int tt_foreign_made_with(MPI_Comm *comm, MPI_Info info);

#endif
