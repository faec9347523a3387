/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level barrier: each node's ranks tell each other that they are here; then, as all of a node know the same, each rank
 * tells its counterparts on other nodes. At both levels a dissemination (barrier_dissemination.c) of higher radix: in a
 * step everybody tells so many (TT_AT_ONCE), each as many times further on as have been heard of already. With N nodes of
 * L ranks: ceil(log9 L) alpha within + ceil(log9 N) alpha across. */
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

/* As many steps as there are, each of so many messages: of one step they may be fewer. */
static double tell_cost(const struct tt_net *net, int size, double each, bool across)
{
    double sum = 0;

    for (int64_t step = 1; step < size; step *= TT_AT_ONCE + 1) {
        const int most = (int)((size - 1) / step), messages = most < TT_AT_ONCE ? most : TT_AT_ONCE;
        const int posted = (int)(messages * each + 0.99);

        sum += across ? tt_across_one(net, 1, posted, posted) : tt_within_one(net, 1, posted, posted);
    }
    return sum;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int here = net->within->size, nodes = net->across->size;
    const double ranks = (double)(net->size - net->rails) / (nodes - 1); /* of a node, as the smallest one sees it */

    (void)s;
    return tell_cost(net, here, 1, false) + tell_cost(net, nodes, ranks / net->rails, true);
}

TT_ALGORITHM(barrier, two_level,
             .summary = "8 at a time within the node, then one of each of 8 nodes at a time: ceil(log9 L) alpha within "
                        "+ ceil(log9 N) alpha across",
             .needs = TT_TWO_LEVELS,
             .build = build,
             .cost = cost);
