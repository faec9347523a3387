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

static double steps(const struct tt_fare *f, double n, double rounds, double at_once, double overhead)
{
    const struct tt_fare one = {f->alpha, f->beta};

    return f->alpha + f->beta > 0 ? rounds * tt_posted(&one, n, at_once, overhead) : 0;
}

double tt_exchange_cost(const struct tt_shape *s, const struct tt_net *net, int at_once)
{
    const double n = tt_bytes(s, s->count), copy = tt_copies(net, n), p = net->size, o = net->overhead;
    const double rounds = (net->size + at_once - 1) / at_once, at = p / rounds;
    const struct tt_fares *mixed = &net->pair, *pure = &net->pair_pure;
    const double one = tt_larger(mixed->near.alpha + n * mixed->near.beta, mixed->far.alpha + n * mixed->far.beta) +
                       pure->near.alpha + n * pure->near.beta + pure->far.alpha + n * pure->far.beta + o;

    if (p == 1)
        return copy;
    if (at_once == 1) /* a rank meets itself in one step, and in the next but one whom it meets in the next */
        return tt_larger((p - (p > 2 ? 1 : 0)) * one + copy, (p + 1) / 2 * copy + p / 2 * one);
    return tt_larger(copy, tt_larger(steps(&mixed->near, n, rounds, at, o), steps(&mixed->far, n, rounds, at, o)) +
           steps(&pure->near, n, rounds, at, o) + steps(&pure->far, n, rounds, at, o));
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_exchange_cost(s, net, 1);
}

TT_ALGORITHM(alltoall, pairwise,
             .summary = "one partner at a time: p alpha + (p-1)/p n beta; each block travels once",
             .build = build,
             .cost = cost);
