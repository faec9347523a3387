/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipelined chain bcast: the vector goes from each rank to the next in segments; a rank passes one on while it receives
 * the one behind it. Once the chain is full every link is busy all the time and each rank sends the vector once: the
 * choice for very long vectors on few ranks. With m = n / segment: (p-2 + m) (alpha + segment beta); best when
 * segment is about sqrt(n alpha / ((p-2) beta)). */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int64_t segments = s->count / s->segment + (s->count % s->segment > 0);
    int size, rank;

    tt_enter_rotated(p, s->root);
    size = tt_size(p);
    rank = tt_rank(p);
    for (int64_t k = 0; k <= segments; k++) {
        const int64_t in = k * s->segment, out = in - s->segment;

        if (rank < size - 1 && k > 0)
            tt_send(p, rank + 1, tt_at(RECV, out), k < segments ? s->segment : s->count - out);
        if (rank > 0 && k < segments)
            tt_recv(p, rank - 1, tt_at(RECV, in), k < segments - 1 ? s->segment : s->count - in);
        tt_fence(p);
    }
    tt_leave(p);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int64_t segment = s->segment < s->count ? s->segment : s->count;
    const double n = tt_bytes(s, segment), segments = s->count > 0 ? tt_bytes(s, s->count) / n : 0;
    const double hops = net->size - 1;
    struct tt_chain c;

    if (hops == 0 || s->count == 0)
        return 0;
    c = tt_chain_cost(net, n, hops, segments, 1, 0);
    return hops * c.mean + (segments - 1) * c.slowest;
}

TT_ALGORITHM(bcast, chain,
             .summary = "segments down a chain, m of them: (p-2 + m) (alpha + n/m beta); for very long vectors",
             .segmented = true, .build = build, .cost = cost);
