/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two halves of `tutti tune` share, which find rules and judge them: all of it rank 0's. */
#ifndef TT_TOOLS_MPI_TUNE_H
#define TT_TOOLS_MPI_TUNE_H

#include "tools/mpi_crew.h"
#include "tools/tune.h"

struct tool_session {
    const struct tool_tune_arguments *a;
    struct tool_crew *bench;
    struct tt_topo *topo;
    struct tt_net *net;
    struct tt_tuning tuning;
    struct tt_points points;
    char where[160], identity[768]; /* in words; and as a journal's first line */
};

/* The model's numbers, of the topology as it is now. 0, or -1, having said so. */
int tool_session_price(struct tool_session *s);

/* Measures what the rules of --regret choose, and prints what that costs. An exit status. */
int tool_judge_rules(struct tool_session *s);

#endif
