/* SPDX-License-Identifier: BSD-3-Clause */
/* Speedup against ranks, and what would be ideal. */
#ifndef TT_TOOLS_SCALING_PLOT_H
#define TT_TOOLS_SCALING_PLOT_H

#include <argp.h>

#include "tools/scaling.h"

/* Runs in the order of their ranks. file: an SVG picture; "-": letters on standard output. Returns an exit status. */
int tool_scaling_plot(const struct argp_state *state, const struct tool_run *runs, int n, const char *file);

#endif
