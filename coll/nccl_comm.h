/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of NCCL communicators: one for a group of ranks, shared by all MPI communicators with these ranks in this
 * order, made by all of them together when a vote asks for it, gone with the last of them. None across several
 * MPI_COMM_WORLDs. Where MPI may be called by several threads at once only tutti_comm_prepare makes them, for calls in
 * streams (enqueue_nccl.c): then those functions that say so, and all that calls in streams use, are for any thread.
 *
 * Nobody is left waiting: whoever fails tells the others (nccl_notice.h), all that waits has a deadline,
 * TUTTI_NCCL_TIMEOUT, and a failure is an error or a fall-back on all ranks. */
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

/* Any thread. *generation, if that is not NULL, tells apart the communicators that there have been: of all ranks the
 * same where they have the same one. No driver call where there is one. */
unsigned tt_nccl_standing(struct tt_comm *c, uint32_t *generation);

/* What this rank lacks to use any, in words; or NULL: nothing. */
const char *tt_nccl_lacking(void);

/* Makes it. Collective, once all have said that they can and not all that they have: polls, all that is under way
 * moving on meanwhile. 0 on all ranks; or TT_NCCL_NOT_MADE on all, which then go on without (tt_nccl_why_not tells why,
 * unless it is worth another try later); or -1 with tt_fault() set: no word of the others came in time, and nothing
 * that needs them can be expected to end. */
enum { TT_NCCL_NOT_MADE = 1 };
int tt_nccl_make(struct tt_comm *c);

/* What a call by NCCL uses. */
struct tt_nccl_use {
    const struct tt_nccl *nccl;
    ncclComm_t comm;
    CUstream stream;        /* its own */
    struct tt_place *place; /* of its GPU */
};

/* NULL with tt_fault() set: it has failed since it was voted on, as a notice says, or with its context; tt_nccl_fail is
 * due. */
const struct tt_nccl_use *tt_nccl_get(struct tt_comm *c);

/* Calls on c go without a vote from now on: what it has is not given up for others. The same on all ranks. */
void tt_nccl_keep(struct tt_comm *c);

/* While a call is under way: 0, or -1 with tt_fault() set if NCCL has failed here or another rank has said that it has
 * there. */
int tt_nccl_check(struct tt_comm *c);

/* It has failed here: ends it, tells the others, and what this rank says in the next vote rules it out for all. */
void tt_nccl_fail(struct tt_comm *c, const char *why);

/* There will be none on c: all ranks know that, and why. */
void tt_nccl_rule_out(struct tt_comm *c, const char *why);

/* Why there is none on this communicator and will be none, as all ranks know; or NULL. */
const char *tt_nccl_why_not(const struct tt_comm *c);

/* Has what tt_nccl_make would make, if all ranks can: for tutti_comm_prepare. Collective. As tt_nccl_make. */
int tt_nccl_prepare(struct tt_comm *c);

/* c is gone. Any thread. */
void tt_nccl_drop(struct tt_comm *c);

/* Ends all that is left, after MPI_Finalize, waiting for some seconds at most. Contexts may be gone already. */
void tt_nccl_close(void);

#endif
