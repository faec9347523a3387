/* SPDX-License-Identifier: BSD-3-Clause */
/* What was decided and why, in words. */
#ifndef TT_EXPLAIN_H
#define TT_EXPLAIN_H

#include "coll/job.h"

/* Says on rank 0's standard error how calls of this shape go, if TUTTI_EXPLAIN asks for it, and with TUTTI_EXPLAIN=2
 * what of the other algorithms. Not for a communicator of one rank, where nothing passes. foreign: why only the MPI
 * below can do it, or NULL. */
void tt_explain(const struct tt_job *job, const struct tt_entry *entry, const char *foreign);

/* Warns, once for each collective, that what somebody pinned is expected to be much slower than what the model would
 * have chosen. */
void tt_warn_of_slow(const struct tt_job *job, const struct tt_choice *choice);

#endif
