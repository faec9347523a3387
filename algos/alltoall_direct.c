/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct alltoall: the exchanges of alltoall_pairwise.c, with all partners at once. One round, each block travels once:
 * the choice where messages are cheap and nobody's queues overflow. alpha where messages to different ranks start
 * together, (p-1) alpha where they start one by one, + (p-1)/p n beta, where n is all blocks of a rank together. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    return tt_exchange_blocks(p, s, s->size);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);

    return tt_larger(tt_copies(net, n), tt_everybody_cost(net, n, net->size - 1));
}

TT_ALGORITHM(alltoall, direct,
             .summary = "all partners at once: one round of p-1 messages, (p-1)/p n beta; each block travels once",
             .build = build,
             .cost = cost);
