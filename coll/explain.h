/* SPDX-License-Identifier: BSD-3-Clause */
/* TUTTI_EXPLAIN=1: what was decided and why, a line each. */
#ifndef TT_EXPLAIN_H
#define TT_EXPLAIN_H

#include "coll/job.h"

/* Says on rank 0's standard error how calls of this shape go, if TUTTI_EXPLAIN asks for it; not for a
 * communicator of one rank, where nothing passes. */
void tt_explain(const struct tt_job *job, const struct tt_entry *entry);

#endif
