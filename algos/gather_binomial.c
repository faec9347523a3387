/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial gather: each rank collects the blocks of its subtree and hands them to its parent in one message. The root
 * has log2(p) messages to take instead of p-1: the choice for short blocks. The tree is rooted at the root, so subtrees
 * are contiguous but for the one that wraps from the last rank to the first: the root receives that one in two
 * messages, each straight to its place. ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/pieces.h"

/* At the root, the blocks of child's subtree, straight into RECV, where rank 0 of the scope has block `root`. */
static void recv_at_root(struct tt_plan *p, const struct tt_shape *s, int child)
{
    const int size = tt_size(p), first = tt_mod(s->root + child, size), blocks = tt_subtree(child, size);
    const int before = tt_unwrapped(p, s->root, child);

    tt_recv(p, child, tt_at(RECV, first * s->count), before * s->count);
    tt_recv(p, child, tt_at(RECV, 0), (blocks - before) * s->count);
}

/* From a child of the root: the same pieces. */
static void send_to_root(struct tt_plan *p, const struct tt_shape *s, struct tt_loc from)
{
    const int blocks = tt_subtree(tt_rank(p), tt_size(p)), before = tt_unwrapped(p, s->root, tt_rank(p));

    tt_send(p, 0, from, before * s->count);
    tt_send(p, 0, tt_plus(from, before * s->count), (blocks - before) * s->count);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct tt_loc blocks = tt_at(SEND, 0);
    int rank, subtree, parent;

    tt_enter_rotated(p, s->root);
    rank = tt_rank(p);
    subtree = tt_subtree(rank, tt_size(p));
    parent = rank & (rank - 1);
    if (rank == 0)
        blocks = tt_at(RECV, s->root * s->count);
    else if (subtree > 1)
        blocks = tt_tmp(p, subtree * s->count);
    tt_copy(p, blocks, tt_at(SEND, 0), s->count);
    for (int step = 1; step < subtree; step *= 2) {
        if (rank == 0)
            recv_at_root(p, s, step);
        else
            tt_recv(p, rank + step, tt_plus(blocks, step * s->count), tt_subtree(rank + step, tt_size(p)) * s->count);
    }
    tt_fence(p);
    if (rank > 0 && parent == 0)
        send_to_root(p, s, blocks);
    else if (rank > 0)
        tt_send(p, parent, blocks, subtree * s->count);
    tt_leave(p);
    return 0;
}

TT_ALGORITHM(gather, binomial,
             .summary = "subtrees collect their blocks: ceil(log2 p) alpha + (p-1)/p n beta",
             .build = build);
