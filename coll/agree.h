/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks tell each other in one small allreduce before they go on, so that none goes on alone. */
#ifndef TT_AGREE_H
#define TT_AGREE_H

#include <mpi.h>
#include <stdbool.h>

/* Has every rank of comm what this one is asked about? Collective. */
bool tt_all_have(MPI_Comm comm, bool mine);

/* The lowest rank of comm of which it is true; the size of comm if there is none. Collective. */
int tt_first_rank(MPI_Comm comm, bool mine);

#endif
