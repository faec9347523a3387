/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairwise alltoall: in step k ranks r and k - r (modulo p) exchange their blocks for each other; in one of the steps a
 * rank meets itself. Every block travels once, and every rank has one partner at a time: the choice for long
 * blocks. As the partners exchange, a block that arrives may take the place of the one that left, so in place
 * costs no copy of the whole buffer: each block waits aside until its exchange is over, and moves during the next.
 * p alpha + (p-1)/p n beta, where n is all blocks of a rank together. */
#include "algos/costs.h"

/* The steps of one round: all of those from k on, up to `end`, at the same time. Where a rank's partner of step k waits
 * aside in place, one behind the other. */
struct round {
    int k, end;
    struct tt_loc aside;
};

static int partner(const struct tt_plan *p, int k)
{
    return tt_mod(k - tt_rank(p), tt_size(p));
}

/* The most that arrives in one round. */
static int64_t fullest(const struct tt_plan *p, const struct tt_shape *s, int at_once)
{
    int64_t most = 0, n = 0;

    for (int k = 0; k < s->size; k++) {
        n = (k % at_once ? n : 0) + tt_block(s, partner(p, k));
        most = n > most ? n : most;
    }
    return most;
}

static void exchange(struct tt_plan *p, const struct tt_shape *s, struct round r)
{
    for (; r.k < r.end; r.k++) {
        const int peer = partner(p, r.k);
        const struct tt_loc out = tt_at(SEND, tt_send_offset(s, peer)), in = tt_at(RECV, tt_offset(s, peer));

        if (peer == tt_rank(p)) {
            tt_copy(p, in, out, tt_block(s, peer));
            continue;
        }
        tt_send(p, peer, out, tt_send_block(s, peer));
        tt_recv(p, peer, s->inplace ? r.aside : in, tt_block(s, peer));
        r.aside.at += tt_block(s, peer);
    }
}

static void move_in(struct tt_plan *p, const struct tt_shape *s, struct round r)
{
    for (; r.k < r.end; r.k++) {
        const int peer = partner(p, r.k);

        if (peer == tt_rank(p))
            continue;
        tt_copy(p, tt_at(RECV, tt_offset(s, peer)), r.aside, tt_block(s, peer));
        r.aside.at += tt_block(s, peer);
    }
}

int tt_exchange_blocks(struct tt_plan *p, const struct tt_shape *s, int at_once)
{
    const int64_t room = s->inplace ? fullest(p, s, at_once) : 0;
    const struct tt_loc aside[2] = {tt_tmp(p, room), tt_tmp(p, room)};
    struct round before = {0};

    for (int k = 0; k < s->size; k += at_once) {
        const int end = k + at_once < s->size ? k + at_once : s->size;
        const struct round now = {k, end, aside[k / at_once % 2]};

        exchange(p, s, now);
        if (s->inplace)
            move_in(p, s, before);
        tt_fence(p);
        before = now;
    }
    if (s->inplace)
        move_in(p, s, before);
    return 0;
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    return tt_exchange_blocks(p, s, 1);
}

/* One step, on average. On two nodes, if neighbours are not on the same, every rank has near and far partners in turn,
 * some ranks the far ones while others have the near ones: so NICs never rest. */
static struct tt_fare step(const struct tt_net *net, double n)
{
    const struct tt_fares *mixed = &net->pair, *pure = &net->pair_pure;
    const double turns = net->all.crossing < 0.6 ? net->shift[0].crossing : 0;
    const bool far = mixed->far.alpha + n * mixed->far.beta > mixed->near.alpha + n * mixed->near.beta;
    const struct tt_fare *worse = far ? &mixed->far : &mixed->near, *better = far ? &mixed->near : &mixed->far;
    const double much = 1 - turns / 2, little = turns / 2;
    const double beta = much * worse->beta + little * better->beta + pure->near.beta + pure->far.beta;

    return (struct tt_fare){much * worse->alpha + little * better->alpha + pure->near.alpha + pure->far.alpha,
                            tt_larger(beta, net->all.far.beta / net->size)};
}

/* A rank meets itself in one step, and in the next but one the rank whom it meets in the next does. */
static double one_at_a_time(const struct tt_net *net, double n, double copy)
{
    const int p = net->size, selves = (p + 1) / 2;
    const struct tt_fare f = step(net, n);
    const double one = net->overhead + f.alpha + n * f.beta;

    if (p == 2)
        return copy - net->overhead + 2 * one;
    return tt_larger(p * one, selves * copy + (p - selves) * (0.9 * one + 0.1 * tt_takes(net, &net->alone, n)));
}

/* Where partners are on other nodes by turns: by how much a rank has more of these than on average, since in each round
 * it has whole ones. */
static double whole_ones(const struct tt_net *net, int at_once)
{
    const int p = net->size, rest = p % at_once;
    const double across = net->all.crossing * (p - 1) / p;
    const int round = (int)(at_once * across + 0.99), last = (int)(rest * across + 0.99);

    return across > 0 ? (p / at_once * round + last) / (p * across) : 1;
}

double tt_exchange_cost(const struct tt_shape *s, const struct tt_net *net, int at_once)
{
    const double n = tt_bytes(s, s->count), copy = tt_copies(net, n), turns = net->shift[0].crossing;
    const double rounds = (net->size + at_once - 1) / at_once, at = net->size / rounds;
    const double all = tt_larger(net->all.near.beta, net->all.far.beta * whole_ones(net, at_once)),
                 alpha = tt_larger(net->all.near.alpha, net->all.far.alpha);
    const struct tt_fare f = step(net, n), some = {alpha, turns * all / net->size + (1 - turns) * f.beta};

    if (net->size == 1)
        return copy;
    if (at_once == 1)
        return one_at_a_time(net, n, copy);
    if (rounds == 1)
        return tt_larger(copy, tt_everybody_cost(net, n, net->size - 1));
    return tt_larger(copy, rounds * tt_posted(&some, n, at, at * net->overhead));
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_exchange_cost(s, net, 1);
}

TT_ALGORITHM(alltoall, pairwise,
             .summary = "one partner at a time: p alpha + (p-1)/p n beta; each block travels once",
             .build = build,
             .cost = cost);
