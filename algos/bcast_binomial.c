/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial bcast: who has the vector sends it on, so the number who have it doubles in each step; the child with the
 * largest subtree is served first. The fewest steps there are: the choice for short vectors.
 * ceil(log2 p) (alpha + n beta). */
#include "algos/costs.h"

void tt_bcast_binomial(struct tt_plan *p, int64_t n)
{
    const int size = tt_size(p), rank = tt_rank(p), subtree = tt_subtree(rank, size);

    if (rank > 0)
        tt_recv(p, rank & (rank - 1), tt_at(RECV, 0), n);
    for (int step = tt_pow2_below(size); step > 0; step /= 2) {
        if (step < subtree) {
            tt_fence(p);
            tt_send(p, rank + step, tt_at(RECV, 0), n);
        }
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    tt_enter_rotated(p, s->root);
    tt_bcast_binomial(p, s->count);
    tt_leave(p);
    return 0;
}

/* The longest way down; or what the busiest port carries, which ranks may come to at different times, but all use. */
double tt_bcast_binomial_cost(const struct tt_net *net, double n)
{
    const struct tt_busiest *b = &net->serving;
    double t = 0, busiest = net->overhead + b->fare.alpha + n * b->fare.beta;
    int steps = 0;

    for (int k = tt_steps(net->size) - 1; k >= 0; k--) {
        t += tt_takes(net, &net->served[k], n);
        steps++;
        if (steps == b->after)
            busiest += t;
    }
    return net->size > 1 ? tt_larger(t, busiest) : 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return tt_bcast_binomial_cost(net, tt_bytes(s, s->count));
}

TT_ALGORITHM(bcast, binomial, .summary = "a tree of doubling: ceil(log2 p) (alpha + n beta); fewest steps",
             .build = build, .cost = cost);
