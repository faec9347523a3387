/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling allgather: partners exchange all the blocks they have, so what each has doubles; neighbours
 * first, so that it is always one contiguous run. The choice for short and middling blocks on a power of two of
 * ranks, where it has the fewest steps and the fewest bytes at once; on other numbers of ranks folding (pieces.h) adds
 * 2 alpha + (p+1)/p n beta, and Bruck's is better. log2(p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/costs.h"

void tt_double(struct tt_plan *p, const struct tt_shape *s, enum tt_order order, int part)
{
    const int size = tt_size(p), rank = tt_rank(p);

    for (int have = 1; have < size; have *= 2) {
        const int peer = rank ^ tt_partner_bit(order, size, have);
        const int first = part & -have, theirs = first ^ have;
        const int64_t o = tt_part(s, size, first), i = tt_part(s, size, theirs);

        tt_send(p, peer, tt_at(RECV, o), tt_part(s, size, first + have) - o);
        tt_recv(p, peer, tt_at(RECV, i), tt_part(s, size, theirs + have) - i);
        tt_fence(p);
    }
}

int tt_allgather_doubling(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_fold f = tt_fold(p, -1);
    const int rank = tt_rank(p);
    const int64_t own = tt_block(s, rank), all = tt_offset(s, s->size);
    int error;

    if (!f.stays) {
        tt_send(p, f.partner, tt_at(SEND, 0), own);
        tt_fence(p);
        tt_recv(p, f.partner, tt_at(RECV, 0), all);
        return 0;
    }
    tt_copy(p, tt_at(RECV, tt_offset(s, rank)), tt_at(SEND, 0), own);
    if (f.partner >= 0)
        tt_recv(p, f.partner, tt_at(RECV, tt_offset(s, f.partner)), tt_block(s, f.partner));
    tt_fence(p);
    error = tt_fold_enter(p, &f, tt_at(SEND, 0), tt_at(RECV, 0));
    if (error)
        return error;
    tt_double(p, s, TT_FAR_FIRST, tt_rank(p));
    tt_leave(p);
    if (f.partner >= 0)
        tt_send(p, f.partner, tt_at(RECV, 0), all);
    return 0;
}

void tt_double_cost(struct tt_ready *t, const struct tt_shape *s, const struct tt_net *net, enum tt_order order)
{
    const int size = tt_pow2_below(net->size);
    const enum tt_folded which = order == TT_FAR_FIRST ? TT_DOUBLES_NEAR : TT_HALVES_FAR; /* in reverse */

    for (int have = 1; have < size; have *= 2) {
        const int k = tt_steps(tt_partner_bit(order, size, have));

        tt_fold_step(t, net, &net->folded[which][k], tt_parts_sent(s, size, have), false);
    }
}

double tt_allgather_doubling_cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_block_bytes(s);
    struct tt_ready t = tt_fold_cost(net, TT_DOUBLES_NEAR, n, n, 0);

    for (int kind = 0; kind < t.kinds; kind++)
        t.at[kind] = tt_larger(t.at[kind], tt_copies(net, n));
    tt_double_cost(&t, s, net, TT_FAR_FIRST);
    return tt_unfold_cost(&t, net, n * net->size);
}

TT_ALGORITHM(allgather, doubling,
             .summary = "partners exchange all they have: log2(p) alpha + (p-1)/p n beta; best on a power of two",
             .build = tt_allgather_doubling,
             .cost = tt_allgather_doubling_cost);
