/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicted time against size, as numbers: what the picture and the chart are made of. */
#ifndef TT_TOOLS_EXPLAIN_PLOT_H
#define TT_TOOLS_EXPLAIN_PLOT_H

#include "tools/chart.h"
#include "tools/explain.h"

enum { TOOL_MAX_POINTS = 160, TOOL_MAX_CURVES = TOOL_CHART_CURVES, TOOL_MAX_MARKS = 32 };

struct tool_plot {
    const struct tool_ask *ask;
    int npoints, ncurves, nmarks;
    int64_t bytes[TOOL_MAX_POINTS]; /* evenly spaced by their logarithms */
    const struct tt_alg *alg[TOOL_MAX_CURVES];
    double seconds[TOOL_MAX_CURVES][TOOL_MAX_POINTS];
    const struct tt_alg *chosen[TOOL_MAX_POINTS];
    struct tool_change marks[TOOL_MAX_MARKS]; /* from there on another is chosen; the first is where the plot begins */
};

/* The curve of alg, or -1. */
int tool_plot_curve(const struct tool_plot *plot, const struct tt_alg *alg);

/* As a chart of letters; plot must have TOOL_CHART_WIDTH points. */
void tool_plot_chart(FILE *out, const struct tool_plot *plot);

#endif
