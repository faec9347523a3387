/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial gather: each rank collects the blocks of its subtree and hands them to its parent in one message. The root
 * has log2(p) messages to take instead of p-1: the choice for short blocks. The tree is rooted at the root, so subtrees
 * are contiguous but for the one that wraps from the last rank to the first: the root receives that one in two
 * messages, each straight to its place. ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/costs.h"

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

/* When a rank that has so many blocks to send to the rank whose child number k it is is over; free: when that rank's
 * ports, within nodes and across, are. No more share a link than send, of so many ranks. */
static double arrive(const struct tt_net *net, int k, int ranks, double ready, double n, double free[2])
{
    const bool far = net->gathered[k].far.alpha > 0 || net->gathered[k].far.beta > 0;
    const struct tt_fare *f = far ? &net->gathered[k].far : &net->gathered[k].near;
    const double alone = far ? net->alone.far.beta : net->alone.near.beta;
    const double beta = tt_smaller(f->beta, alone * ((ranks + (1 << k)) >> (k + 1)));

    free[far] = tt_larger(free[far], ready + net->overhead + f->alpha) + n * beta;
    return free[far];
}

/* Are the last ranks, from that one on, all of a node, where nodes have their ranks in a row? */
static bool on_its_own(const struct tt_net *net, int first)
{
    const bool rows = net->across && net->shift[0].crossing * net->size < net->across->size + 0.5;

    return rows && first > 0 && net->node[first] == net->node[first - 1] + 1 &&
           net->node[first] == net->node[net->size - 1];
}

/* When a rank with a subtree of so many ranks has all of its blocks; full[k]: with one of 2^k. */
static double complete(const struct tt_net *net, int ranks, double n, const double *full, double last)
{
    const int first = net->size - ranks, sharing = on_its_own(net, first) ? ranks : net->size;
    double free[2] = {0}, t = tt_copies(net, n);
    bool arrived = false;

    for (int k = 0; 1 << k < ranks; k++) {
        const int rest = ranks - (1 << k), blocks = rest < 1 << k ? rest : 1 << k, top = tt_steps(ranks) - 1;

        if (!arrived && k < top && last < full[k]) {
            t = tt_larger(t, arrive(net, top, sharing, last, n * (ranks - (1 << top)), free));
            arrived = true;
        }
        if (k < top || !arrived)
            t = tt_larger(t, arrive(net, k, sharing, k < top ? full[k] : last, n * blocks, free));
    }
    return t;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);
    double full[TT_MAX_BITS] = {0}, t = 0;

    if (net->size == 1)
        return tt_copies(net, n);
    for (int k = 1; 1 << k < net->size; k++)
        full[k] = complete(net, 1 << k, n, full, full[k - 1]);
    for (int bit = 1, ranks = 0; bit <= net->size; bit *= 2) /* the subtrees that the last ranks are in, from within */
        if (net->size & bit) {
            ranks += bit;
            t = ranks == bit
                    ? (bit < net->size ? full[tt_steps(bit)] : complete(net, bit, n, full, full[tt_steps(bit) - 1]))
                    : complete(net, ranks, n, full, t);
        }
    return t;
}

TT_ALGORITHM(gather, binomial,
             .summary = "subtrees collect their blocks: ceil(log2 p) alpha + (p-1)/p n beta",
             .build = build,
             .cost = cost);
