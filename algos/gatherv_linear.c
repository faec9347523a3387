/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear gatherv: all ranks send their block to the root, which takes them in rank order, from its own neighbour on,
 * a few at a time. How long a block is, only its owner and the root know, so no other rank could pass it on without
 * being told first: with one message for each block there is nothing to tell. The root's few are what keeps thousands
 * of ranks from falling upon it. (p-1) alpha + (p-1)/p n beta at the root, alpha + the block elsewhere. */
#include "algos/costs.h"

static void collect(struct tt_plan *p, const struct tt_shape *s)
{
    int under_way = 0;

    tt_copy(p, tt_at(RECV, tt_offset(s, s->root)), tt_at(SEND, 0), s->count);
    for (int k = 1; k < s->size; k++) {
        const int from = tt_mod(s->root + k, s->size);

        if (tt_block(s, from) == 0)
            continue;
        if (under_way > 0 && under_way % TT_AT_ONCE == 0)
            tt_fence(p);
        under_way++;
        tt_recv(p, from, tt_at(RECV, tt_offset(s, from)), tt_block(s, from));
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    if (tt_rank(p) == s->root)
        collect(p, s);
    else
        tt_send(p, s->root, tt_at(SEND, 0), s->count);
    return 0;
}

/* The root's rounds. Where neighbours share a node, those of its own come first, and only they. */
double tt_few_at_once_cost(const struct tt_shape *s, const struct tt_net *net, double overhead)
{
    const struct tt_fares *f = &net->one[net->node[s->root]];
    const double n = tt_bytes(s, s->count), all = net->size - 1, far = f->crossing * all, near = all - far;
    const int rounds = (net->size - 1 + TT_AT_ONCE - 1) / TT_AT_ONCE;
    const double first = (1 - net->shift[0].crossing) * (int)((near + 0.5) / TT_AT_ONCE),
                 rest = near - first * TT_AT_ONCE;
    const double others = rounds - first > 0.5 ? rounds - first : 1,
                 posting = (all - first * TT_AT_ONCE) / others * overhead;
    const struct tt_fare here = {f->near.alpha, near > 0.5 ? f->near.beta / near : 0};
    const struct tt_fare there = {f->far.alpha, far > 0.5 ? f->far.beta / far : 0};

    return first * tt_posted(&here, n, TT_AT_ONCE, TT_AT_ONCE * overhead) +
           others * tt_larger(rest > 0.5 ? tt_posted(&here, n, rest / others, posting) : 0,
                              far > 0.5 ? tt_posted(&there, n, far / others, posting) : 0);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_larger(tt_copies(net, tt_bytes(s, s->count)),
                     net->size > 1 ? net->overhead + tt_few_at_once_cost(s, net, 0) : 0);
}

TT_ALGORITHM(gatherv, linear,
             .summary = "each sends its block to the root, which takes a few at a time: (p-1) alpha + (p-1)/p n beta",
             .build = build,
             .cost = cost);
