/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level allgatherv: allgather_two_level.c, for blocks of any lengths: each block is cut into as many segments as
 * the longest needs. Balanced as far as the blocks are. */
#include "algos/levels.h"

TT_ALGORITHM(allgatherv, two_level,
             .summary = "blocks across on every rail, then within, pipelined: alpha across + alpha within "
                        "+ max((N-1)/N n/L beta across, n beta within)",
             .needs = TT_TWO_LEVELS, .segmented = true, .build = tt_allgather_two_level,
             .cost = tt_allgather_two_level_cost, .rough = tt_allgather_two_level_rough);
