/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipelined chain scan: each rank adds its own part to what comes from the rank below and passes it on, a segment at a
 * time: while one segment arrives, the one before is added up and the one before that is on its way. Once the chain is
 * full every rank sends, receives and adds the vector once: the choice for very long vectors on few ranks.
 * With m = n / segment: (2(p-2) + m + 1) (alpha + segment (beta + gamma)). */
#include "algos/costs.h"

/* Elements of segment k; 0 where there is no such segment. */
static int64_t length(const struct tt_shape *s, int64_t k)
{
    const int64_t left = s->count - k * s->segment;

    return k < 0 || left <= 0 ? 0 : left < s->segment ? left : s->segment;
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int64_t segments = s->count / s->segment + (s->count % s->segment > 0), room = rank > 0 ? length(s, 0) : 0;
    const struct tt_loc arrived[2] = {tt_tmp(p, room), tt_tmp(p, room)};
    const struct tt_loc sum = tt_at(rank > 0 ? RECV : SEND, 0);

    if (rank == 0)
        tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    for (int64_t k = 0; k < segments + 2; k++) {
        const int64_t in = k * s->segment, add = in - s->segment, out = add - s->segment;

        if (rank > 0) {
            tt_recv(p, rank - 1, arrived[k % 2], length(s, k));
            tt_reduce(p, tt_at(RECV, add), arrived[(k + 1) % 2], tt_at(SEND, add), length(s, k - 1));
        }
        if (rank < size - 1)
            tt_send(p, rank + 1, tt_plus(sum, out), length(s, k - 2));
        tt_fence(p);
    }
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int64_t segment = s->segment < s->count ? s->segment : s->count;
    const double n = tt_bytes(s, segment), segments = s->count > 0 ? tt_bytes(s, s->count) / n : 0;
    const double adds = tt_adds(net, n), hops = net->size - 1, slow = tt_hops_across(net);
    const double row = net->size / (slow + 1); /* ranks between two slow hops */
    const double waits = tt_smaller(row, segments - 1) / row * tt_larger(net->size - 2 * row, 0);
    const double copy = tt_copies(net, tt_bytes(s, s->count)); /* rank 0's, before anything else */
    struct tt_chain c;

    if (hops == 0 || s->count == 0)
        return copy;
    c = tt_chain_cost(net, n, hops, segments, 2, adds);
    if (segments <= 1)
        return copy + hops * (c.mean + adds);
    /* a rank adds one segment while it waits for the next, which between two slow hops comes at their pace */
    return copy + hops * c.mean + (hops - waits) * tt_larger(c.near, adds) +
           (waits + segments - 2) * tt_larger(c.slowest, adds) + adds;
}

TT_ALGORITHM(scan, chain,
             .summary = "segments down a chain, m of them: (2p-3 + m) (alpha + n/m (beta + gamma)); for long vectors",
             .segmented = true, .build = build, .cost = cost);
