/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring allreduce: the vector is cut into p balanced blocks that travel around the ring twice. In the first round trip
 * every rank adds its own part to the block that passes and hands it on, so that after p-1 steps rank r owns the
 * finished block r+1 (modulo p); in the second the finished blocks are passed on.
 * Bandwidth optimal: 2(p-1) alpha + 2(p-1)/p n beta + (p-1)/p n gamma; latency grows with p. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int right = tt_mod(rank + 1, size), left = tt_mod(rank - 1, size);
    const struct tt_loc arrived = tt_tmp(p, size > 1 ? tt_cut(s->count, size, 1) : 0);

    if (size == 1)
        tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    for (int k = 0; k < size - 1; k++) {
        const int out = tt_mod(rank - k, size), in = tt_mod(rank - k - 1, size);
        const int64_t o = tt_cut(s->count, size, out), i = tt_cut(s->count, size, in);
        const int64_t n_in = tt_cut(s->count, size, in + 1) - i;

        tt_send(p, right, tt_at(k == 0 ? SEND : RECV, o), tt_cut(s->count, size, out + 1) - o);
        tt_recv(p, left, arrived, n_in);
        tt_fence(p);
        tt_reduce(p, tt_at(RECV, i), arrived, tt_at(SEND, i), n_in);
        tt_fence(p);
    }
    for (int k = 0; k < size - 1; k++) {
        const int out = tt_mod(rank + 1 - k, size), in = tt_mod(rank - k, size);
        const int64_t o = tt_cut(s->count, size, out), i = tt_cut(s->count, size, in);

        tt_send(p, right, tt_at(RECV, o), tt_cut(s->count, size, out + 1) - o);
        tt_recv(p, left, tt_at(RECV, i), tt_cut(s->count, size, in + 1) - i);
        tt_fence(p);
    }
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int p = net->size, steps = p - 1;
    const double n = tt_parts_bytes(s, p, 1);
    const struct tt_fares *ring = &net->shift[0];
    const bool alike = ring->crossing == 0 || ring->crossing == 1 || s->count % p == 0; /* or ranks get out of step */
    const struct tt_fares f = tt_out_of_step(net, ring, n, alike ? 0 : 0.25);

    if (p == 1)
        return tt_copies(net, n);
    return tt_rounds(net, &f, n, 2 * steps, s->count < p ? s->count : 2 * p) + steps * tt_adds(net, n);
}

TT_ALGORITHM(allreduce, ring,
             .summary = "blocks go round twice: 2(p-1) alpha + 2(p-1)/p n beta; bandwidth optimal",
             .needs = TT_COMMUTATIVE,
             .build = build,
             .cost = cost);
