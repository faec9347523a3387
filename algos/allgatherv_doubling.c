/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling allgatherv: partners exchange all that they have, as in allgather_doubling.c. On a power of two of
 * ranks the long block travels in as few messages as can be: the choice for middling blocks there.
 * log2(p) alpha + n beta, where n is all blocks together; other numbers of ranks fold, which adds 2 alpha + n beta. */
#include "algos/costs.h"

TT_ALGORITHM(allgatherv, doubling,
             .summary = "partners exchange all they have: log2(p) alpha + n beta; best on a power of two",
             .build = tt_allgather_doubling,
             .cost = tt_allgather_doubling_cost);
