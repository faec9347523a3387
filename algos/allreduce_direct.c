/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct allreduce: each rank is sent its own slice of the vector by all others at once, reduces it in rank order,
 * and sends the result to all others at once. Two rounds whatever p is, of p-1 messages each: the choice where every
 * pair has a link of its own and messages are cheap (GPUs behind one NVSwitch, ranks of one node).
 * 2 alpha where messages to different ranks start together, 2(p-1) alpha where they start one by one,
 * + 2(p-1)/p n beta + (p-1)/p n gamma. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int64_t own = tt_part(s, size, rank), n = tt_part(s, size, rank + 1) - own;

    tt_reduce_direct(p, s, tt_at(RECV, own));
    tt_fence(p);
    for (int k = 1; k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);
        const int64_t at = tt_part(s, size, from);

        tt_send(p, to, tt_at(RECV, own), n);
        tt_recv(p, from, tt_at(RECV, at), tt_part(s, size, from + 1) - at);
    }
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_reduce_direct_cost(s, net) + tt_everybody_cost(net, tt_parts_bytes(s, net->size, 1), net->size - 1);
}

TT_ALGORITHM(allreduce, direct,
             .summary = "each reduces its slice, sends it to all: 2 rounds of p-1 messages, 2(p-1)/p n beta",
             .canonical = true,
             .build = build,
             .cost = cost);
