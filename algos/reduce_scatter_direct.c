/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct reduce_scatter: each rank is sent its own block by all others at once, and reduces what it got in rank order,
 * so that it is right for ops that do not commute. One round whatever p is: the choice where every pair has a
 * link of its own and messages are cheap, and for short blocks. alpha where messages to different ranks start
 * together, (p-1) alpha where they start one by one, + (p-1)/p n beta + (p-1)/p n gamma; n is all blocks together. */
#include "algos/pieces.h"

void tt_reduce_direct(struct tt_plan *p, const struct tt_shape *s, struct tt_loc dst)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc own = tt_at(SEND, tt_part(s, size, rank));
    const int64_t n = tt_part(s, size, rank + 1) - own.at;
    const struct tt_loc arrived = tt_tmp(p, (size - 1) * n); /* in rank order, without our own */
    const bool aside = rank == size - 1 && tt_straddles(s, own.at, dst.at, n); /* the last step reads own */
    struct tt_loc result = rank == 0 ? own : arrived;

    for (int k = 1; k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);
        const int64_t at = tt_part(s, size, to);

        tt_send(p, to, tt_at(SEND, at), tt_part(s, size, to + 1) - at);
        tt_recv(p, from, tt_plus(arrived, (from - (from > rank)) * n), n);
    }
    for (int r = 1; r < size; r++) {
        const struct tt_loc operand = r == rank ? own : tt_plus(arrived, (r - (r > rank)) * n);
        const struct tt_loc into = r < size - 1 || aside ? arrived : dst;

        tt_fence(p);
        tt_reduce(p, into, result, operand, n);
        result = into;
    }
    tt_fence(p);
    tt_copy(p, dst, result, n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    tt_reduce_direct(p, s, tt_at(RECV, 0));
    return 0;
}

TT_ALGORITHM(reduce_scatter, direct,
             .summary = "each reduces its block from all others at once: one round of p-1 messages, (p-1)/p n beta",
             .build = build);
