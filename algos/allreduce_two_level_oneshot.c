/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level one-shot allreduce: on each node everybody sends everybody its whole vector and reduces them all by itself;
 * then each sends what the node has to its counterparts on all other nodes, and reduces again. Two rounds, of L-1 and
 * N-1 messages, where allreduce_oneshot.c has one of NL-1: the choice for a few numbers on more ranks than that one
 * serves well. With N nodes of L ranks: alpha within + alpha across + (L-1) n beta within + (N-1) n beta across
 * + (L-1 + N-1) n gamma. */
#include "algos/levels.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc result = tt_at(RECV, 0);
    struct tt_levels at;
    struct tt_operands o;
    const int error = tt_levels_find(&at, p, s);

    if (error)
        return error;
    tt_enter_node(p, &at);
    o = tt_show_all(p, tt_at(SEND, 0), s->count, tt_tmp(p, (at.here - 1) * s->count));
    tt_leave(p);
    tt_fence(p);
    tt_fold_operands(p, &o, result);
    o = tt_show_nodes(p, &at, at.here > 1 ? result : o.own, s->count, tt_tmp(p, (at.nodes->n - 1) * s->count));
    tt_fence(p);
    tt_fold_operands(p, &o, result);
    tt_levels_end(&at);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int here = net->within->size, others = net->across->size - 1;
    const double n = tt_bytes(s, s->count);
    double busy = 0;
    int posted = 0;

    for (int i = 0; i < net->classes; i++) {
        const struct tt_node_class *class = &net->class[i];

        busy = tt_larger(busy, tt_counterparts_by_nic(net, class) * n * net->alone.far.beta);
        busy = tt_larger(busy, tt_nics_busy(net, class, n * class->ranks * others, class->ranks));
        posted = tt_counterparts(net, class) > posted ? tt_counterparts(net, class) : posted;
    }
    return tt_within_cost(net, tt_within_busy(net, here, n, here), here - 1) + tt_across_cost(net, busy, posted) +
           (here - 1 + others) * tt_adds(net, n);
}

TT_ALGORITHM(allreduce, two_level_oneshot,
             .summary = "everyone sends all to all of its node, then to one of each other: alpha within + alpha across "
                        "+ (L-1) n beta within + (N-1) n beta across",
             .needs = TT_TWO_LEVELS,
             .build = build,
             .cost = cost);
