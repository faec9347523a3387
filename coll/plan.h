/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan: what one rank does in one collective, as data. Written by the verbs of algos.h, sealed once,
 * then only read: by the executor, the prover, the drawing and the passes. */
#ifndef TT_PLAN_H
#define TT_PLAN_H

#include <stdatomic.h>

#include "algos/algos.h"
#include "cuda/cells.h"

/* The verbs of algos.h, and what only tt_pass_fuse writes: a receive and the reduction of what it brings, in one. */
enum tt_verb { TT_SEND, TT_RECV, TT_RECV_REDUCE, TT_COPY, TT_REDUCE, TT_FENCE, TT_NVERBS };

/* One step. Unused places are {SEND, 0}. */
struct tt_step {
    enum tt_verb verb;
    int peer;           /* messages: rank in the communicator */
    struct tt_loc dst;  /* all but send */
    struct tt_loc a, b; /* send, copy: a. reduce, recv_reduce: dst = a op b */
    int64_t n;          /* elements */
    int message;        /* messages: ordinal among this lane's messages to or from peer; the two sides agree */
    int part;           /* messages: which part of that one, once tt_pass_split has cut it */
    int lands;          /* recv_reduce: 0, it is a that arrives, or 1, b: its place is room for what a wire cannot
                           reduce as it comes, holds nothing before, and afterwards too unless it is dst */
    int more, rest;     /* reduce: sources after a and b, rest[...] of the plan */
    unsigned order;     /* reduce, recv_reduce: how sources become one (cuda/cells.h) */
    bool after;         /* reduce: begins when all receives of its round have arrived, whose places it may read */
    int onward;         /* receives: that step, the first send of the lane's next round, sends what this one makes, all
                           of it and nothing else; 0: it does not, or that is too short to gain by it */
    bool lends;         /* recv: one such reduction reads all of what arrives, and nobody else reads any: it need not be
                           put anywhere, and then its sender has to wait until it has been read */
};

/* A lane is steps[first] ... steps[first + count - 1]; it does not end in a fence. */
struct tt_lane {
    int first, count;
};

struct tt_plan {
    int rank, size; /* of the communicator */
    enum tt_coll coll;
    const char *algorithm;
    size_t unit; /* bytes per element */
    int nlanes;
    struct tt_lane lanes[TT_MAX_LANES];
    int nsteps;
    struct tt_step *steps;
    int nrest;
    struct tt_loc *rest; /* sources of reduce steps beyond two */
    int64_t tmp, pin; /* elements of TMP and PIN it needs */
    int64_t touched;  /* elements of SEND, RECV and TMP, between the first and the last that a step reads or writes */
    int max_round;    /* the most sends and receives in one round of one lane */
    bool passes_on;   /* a step has onward set */
    bool in_segments; /* its messages are of segments that are on their way one behind the other */
    const bool *near; /* by rank: messages to and from there are neither split nor staged; NULL: all may be. Not the plan's */
    bool sealed;
    atomic_int holders; /* beyond the first: tasks that carry it out, while the cache may let go of it */
    struct tt_builder *builder; /* what only the verbs need; gone once sealed */
};

/* Builds and seals rank's plan. Returns NULL and sets errno: ENOMEM, EINVAL (the builder named a peer out of
 * range, wrote SEND, or used too many lanes: a fault of the algorithm), or what the builder returned. */
struct tt_plan *tt_plan_build(const struct tt_alg *alg, const struct tt_shape *s, int rank);
struct tt_plan *tt_plan_hold(struct tt_plan *p); /* returns p, which now takes one more tt_plan_free to go */
void tt_plan_free(struct tt_plan *p);
size_t tt_plan_bytes(const struct tt_plan *p); /* of memory that it takes; 0 of NULL */

static inline bool tt_step_receives(const struct tt_step *s)
{
    return s->verb == TT_RECV || s->verb == TT_RECV_REDUCE;
}

static inline bool tt_step_is_message(const struct tt_step *s)
{
    return s->verb == TT_SEND || tt_step_receives(s);
}

static inline bool tt_step_reduces(const struct tt_step *s)
{
    return s->verb == TT_REDUCE || s->verb == TT_RECV_REDUCE;
}

/* Where a receive puts what arrives. */
static inline struct tt_loc tt_step_landing(const struct tt_step *s)
{
    return s->verb == TT_RECV ? s->dst : s->lands ? s->b : s->a;
}

/* What a step reads where it lies: not what arrives. Returns how many. */
int tt_step_sources(const struct tt_plan *p, const struct tt_step *s, struct tt_loc out[TT_MAX_SOURCES]);

