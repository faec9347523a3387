/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive halving reduce (Rabenseifner's): a reduce_scatter by halving leaves each rank one reduced part, and a
 * binomial gather, by the same pairs in reverse, brings the parts to the root. No rank reduces or receives much more
 * than one vector, where a tree has the root do so log2(p) times: the choice for long vectors. Neighbours are
 * paired first, which keeps operands in rank order, and of a folded pair the root never sits out.
 * 2 log2(p) alpha + 2(p-1)/p n beta + (p-1)/p n gamma; if p is no power of two, folding (pieces.h) adds
 * alpha + n beta + n gamma. */
#include "algos/costs.h"

static void gather(struct tt_plan *p, const struct tt_shape *s, int root, int part)
{
    const int size = tt_size(p), rank = tt_rank(p);

    for (int have = 1; have < size; have *= 2) {
        const int bit = tt_partner_bit(TT_NEAR_FIRST, size, have);
        const int first = part & -have, theirs = first ^ have;
        const int64_t o = tt_part(s, size, first), i = tt_part(s, size, theirs);

        if ((rank ^ root) & bit) {
            tt_send(p, rank ^ bit, tt_at(RECV, o), tt_part(s, size, first + have) - o);
            return;
        }
        tt_recv(p, rank ^ bit, tt_at(RECV, i), tt_part(s, size, theirs + have) - i);
        tt_fence(p);
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_fold f = tt_fold(p, s->root);
    const int root = tt_folded_rank(s->root, tt_size(p));
    const bool at_root = tt_rank(p) == s->root;
    const int error = tt_fold_reduce(p, &f, s->count, at_root ? tt_at(RECV, 0) : tt_tmp(p, f.stays ? s->count : 0));

    if (error || !f.stays)
        return error;
    gather(p, s, root, tt_halve(p, s, TT_NEAR_FIRST));
    tt_leave(p);
    return 0;
}

/* A message between a rank that stands for the root's pair and who has that number, or its partner in the pair. */
static double hop(const struct tt_net *net, int root, int peer, double n)
{
    const bool far = net->node[root] != net->node[peer];
    const struct tt_fare *f = far ? &net->alone.far : &net->alone.near;

    return n > 0 ? net->overhead + f->alpha + n * f->beta + tt_adds(net, n) : 0;
}

/* A root that stays in its partner's place has other links than that. */
static double root_halves(const struct tt_net *net, const struct tt_shape *s)
{
    const int size = tt_pow2_below(net->size), pairs = net->size - size, number = tt_folded_rank(s->root, net->size);
    double t = hop(net, s->root, s->root ^ 1, tt_bytes(s, s->count));

    for (int half = size / 2; half > 0; half /= 2) {
        const int peer = number ^ tt_partner_bit(TT_NEAR_FIRST, size, half);

        t += hop(net, s->root, peer < pairs ? 2 * peer + 1 : peer + pairs, tt_parts_bytes(s, size, half));
    }
    return t;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int size = tt_pow2_below(net->size), pairs = net->size - size;
    const bool moved = s->root < 2 * pairs && s->root % 2 == 0;
    const double n = tt_bytes(s, s->count);
    struct tt_ready t = tt_fold_cost(net, n, tt_adds(net, n));
    double gather = 0;

    tt_halve_cost(&t, s, net, TT_NEAR_FIRST);
    for (int have = 1; have < size; have *= 2) {
        const int bit = tt_partner_bit(TT_NEAR_FIRST, size, have);

        gather += tt_takes(net, &net->halves[tt_steps(bit)],
                           tt_bytes(s, tt_part(s, size, 2 * have) - tt_part(s, size, have)));
    }
    return tt_larger(tt_all_ready(&t), moved ? root_halves(net, s) : 0) + gather;
}

TT_ALGORITHM(reduce, halving,
             .summary = "Rabenseifner: reduce_scatter by halving, gather: 2 log2(p) alpha + 2(p-1)/p n beta",
             .canonical = true,
             .build = build,
             .cost = cost);
