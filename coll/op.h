/* SPDX-License-Identifier: BSD-3-Clause */
/* Ops that a persistent call will need again: MPI lets the user free one as soon as the call has been initialised. */
#ifndef TT_OP_H
#define TT_OP_H

#include <mpi.h>

/* The op stays until it has been released as often as it was held, whatever the user frees. 0, or -1 if out of memory.
 * Predefined ops, and MPI_OP_NULL, need no holding and are let through. */
int tt_op_hold(MPI_Op op);
void tt_op_release(MPI_Op op);

#endif
