/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive halving and doubling allreduce (Rabenseifner's): partners exchange the half of what they share that the
 * other is to reduce, then halves of the halves, until each rank owns one reduced part; the same exchanges in
 * reverse gather the parts. As few bytes as the ring in far fewer steps: the choice for middling and long vectors.
 * Neighbours are paired first, when messages are longest, which also keeps operands in rank order.
 * 2 log2(p) alpha + 2(p-1)/p n beta + (p-1)/p n gamma; if p is no power of two, folding (pieces.h) adds
 * 2 alpha + 2 n beta + n gamma. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_fold f = tt_fold(p, -1);
    const int error = tt_fold_reduce(p, &f, s->count, tt_at(RECV, 0));

    if (error)
        return error;
    if (f.stays) {
        tt_double(p, s, TT_NEAR_FIRST, tt_halve(p, s, TT_NEAR_FIRST));
        tt_leave(p);
    }
    tt_unfold(p, &f, s->count);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);
    struct tt_ready t = tt_fold_cost(net, TT_HALVES_NEAR, n, n / 2, tt_adds(net, n));

    tt_halve_cost(&t, s, net, TT_NEAR_FIRST);
    t = tt_first_ready(tt_all_ready(&t));
    tt_double_cost(&t, s, net, TT_NEAR_FIRST);
    return tt_unfold_cost(&t, net, n);
}

TT_ALGORITHM(allreduce, halving,
             .summary = "Rabenseifner: halving, then doubling: 2 log2(p) alpha + 2(p-1)/p n beta",
             .canonical = true,
             .build = build,
             .cost = cost);
