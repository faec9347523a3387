/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive halving reduce_scatter: partners exchange the half of the blocks that the other is to reduce, then halves
 * of the halves, until each is left with its own block. As few bytes as the ring in far fewer steps: the choice
 * for short and middling vectors. Ranks furthest apart are paired first, so that the blocks end where they
 * belong; that folds operands out of rank order. log2(p) alpha + (p-1)/p n beta + (p-1)/p n gamma, where n is all
 * blocks together; if p is no power of two, folding (pieces.h) adds 2 alpha + (p+1)/p n beta + n gamma. */
#include "algos/costs.h"

int tt_halve(struct tt_plan *p, const struct tt_shape *s, enum tt_order order)
{
    const int size = tt_size(p), rank = tt_rank(p);
    struct tt_loc arrived = tt_at(TMP, 0);
    int first = 0; /* of the parts that this rank is still to reduce */

    if (size == 1)
        tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), tt_part(s, 1, 1));
    for (int half = size / 2; half > 0; half /= 2) {
        const int bit = tt_partner_bit(order, size, half);
        const int keep = first + (rank & bit ? half : 0), give = first + (rank & bit ? 0 : half);
        const int64_t k = tt_part(s, size, keep), n = tt_part(s, size, keep + half) - k, g = tt_part(s, size, give);
        const struct tt_loc own = tt_at(half == size / 2 ? SEND : RECV, k);

        if (half == size / 2)
            arrived = tt_tmp(p, n); /* enough for the rest as well */
        tt_send(p, rank ^ bit, tt_at(own.buf, g), tt_part(s, size, give + half) - g);
        tt_recv(p, rank ^ bit, arrived, n);
        tt_fence(p);
        if (rank & bit)
            tt_reduce(p, tt_at(RECV, k), arrived, own, n);
        else
            tt_reduce(p, tt_at(RECV, k), own, arrived, n);
        tt_fence(p);
        first = keep;
    }
    return first;
}

void tt_halve_cost(struct tt_ready *t, const struct tt_shape *s, const struct tt_net *net, enum tt_order order)
{
    const int size = tt_pow2_below(net->size);
    const enum tt_folded which = order == TT_NEAR_FIRST ? TT_HALVES_NEAR : TT_HALVES_FAR;

    if (size == 1)
        t->at[TT_SINGLE] += tt_copies(net, tt_parts_bytes(s, 1, 1));
    for (int half = size / 2; half > 0; half /= 2) {
        const int k = tt_steps(tt_partner_bit(order, size, half));

        tt_fold_step(t, net, &net->folded[which][k], tt_parts_sent(s, size, half), true);
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_fold f = tt_fold(p, -1);
    const int size = tt_size(p), rank = tt_rank(p);
    const int64_t own = tt_offset(s, rank), n = tt_offset(s, rank + 1) - own, all = tt_offset(s, size);
    const struct tt_loc work = size == 1 ? tt_at(RECV, 0) : tt_tmp(p, f.stays ? all : 0);
    const int error = tt_fold_reduce(p, &f, all, work);

    if (error)
        return error;
    if (!f.stays) {
        tt_recv(p, f.partner, tt_at(RECV, 0), n);
        return 0;
    }
    tt_halve(p, s, TT_FAR_FIRST);
    tt_leave(p);
    tt_copy(p, tt_at(RECV, 0), tt_plus(work, own), n);
    if (f.partner >= 0) {
        const int64_t at = tt_offset(s, f.partner);

        tt_send(p, f.partner, tt_plus(work, at), tt_offset(s, f.partner + 1) - at);
    }
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_block_bytes(s), all = n * net->size;
    struct tt_ready t = tt_fold_cost(net, TT_HALVES_FAR, all, all / 2, tt_adds(net, all));

    tt_halve_cost(&t, s, net, TT_FAR_FIRST);
    return tt_larger(tt_all_ready(&t) + tt_copies(net, n), tt_unfold_cost(&t, net, n));
}

TT_ALGORITHM(reduce_scatter, halving, .summary = "partners exchange halves of halves: log2(p) alpha + (p-1)/p n beta",
             .needs = TT_COMMUTATIVE, .build = build, .cost = cost);
