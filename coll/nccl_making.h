/* SPDX-License-Identifier: BSD-3-Clause */
/* The making of one NCCL communicator by its ranks. */
#ifndef TT_NCCL_MAKING_H
#define TT_NCCL_MAKING_H

#include "coll/nccl_group.h"

struct tt_nccl_making;

/* All the memory that it needs, for c's ranks. NULL if there is not so much, or if they are not all of this process's
 * MPI_COMM_WORLD. */
struct tt_nccl_making *tt_nccl_making_new(const struct tt_comm *c);

/* c's ranks as MPI_COMM_WORLD's. */
const int *tt_nccl_making_members(const struct tt_nccl_making *m);

/* Makes it, on the GPU that this thread works on. 0 with *made, which is held; TT_NCCL_NOT_MADE, with why (of size bytes) filled unless
 * another try may be worth it; -1 with why filled. See tt_nccl_make. */
int tt_nccl_making_run(struct tt_nccl_making *m, struct tt_nccl_group **made, char *why, size_t size);

/* NULL may be given. What MPI may still write to stays. */
void tt_nccl_making_free(struct tt_nccl_making *m);

#endif
