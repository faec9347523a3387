/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI's handles of the rows of types.def and ops.def. */
#ifndef TT_TOOLS_MPI_TYPES_H
#define TT_TOOLS_MPI_TYPES_H

#include <mpi.h>

#include "cuda/cells.h"

/* A datatype of that representation on which op is defined; *ours: only Tutti knows it. 0, or -1: there is none, or Tutti
 * is not there, which would have one. */
int tool_mpi_type(enum tt_type type, enum tt_op op, MPI_Datatype *datatype, bool *ours);
MPI_Op tool_mpi_op(enum tt_op op);

#endif
