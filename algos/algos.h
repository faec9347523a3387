/* SPDX-License-Identifier: BSD-3-Clause */
/* What an algorithm may know: a shape, a rank, and the verbs that write a plan.
 *
 * A builder is a pure function of (shape, rank): no MPI, no CUDA, no globals, no addresses. It writes
 * down, for one rank, what is sent, received, copied and reduced; everything else (running it, proving
 * it, pricing it, drawing it, staging it through pinned memory) is done to the plan by others.
 *
 * All lengths and offsets are in elements. For a reduction an element is one item of the datatype; for
 * a collective that only moves data it is a run of bytes, chosen from sizes that all ranks know, because
 * ranks may use different datatypes with equal signatures. Blocks lie one behind the other, in rank order; where the
 * user has them is not a plan's business. */
#ifndef TT_ALGOS_H
#define TT_ALGOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The collectives: one enumerator per row of collectives.def, TT_COLL_allreduce and so on. */
enum tt_coll {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) TT_COLL_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
    TT_NCOLLS,
    TT_COLL_any = TT_NCOLLS /* a row that serves every collective */
};

/* The buffers a step can name. PIN is pinned host memory, written only by the staging pass. */
enum tt_buf { SEND, RECV, TMP, PIN, TT_NBUFS };

/* A place in a buffer, in elements from its start. */
struct tt_loc {
    enum tt_buf buf;
    int64_t at;
};

/* Which ranks share a node. Nodes are numbered in the order of their lowest ranks. */
struct tt_nodes {
    int n;            /* of nodes */
    const int *of;    /* the node of each rank */
    const int *ranks; /* all ranks, node by node, in rank order within each */
    const int *first; /* n + 1: node i's are ranks[first[i]] to ranks[first[i + 1] - 1] */
    const int *nics;  /* of each node: NICs that its ranks use, which is what it has of the network */
};

/* What a rank knows about one call. Except for inplace and what is called local below, every field is the same on all
 * ranks; inplace may differ (reduce, gather, scatter: root only). What may differ must not change what goes on the
 * wire: neither the choice of the algorithm, nor who sends how much to whom in which order.
 *
 *  collective      SEND holds                    RECV holds                       count is    counts is
 *  allreduce       count                         count                            the vector
 *  reduce          count                         count, significant at root only  the vector
 *  scan            count                         count                            the vector
 *  exscan          count                         count, not written at rank 0     the vector
 *  reduce_scatter  all blocks, in rank order     own block                        a block     of all ranks, or NULL
 *  bcast           not used                      count; the data at root          the vector
 *  allgather       count                         size * count                     a block
 *  allgatherv      own block                     all blocks, in rank order        0           of all ranks
 *  gather          count                         size * count, at root only       a block
 *  gatherv         own block                     all blocks, at root only         own block   local: at root, of all
 *  scatter         size * count, at root only    count                            a block
 *  scatterv        all blocks, at root only      own block                        own block   local: at root, of all
 *  alltoall        size * count                  size * count                     a block
 *  alltoallv       a block for each rank         a block from each rank           0           local: from each rank
 *  barrier         not used                      not used                         0
 *
 * In an alltoallv the lengths of what is sent are in sends, which is local too, and NULL in place, where what goes to a
 * rank is as long as what comes from it. The two ends of a message state the same length, or the program is wrong. */
struct tt_shape {
    enum tt_coll coll; /* the family's: reduce_scatter_block is a reduce_scatter, alltoallw an alltoallv */
    int size;          /* number of ranks, p */
    int root;
    bool inplace;          /* this rank passed MPI_IN_PLACE */
    bool commutes;         /* the op is commutative (reductions only) */
    bool reproducible;     /* reductions: the result may depend on the number of ranks only (TUTTI_REPRODUCIBLE) */
    int64_t count;         /* elements, see above */
    const int64_t *counts; /* elements of each rank's block, or NULL where all have count; see above */
    const int64_t *sends;  /* alltoallv: elements of this rank's block for each rank */
    int64_t segment;       /* elements of one segment of a pipelined algorithm, at least 1 */
    size_t unit;           /* bytes of one element; 1 where blocks are local */
    const struct tt_nodes *nodes;        /* NULL: all ranks share one node, or nothing is known of it */
    const int64_t *counts_at, *sends_at; /* set for builders by tt_plan_build alone: what tt_offset() finds there */
};

