/* SPDX-License-Identifier: BSD-3-Clause */
/* Results as curves over the size, and where they cross. */
#ifndef TT_TOOLS_BENCH_CURVES_H
#define TT_TOOLS_BENCH_CURVES_H

#include "tools/bench.h"
#include "tools/chart.h"

enum { TOOL_CURVE_SIZES = 64 };

struct tool_curve {
    const char *name; /* the path's, or of our own the algorithm's */
    enum tool_path path;
    const struct tool_row *at[TOOL_CURVE_SIZES]; /* NULL: not measured */
};

struct tool_curves {
    enum tt_coll coll;
    int nsizes, ncurves;
    int64_t bytes[TOOL_CURVE_SIZES];
    struct tool_curve of[TOOL_CHART_CURVES];
};

/* Of rows [from, to), which are of one collective. */
void tool_curves_make(const struct tool_results *r, int from, int to, struct tool_curves *curves);

/* A curve's median at any size, between measured ones by their logarithms; NAN where nothing is known. */
double tool_curve_time(const struct tool_curves *curves, int curve, double bytes);

/* From so many bytes on another path is the fastest, among those that one can ask for: not what was chosen. It takes
 * more than noise to be another. The first is where the curves begin. */
struct tool_crossing {
    double bytes;
    int to; /* curve */
};
int tool_crossings(const struct tool_curves *curves, struct tool_crossing list[TOOL_CURVE_SIZES]);

#endif
