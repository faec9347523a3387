/* SPDX-License-Identifier: BSD-3-Clause */
/* Dissemination barrier: in step k each rank tells the one 2^k above it that it and all it has heard of are here; after
 * ceil(log2 p) steps everyone has heard of everyone. No root, no power of two, and no rank waits for more than one
 * message at a time. ceil(log2 p) alpha. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc ours = tt_tmp(p, 1), theirs = tt_tmp(p, 1); /* a byte that says nothing but "here" */

    (void)s;
    for (int step = 1; step < size; step *= 2) {
        tt_send(p, tt_mod(rank + step, size), ours, 1);
        tt_recv(p, tt_mod(rank - step, size), theirs, 1);
        tt_fence(p);
    }
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    double t = 0;

    (void)s;
    for (int k = 0; 1 << k < net->size; k++)
        t += tt_takes(net, &net->shift[k], 1);
    return t;
}

TT_ALGORITHM(barrier, dissemination,
             .summary = "tell the rank 2^k above: ceil(log2 p) alpha",
             .build = build,
             .cost = cost);
