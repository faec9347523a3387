/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL communicators of this process, one for each group of ranks: who uses them, which of them have to go when there
 * are too many, and how they go. Nothing here speaks to other ranks, nor blocks. */
#ifndef TT_NCCL_GROUP_H
#define TT_NCCL_GROUP_H

#include "coll/nccl_comm.h"

/* What is told of a failure, as it is sent. */
struct tt_nccl_notice {
    int leader; /* of the group */
    uint32_t generation;
    int rank; /* of the group, who tells */
    int away;
    char why[240];
    struct tt_nccl_notice *next; /* the sender's */
};

struct tt_nccl_group {
    struct tt_nccl_use use; /* use.comm NULL: not made yet, or gone */
    uint32_t generation;    /* a number of members[0]'s, which it gives to no other */
    bool failed;            /* of no use any more, for why */
    bool told;              /* the others know */
    bool away;              /* one of them has gone on without waiting for this rank */
    char why[256];
    int rank, size;
    int *members;                  /* ranks of MPI_COMM_WORLD */
    struct tt_nccl_notice *notice; /* to be told, if need be: there must be memory for it then */

    /* nccl_group.c's */
    struct tt_nccl_group *next;
    int users, keepers; /* communicators; of these, those whose calls go without a vote */
    unsigned long used; /* the greater, the later */
    bool leaving;       /* it is being finalized, and nobody's */
    double deadline;    /* until then */
};

/* One for these members, with nothing in it, and unknown; it takes them over. NULL, and they are not, if there is no
 * memory. */
struct tt_nccl_group *tt_nccl_group_new(int *members, int size, int rank);

/* What was never added. NULL may be given. */
void tt_nccl_group_free(struct tt_nccl_group *g);

/* It is known from now on; the one for the same members is no longer found. */
void tt_nccl_group_add(struct tt_nccl_group *g);

/* The last made for these members, if it is of use, in this place; or NULL. */
struct tt_nccl_group *tt_nccl_group_find(const int *members, int size, const struct tt_place *place);

/* The one that this leader has given this number; or NULL. */
struct tt_nccl_group *tt_nccl_group_numbered(int leader, uint32_t generation);

/* Is it made, not failed, and its context as it was? No driver call, as long as nobody has come upon a later life of
 * its context. */
bool tt_nccl_group_lives(const struct tt_nccl_group *g);

/* A communicator uses it; is using it now; uses it no more: with its last user it goes. */
void tt_nccl_group_hold(struct tt_nccl_group *g);
void tt_nccl_group_touch(struct tt_nccl_group *g);
void tt_nccl_group_drop(struct tt_nccl_group *g);

/* Ends NCCL's part of one that has failed, at once. */
void tt_nccl_group_abort(struct tt_nccl_group *g);

/* Is there room for one more, or can one be given up for it? And gives that one up: the one that was used longest ago
 * of those that nobody keeps. */
bool tt_nccl_group_has_room(void);
void tt_nccl_group_make_room(void);

/* Moves on those that are leaving. */
void tt_nccl_groups_poll(void);

/* Ends all, after MPI_Finalize; waits for those that are leaving for some seconds at most. */
void tt_nccl_groups_close(void);

/* Where MPI may be called by several threads, those that enqueue and the thread of progress use what is here: each has
 * this lock meanwhile, but for waits; several times over, if need be. It keeps the order in which NCCL is given calls.
 */
void tt_nccl_lock(void);
bool tt_nccl_trylock(void);
void tt_nccl_unlock(void);

/* Seconds, of a clock that only goes forward. */
double tt_nccl_now(void);

#endif
