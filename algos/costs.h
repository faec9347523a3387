/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic that the formulas have in common. Bytes are double: nothing overflows, and halves are halves. */
#ifndef TT_COSTS_H
#define TT_COSTS_H

#include "algos/pieces.h"

static inline double tt_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double tt_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* A message of n bytes, all of its pattern being under way: alpha + n beta of who takes longest, with the sender's
 * overhead. Nothing for no bytes, as no message is sent then. */
static inline double tt_takes(const struct tt_net *net, const struct tt_fares *f, double n)
{
    const double near = f->near.alpha + n * f->near.beta, far = f->far.alpha + n * f->far.beta;

    return n > 0 && f->any ? net->overhead + tt_larger(near, far) : 0;
}

/* The same on average over the pattern's messages: what counts where one waits for the other, in a chain. */
static inline double tt_hop(const struct tt_net *net, const struct tt_fares *f, double n)
{
    const double near = f->near.alpha + n * f->near.beta, far = f->far.alpha + n * f->far.beta;

    return n > 0 && f->any ? net->overhead + near + f->crossing * (far - near) : 0;
}

/* The same fares where ranks are out of step: so much of alpha is over while others use the link. */
static inline struct tt_fares tt_out_of_step(const struct tt_net *net, const struct tt_fares *f, double n, double over)
{
    const double near = n * (f->near.beta - net->alone.near.beta), far = n * (f->far.beta - net->alone.far.beta);
    struct tt_fares g = *f;

    g.near.alpha -= over * tt_smaller(f->near.alpha, near > 0 ? near : 0);
    g.far.alpha -= over * tt_smaller(f->far.alpha, far > 0 ? far : 0);
    return g;
}

/* Steps of a ring in which so many blocks go round. In each step the slowest hop that a block is at decides; but a
 * block waits for a slow hop as often only as there are others before it. */
static inline double tt_rounds(const struct tt_net *net, const struct tt_fares *f, double n, int steps, int64_t blocks)
{
    const int waits = blocks > steps ? steps : blocks > 0 ? (int)blocks - 1 : 0;

    return waits * tt_takes(net, f, n) + (steps - waits) * tt_hop(net, f, n);
}

/* How many share a link. */
static inline double tt_sharing(const struct tt_fare *one, const struct tt_fare *all)
{
    return one->beta > 0 ? all->beta / one->beta : 1;
}

/* A hop of a chain down which segments of n bytes go, each rank being so many rounds behind the one before it: on
 * average over hops, and the slowest. While few ranks have something to send they share few links, so a message takes
 * as much longer than alone, as when all are at work, as part of them is. */
struct tt_chain {
    double mean, near, slowest;
};

static inline double tt_chain_line(const struct tt_fare *one, double full, double n, double hops, double segments,
                                   double delay, bool neighbours)
{
    const double busy = segments < hops * delay ? segments / delay : hops, rounds = (hops - 1) * delay + segments;
    const double spread = full * busy / (hops + 1), load = neighbours ? (tt_smaller(busy, full) + spread) / 2 : spread;
    const double slow = load > 1 ? (double)(int64_t)(load + 0.99) : 1;         /* whole messages */
    const double ramp = slow / 2, filling = 2 * busy * delay * (1 - 1 / slow); /* 1, 2, .. slow - 1 of them */
    const double ramps = filling < rounds ? filling : rounds;

    const double share = n * one->beta * (ramps * ramp + (rounds - ramps) * slow) / rounds;

    return one->alpha + share;
}

/* Of the hops of a chain, those across: of the ring's, but for the one that the ring has more. */
static inline double tt_hops_across(const struct tt_net *net)
{
    return net->shift[0].crossing * net->size - (net->node[net->size - 1] != net->node[0]);
}

static inline struct tt_chain tt_chain_cost(const struct tt_net *net, double n, double hops, double segments,
                                            double delay, double adds)
{
    const struct tt_fares *f = &net->shift[0], *alone = &net->alone;
    const double across = tt_hops_across(net) / hops;
    const double leaving = net->across ? f->crossing * net->size / net->across->size : 1; /* a node, on average */
    const double far = tt_chain_line(&alone->far, tt_smaller(leaving, tt_sharing(&alone->far, &f->far)), n, hops,
                                     segments, delay, false);
    const double full = tt_sharing(&alone->near, &f->near), pace = tt_larger(across > 0 ? far : 0, adds);
    const double ready = tt_chain_line(&alone->near, full, n, hops, segments, delay, true);
    /* where ranks wait for slow hops, or add, most of the time, they share links in the rest */
    const double busy = ready < pace ? (alone->near.alpha + n * alone->near.beta) / pace : 1;
    const double near = tt_chain_line(&alone->near, tt_larger(busy * full, 1), n, hops, segments, delay, true);
    const double slowest =
        tt_larger(f->near.alpha + f->near.beta > 0 ? near : 0, f->far.alpha + f->far.beta > 0 ? far : 0);

    return (struct tt_chain){net->overhead + near + across * (far - near), net->overhead + near,
                             net->overhead + slowest};
}

