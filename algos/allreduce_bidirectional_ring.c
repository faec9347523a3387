/* SPDX-License-Identifier: BSD-3-Clause */
/* Bidirectional ring allreduce: two rings at once, one over each half of the vector, turning in opposite
 * directions, each as allreduce_ring.c describes. A link that carries both directions at full speed (NVLink,
 * most networks) is used both ways, which one ring alone never does: twice the bandwidth for long vectors.
 * 2(p-1) alpha + (p-1)/p n beta + (p-1)/p n gamma; twice the messages of one ring. */
#include "algos/costs.h"

/* One ring over n elements from at on. direction is +1 to pass blocks to the next rank, -1 to the one before. */
static void ring(struct tt_plan *p, int64_t at, int64_t n, int direction)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int next = tt_mod(rank + direction, size), previous = tt_mod(rank - direction, size);
    const struct tt_loc arrived = tt_tmp(p, tt_cut(n, size, 1));

    for (int k = 0; k < 2 * (size - 1); k++) {
        const int out = tt_mod(rank - direction * k, size), in = tt_mod(rank - direction * (k + 1), size);
        const int64_t o = at + tt_cut(n, size, out), n_out = at + tt_cut(n, size, out + 1) - o;
        const int64_t i = at + tt_cut(n, size, in), n_in = at + tt_cut(n, size, in + 1) - i;
        const bool reducing = k < size - 1; /* first time round; the second time blocks are finished */

        tt_send(p, next, tt_at(k == 0 ? SEND : RECV, o), n_out);
        tt_recv(p, previous, reducing ? arrived : tt_at(RECV, i), n_in);
        tt_fence(p);
        if (reducing) {
            tt_reduce(p, tt_at(RECV, i), arrived, tt_at(SEND, i), n_in);
            tt_fence(p);
        }
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int64_t half = tt_cut(s->count, 2, 1);

    if (tt_size(p) == 1) {
        tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
        return 0;
    }
    ring(p, 0, half, +1);
    tt_lane(p);
    ring(p, half, s->count - half, -1);
    return 0;
}

/* A step of the first trip, for one kind of links: once the lanes have reduced one after the other they are out of
 * step, and one's messages have the links for themselves while the other reduces. */
static double step(const struct tt_fare *both, const struct tt_fare *one, double n, double adds)
{
    return both->alpha + n * both->beta + adds - 0.5 * tt_smaller(adds, n * (both->beta - one->beta));
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int p = net->size;
    const int64_t half = tt_cut(s->count, 2, 1);
    const double n = tt_bytes(s, tt_cut(half, p, 1)), adds = tt_adds(net, n);
    const double over = half % p == 0 ? 0.4 : 0.6; /* blocks that are not as long get ranks out of step */
    const struct tt_fares *one = &net->shift[0], late = tt_out_of_step(net, &net->both, n, over), *both = &late;
    const double reducing =
        net->overhead + tt_larger(step(&both->near, &one->near, n, adds), step(&both->far, &one->far, n, adds));

    if (p == 1)
        return tt_copies(net, 2 * n);
    if (half < p)
        return tt_rounds(net, one, n, 2 * (p - 1), half) + (p - 1) * (1 + 0.5 * half / p) * adds;
    return tt_larger((p - 1) * 2 * adds + tt_takes(net, both, n), (p - 1) * reducing + adds) +
           (p - 1) * tt_takes(net, both, n);
}

TT_ALGORITHM(allreduce, bidirectional_ring,
             .summary = "a ring each way over half the vector: 2(p-1) alpha + (p-1)/p n beta on full-duplex links",
             .needs = TT_COMMUTATIVE,
             .build = build,
             .cost = cost);
