/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling scan: groups of ranks merge with their neighbours, as in a tree, and everyone keeps two sums:
 * of its whole group, and of the group up to itself. When two groups merge, the upper one adds the lower one's sum to
 * the left of both. The sum of a group is passed on from each of its ranks to those that stand in the same place of the
 * next groups, so a rank needs it as long as there is such a place above it. Operands stay in rank order. The fewest
 * steps there are, for any number of ranks: the choice for short and middling vectors. ceil(log2 p) (alpha + n beta + 2
 * n gamma). */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc result = tt_at(RECV, 0), arrived = tt_tmp(p, size > 1 ? s->count : 0);
    struct tt_loc own = tt_at(SEND, 0); /* the sum of the group up to this rank */
    struct tt_loc all = own;            /* of the whole group, which is the same while this rank is its last */

    for (int bit = 1; bit < size; bit *= 2) {
        const int peer = rank ^ bit;
        const bool upper = rank & bit, alike = (rank & (2 * bit - 1)) == 2 * bit - 1;

        if (peer >= size)
            continue;
        tt_group_exchange(p, bit, all, arrived, s->count);
        if (upper)
            tt_reduce(p, result, arrived, own, s->count);
        own = upper ? result : own;
        all = alike ? own : tt_group_merge(p, bit, all, arrived, s->count);
        tt_fence(p);
    }
    tt_copy(p, result, own, s->count);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);
    double t = net->size == 1 ? tt_copies(net, n) : 0;

    for (int k = 0; 1 << k < net->size; k++) {
        t += tt_takes(net, &net->climb[k], n) + tt_adds(net, n);
        if (k > 0 && 3 << k < net->size) /* some have two sums to add to */
            t += tt_some_add(net, &net->climb[k], n);
    }
    return t;
}

TT_ALGORITHM(scan, doubling,
             .summary = "groups merge in rank order: ceil(log2 p) (alpha + n beta + 2 n gamma); fewest steps",
             .canonical = true,
             .build = build,
             .cost = cost);