/* So many messages of n bytes each through one port, posted one after the other among others, which takes so long all
 * together: alpha, then what takes longer, posting them or carrying them. beta is one message's. */
static inline double tt_posted(const struct tt_fare *f, double n, double messages, double posting)
{
    return f->alpha + tt_larger(messages * n * f->beta, posting + n * f->beta);
}

/* To reduce n bytes, two operands into one; to copy them. */
static inline double tt_adds(const struct tt_net *net, double n)
{
    return n > 0 ? net->launch + n * net->gamma : 0;
}

static inline double tt_copies(const struct tt_net *net, double n)
{
    return n > 0 ? net->launch + n * net->copy : 0;
}

/* What some ranks alone add, before messages of a pattern: while they do, the messages of others, if they share links
 * with theirs, get on the faster, which makes up for up to half of it. */
static inline double tt_some_add(const struct tt_net *net, const struct tt_fares *f, double n)
{
    const double shared = tt_larger(f->near.beta - net->alone.near.beta, f->far.beta - net->alone.far.beta);

    return tt_adds(net, n) - tt_smaller(tt_adds(net, n), shared > 0 ? n * shared / 2 : 0);
}

/* ceil(log2 p) */
static inline int tt_steps(int p)
{
    int steps = 0;

    while (1 << steps < p)
        steps++;
    return steps;
}

/* Bytes of all of a shape's elements, or of a block; of the first so many of its parts (tt_part), which are the
 * longest. */
static inline double tt_bytes(const struct tt_shape *s, int64_t elements)
{
    return (double)elements * (double)s->unit;
}

static inline double tt_parts_bytes(const struct tt_shape *s, int parts, int first)
{
    return tt_bytes(s, tt_part(s, parts, first));
}

/* Bytes of a block; of the average one, rounded up. */
double tt_block_bytes(const struct tt_shape *s);

/* ---- folding: when ranks of each kind (struct tt_meeting) are ready ---- */
struct tt_ready {
    int kinds;
    double at[TT_MOST_KINDS], home[TT_MOST_KINDS];
    unsigned pairs[TT_MOST_KINDS];
};
double tt_all_ready(const struct tt_ready *t);

/* Before the first step: all are ready at t; the pairs fold, n bytes, and add, while others
 * send their first message in that order, of so many bytes. */
struct tt_ready tt_first_ready(double t);
struct tt_ready tt_fold_cost(const struct tt_net *net, enum tt_folded which, double n, double others, double add);

/* What a step sends: n bytes, and so many in the step after, or so many a block; by those only who have the first
 * parts, if there are no others. */
struct tt_sent {
    double n, next;
    bool blocks, first;
};

/* Ranks meet, and add: then the others' links are busy again before who comes late is there. Who has to wait waits. */
void tt_fold_step(struct tt_ready *t, const struct tt_net *net, const struct tt_meetings *step, struct tt_sent sent,
                  bool add);

/* So many parts of a scope of so many. */
struct tt_sent tt_parts_sent(const struct tt_shape *s, int size, int parts);

/* When those that sat out have the n bytes that they are handed, and all others are done. */
double tt_unfold_cost(const struct tt_ready *t, const struct tt_net *net, double n);

/* ---- the pieces of pieces.h; in the files where those are ---- */
void tt_halve_cost(struct tt_ready *t, const struct tt_shape *s, const struct tt_net *net, enum tt_order order);
void tt_double_cost(struct tt_ready *t, const struct tt_shape *s, const struct tt_net *net, enum tt_order order);
double tt_bcast_binomial_cost(const struct tt_net *net, double n);
double tt_reduce_binomial_cost(const struct tt_net *net, double n);
double tt_reduce_direct_cost(const struct tt_shape *s, const struct tt_net *net);
double tt_one_cost(const struct tt_net *net, int root, double n, int messages);
double tt_others_cost(const struct tt_net *net, double n, int messages); /* everybody but one */
double tt_everybody_cost(const struct tt_net *net, double n, int messages);
double tt_few_at_once_cost(const struct tt_shape *s, const struct tt_net *net, double overhead);
double tt_exchange_cost(const struct tt_shape *s, const struct tt_net *net, int at_once);
double tt_allgather_ring_cost(const struct tt_shape *s, const struct tt_net *net);
double tt_allgather_direct_cost(const struct tt_shape *s, const struct tt_net *net);
double tt_allgather_bruck_cost(const struct tt_shape *s, const struct tt_net *net);
double tt_allgather_doubling_cost(const struct tt_shape *s, const struct tt_net *net);

#endif
