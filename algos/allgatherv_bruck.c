/* SPDX-License-Identifier: BSD-3-Clause */
/* Bruck's allgatherv: runs of blocks that double, as in allgather_bruck.c; blocks lie one behind the other, so a run is
 * one message however long its blocks are. The fewest steps for any number of ranks: the choice for short blocks.
 * ceil(log2 p) alpha + n beta, where n is all blocks together. */
#include "algos/costs.h"

TT_ALGORITHM(allgatherv, bruck,
             .summary = "runs that double, sent 2^k ranks down: ceil(log2 p) alpha + n beta, for any p",
             .build = tt_allgather_bruck,
             .cost = tt_allgather_bruck_cost);
