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

/* So many messages through one port of the root's, a few at a time. */
static double port(const struct tt_fare *f, double n, double messages)
{
    const double rounds = (double)((int64_t)(messages + TT_AT_ONCE - 0.5) / TT_AT_ONCE);

    return messages > 0.5 ? rounds * (f->alpha) + n * f->beta : 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count), across = net->size > 1 ? net->one[net->node[s->root]].crossing * (net->size - 1) : 0;
    const struct tt_fares *f = &net->one[net->node[s->root]];
    const double near = port(&f->near, n, net->size - 1 - across), far = port(&f->far, n, across);
    const double mixed = net->shift[0].crossing; /* how often neighbours are on other nodes */

    return tt_larger(tt_copies(net, n), mixed * tt_larger(near, far) + (1 - mixed) * (near + far) + net->overhead);
}

TT_ALGORITHM(gatherv, linear,
             .summary = "each sends its block to the root, which takes a few at a time: (p-1) alpha + (p-1)/p n beta",
             .build = build,
             .cost = cost);
