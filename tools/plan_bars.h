/* SPDX-License-Identifier: BSD-3-Clause */
/* What steps are made of, side by side: a bar each, cut into computing and all that keeps a GPU from it. */
#ifndef TT_TOOLS_PLAN_BARS_H
#define TT_TOOLS_PLAN_BARS_H

#include "tools/plan.h"

enum { TOOL_BAR_PARTS = TT_NFLOWS + 4, TOOL_MAX_BARS = 64 };
struct tool_bars {
    const char *title, *line; /* line: what `level` is, in words; NULL: nothing is drawn of it */
    int n;
    struct tool_bar {
        char label[160];
        double share[TOOL_BAR_PARTS]; /* of the step: they add up to 1; all 0 where nothing fits */
        double level;                 /* 1 at the first */
    } bar[TOOL_MAX_BARS];
};

void tool_bars_add(struct tool_bars *bars, const char *label, const struct tt_iteration *step, double level);

/* To a file as a picture, or to standard output if that is "-". Returns an exit status. */
int tool_bars_draw(const struct argp_state *state, const char *file, const struct tool_bars *bars);

#endif
