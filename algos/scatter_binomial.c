/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial scatter: the root sends each child the blocks of its whole subtree in one message, and so on down. The root
 * has log2(p) messages to send instead of p-1: the choice for short blocks. The tree is rooted at the root, so
 * subtrees are contiguous but for the one that wraps from the last rank to the first: the root sends that one in
 * two messages, each straight from its place. ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/costs.h"

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

static bool is_far(const struct tt_fares *f)
{
    return f->far.alpha > 0 || f->far.beta > 0;
}

/* How many of the messages of step k share a link: they start when their senders are served, which is the later the
 * deeper in the tree they are. Of 2^m senders, the most that are equally deep are m over m/2. */
static double shared(const struct tt_net *net, int k, double beta, double alone)
{
    double part = 1;

    for (int i = 1; i < tt_steps(net->size) - k; i += 2)
        part *= i / (i + 1.0);
    return tt_larger(beta * part, alone);
}

/* How long it takes a rank with the blocks of so many ranks to see them all to their own; full[k]: with those of 2^k,
 * last: for its last child. What it sends through one port shares it until the shorter are over. */
static double hand_down(const struct tt_net *net, int ranks, double n, const double *full, double last)
{
    const int top = tt_steps(ranks) - 1;
    double t = tt_copies(net, n);

    for (int k = 0; k <= top; k++) {
        const bool far = is_far(&net->tree[k]);
        const struct tt_fare *f = far ? &net->tree[k].far : &net->tree[k].near;
        const double beta = shared(net, k, f->beta, far ? net->alone.far.beta : net->alone.near.beta);
        const int mine = k < top ? 1 << k : ranks - (1 << top);
        double blocks = 0;

        for (int j = 0; j <= top; j++) {
            const int theirs = j < top ? 1 << j : ranks - (1 << top);

            if (far == is_far(&net->tree[j]))
                blocks += theirs < mine ? theirs : mine;
        }
        t = tt_larger(t, (top - k + 1) * net->overhead + f->alpha + blocks * n * beta + (k < top ? full[k] : last));
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
        full[k] = hand_down(net, 1 << k, n, full, full[k - 1]);
    for (int bit = 1, ranks = 0; bit <= net->size; bit *= 2) /* the subtrees that the last ranks are in, from within */
        if (net->size & bit) {
            ranks += bit;
            t = ranks == bit
                    ? (bit < net->size ? full[tt_steps(bit)] : hand_down(net, bit, n, full, full[tt_steps(bit) - 1]))
                    : hand_down(net, ranks, n, full, t);
        }
    return tt_larger(t, tt_takes(net, &net->subtrees, n));
}

TT_ALGORITHM(scatter, binomial, .summary = "subtrees get their blocks together: ceil(log2 p) alpha + (p-1)/p n beta",
             .build = build, .cost = cost);
