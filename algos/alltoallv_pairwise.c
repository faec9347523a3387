/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairwise alltoallv: one partner at a time, as in alltoall_pairwise.c, with the blocks as long as they are. Whom a
 * rank meets in which step follows from the ranks alone, since no rank knows how long the blocks of others are; a block
 * of nothing is no message, which its two ends both know. Every rank has one partner at a time: the choice for long
 * blocks. p alpha + n beta, where n is what the busiest rank has; a step takes as long as the longest exchange in it.
 * */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    return tt_exchange_blocks(p, s, 1);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_exchange_cost(s, net, 1);
}

TT_ALGORITHM(alltoallv, pairwise,
             .summary = "one partner at a time: p alpha + n beta; each block travels once",
             .build = build,
             .cost = cost);
