/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of NCCL communicators: one for a group of ranks, made by all of them together when a vote asks for it, gone
 * with the communicator. */
#ifndef TT_NCCL_COMM_H
#define TT_NCCL_COMM_H

#include "coll/comm.h"
#include "cuda/dev.h"
#include "cuda/nccl.h"

/* What a rank says of itself in a vote. */
enum {
    TT_NCCL_CAN = 1 << 0, /* libnccl is there, and a GPU that this rank works on; nothing of it has failed here */
    TT_NCCL_HAVE = 1 << 1 /* the NCCL communicator is alive here */
};

/* *generation, if that is not NULL, tells apart the communicators that there have been: of all ranks the same where they
 * have the same one. */
unsigned tt_nccl_standing(struct tt_comm *c, uint32_t *generation);

/* Makes it. Collective, once all have said that they can and not all that they have: polls, all that is under way moving
 * on meanwhile. 0 on all ranks; TT_NCCL_NOT_MADE on all, tt_nccl_why_not then telling why; or -1 with tt_fault() set: no
 * agreement in time, since a rank is gone. */
enum { TT_NCCL_NOT_MADE = 1 };
int tt_nccl_make(struct tt_comm *c);

/* What a call by NCCL uses. */
struct tt_nccl_use {
    const struct tt_nccl *nccl;
    ncclComm_t comm;
    CUstream stream;        /* its own */
    struct tt_place *place; /* of its GPU */
};
const struct tt_nccl_use *tt_nccl_get(struct tt_comm *c); /* NULL with tt_fault() set: it failed since the vote */

/* Is never evicted from now on: calls go without a vote. On all ranks alike. */
void tt_nccl_keep(struct tt_comm *c);

/* While a call is under way: 0, or -1 with tt_fault() set if NCCL has failed here or another rank has said that it has
 * there. */
int tt_nccl_check(struct tt_comm *c);

/* It has failed here: ends it, tells the others, and what this rank says in the next vote rules it out for all. */
void tt_nccl_fail(struct tt_comm *c, const char *why);

/* Why there is none on this communicator and will be none, as all ranks know; or NULL. */
const char *tt_nccl_why_not(const struct tt_comm *c);

void tt_nccl_drop(struct tt_comm *c);

#endif
