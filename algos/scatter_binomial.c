/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial scatter: the root sends each child the blocks of its whole subtree in one message, and so on down. The root
 * has log2(p) messages to send instead of p-1: the choice for short blocks. The tree is rooted at the root, so
 * subtrees are contiguous but for the one that wraps from the last rank to the first: the root sends that one in
 * two messages, each straight from its place. ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/pieces.h"

/* At the root, the blocks of child's subtree, straight from SEND, where rank 0 of the scope has block `root`. */
static void send_from_root(struct tt_plan *p, const struct tt_shape *s, int child)
{
    const int size = tt_size(p), first = tt_mod(s->root + child, size), blocks = tt_subtree(child, size);
    const int before = tt_unwrapped(p, s->root, child);

    tt_send(p, child, tt_at(SEND, first * s->count), before * s->count);
    tt_send(p, child, tt_at(SEND, 0), (blocks - before) * s->count);
}

/* At a child of the root: the same pieces. */
static void recv_from_root(struct tt_plan *p, const struct tt_shape *s, struct tt_loc to)
{
    const int blocks = tt_subtree(tt_rank(p), tt_size(p)), before = tt_unwrapped(p, s->root, tt_rank(p));

    tt_recv(p, 0, to, before * s->count);
    tt_recv(p, 0, tt_plus(to, before * s->count), (blocks - before) * s->count);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct tt_loc blocks = tt_at(RECV, 0);
    int rank, subtree, parent;

    tt_enter_rotated(p, s->root);
    rank = tt_rank(p);
    subtree = tt_subtree(rank, tt_size(p));
    parent = rank & (rank - 1);
    if (rank == 0)
        blocks = tt_at(SEND, s->root * s->count);
    else if (subtree > 1)
        blocks = tt_tmp(p, subtree * s->count);
    if (rank > 0 && parent == 0)
        recv_from_root(p, s, blocks);
    else if (rank > 0)
        tt_recv(p, parent, blocks, subtree * s->count);
    tt_fence(p);
    for (int step = tt_pow2_below(tt_size(p)); step > 0; step /= 2) {
        if (step < subtree && rank == 0)
            send_from_root(p, s, step);
        else if (step < subtree)
            tt_send(p, rank + step, tt_plus(blocks, step * s->count), tt_subtree(rank + step, tt_size(p)) * s->count);
    }
    tt_copy(p, tt_at(RECV, 0), blocks, s->count);
    tt_leave(p);
    return 0;
}

TT_ALGORITHM(scatter, binomial,
             .summary = "subtrees get their blocks together: ceil(log2 p) alpha + (p-1)/p n beta",
             .build = build);
