/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling scan: groups of ranks merge with their neighbours, as in a tree, and everyone keeps two sums: of its
 * whole group, and of the group up to itself. When two groups merge, the upper one adds the lower one's sum to the left
 * of both; the lower one needs the upper one's sum only while there are ranks above it to be told. Operands stay in rank
 * order. The fewest steps there are, for any number of ranks: the choice for short and middling vectors.
 * ceil(log2 p) (alpha + n beta + 2 n gamma). */
#include "algos/pieces.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc result = tt_at(RECV, 0), arrived = tt_tmp(p, size > 1 ? s->count : 0);
    struct tt_loc own = tt_at(SEND, 0); /* the sum of the group up to this rank */
    struct tt_loc all = own;            /* of the whole group, which is the same while this rank is its last */
    const struct tt_loc room = tt_tmp(p, (rank | 1) < size - 1 ? s->count : 0);

    for (int bit = 1; bit < size; bit *= 2) {
        const int peer = rank ^ bit, last = rank | (2 * bit - 1);
        const bool upper = rank & bit, needed = last < size - 1, alike = rank == last;

        if (peer >= size)
            continue;
        if (!upper || needed)
            tt_send(p, peer, all, s->count);
        if (upper || needed)
            tt_recv(p, peer, arrived, s->count);
        tt_fence(p);
        if (upper)
            tt_reduce(p, result, arrived, own, s->count);
        if (needed && !alike)
            tt_reduce(p, room, upper ? arrived : all, upper ? all : arrived, s->count);
        tt_fence(p);
        own = upper ? result : own;
        all = alike ? own : room;
    }
    tt_copy(p, result, own, s->count);
    return 0;
}

TT_ALGORITHM(scan, doubling,
             .summary = "groups merge in rank order: ceil(log2 p) (alpha + n beta + 2 n gamma); fewest steps",
             .build = build);