struct tt_plan; /* opaque but for these two, which follow the scope: */
int tt_rank(const struct tt_plan *p);
int tt_size(const struct tt_plan *p);

/* ---- the verbs ----
 * Steps between two fences run concurrently: they must not touch each other's memory. A step of zero
 * elements is dropped, on both sides alike. Errors (out of memory, a peer out of range) stick to the plan
 * and are reported when it is sealed, so a builder need not check. */
void tt_send(struct tt_plan *p, int peer, struct tt_loc src, int64_t n);
void tt_recv(struct tt_plan *p, int peer, struct tt_loc dst, int64_t n);
void tt_copy(struct tt_plan *p, struct tt_loc dst, struct tt_loc src, int64_t n);

/* dst = a op b, in that order: a must be what stands to the left for a non-commutative op. dst may be
 * exactly a or exactly b. */
void tt_reduce(struct tt_plan *p, struct tt_loc dst, struct tt_loc a, struct tt_loc b, int64_t n);

/* All steps before it, in this lane, complete before any after it starts. */
void tt_fence(struct tt_plan *p);

/* Starts another lane. Lanes run independently and must touch disjoint memory. At most TT_MAX_LANES. */
enum { TT_MAX_LANES = 4 };
void tt_lane(struct tt_plan *p);

/* n elements of scratch, distinct from all other scratch of this plan. */
struct tt_loc tt_tmp(struct tt_plan *p, int64_t n);

/* ---- scopes ----
 * Inside a scope peers are numbered by their place in ranks[], and SEND and RECV begin at send and
 * recv: so a composition calls another algorithm's pieces as if they were alone. ranks are numbers of the
 * enclosing scope and are copied. Returns false, and enters nothing, if this rank is not a member. */
struct tt_scope {
    const int *ranks;
    int size;
    struct tt_loc send, recv; /* in terms of the enclosing scope */
};
bool tt_enter(struct tt_plan *p, const struct tt_scope *scope);
void tt_leave(struct tt_plan *p);

/* A scope of all ranks in which `first` is rank 0, the next one 1, and so on: a tree rooted anywhere is a
 * tree rooted at 0 of this scope. SEND and RECV stay. */
void tt_enter_rotated(struct tt_plan *p, int first);

/* The same without the first: false, and nothing entered, on that one. */
bool tt_enter_others(struct tt_plan *p, int first);

/* ---- arithmetic ---- */
static inline struct tt_loc tt_at(enum tt_buf buf, int64_t at)
{
    return (struct tt_loc){buf, at};
}

static inline struct tt_loc tt_plus(struct tt_loc loc, int64_t n)
{
    return (struct tt_loc){loc.buf, loc.at + n};
}

/* a modulo p, never negative. */
static inline int tt_mod(int a, int p)
{
    return (a % p + p) % p;
}

/* The largest power of two that is at most p (p >= 1). */
static inline int tt_pow2_below(int p)
{
    int k = 1;
    while (k <= p / 2)
        k *= 2;
    return k;
}

/* Where block i of n elements cut into p balanced blocks begins: no block is more than one element longer
 * than another, the longer ones first. tt_cut(n, p, p) is n. */
static inline int64_t tt_cut(int64_t n, int p, int i)
{
    return n / p * i + (i < n % p ? i : n % p);
}

/* The length of block i, and where it begins in the concatenation of all, for collectives whose shape is stated in
 * blocks; tt_offset(s, s->size) is the total. Of an alltoallv, the blocks that arrive; of a gatherv or scatterv, at the
 * root only. */
static inline int64_t tt_block(const struct tt_shape *s, int i)
{
    return s->counts ? s->counts[i] : s->count;
}
int64_t tt_offset(const struct tt_shape *s, int i);

/* The same of the blocks that leave in an alltoallv. */
int64_t tt_send_block(const struct tt_shape *s, int i);
int64_t tt_send_offset(const struct tt_shape *s, int i);

/* Bytes of the vector, or of a block; of the average one where they differ. What "message size" means everywhere. 0
 * where the lengths are local, since no decision may be made by them. */
