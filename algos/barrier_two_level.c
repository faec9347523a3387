/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level barrier: each node's ranks tell each other that they are here; then, as all of a node know the same, each
 * rank tells its counterparts on other nodes. At both levels a dissemination (barrier_dissemination.c) of higher radix:
 * in a step everybody tells so many (TT_AT_ONCE), each as many times further on as have been heard of already. With N
 * nodes of L ranks: ceil(log9 L) alpha within + ceil(log9 N) alpha across. */
#include "algos/levels.h"

static void tell_node(struct tt_plan *p, const struct tt_levels *at, struct tt_loc ours, struct tt_loc theirs)
{
    tt_enter_node(p, at);
    for (int step = 1; step < at->here; step *= TT_AT_ONCE + 1) {
        for (int k = 1; k <= TT_AT_ONCE && k * step < at->here; k++) {
            tt_send(p, tt_mod(at->local + k * step, at->here), ours, 1);
            tt_recv(p, tt_mod(at->local - k * step, at->here), tt_plus(theirs, k - 1), 1);
        }
        tt_fence(p);
    }
    tt_leave(p);
}

static void tell_nodes(struct tt_plan *p, const struct tt_levels *at, struct tt_loc ours, struct tt_loc theirs)
{
    const int nodes = at->nodes->n;

    for (int step = 1; step < nodes; step *= TT_AT_ONCE + 1) {
        for (int k = 1; k <= TT_AT_ONCE && k * step < nodes; k++) {
            const int to = tt_mod(at->node + k * step, nodes);

            for (int i = 0, rank; (rank = tt_counted_on(at, to, at->local, i)) >= 0; i++)
                tt_send(p, rank, ours, 1);
            tt_recv(p, at->rail[tt_mod(at->node - k * step, nodes)], tt_plus(theirs, k - 1), 1);
        }
        tt_fence(p);
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc ours = tt_tmp(p, 1), theirs = tt_tmp(p, TT_AT_ONCE); /* bytes that say nothing but "here" */
    struct tt_levels at;
    const int error = tt_levels_find(&at, p, s);

    if (error)
        return error;
    tell_node(p, &at, ours, theirs);
    tell_nodes(p, &at, ours, theirs);
    tt_levels_end(&at);
    return 0;
}

/* How many a member of so many tells in that step. */
static int told(int members, int step)
{
    return (members - 1) / step < TT_AT_ONCE ? (members - 1) / step : TT_AT_ONCE;
}

static double within(const struct tt_net *net, int ranks)
{
    double t = 0;

    for (int64_t step = 1; step < ranks; step *= TT_AT_ONCE + 1)
        t += tt_within_one(net, 1, told(ranks, (int)step), told(ranks, (int)step));
    return t;
}

/* Ranks of the smallest node are the first to be ready, and tell those of the largest in turns. */
static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int here = net->within->size, nodes = net->across->size;
    double most = within(net, here), fewest = within(net, net->rails);

    (void)s;
    for (int64_t step = 1; step < nodes; step *= TT_AT_ONCE + 1) {
        const int each = told(nodes, (int)step), turns = each * here / net->rails;

        most = tt_larger(most + tt_across_one(net, 1, each, each), fewest + tt_across_one(net, 1, turns, turns));
        fewest = most;
    }
    return most;
}

TT_ALGORITHM(barrier, two_level,
             .summary = "8 at a time within the node, then one of each of 8 nodes at a time: ceil(log9 L) alpha within "
                        "+ ceil(log9 N) alpha across",
             .needs = TT_TWO_LEVELS, .build = build, .cost = cost);
