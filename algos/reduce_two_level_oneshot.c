/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level one-shot reduce, the mirror of bcast_two_level_oneshot.c: all ranks of a node send the vector to the root's
 * counterpart on it, or to the root, who reduces them; the counterparts send what they have to the root. Two rounds, the
 * fewest there are for more ranks than one can serve alone: the choice for short vectors. With N nodes of L ranks:
 * alpha within + alpha across + (L-1) n beta within + (N-1) n beta across + (L-1 + N-1) n gamma. */
#include "algos/levels.h"

/* What the ranks of this node send to one of them. */
static struct tt_operands collect(struct tt_plan *p, const struct tt_levels *at, int64_t n)
{
    const struct tt_operands o = {at->local, at->here, tt_at(SEND, 0), tt_tmp(p, (at->here - 1) * n), n};

    for (int k = 1; k < at->here; k++) {
        const int from = tt_mod(at->local - k, at->here);

        tt_recv(p, tt_rank_at(at, at->node, from), tt_operand_of(&o, from), n);
    }
    return o;
}

static struct tt_operands collect_nodes(struct tt_plan *p, const struct tt_levels *at, int root, struct tt_loc own, int64_t n)
{
    const int nodes = at->nodes->n;
    const struct tt_operands o = {at->node, nodes, own, tt_tmp(p, (nodes - 1) * n), n};

    for (int k = 1; k < nodes; k++) {
        const int from = tt_mod(at->node - k, nodes);

        tt_recv(p, tt_counterpart_of(at, root, from), tt_operand_of(&o, from), n);
    }
    return o;
}

static void lead(struct tt_plan *p, const struct tt_levels *at, int root, int64_t n)
{
    struct tt_loc sum = tt_rank(p) == root ? tt_at(RECV, 0) : tt_tmp(p, n);
    struct tt_operands o = collect(p, at, n);

    tt_fence(p);
    tt_fold_operands(p, &o, sum);
    if (at->here == 1)
        sum = o.own;
    if (tt_rank(p) != root) {
        tt_send(p, root, sum, n);
        return;
    }
    o = collect_nodes(p, at, root, sum, n);
    tt_fence(p);
    tt_fold_operands(p, &o, tt_at(RECV, 0));
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct tt_levels at;
    const int error = tt_levels_find(&at, p, s);
    int head;

    if (error)
        return error;
    head = tt_counterpart_of(&at, s->root, at.node);
    if (tt_rank(p) == head)
        lead(p, &at, s->root, s->count);
    else
        tt_send(p, head, tt_at(SEND, 0), s->count);
    tt_levels_end(&at);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int here = net->within->size, nodes = net->across->size;
    const double n = tt_bytes(s, s->count);

    return tt_within_one(net, n, here - 1, 1) + tt_across_one(net, n, nodes - 1, 1) + (here - 1 + nodes - 1) * tt_adds(net, n);
}

TT_ALGORITHM(reduce, two_level_oneshot,
             .summary = "to one of each node, then to the root: alpha within + alpha across + (L-1) n beta within + "
                        "(N-1) n beta across",
             .needs = TT_TWO_LEVELS,
             .build = build,
             .cost = cost);
