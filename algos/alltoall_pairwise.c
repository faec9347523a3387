/* SPDX-License-Identifier: BSD-3-Clause */
/* Pairwise alltoall: in step k ranks r and k - r (modulo p) exchange their blocks for each other; in one of the steps a
 * rank meets itself. Every block travels once, and every rank has one partner at a time: the choice for long
 * blocks. As the partners exchange, a block that arrives may take the place of the one that left, so in place
 * costs no copy of the whole buffer: each block waits aside until its exchange is over, and moves during the next.
 * p alpha + (p-1)/p n beta, where n is all blocks of a rank together. */
#include "algos/algos.h"

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const int64_t n = s->count;
    const struct tt_loc aside[2] = {tt_tmp(p, s->inplace ? n : 0), tt_tmp(p, s->inplace ? n : 0)};

    for (int k = 0; k < size; k++) {
        const int peer = tt_mod(k - rank, size), before = tt_mod(k - 1 - rank, size);
        const struct tt_loc block = tt_at(RECV, peer * n);

        if (peer == rank) {
            tt_copy(p, block, tt_at(SEND, peer * n), n);
        } else {
            tt_send(p, peer, tt_at(SEND, peer * n), n);
            tt_recv(p, peer, s->inplace ? aside[k % 2] : block, n);
        }
        if (s->inplace && k > 0 && before != rank)
            tt_copy(p, tt_at(RECV, before * n), aside[(k - 1) % 2], n);
        tt_fence(p);
    }
    if (s->inplace && tt_mod(-1 - rank, size) != rank)
        tt_copy(p, tt_at(RECV, tt_mod(-1 - rank, size) * n), aside[(size - 1) % 2], n);
    return 0;
}

TT_ALGORITHM(alltoall, pairwise,
             .summary = "one partner at a time: p alpha + (p-1)/p n beta; each block travels once",
             .build = build);
