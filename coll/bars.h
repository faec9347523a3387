/* SPDX-License-Identifier: BSD-3-Clause */
/* Why NCCL is no candidate for a call, whoever decides. Facts that all ranks share, a row each: B(id, words); where there
 * are none, tt_bar_words knows more. The first that holds counts. */
#ifndef TT_BARS_H
#define TT_BARS_H

#include "coll/job.h"

#define TT_BARS(B)                                                                                                     \
    B(NONE, NULL)                                                                                                      \
    B(TYPE, NULL)                                                                                                      \
    B(UNASKED, "when the ranks were located, not every one had a GPU and NCCL; and nobody names it")                   \
    B(THREADS, "a rank may call MPI from several threads: then calls of NCCL on several communicators may cross")      \
    B(FLAVOUR, "it serves blocking calls alone: others could cross on several communicators")                          \
    B(COMM, NULL)                                                                                                      \
    B(VOTE, "when asked, not every rank had NCCL and a GPU for it")                                                    \
    B(REST, "when asked before, not every rank had NCCL and a GPU for it: so the ranks were not asked this time")

enum tt_bar {
#define B(id, words) TT_BAR_##id,
    TT_BARS(B)
#undef B
};

/* NULL for TT_BAR_NONE. */
const char *tt_bar_words(const struct tt_job *job, enum tt_bar bar);

/* What of it follows from the arguments, the settings and the communicator, and so can be kept with them. */
enum tt_bar tt_bar_of(const struct tt_job *job, bool foreign);

/* And what does not: bar is what tt_bar_of said. blocking: the call is. */
enum tt_bar tt_bar_now(const struct tt_job *job, enum tt_bar bar, bool blocking);

#endif
