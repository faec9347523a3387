/* SPDX-License-Identifier: BSD-3-Clause */
/* One-shot allreduce: everybody sends everybody its whole vector, and each reduces all of them by itself, in the
 * canonical tree (pieces.h). One round, the least latency there is: the choice for a few numbers, on ranks so few that
 * the messages cost little. alpha where messages to different ranks start together, (p-1) alpha where they start one by
 * one, + (p-1) n beta + (p-1) n gamma. */
#include "algos/levels.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_operands o = tt_show_all(p, tt_at(SEND, 0), s->count, tt_tmp(p, (tt_size(p) - 1) * s->count));

    tt_fence(p);
    if (tt_size(p) == 1)
        tt_copy(p, tt_at(RECV, 0), o.own, o.n);
    tt_fold_operands(p, &o, tt_at(RECV, 0));
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);

    return net->size == 1 ? tt_copies(net, n)
                          : tt_everybody_cost(net, n, net->size - 1) + (net->size - 1) * tt_adds(net, n);
}

TT_ALGORITHM(allreduce, oneshot,
             .summary = "everyone sends everyone all: one round of p-1 messages, (p-1) n beta + (p-1) n gamma",
             .canonical = true,
             .build = build,
             .cost = cost);
