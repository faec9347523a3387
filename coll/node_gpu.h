/* SPDX-License-Identifier: BSD-3-Clause */
/* What a channel does for flights whose bytes are on a GPU: all of it by the place of the flight, which is entered and
 * left in each call, since who polls a channel moves on everybody's flights. */
#ifndef TT_NODE_GPU_H
#define TT_NODE_GPU_H

#include "coll/node_ring.h"
#include "coll/wire.h"
#include "cuda/dev.h"

/* Gives the lane's queue of that flow a copy, whose end is at *mark. -1: it failed, or would not begin. */
int tt_gpu_copy(const struct tt_flight *f, enum tt_flow flow, void *dst, const void *src, size_t n, uint64_t *mark);
int tt_gpu_reached(const struct tt_flight *f, enum tt_flow flow, uint64_t mark); /* 1, 0, -1 as the place's reached */

/* Where bytes of such flights pass through: once for each ring. */
void tt_gpu_pin(const struct tt_flight *f, const struct tt_ring *ring);

/* The name of a send's bytes; false if they have none. */
bool tt_gpu_name(const struct tt_flight *f, struct tt_name *name);

/* Where a receive's place reaches what that names; NULL if it cannot. */
const void *tt_gpu_import(const struct tt_flight *f, const struct tt_name *name);
void tt_gpu_release(const struct tt_flight *f, const struct tt_name *name);

#endif
