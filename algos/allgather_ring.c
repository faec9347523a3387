/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring allgather: p-1 steps, in each of which every rank passes on the block it received last. Each rank talks to two
 * neighbours only and receives each block once: the choice for long blocks.
 * (p-1) alpha + (p-1)/p n beta, where n is all blocks together; latency grows with p. */
#include "algos/costs.h"

int tt_allgather_ring(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int right = tt_mod(rank + 1, size), left = tt_mod(rank - 1, size);

    tt_copy(p, tt_at(RECV, tt_offset(s, rank)), tt_at(SEND, 0), tt_block(s, rank));
    for (int k = 0; k < size - 1; k++) {
        const int out = tt_mod(rank - k, size), in = tt_mod(rank - k - 1, size);

        tt_send(p, right, k == 0 ? tt_at(SEND, 0) : tt_at(RECV, tt_offset(s, out)), tt_block(s, out));
        tt_recv(p, left, tt_at(RECV, tt_offset(s, in)), tt_block(s, in));
        tt_fence(p);
    }
    return 0;
}

double tt_allgather_ring_cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_block_bytes(s), step = tt_takes(net, &net->shift[0], n);

    return net->size == 1 ? tt_copies(net, n) : tt_larger(tt_copies(net, n), step) + (net->size - 2) * step;
}

TT_ALGORITHM(allgather, ring,
             .summary = "blocks go round once: (p-1) alpha + (p-1)/p n beta; bandwidth optimal",
             .build = tt_allgather_ring,
             .cost = tt_allgather_ring_cost);
