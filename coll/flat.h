/* SPDX-License-Identifier: BSD-3-Clause */
/* Any datatype as strided runs of bytes, in the order of its type map, which is the order in which MPI packs it. */
#ifndef TT_FLAT_H
#define TT_FLAT_H

#include <mpi.h>

#include "cuda/runs.h"

/* Returns MPI_SUCCESS; or an error of the MPI below, or MPI_ERR_NO_MEM. *runs is immutable, and has one holder. */
int tt_flat_make(MPI_Datatype type, const struct tt_runs **runs);

/* A datatype may be freed while a call that uses it is under way: whoever needs the runs for longer than a datatype
 * lives, holds them. NULL is allowed. */
void tt_flat_hold(const struct tt_runs *runs);
void tt_flat_drop(const struct tt_runs *runs);

#endif