/* For passes, which write steps without the verbs. Like: a plan that says the same, with or without the steps; NULL
 * with errno ENOMEM. Append: one more step, *capacity being how many there is room for; false if out of memory.
 * Measure: sets max_round, touched and onward from the steps. */
struct tt_plan *tt_plan_like(const struct tt_plan *from, bool steps);
bool tt_plan_append(struct tt_plan *p, int *capacity, struct tt_step step);
void tt_plan_measure(struct tt_plan *p);

/* One past the last step of the round that begins at i; end is one past the lane's last. */
int tt_round_end(const struct tt_plan *p, int i, int end);

/* What the standard says of a collective's arguments: the traits column of the rows. */
enum tt_trait {
    TT_REDUCES = 1 << 0,
    TT_ROOTED = 1 << 1,
    TT_INPLACE_ALL = 1 << 2,  /* MPI_IN_PLACE at all ranks or none */
    TT_INPLACE_ROOT = 1 << 3, /* MPI_IN_PLACE at the root only */
    TT_SEND_BLOCKS = 1 << 4,  /* the send buffer holds a block for each rank */
    TT_RECV_BLOCKS = 1 << 5,
    TT_SEND_AT_ROOT = 1 << 6, /* the send arguments are significant at the root only */
    TT_RECV_AT_ROOT = 1 << 7,
    TT_ONE_BUFFER = 1 << 8, /* bcast: what is sent at the root is received elsewhere */
    TT_COUNTS = 1 << 9,     /* a count for each rank's block, which follow each other */
    TT_NO_BUFFER = 1 << 10,
    TT_SEND_COUNTS = 1 << 11, /* a count and a displacement for each block of the send buffer */
    TT_RECV_COUNTS = 1 << 12,
    TT_TYPES = 1 << 13,          /* a datatype for each block too; displacements are bytes, not extents */
    TT_WIDE_DISPLS = 1 << 14,    /* displacements are MPI_Aint even if counts are int */
    TT_NEIGHBOURS = 1 << 15,     /* blocks are for the neighbours in the communicator's topology, not for all ranks */
    TT_RECV_NOT_FIRST = 1 << 16  /* exscan: rank 0 receives nothing */
};

/* The collective's traits, names and family, from the rows. */
unsigned tt_coll_traits(enum tt_coll coll);  /* 0 for TT_COLL_any */
const char *tt_coll_name(enum tt_coll coll); /* "reduce_scatter" */
enum tt_coll tt_coll_family(enum tt_coll coll);
bool tt_coll_lengths_local(enum tt_coll coll); /* a rank knows the lengths of its own blocks only: no size to speak of */
enum tt_coll tt_coll_find(const char *name, size_t length); /* TT_NCOLLS if there is none */
const char *tt_verb_name(enum tt_verb verb);
const char *tt_buf_name(enum tt_buf buf);

/* The algorithm of that name for that collective (its family's), or NULL. */
const struct tt_alg *tt_alg_find(enum tt_coll coll, const char *name, size_t length);

/* True if alg serves coll (or its family). */
bool tt_alg_serves(const struct tt_alg *alg, enum tt_coll coll);

/* ---- passes: a new plan from a sealed one; NULL with errno ENOMEM. In this order ---- */

/* Joins what the verbs keep apart, where nothing else can tell the difference: reductions one after another into one of
 * up to most sources (2: none), and a receive with the reduction of what it brings. What passes between ranks is
 * unchanged, and so is every bit of the result. */
struct tt_plan *tt_pass_fuse(const struct tt_plan *p, int most);

/* Cuts every message longer than max elements into parts. The cut depends on shared facts alone, so the two
 * sides agree whatever their memory is; parts of one round stay in that round. */
struct tt_plan *tt_pass_split(const struct tt_plan *p, int64_t max);

/* Routes sends and receives that name a buffer in device_bufs (bit 1 << enum tt_buf) through PIN, two slots per
 * message: part k+1 is copied down while part k is on the wire, and part k-1 is copied up.
 * What passes between ranks is unchanged. */
struct tt_plan *tt_pass_stage(const struct tt_plan *p, unsigned device_bufs);

/* Totals of a plan, for explain and for tests that assert cost. */
struct tt_totals {
    int rounds;              /* of the longest lane */
    int messages;            /* sent */
    int64_t sent, received;  /* elements */
    int64_t copied, reduced; /* elements; one operand of a reduction counted once */
    int reductions;          /* reduce steps, and receives that reduce */
};
struct tt_totals tt_plan_totals(const struct tt_plan *p);

#endif
