/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level one-shot bcast: the root sends the vector to its counterpart on every other node and to all ranks of its own;
 * the counterparts send it to the ranks of theirs. Two rounds, the fewest there are for more ranks than one can serve
 * alone: the choice for short vectors. With N nodes of L ranks: alpha across + alpha within + (N-1) n beta across
 * + (L-1) n beta within. */
#include "algos/levels.h"

/* From the rank of this node that has it, to all others here. */
static void fan_out(struct tt_plan *p, const struct tt_levels *at, int from, int64_t n)
{
    if (tt_rank(p) != from) {
        tt_recv(p, from, tt_at(RECV, 0), n);
        return;
    }
    for (int k = 1; k < at->here; k++)
        tt_send(p, tt_rank_at(at, at->node, tt_mod(at->local + k, at->here)), tt_at(RECV, 0), n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct tt_levels at;
    const int home = s->nodes->of[s->root], error = tt_levels_find(&at, p, s);

    if (error)
        return error;
    for (int k = 1; tt_rank(p) == s->root && k < at.nodes->n; k++)
        tt_send(p, at.rail[home + k], tt_at(RECV, 0), s->count);
    if (at.node != home && tt_counterpart_of(&at, s->root, at.node) == tt_rank(p)) {
        tt_recv(p, s->root, tt_at(RECV, 0), s->count);
        tt_fence(p);
    }
    fan_out(p, &at, tt_counterpart_of(&at, s->root, at.node), s->count);
    tt_levels_end(&at);
    return 0;
}

/* The root posts what goes across first. */
static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const struct tt_node_class *home = &net->class[net->class_of[net->node[s->root]]];
    const int others = net->across->size - 1;
    const double n = tt_bytes(s, s->count);
    double most = tt_within_one(net, n, home->ranks - 1, others + home->ranks - 1);

    for (int i = 0; i < net->classes; i++) {
        const int here = net->class[i].ranks - 1;

        if (&net->class[i] != home || home->nodes > 1)
            most = tt_larger(most, tt_across_one(net, n, others, others) + tt_within_one(net, n, here, here));
    }
    return most;
}

TT_ALGORITHM(bcast, two_level_oneshot,
             .summary = "to one of each node, then to all of it: alpha across + alpha within + (N-1) n beta across + "
                        "(L-1) n beta within",
             .needs = TT_TWO_LEVELS,
             .build = build,
             .cost = cost);
