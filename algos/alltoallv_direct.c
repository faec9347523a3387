/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct alltoallv: the exchanges of alltoall_pairwise.c, a few partners at a time. Who has much to send does not keep
 * the rest waiting, as one partner at a time would, and short blocks start together: the choice where nothing is
 * known of the lengths, which is always. More at once would only fill the queues of who is behind.
 * p/8 alpha to p alpha + n beta, where n is what the busiest rank has. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    return tt_exchange_blocks(p, s, TT_AT_ONCE);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_exchange_cost(s, net, TT_AT_ONCE);
}

TT_ALGORITHM(alltoallv, direct,
             .summary = "a few partners at a time: p/8 to p alpha + n beta; each block travels once",
             .build = build,
             .cost = cost);
