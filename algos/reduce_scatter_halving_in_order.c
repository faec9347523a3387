/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive halving reduce_scatter in rank order: as reduce_scatter_halving.c, but neighbours are paired first, which
 * keeps operands in rank order, in the canonical tree (pieces.h). It also leaves the blocks with other ranks than their
 * own, the number of the block's rank being the holder's with its binary digits reversed, so one more step takes
 * them there. The choice for short blocks where the op does not commute or the result is to be reproducible.
 * (log2(p) + 1) alpha + n beta + (p-1)/p n gamma, where n is all blocks together; if p is no power of two, folding
 * (pieces.h) adds alpha + n beta + n gamma. */
#include "algos/costs.h"

/* i with its binary digits, of a number below size, in reverse. */
static int reversed(int i, int size)
{
    int r = 0;

    for (int bit = 1; bit < size; bit *= 2)
        r = 2 * r + !!(i & bit);
    return r;
}

/* The rank that stays of those that part i stands for: the last. */
static int rank_of_part(int i, int size)
{
    return tt_merge_at(i, size, 0).end - 1;
}

/* From the rank that holds a part to the one or two whose blocks are in it. */
static void deliver(struct tt_plan *p, const struct tt_shape *s, int part, struct tt_loc work)
{
    const struct tt_merge m = tt_merge_at(part, tt_size(p), 0);

    for (int r = m.first; r < m.end; r++) {
        if (r == tt_rank(p))
            tt_copy(p, tt_at(RECV, 0), tt_plus(work, tt_offset(s, r)), tt_block(s, r));
        else
            tt_send(p, r, tt_plus(work, tt_offset(s, r)), tt_block(s, r));
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_fold f = tt_fold(p, -1);
    const int size = tt_size(p), rank = tt_rank(p), parts = tt_pow2_below(size);
    const int holder = rank_of_part(reversed(tt_folded_rank(rank, size), parts), size);
    const struct tt_loc work = size == 1 ? tt_at(RECV, 0) : tt_tmp(p, f.stays ? tt_offset(s, size) : 0);
    const int error = tt_fold_reduce(p, &f, tt_offset(s, size), work);

    if (error)
        return error;
    if (f.stays) {
        const int part = tt_halve(p, s, TT_NEAR_FIRST);

        tt_leave(p);
        deliver(p, s, part, work);
    }
    if (holder != rank)
        tt_recv(p, holder, tt_at(RECV, 0), tt_block(s, rank));
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_block_bytes(s), all = n * net->size,
                 home = tt_larger(tt_copies(net, n), tt_takes(net, &net->reverse, n));
    struct tt_ready t = tt_fold_cost(net, TT_HALVES_NEAR, all, all / 2, tt_adds(net, all));

    tt_halve_cost(&t, s, net, TT_NEAR_FIRST);
    return tt_all_ready(&t) +
           (net->reverse.any ? home : tt_larger(tt_copies(net, n), tt_takes(net, &net->fold, n)));
}

TT_ALGORITHM(reduce_scatter, halving_in_order,
             .summary = "halving with neighbours first, blocks sent home: (log2(p) + 1) alpha + n beta; in rank order",
             .canonical = true,
             .build = build,
             .cost = cost);