int64_t tt_shape_bytes(const struct tt_shape *s);

/* ---- the row ---- */
enum tt_needs {
    TT_COMMUTATIVE = 1 << 0,  /* folds operands out of rank order */
    TT_POWER_OF_TWO = 1 << 1, /* of ranks */
    TT_TWO_LEVELS = 1 << 2    /* more than one node, and a node of more than one rank */
};

/* ---- what it costs ----
 * In the textbooks' terms: a message of n bytes takes alpha + n beta, reducing n bytes takes gamma n, and a rank takes
 * a little time, overhead, for each message it sends. Where many messages are under way at once they share links, so a
 * fare is stated for a pattern: who sends to whom at once, n bytes each. It is the slowest one's, of those that stay
 * within a node and of those that cross the network apart, since either may be: see tt_takes in costs.h, where the
 * arithmetic of the formulas is. Seconds, and seconds per byte. */
struct tt_fare {
    double alpha, beta;
};
struct tt_fares {
    bool any;                 /* message */
    struct tt_fare near, far; /* within nodes, across the network; zero where no message is */
    double crossing;          /* how much of the messages is across: 0 to 1 */
};

/* Where pairs of ranks fold (pieces.h) ranks do not keep step: who stands for a pair begins later, and whoever meets
 * one goes on later. Ranks that have met the same so far, by the same links, are of a kind; before the first step,
 * those who stand for a pair within a node, or across, and those who stand for themselves. In a step ranks of two kinds
 * meet, and become one kind, whose number is the meeting's. There are few: only who shares links with whom tells kinds
 * apart. */
enum { TT_PAIR_NEAR, TT_PAIR_FAR, TT_SINGLE, TT_FIRST_KINDS, TT_MOST_KINDS = 32 };
struct tt_crowd {
    double beta, share; /* if all are as long; and in terms of a block */
};
struct tt_meeting {
    unsigned char of[2];
    bool any;             /* message; else ranks of the one kind wait */
    int meet;             /* how many there are of it */
    bool first;           /* among them is who is left with the first parts */
    unsigned pairs;       /* 1 << kind: among them are such pairs */
    struct tt_fare fare;  /* if all of the step are as long */
    double blocks, share; /* where parts are blocks (tt_part): of how many blocks the longer message is; and how long
                             all that share its links take, in terms of a block through one port */
    struct tt_crowd own;  /* fare.beta and share of those alone that stand for pairs, if these do */
    struct tt_crowd next; /* and what others add that are a step ahead */
    double home;          /* beta where pairs unfold in the end, if those alone do who met as far away last */
};
struct tt_meetings {
    int n;
    bool in_turns; /* only those of them share links that begin together */
    const struct tt_meeting *of;
};

/* In which order ranks that stay meet, by the bits of their numbers, and what they then send: halves of what they
 * share, near or far first (pieces.h), or all that they have, near first. */
enum tt_folded { TT_HALVES_NEAR, TT_HALVES_FAR, TT_DOUBLES_NEAR, TT_FOLDED };

/* The port that most of a pattern's messages go through, in whatever step: how many steps there are before it is used,
 * and the fare of all its messages, n bytes each. */
struct tt_busiest {
    int after;
    struct tt_fare fare;
};

/* Ranks are told apart by up to so many bits. */
enum { TT_MAX_BITS = 24 };

/* Nodes that are alike: how many there are of them, ranks on each, and NICs that these use. Where nodes own parts of a
 * vector by their NICs (levels.h): how much of it one owns, and how much all those do not that have more ranks. */
struct tt_node_class {
    int nodes, ranks, nics;
    double owned, left;
};

