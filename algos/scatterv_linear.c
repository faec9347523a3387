/* SPDX-License-Identifier: BSD-3-Clause */
/* Linear scatterv: the root sends each rank its block, in rank order, from its own neighbour on, a few at a time. How
 * long a block is, only its receiver and the root know, so no other rank could pass it on without being told first.
 * (p-1) alpha + (p-1)/p n beta at the root, alpha + the block elsewhere. */
#include "algos/costs.h"

static void hand_out(struct tt_plan *p, const struct tt_shape *s)
{
    int under_way = 0;

    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, tt_offset(s, s->root)), s->count);
    for (int k = 1; k < s->size; k++) {
        const int to = tt_mod(s->root + k, s->size);

        if (tt_block(s, to) == 0)
            continue;
        if (under_way > 0 && under_way % TT_AT_ONCE == 0)
            tt_fence(p);
        under_way++;
        tt_send(p, to, tt_at(SEND, tt_offset(s, to)), tt_block(s, to));
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    if (tt_rank(p) == s->root)
        hand_out(p, s);
    else
        tt_recv(p, s->root, tt_at(RECV, 0), s->count);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_larger(tt_copies(net, tt_bytes(s, s->count)),
                     net->size > 1 ? tt_few_at_once_cost(s, net, net->overhead) : 0);
}

TT_ALGORITHM(scatterv, linear,
             .summary = "the root sends each its block, a few at a time: (p-1) alpha + (p-1)/p n beta",
             .build = build,
             .cost = cost);
