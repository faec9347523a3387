/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial reduce: ranks form pairs, pairs form fours, and so on; in each step the two halves of a group, each reduced
 * to one rank, become one. The fewest steps there are: the choice for short vectors. A half is held by its first
 * rank, or by the root where the root is a member: so groups stay in rank order, whatever the root, which keeps ops
 * that do not commute right and gives every root the same result to the last bit. If p is no power of two, the first
 * step pairs up just so many ranks (pieces.h) that it takes no more steps, and that the order is everybody's.
 * ceil(log2 p) (alpha + n beta + n gamma). */
#include "algos/costs.h"

/* Who holds the reduction of the ranks from first on, up to end. */
static int holder(int first, int end, int root)
{
    return root >= first && root < end ? root : first;
}

void tt_reduce_binomial(struct tt_plan *p, int64_t n, int root)
{
    const int size = tt_size(p), rank = tt_rank(p);
    struct tt_loc own = tt_at(SEND, 0), result = tt_at(RECV, 0), arrived = own;

    for (int level = 0; 1 << level <= tt_pow2_below(size); level++) {
        const struct tt_merge m = tt_merge_at(tt_folded_rank(rank, size), size, level);
        const int low = holder(m.first, m.middle, root), high = holder(m.middle, m.end, root);
        const int keeps = high == root ? high : low, peer = rank == low ? high : low;

        if (m.middle == m.end)
            continue;
        if (rank != keeps) {
            tt_send(p, keeps, own, n);
            return;
        }
        if (arrived.buf == SEND) {
            arrived = tt_tmp(p, n);
            result = rank == root ? result : tt_tmp(p, n);
        }
        tt_recv(p, peer, arrived, n);
        tt_fence(p);
        tt_reduce(p, result, rank == low ? own : arrived, rank == low ? arrived : own, n);
        tt_fence(p);
        own = result;
    }
    tt_copy(p, result, own, n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    tt_reduce_binomial(p, s->count, s->root);
    return 0;
}

double tt_reduce_binomial_cost(const struct tt_net *net, double n)
{
    struct tt_ready t = tt_first_ready(0);

    for (int k = 0; 1 << k <= tt_pow2_below(net->size); k++)
        tt_fold_step(&t, net, &net->merge[k], (struct tt_sent){.n = n}, true);
    return net->size == 1 ? tt_copies(net, n) : tt_all_ready(&t);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_reduce_binomial_cost(net, tt_bytes(s, s->count));
}

TT_ALGORITHM(reduce, binomial,
             .summary = "groups merge in rank order: ceil(log2 p) (alpha + n beta + n gamma); fewest steps",
             .canonical = true, .build = build, .cost = cost);
