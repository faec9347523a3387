/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring reduce_scatter: the block meant for rank b sets out at rank b+1 and travels right, every rank adding its own
 * part, until after p-1 steps it arrives at b. Each rank talks to two neighbours only and sends n less one block,
 * the least possible: the choice for long vectors. (p-1) alpha + (p-1)/p n beta + (p-1)/p n gamma, where
 * n is all blocks together; with very uneven blocks, p-1 times the longest takes the place of (p-1)/p n. */
#include "algos/costs.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int right = tt_mod(rank + 1, size), left = tt_mod(rank - 1, size);
    const int64_t longest = size > 1 ? tt_longest(s) : 0, n = tt_offset(s, rank + 1) - tt_offset(s, rank);
    const struct tt_loc passing[2] = {tt_tmp(p, longest), tt_tmp(p, longest)};
    struct tt_loc result = tt_at(SEND, 0);

    for (int k = 0; k < size - 1; k++) {
        const int out = tt_mod(rank - k - 1, size), in = tt_mod(rank - k - 2, size);
        const int64_t o = tt_offset(s, out), i = tt_offset(s, in), n_in = tt_offset(s, in + 1) - i;
        const bool last = k == size - 2;

        tt_send(p, right, k == 0 ? tt_at(SEND, o) : result, tt_offset(s, out + 1) - o);
        tt_recv(p, left, passing[k % 2], n_in);
        tt_fence(p);
        result = last && !tt_straddles(s, i, 0, n) ? tt_at(RECV, 0) : passing[k % 2];
        tt_reduce(p, result, passing[k % 2], tt_at(SEND, i), n_in);
        tt_fence(p);
    }
    tt_copy(p, tt_at(RECV, 0), result, n);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int steps = net->size - 1;
    const double n = tt_block_bytes(s);

    return steps == 0 ? tt_copies(net, n) : steps * (tt_takes(net, &net->shift[0], n) + tt_adds(net, n));
}

TT_ALGORITHM(reduce_scatter, ring,
             .summary = "blocks go round once: (p-1) alpha + (p-1)/p n beta; bandwidth optimal",
             .needs = TT_COMMUTATIVE,
             .build = build,
             .cost = cost);
