/* SPDX-License-Identifier: BSD-3-Clause */
/* Bruck's allgather: in step k each rank sends its first 2^k blocks, counted from its own upwards and round,
 * to the rank 2^k below it. The fewest steps for any number of ranks: the choice for short blocks. It is usually told
 * with the blocks shifted to the front and rotated at the end; here each is received where it belongs, and a run that
 * wraps from the last block to the first travels as two messages, which is cheaper than moving all blocks.
 * ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/algos.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);

    tt_copy(p, tt_at(RECV, rank * s->count), tt_at(SEND, 0), s->count);
    for (int have = 1; have < size; have *= 2) {
        const int to = tt_mod(rank - have, size), from = tt_mod(rank + have, size);
        const int run = have < size - have ? have : size - have;
        const int out = run < size - rank ? run : size - rank, in = run < size - from ? run : size - from;

        tt_send(p, to, have == 1 ? tt_at(SEND, 0) : tt_at(RECV, rank * s->count), out * s->count);
        tt_send(p, to, tt_at(RECV, 0), (run - out) * s->count);
        tt_recv(p, from, tt_at(RECV, from * s->count), in * s->count);
        tt_recv(p, from, tt_at(RECV, 0), (run - in) * s->count);
        tt_fence(p);
    }
    return 0;
}

TT_ALGORITHM(allgather, bruck,
             .summary = "runs that double, sent 2^k ranks down: ceil(log2 p) alpha + (p-1)/p n beta, for any p",
             .build = build);
