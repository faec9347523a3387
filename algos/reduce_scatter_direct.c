/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct reduce_scatter: each rank is sent its own block by all others at once, and reduces what it got in the
 * canonical tree (pieces.h), so that it is right for ops that do not commute. One round whatever p is: the choice where
 * every pair has a link of its own and messages are cheap, and for short blocks. alpha where messages to different
 * ranks start together, (p-1) alpha where they start one by one, + (p-1)/p n beta + (p-1)/p n gamma; n is all blocks
 * together. */
#include "algos/costs.h"

/* Where the fold of ranks first .. end - 1 is: in the place of the first of them, or of the second, as SEND cannot be
 * written. */
static struct tt_loc fold_at(const struct tt_operands *o, int first, int end)
{
    const int place = first == o->rank ? first + 1 : first;

    return first == o->rank && end == first + 1 ? o->own : tt_plus(o->arrived, (place - (place > o->rank)) * o->n);
}

struct tt_loc tt_operand_of(const struct tt_operands *o, int rank)
{
    return fold_at(o, rank, rank + 1);
}

/* One level of the tree; the last one's result goes to dst. */
static void fold_level(struct tt_plan *p, const struct tt_operands *o, int level, struct tt_loc dst)
{
    const int parts = tt_pow2_below(o->size);

    for (int part = 0; part < parts; part += 1 << level) {
        const struct tt_merge m = tt_merge_at(part, o->size, level);

        if (m.middle < m.end)
            tt_reduce(p, 1 << level == parts ? dst : fold_at(o, m.first, m.end), fold_at(o, m.first, m.middle),
                      fold_at(o, m.middle, m.end), o->n);
    }
    tt_fence(p);
}

void tt_fold_operands(struct tt_plan *p, const struct tt_operands *o, struct tt_loc dst)
{
    for (int level = 0; o->size > 1 && 1 << level <= tt_pow2_below(o->size); level++)
        fold_level(p, o, level, dst);
}

void tt_reduce_direct(struct tt_plan *p, const struct tt_shape *s, struct tt_loc dst)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc own = tt_at(SEND, tt_part(s, size, rank));
    const int64_t n = tt_part(s, size, rank + 1) - own.at;
    const struct tt_operands o = {rank, size, own, tt_tmp(p, (size - 1) * n), n};
    const bool own_is_last = size == 2 || (size == 3 && rank == 2); /* to be folded */
    const bool aside = own_is_last && tt_straddles(s, own.at, dst.at, n);
    const struct tt_loc result = size == 1 ? own : aside ? fold_at(&o, 0, size) : dst;

    for (int k = 1; k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);
        const int64_t at = tt_part(s, size, to);

        tt_send(p, to, tt_at(SEND, at), tt_part(s, size, to + 1) - at);
        tt_recv(p, from, tt_operand_of(&o, from), n);
    }
    tt_fence(p);
    tt_fold_operands(p, &o, result);
    tt_copy(p, dst, result, n);
}

double tt_reduce_direct_cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int p = net->size;
    const double n = tt_parts_bytes(s, p, 1);
    const int64_t parts = s->count < p ? s->count : p;
    const int messages = (int)(s->coll == TT_COLL_allreduce && parts < p ? parts : p - 1);

    return p == 1 ? tt_copies(net, n) : tt_everybody_cost(net, n, messages) + (p - 1) * tt_adds(net, n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    tt_reduce_direct(p, s, tt_at(RECV, 0));
    return 0;
}

TT_ALGORITHM(reduce_scatter, direct,
             .summary = "each reduces its block from all others at once: one round of p-1 messages, (p-1)/p n beta",
             .canonical = true,
             .build = build,
             .cost = tt_reduce_direct_cost);
