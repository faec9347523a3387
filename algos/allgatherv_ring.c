/* SPDX-License-Identifier: BSD-3-Clause */
/* Ring allgatherv: the ring of allgather_ring.c with blocks of different length. A step takes as long as the longest of
 * the blocks that move in it, and every block is on the move in every step: the choice for long blocks of much the same
 * length. (p-1) alpha + (p-1) m beta, where m is the longest block. */
#include "algos/costs.h"

TT_ALGORITHM(allgatherv, ring,
             .summary = "blocks go round once: (p-1) alpha + (p-1) beta times the longest block; neighbours only",
             .build = tt_allgather_ring,
             .cost = tt_allgather_ring_cost);
