/* SPDX-License-Identifier: BSD-3-Clause */
/* Work in a place that is over when a function returns: what a call does before its first message and after its last. */
#ifndef TT_DRAIN_H
#define TT_DRAIN_H

#include "cuda/dev.h"

/* Waits for the queue TT_WITHIN of a place that has been entered. 0, or -1 with tt_fault() set. */
int tt_drain(struct tt_place *place);

/* A copy. place is that of the device memory involved, or the host's. 0, or -1 with tt_fault() set. */
int tt_copy_now(struct tt_place *place, void *dst, const void *src, size_t bytes);

#endif
