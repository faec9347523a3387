/* SPDX-License-Identifier: BSD-3-Clause */
/* Bruck's alltoall: the block for the rank d above us travels the binary digits of d: in step k all blocks whose d has
 * bit k go, as one message, to the rank 2^k above. log2(p) messages where others need p-1, at the price of each
 * block travelling log2(p)/2 times and being copied as often: the choice for very short blocks. A block is copied
 * only to be packed: what arrives stays where it is until it is packed again or delivered.
 * ceil(log2 p) (alpha + n/2 beta), where n is all blocks of a rank together. */
#include "algos/costs.h"

/* How many of the numbers below d have bit `step` set: the place of block d in the message of that step. */
static int place(int d, int step)
{
    const int bit = 1 << step, rest = d % (2 * bit);

    return d / (2 * bit) * bit + (rest > bit ? rest - bit : 0);
}

/* Where block d lies before a step: in the message of the highest of its lower bits, or still in SEND. The messages lie
 * one after the other in arrived, with room for p/2 blocks each. */
static struct tt_loc whereabouts(const struct tt_plan *p, int d, int step, struct tt_loc arrived, int64_t n)
{
    const int size = tt_size(p), room = size / 2;

    while (step-- > 0)
        if (d >> step & 1)
            return tt_plus(arrived, ((int64_t)step * room + place(d, step)) * n);
    return tt_at(SEND, tt_mod(tt_rank(p) + d, size) * n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p), room = size / 2;
    const int64_t n = s->count;
    struct tt_loc packed, arrived;
    int steps = 0;

    while (1 << steps < size)
        steps++;
    packed = tt_tmp(p, room * n);
    arrived = tt_tmp(p, (int64_t)steps * room * n);
    for (int step = 0; step < steps; step++) {
        const int64_t message = place(size, step) * n;

        for (int d = 1; d < size; d++)
            if (d >> step & 1)
                tt_copy(p, tt_plus(packed, place(d, step) * n), whereabouts(p, d, step, arrived, n), n);
        tt_fence(p);
        tt_send(p, tt_mod(rank + (1 << step), size), packed, message);
        tt_recv(p, tt_mod(rank - (1 << step), size), tt_plus(arrived, (int64_t)step * room * n), message);
        tt_fence(p);
    }
    for (int d = 0; d < size; d++)
        tt_copy(p, tt_at(RECV, tt_mod(rank - d, size) * n), whereabouts(p, d, steps, arrived, n), n);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count), copy = tt_copies(net, n);
    double t = net->size * copy;

    for (int k = 0; 1 << k < net->size; k++)
        t += place(net->size, k) * copy + tt_takes(net, &net->shift[k], n * place(net->size, k));
    return t;
}

TT_ALGORITHM(alltoall, bruck,
             .summary = "blocks travel the bits of their distance: ceil(log2 p) (alpha + n/2 beta); for short blocks",
             .build = build,
             .cost = cost);
