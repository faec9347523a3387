/* SPDX-License-Identifier: BSD-3-Clause */
/* What NCCL is expected to take, and what it costs to agree on using it. */
#ifndef TT_SELECTOR_NCCL_H
#define TT_SELECTOR_NCCL_H

#include "selector/topo.h"

/* Seconds that NCCL takes for a call of this shape, every rank's buffers being on its GPU: by the textbooks' formulas,
 * for the links that the topology has between GPUs. Negative: nobody can say, since a rank has no GPU, or shares one; or
 * since the lengths are local. Depends on what all ranks share. */
double tt_nccl_seconds(const struct tt_shape *s, const struct tt_topo *t);

/* Learns from an allreduce that was measured, of a few bytes and per byte of a long one: seconds, that of voting not
 * counted. */
void tt_nccl_learn(struct tt_topo *t, double least, double per_byte);

/* Seconds of the one small allreduce by which ranks agree that they all have their buffers on GPUs. net may be NULL. */
double tt_vote_seconds(const struct tt_net *net);

#endif
