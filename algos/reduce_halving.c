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

/* The pairs fold, the root's the other way. */
static struct tt_ready fold_cost(const struct tt_net *net, const struct tt_shape *s, double n)
{
    const double *turned = net->turned[s->root / 2];
    struct tt_ready t = tt_fold_cost(net, TT_HALVES_NEAR, n, n / 2, tt_adds(net, n));

    if (net->node[s->root] != net->node[s->root + 1])
        t.at[TT_PAIR_FAR] =
            net->overhead + net->fold.far.alpha + n * turned[0] + n / 2 * (turned[1] - turned[0]) + tt_adds(net, n);
    return t;
}

/* The busiest port across of a step's, of those who stand for pairs. */
static double across(const struct tt_net *net, const struct tt_meetings *step)
{
    double beta = 0;

    for (int i = 0; i < step->n; i++)
        if (step->of[i].any && step->of[i].fare.alpha == net->alone.far.alpha)
            beta = tt_larger(beta, step->of[i].own.beta);
    return beta;
}

/* A message between the root, in its partner's place, and who has that number. Where the partner's would not go across,
 * and the root's does, links that are shared have one more. */
static double hop(const struct tt_net *net, int root, int peer, const struct tt_meetings *step, double n)
{
    const bool far = net->node[root] != net->node[peer], more = net->node[root + 1] == net->node[peer];
    const bool shared = net->fold.far.beta > net->alone.far.beta;
    const double beta = tt_larger(net->alone.far.beta, across(net, step) + (more && shared ? net->alone.far.beta : 0));

    if (n == 0)
        return 0;
    return net->overhead + tt_adds(net, n) +
           (far ? net->alone.far.alpha + n * beta : net->alone.near.alpha + n * net->alone.near.beta);
}

/* A root that stays in its partner's place has other links than that. t: when it has folded. */
static double root_halves(const struct tt_net *net, const struct tt_shape *s, double t)
{
    const int size = tt_pow2_below(net->size), pairs = net->size - size, number = tt_folded_rank(s->root, net->size);

    for (int half = size / 2; half > 0; half /= 2) {
        const int bit = tt_partner_bit(TT_NEAR_FIRST, size, half), peer = number ^ bit;

        t += hop(net, s->root, peer < pairs ? 2 * peer + 1 : peer + pairs, &net->folded[TT_HALVES_NEAR][tt_steps(bit)],
                 tt_parts_bytes(s, size, half));
    }
    return t;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int size = tt_pow2_below(net->size), pairs = net->size - size;
    const bool moved = s->root < 2 * pairs && s->root % 2 == 0;
    const double n = tt_bytes(s, s->count);
    struct tt_ready t = moved ? fold_cost(net, s, n) : tt_fold_cost(net, TT_HALVES_NEAR, n, n / 2, tt_adds(net, n));
    const bool near = !moved || net->node[s->root] == net->node[s->root + 1]; /* its partner comes next */
    const double folded = t.at[near ? TT_PAIR_NEAR : TT_PAIR_FAR];
    double gather = 0;

    tt_halve_cost(&t, s, net, TT_NEAR_FIRST);
    for (int have = 1; have < size; have *= 2) {
        const int bit = tt_partner_bit(TT_NEAR_FIRST, size, have);

        gather += tt_takes(net, &net->halves[tt_steps(bit)],
                           tt_bytes(s, tt_part(s, size, 2 * have) - tt_part(s, size, have)));
    }
    return tt_larger(tt_all_ready(&t), moved ? root_halves(net, s, folded) : 0) + gather;
}

TT_ALGORITHM(reduce, halving,
             .summary = "Rabenseifner: reduce_scatter by halving, gather: 2 log2(p) alpha + 2(p-1)/p n beta",
             .canonical = true, .build = build, .cost = cost);
