/* SPDX-License-Identifier: BSD-3-Clause */
/* How ranks come to the same answer on what they do not share: are all their buffers on GPUs, and is NCCL at hand? One
 * small allreduce at the start of a blocking call, and none where the answer is no matter, where the user has asserted it,
 * or where it has been no so often that asking does not pay. */
#ifndef TT_VOTE_H
#define TT_VOTE_H

#include "coll/job.h"

struct tt_verdict {
    bool on_gpus; /* all buffers are */
    bool ready;   /* NCCL can be used on this communicator, and all ranks have it */
};

/* Would a call be NCCL's, if it can be had? */
struct tt_wanted {
    bool anywhere; /* whether its buffers are on GPUs or not */
    bool on_gpus;  /* if all are */
};

/* Collective over the job's communicator, by polling. Where every rank can use NCCL and one does not have it yet, it is
 * made if the verdict would be to use it: wanted says so, of buffers that are all on GPUs, and of any (NCCL was named,
 * so that who has host memory stages); equal on all ranks. able: nothing has failed on this rank. 0, or -1: a rank is
 * gone, or the MPI below has failed; tt_fault() says which. */
int tt_vote(const struct tt_job *job, bool able, const struct tt_wanted *wanted, struct tt_verdict *verdict);

/* May this call go without asking the others, since it is known what they would say? Then *verdict is that. Depends on
 * what all ranks share, but for memory that TUTTI_UNIFORM=1 says is alike. */
bool tt_vote_is_known(const struct tt_job *job, const struct tt_wanted *wanted, struct tt_verdict *verdict);

/* Is it rather not asked this time, because it has been no so often? The same on all ranks. */
bool tt_vote_rests(struct tt_comm *c);

/* Are the user's own assertions to be relied on in this call? */
bool tt_vote_is_asserted(const struct tt_job *job);

#endif
