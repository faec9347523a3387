/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial reduce: ranks form pairs, pairs form fours, and so on; in each step the two halves of a group, each reduced
 * to one rank, become one. The fewest steps there are: the choice for short vectors. A half is held by its first
 * rank, or by the root where the root is a member: so groups stay in rank order, whatever the root, which keeps ops
 * that do not commute right and gives every root the same result to the last bit.
 * ceil(log2 p) (alpha + n beta + n gamma). */
#include "algos/pieces.h"

/* Who holds the reduction of the n ranks from first on. */
static int holder(int first, int n, int root)
{
    return root >= first && root < first + n ? root : first;
}

void tt_reduce_binomial(struct tt_plan *p, int64_t n, int root)
{
    const int size = tt_size(p), rank = tt_rank(p);
    struct tt_loc own = tt_at(SEND, 0), result = tt_at(RECV, 0), arrived = own;

    for (int half = 1; half < size; half *= 2) {
        const int first = rank & -(2 * half), low = holder(first, half, root);
        const int high = holder(first + half, half, root), keeps = high == root ? high : low;
        const int peer = rank == low ? high : low;

        if (first + half >= size)
            continue;
        if (rank != keeps) {
            tt_send(p, keeps, own, n);
            return;
        }
        if (arrived.buf == SEND) {
            arrived = tt_tmp(p, n);
            result = rank == root ? result : tt_tmp(p, n);
        }
        tt_recv(p, peer, arrived, n);
        tt_fence(p);
        tt_reduce(p, result, rank == low ? own : arrived, rank == low ? arrived : own, n);
        tt_fence(p);
        own = result;
    }
    tt_copy(p, result, own, n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    tt_reduce_binomial(p, s->count, s->root);
    return 0;
}

TT_ALGORITHM(reduce, binomial,
             .summary = "groups merge in rank order: ceil(log2 p) (alpha + n beta + n gamma); fewest steps",
             .build = build);
