/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter+allgather bcast (van de Geijn's): the vector is cut into p balanced blocks, scattered down a binomial tree so
 * that each rank holds the blocks of its subtree, and the blocks then go round a ring. No rank sends much more than
 * twice the vector however many there are, where a tree has the root send it log2(p) times: the choice for long
 * vectors. The ring stops serving a rank at the blocks it had from the scatter, so each block arrives once and none at
 * the root. (log2(p) + p-1) alpha + 2(p-1)/p n beta. */
#include "algos/costs.h"

/* The n blocks from first on, to or from a peer. */
static void send_blocks(struct tt_plan *p, int peer, int64_t n, int first, int blocks)
{
    const int64_t at = tt_cut(n, tt_size(p), first);

    tt_send(p, peer, tt_at(RECV, at), tt_cut(n, tt_size(p), first + blocks) - at);
}

static void recv_blocks(struct tt_plan *p, int peer, int64_t n, int first, int blocks)
{
    const int64_t at = tt_cut(n, tt_size(p), first);

    tt_recv(p, peer, tt_at(RECV, at), tt_cut(n, tt_size(p), first + blocks) - at);
}

static void scatter(struct tt_plan *p, int64_t n)
{
    const int size = tt_size(p), rank = tt_rank(p), subtree = tt_subtree(rank, size);

    if (rank > 0)
        recv_blocks(p, rank & (rank - 1), n, rank, subtree);
    for (int step = tt_pow2_below(size); step > 0; step /= 2) {
        if (step < subtree) {
            tt_fence(p);
            send_blocks(p, rank + step, n, rank + step, tt_subtree(rank + step, size));
        }
    }
    tt_fence(p);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    int size, rank, right;

    tt_enter_rotated(p, s->root);
    size = tt_size(p);
    rank = tt_rank(p);
    right = tt_mod(rank + 1, size);
    scatter(p, s->count);
    for (int k = 0; k < size - 1; k++) {
        if (k < size - tt_subtree(right, size))
            send_blocks(p, right, s->count, tt_mod(rank - k, size), 1);
        if (k < size - tt_subtree(rank, size))
            recv_blocks(p, tt_mod(rank - 1, size), s->count, tt_mod(rank - k - 1, size), 1);
        tt_fence(p);
    }
    tt_leave(p);
    return 0;
}

/* The ring in which a rank that has the blocks of its subtree is not sent them: so much less is under way. */
static struct tt_fares thinned(const struct tt_net *net)
{
    const double p = net->size;
    struct tt_fares f = net->shift[0];
    double had = p; /* blocks, summed over ranks: each is in the subtrees of its rank's ancestors, one per bit of it */

    for (int bit = 1; bit < net->size; bit *= 2)
        had += net->size / (2 * bit) * bit + (net->size % (2 * bit) > bit ? net->size % (2 * bit) - bit : 0);
    if (f.near.beta > net->alone.near.beta)
        f.near.beta *= (p * p - had) / (p * p - p);
    return f;
}

/* By Heron's rule, which needs no library. */
static double root(double x)
{
    double r = x;

    for (int i = 0; i < 20; i++)
        r = (r + x / r) / 2;
    return r;
}

/* How much of alpha is over while others use a link. Blocks that are not as long get the ranks that share it out of
 * step: of m at random how many are in their alpha differs by the root of m, and so much of m is not hidden. */
static double hidden(const struct tt_net *net, bool alike)
{
    const bool far = net->shift[0].crossing > 0;
    const double ranks =
        far ? tt_sharing(&net->alone.far, &net->shift[0].far) : tt_sharing(&net->alone.near, &net->shift[0].near);

    return alike ? 0.1 : 1 - 1 / root(ranks);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int p = net->size;
    const double row =
        net->shift[0].crossing > 0 ? 1 / net->shift[0].crossing : p; /* ranks of a node, one after another */
    const int64_t waits = p - (int)row + 1; /* the ring stops at a node's first rank when it has its own */
    const double n = tt_parts_bytes(s, p, 1);
    const double over = p > 1 ? hidden(net, s->count % p == 0) : 0;
    const struct tt_fares thin = p > 1 ? thinned(net) : (struct tt_fares){0},
                          ring = tt_out_of_step(net, &thin, n, over);
    double t = 0;

    for (int k = 0; 1 << k < p; k++)
        t += tt_takes(net, &net->tree[k], tt_parts_bytes(s, p, 2 << k < p ? 1 << k : p - (1 << k)));
    return t + tt_rounds(net, &ring, n, p - 1, s->count < waits ? s->count : waits);
}

TT_ALGORITHM(bcast, scatter_allgather,
             .summary = "scatter down a tree, blocks round a ring: (log2(p) + p-1) alpha + 2(p-1)/p n beta",
             .build = build, .cost = cost);
