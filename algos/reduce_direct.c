/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct reduce, the mirror of bcast_direct.c: each rank but the root is sent a part of the vector by all others but
 * the root, reduces it and sends it to the root, which adds its own. Two rounds whatever p is, and nobody sends or
 * receives more than one vector: the choice where every pair has a link of its own and messages are cheap. Where
 * operands must stay in order, or in the canonical tree (pieces.h), the root takes part like all others, and its link
 * carries twice as much. 2 alpha where messages to different ranks start together, 2(p-1) alpha where they start one by
 * one,
 * + (p-2)/(p-1) n beta + n beta + 2 n gamma. */
#include "algos/levels.h"

/* The parts of `owners` ranks, from the first one on, to the root. */
static void collect(struct tt_plan *p, struct tt_loc to, int64_t n, int first, int owners)
{
    for (int i = 0; i < owners; i++) {
        const int64_t at = tt_part_at(n, owners, i);
        const int rank = tt_mod(first + i, tt_size(p));

        if (rank != tt_rank(p))
            tt_recv(p, rank, tt_plus(to, at), tt_part_at(n, owners, i + 1) - at);
    }
}

/* What this rank of the scope is to add up: the sum of the parts that all send it, in dst. */
static struct tt_loc add_up(struct tt_plan *p, int64_t n, struct tt_loc dst)
{
    const int size = tt_size(p);
    const struct tt_operands o = tt_hand_in(p, tt_at(SEND, 0), n, size, -1, tt_tmp(p, (size - 1) * tt_part_most(n, size)));

    tt_fence(p);
    tt_fold_operands(p, &o, dst);
    return size > 1 ? dst : o.own;
}

static int64_t part(const struct tt_plan *p, int64_t n)
{
    return tt_part_at(n, tt_size(p), tt_rank(p) + 1) - tt_part_at(n, tt_size(p), tt_rank(p));
}

static void in_order(struct tt_plan *p, int64_t n, int root)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int64_t own = part(p, n);
    const struct tt_loc dst = rank == root ? tt_at(RECV, tt_part_at(n, size, rank)) : tt_tmp(p, own);
    const struct tt_loc sum = add_up(p, n, dst);

    tt_fence(p);
    if (rank != root) {
        tt_send(p, root, sum, own);
        return;
    }
    tt_copy(p, dst, sum, own);
    collect(p, tt_at(RECV, 0), n, 0, size);
}

static void without_root(struct tt_plan *p, int64_t n, int root)
{
    const struct tt_loc arrived = tt_tmp(p, tt_rank(p) == root ? n : 0);
    struct tt_loc sum;
    int64_t own;

    if (!tt_enter_others(p, root)) {
        collect(p, arrived, n, root + 1, tt_size(p) - 1);
        tt_fence(p);
        tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), arrived, n);
        return;
    }
    own = part(p, n);
    sum = add_up(p, n, tt_tmp(p, own));
    tt_leave(p);
    tt_send(p, root, sum, own);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    if (s->commutes && !s->reproducible && tt_size(p) > 1)
        without_root(p, s->count, s->root);
    else
        in_order(p, s->count, s->root);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const bool ordered = !s->commutes || s->reproducible;
    const int others = net->size - 1, owners = ordered ? net->size : others;
    const int messages = s->count < owners - 1 ? (int)s->count : owners - 1;
    const double n = tt_bytes(s, s->count), part = others > 0 ? tt_bytes(s, tt_cut(s->count, owners, 1)) : n;

    if (others == 0)
        return tt_copies(net, n);
    return (ordered ? tt_everybody_cost(net, part, messages) : tt_others_cost(net, part, messages)) +
           (owners - 1) * tt_adds(net, part) + tt_one_cost(net, s->root, part, 1) + (ordered ? 0 : tt_adds(net, n));
}

TT_ALGORITHM(reduce, direct,
             .summary = "a part from each to each, who send them to the root: 2 rounds of p-1 messages, 2 n beta",
             .canonical = true, .build = build, .cost = cost);