/* The links between the ranks of a scope, as the closed forms see them. A formula reads at most O(log p) of it. */
struct tt_net {
    int size;                           /* p */
    struct tt_fares shift[TT_MAX_BITS]; /* every rank sends to the rank 2^k further on, around */
    struct tt_fares both;               /* every rank sends to the next and to the one before, around */
    struct tt_fares
        climb[TT_MAX_BITS]; /* groups of 2^k send to the next group, which sends back if there is one more */
    struct tt_fares fold;   /* the ranks that sit out in folding send to their partners */
    double ahead[TT_FOLDED]
                [2]; /* more of beta, where pairs fold, by those who are in the first step: TT_PAIR_NEAR, _FAR */
    const double (
        *turned)[2]; /* by pair across: beta if it folds the other way, and with what is ahead, halves near first */
    struct tt_meetings folded[TT_FOLDED][TT_MAX_BITS]; /* those that stay swap with who differs in bit k */
    struct tt_meetings merge[TT_MAX_BITS];             /* of the groups that merge at level k (pieces.h) the one's
                                                          first rank sends to the other's; all begin as singles */
    struct tt_fares halves[TT_MAX_BITS]; /* of those that stay, 2^k to 2^(k+1) - 1 send to those 2^k below */
    struct tt_fares reverse;             /* who stays sends to whose number has its binary digits in reverse */
    struct tt_fares tree[TT_MAX_BITS];   /* every multiple of 2^(k+1) sends to the rank 2^k further on */
    struct tt_fares subtrees; /* of all of those, a block for each rank behind them: beta n for them together */
    struct tt_fares gathered[TT_MAX_BITS]; /* the other way, where it has 2^k ranks behind it, or there is no other */
    struct tt_fares served[TT_MAX_BITS];   /* the same where each sends as soon as it was sent to and k is not larger */
    struct tt_busiest serving;             /* and the busiest port of all of that */
    struct tt_fares pair, pair_pure; /* ranks r and k - r (modulo p) exchange: sums over k, divided by p, of the steps
                                        in which some stay within a node and some do not; and of the others */
    struct tt_fares all;             /* every rank sends n bytes to every other: beta n for all of them together */
    struct tt_fares alone;           /* one message, nothing else being under way */
    const struct tt_fares *one;      /* by node of a root: all others send n bytes to it, or it to them: likewise */
    const int *node;                 /* of each rank */
    double gamma;                    /* to reduce a byte, two operands into one */
    double copy;                     /* to copy a byte */
    double launch;                   /* to start a reduction or a copy; 0 for the host's */
    double overhead;                 /* of a message, at its sender */
    const struct tt_net *within;     /* two levels: the ranks of the largest node; NULL where there is one node */
    const struct tt_net *across;     /* one rank of each node, as many at a time as the smallest node has ranks */
    int rails;                       /* which is so many */
    int classes;                     /* two levels: of nodes */
    const struct tt_node_class *class;
    const int *class_of; /* each node */
};

/* Who carries out a call: we do, by the plan that build writes, or somebody else's library. */
enum tt_delegate { TT_OWN, TT_TO_MPI, TT_TO_NCCL };

struct tt_alg {
    enum tt_coll coll;
    const char *name;    /* as in TUTTI_ALLREDUCE=name */
    const char *summary; /* one line: how it works and what it costs, in alpha, beta, gamma, p, n */
    unsigned needs;      /* enum tt_needs */
    bool segmented;      /* it reads shape.segment, which is then a part of the choice */
    bool canonical;      /* a reduction that folds every element in the one tree that p gives (pieces.h) */
    int (*build)(struct tt_plan *p, const struct tt_shape *s); /* TT_OWN only; 0, or an errno value */
    enum tt_delegate delegate;
    double (*cost)(const struct tt_shape *s, const struct tt_net *net);  /* TT_OWN only; seconds, of the last rank */
    double (*rough)(const struct tt_shape *s, const struct tt_net *net); /* to compare segments by; NULL: by cost */
};

/* Why this algorithm cannot serve this shape, as words that continue "because ...", or NULL if it can.
 * Depends on shared facts only. */
const char *tt_infeasible(const struct tt_alg *alg, const struct tt_shape *s);

/* A row. The file of TT_ALGORITHM(coll, name, ...) is algos/coll_name.c, and its line in Makefile.am is all
 * that registers it. */
#define TT_ALGORITHM(coll_id, alg_name, ...)                                                                           \
    const struct tt_alg tt_alg_##coll_id##_##alg_name = {.coll = TT_COLL_##coll_id, .name = #alg_name, __VA_ARGS__}

/* Every algorithm, in the order of Makefile.am, NULL-terminated. */
extern const struct tt_alg *const tt_algs[];

#endif
