/* SPDX-License-Identifier: BSD-3-Clause */
/* How ranks learn that an NCCL communicator has failed on another: NCCL itself may let them wait for ever. */
#ifndef TT_NCCL_NOTICE_H
#define TT_NCCL_NOTICE_H

#include "coll/nccl_group.h"

/* Can ranks of this MPI_COMM_WORLD be told anything? The same on all of them. */
bool tt_nccl_notice_serves(void);

/* From now on what others tell is heard. */
void tt_nccl_notice_open(void);

/* Tells the others of g why it has failed here, unless they know. away: this rank waits for them no more, nor should they
 * for it. */
void tt_nccl_notice_tell(struct tt_nccl_group *g, const char *why, bool away);

/* Takes in what others have told: marks groups as failed. */
void tt_nccl_notice_hear(void);

/* c is about to go: if it is that by which notices come, there will be no more. */
void tt_nccl_notice_drop(const struct tt_comm *c);
void tt_nccl_notice_close(void);

#endif
