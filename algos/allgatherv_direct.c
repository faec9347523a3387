/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct allgatherv: each rank sends its block to all others at once, as in allgather_direct.c. No rank waits for a
 * block that is longer than its own, and none passes anything on: the choice where few ranks have nearly all of the
 * data, or every pair has a link of its own. alpha to (p-1) alpha + n beta at the receiver, (p-1) m beta at the sender
 * of the longest block, m; n is all blocks together. */
#include "algos/costs.h"

TT_ALGORITHM(allgatherv, direct,
             .summary = "each sends its block to all at once: one round of p-1 messages, (p-1) times the longest",
             .build = tt_allgather_direct,
             .cost = tt_allgather_direct_cost);
