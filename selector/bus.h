/* SPDX-License-Identifier: BSD-3-Clause */
/* Bandwidths as nccl-tests publishes them (its doc/PERFORMANCE.md). */
#ifndef TT_BUS_H
#define TT_BUS_H

#include "algos/algos.h"

/* Bus over algorithm bandwidth on p ranks; 0: the collective has no such bandwidth. The algorithm's is bytes over time,
 * the bytes being those of all blocks; the bus's is that times what each rank must at least send or receive of them. */
double tt_bus_factor(enum tt_coll coll, int p);

#endif
