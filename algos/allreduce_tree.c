/* SPDX-License-Identifier: BSD-3-Clause */
/* Tree allreduce: a binomial reduction to rank 0, then a binomial broadcast from it. Each of the p-1 tree edges
 * carries two messages, the fewest in total of all ways: the choice where messages are dear or the network is
 * shared, and what others are compared with. 2 log2(p) (alpha + n beta) + log2(p) n gamma. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    tt_reduce_binomial(p, s->count, 0);
    tt_fence(p);
    tt_bcast_binomial(p, s->count);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);

    return tt_reduce_binomial_cost(net, n) + tt_bcast_binomial_cost(net, n);
}

TT_ALGORITHM(allreduce, tree,
             .summary = "binomial reduce to rank 0, binomial bcast: 2 log2(p) (alpha + n beta); fewest messages",
             .canonical = true,
             .build = build,
             .cost = cost);
