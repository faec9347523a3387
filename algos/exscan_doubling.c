/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling exscan: as scan_doubling.c, but a rank's own part goes into the sum of its group only, and its
 * result begins with the first sum that comes from below. In place that sum waits aside until the group's has been
 * added up, because the result takes the place of the rank's own part. Rank 0 has no result, and nothing is
 * written there. ceil(log2 p) (alpha + n beta + 2 n gamma). */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc result = tt_at(RECV, 0), aside = tt_tmp(p, size > 1 ? s->count : 0);
    struct tt_loc all = tt_at(SEND, 0); /* the sum of the group */

    for (int bit = 1; bit < size; bit *= 2) {
        const int peer = rank ^ bit;
        const bool upper = rank & bit;
        const bool first = upper && !(rank & (bit - 1)); /* nothing has come from below before */
        const struct tt_loc arrived = first && !s->inplace ? result : aside;

        if (peer >= size)
            continue;
        tt_group_exchange(p, bit, all, arrived, s->count);
        if (upper && !first)
            tt_reduce(p, result, arrived, result, s->count);
        all = tt_group_merge(p, bit, all, arrived, s->count);
        tt_fence(p);
        if (first)
            tt_copy(p, result, arrived, s->count);
        tt_fence(p);
    }
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);
    double t = 0;

    for (int k = 0; 1 << k < net->size; k++) {
        t += tt_takes(net, &net->climb[k], n);
        if (k == 0 ? net->size > 2 : (1 << k) + 1 < net->size)
            t += tt_adds(net, n);
        if (k > 0 && (3 << k) + 1 < net->size) /* some have two sums to add to */
            t += tt_some_add(net, &net->climb[k], n);
    }
    return t;
}

TT_ALGORITHM(exscan, doubling,
             .summary = "groups merge in rank order: ceil(log2 p) (alpha + n beta + 2 n gamma); fewest steps",
             .canonical = true,
             .build = build,
             .cost = cost);
