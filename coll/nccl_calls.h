/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of MPI as calls of NCCL. */
#ifndef TT_NCCL_CALLS_H
#define TT_NCCL_CALLS_H

#include "coll/job.h"
#include "coll/nccl_comm.h"

/* Why NCCL cannot carry out a call with such a type and op, or NULL. All ranks share it. */
const char *tt_nccl_lacks(const struct tt_job *job);

/* One call, bound. Buffers are on the GPU of use->place, or NULL where this rank has none. */
struct tt_nccl_call {
    const struct tt_nccl_use *use;
    const struct tt_job *job;
    CUstream stream; /* NCCL's own (use->stream), or one of the program's */
    char *send, *recv;
    char *spare; /* as many bytes as tt_nccl_spare says */
};

/* What the call needs besides its buffers: bytes on the GPU. In place, MPI lets a rank's result lie over what it sends,
 * which NCCL does not. */
size_t tt_nccl_spare(const struct tt_job *job);

/* Gives NCCL all that the call is; it is under way then. 0, or -1 with tt_fault() set. */
int tt_nccl_start(const struct tt_nccl_call *call);

/* Has NCCL taken all of it? 1, 0: not yet, or -1 with tt_fault() set. */
int tt_nccl_taken(const struct tt_nccl_use *use);

/* What is to follow in the same stream, once NCCL has taken all of it. 0, or -1 with tt_fault() set. */
int tt_nccl_finish(const struct tt_nccl_call *call);

#endif
