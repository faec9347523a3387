/* SPDX-License-Identifier: BSD-3-Clause */
/* Bruck's allgather: in step k each rank sends its first 2^k blocks, counted from its own upwards and round,
 * to the rank 2^k below it. The fewest steps for any number of ranks: the choice for short blocks. It is usually told
 * with the blocks shifted to the front and rotated at the end; here each is received where it belongs, and a run that
 * wraps from the last block to the first travels as two messages, which is cheaper than moving all blocks.
 * ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/costs.h"

/* Where n blocks from first on lie, as two runs: up to the last block, and on from block 0. */
struct run {
    int64_t at, n, wrapped;
};

static struct run run_of(const struct tt_shape *s, int first, int n)
{
    const int before = n < s->size - first ? n : s->size - first;
    const int64_t at = tt_offset(s, first);

    return (struct run){at, tt_offset(s, first + before) - at, tt_offset(s, n - before)};
}

int tt_allgather_bruck(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);

    tt_copy(p, tt_at(RECV, tt_offset(s, rank)), tt_at(SEND, 0), tt_block(s, rank));
    for (int have = 1; have < size; have *= 2) {
        const int to = tt_mod(rank - have, size), from = tt_mod(rank + have, size);
        const int blocks = have < size - have ? have : size - have;
        const struct run out = run_of(s, rank, blocks), in = run_of(s, from, blocks);

        tt_send(p, to, have == 1 ? tt_at(SEND, 0) : tt_at(RECV, out.at), out.n);
        tt_send(p, to, tt_at(RECV, 0), out.wrapped);
        tt_recv(p, from, tt_at(RECV, in.at), in.n);
        tt_recv(p, from, tt_at(RECV, 0), in.wrapped);
        tt_fence(p);
    }
    return 0;
}

double tt_allgather_bruck_cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int p = net->size;
    const double n = tt_block_bytes(s);
    double t = p == 1 ? tt_copies(net, n) : 0;

    for (int k = 0; 1 << k < p; k++) {
        const int blocks = 2 << k < p ? 1 << k : p - (1 << k);

        t += tt_larger(k == 0 ? tt_copies(net, n) : 0, tt_takes(net, &net->shift[k], n * blocks));
    }
    return t;
}

TT_ALGORITHM(allgather, bruck,
             .summary = "runs that double, sent 2^k ranks down: ceil(log2 p) alpha + (p-1)/p n beta, for any p",
             .build = tt_allgather_bruck,
             .cost = tt_allgather_bruck_cost);
