/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients in buckets, as the files that make up tutti_buckets share them. A step: tensors become ready, in any order;
 * a bucket starts when all its tensors are ready and all buckets before it have started, so that all ranks start them
 * in the same order, whatever the order of their gradients. */
#ifndef TT_BUCKETS_H
#define TT_BUCKETS_H

#include "coll/comm.h"
#include "coll/job.h"
#include "coll/tutti.h"

struct tt_tensor {
    char *name;
    char *at;
    int64_t count;
    struct tt_mem mem;
    bool ready; /* in this step */
    int turn;   /* of this place in the order of the step: which tensor became ready then */
};

/* Tensors that follow each other. */
struct tt_bucket {
    int first, n;
    int64_t count; /* elements of all of them */
    char *at;      /* where they lie one behind the other: room of ours, or, where is_direct, the tensors themselves */
    bool is_direct;
    int unready; /* tensors, in this step */
    bool is_over;
    MPI_Request request;
    int *counts; /* TUTTI_SHARDS: of each rank's block */
};

enum { TT_MAX_SIZES = 8, TT_STEPS_PER_TURN = 2, TT_TURNS = 2 };

/* What a measured size has shown: the step's time on the slowest rank, the least of several steps. */
struct tt_size_tried {
    int64_t bytes;
    int64_t ns; /* 0: not yet */
};

struct tutti_buckets {
    MPI_Comm user, comm; /* the program's, for errors; and our own */
    int rank, size;      /* of it */
    MPI_Datatype type;
    MPI_Op op;
    enum tutti_share share;
    size_t unit;
    int64_t asked;     /* bytes of a bucket, or TUTTI_BUCKET_... */
    int64_t wanted;    /* bytes of a bucket from the next step on */
    const char *chose; /* who says so */
    struct tt_tensor *tensors;
    int ntensors, room;
    struct tt_bucket *buckets;
    int nbuckets, nstarted;
    int *counts;   /* of all buckets */
    int64_t bytes; /* of all tensors */
    char *flat;    /* room for all tensors, at: */
    struct tt_place *place;
    bool is_committed, in_step;
    int error;        /* of this step: the first that a start returned */
    int64_t begun;    /* this step, ns */
    int64_t last_ns;  /* the step before, on this rank */
    int next;         /* the tensor that is ready next if all goes in order */
    int out_of_order; /* tensors that were not */
    int nready;       /* in this step */
    int differed;     /* steps in which the ranks' orders were not the same */
    char order[256];  /* the first such, in words; the same on all ranks */
    int nsteps;       /* that have ended */
    struct tt_size_tried tried[TT_MAX_SIZES];
    int ntried;
    struct tutti_overlap overlap;
};

/* Room for what is said of a failure. */
enum { TT_WORDS = 320 };

/* ---- buckets_layout.c: which tensors are in which bucket, and where ---- */

/* Looks where the tensors are, and takes room for them and for buckets of b->wanted bytes or more. 0, or -1 with why.
 */
int tt_buckets_place(struct tutti_buckets *b, char *why, size_t size);

/* Makes buckets of b->wanted bytes. */
void tt_buckets_cut(struct tutti_buckets *b);

/* Copies a ready tensor into its bucket, or, of a bucket that is over, the results out; on a GPU that only begins. */
int tt_bucket_fill(struct tutti_buckets *b, const struct tt_bucket *bucket, int tensor);
int tt_bucket_empty(struct tutti_buckets *b, const struct tt_bucket *bucket);

/* Waits until the copies begun so far are over. 0, or -1 with tt_fault(). */
int tt_buckets_settle(struct tutti_buckets *b);

/* ---- buckets_size.c: how large they are ---- */

/* Sets b->wanted to what was asked for, or what the model says. state: of b->comm, or NULL. */
void tt_buckets_size(struct tutti_buckets *b, struct tt_comm *state);

/* Of TUTTI_BUCKET_MEASURE: sets the sizes to be tried, about b->wanted, and that to the least of them. */
void tt_buckets_try(struct tutti_buckets *b);

/* After a step; slowest: the step before, in ns, on the slowest rank. Sets b->wanted, alike on all ranks. */
void tt_buckets_learn(struct tutti_buckets *b, int64_t slowest);

/* ---- buckets_agree.c: what ranks tell each other; by calls of Tutti's own, so that all that is under way moves ----
 */

/* That all have the same tensors and were asked for the same; b->wanted is then the same too. 0; or -1, on all ranks,
 * with why. */
int tt_buckets_agree(struct tutti_buckets *b, char *why, size_t size);

/* That no rank has failed by itself: fault, or NULL. Likewise. */
int tt_buckets_agree_on_fault(struct tutti_buckets *b, const char *fault, char *why, size_t size);

/* The end of a step: begun before the buckets are waited for, and waited for after them. Not ready: how many tensors,
 * and the first. */
struct tt_step_end {
    int64_t mine[4], all[4];
    MPI_Request request;
};
int tt_step_end_start(struct tutti_buckets *b, struct tt_step_end *e, int unready, int first);

/* 0; or -1, on all ranks, with why. *slowest: what last_ns is at most, over all ranks. */
int tt_step_end_wait(struct tutti_buckets *b, struct tt_step_end *e, int64_t *slowest, char *why, size_t size);

/* After that, if it was 0: did tensors become ready in the same order on all ranks? Counted, and the first time that
 * they did not it is found out which was the first, and said. All ranks do the same. */
void tt_step_end_compare_order(struct tutti_buckets *b, const struct tt_step_end *e);

#endif
