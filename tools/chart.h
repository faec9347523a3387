/* SPDX-License-Identifier: BSD-3-Clause */
/* A plot where there is nothing but a terminal: a letter for each curve, capital where it is the one that counts. Both
 * axes are logarithmic, that of sizes evenly divided into columns. */
#ifndef TT_TOOLS_CHART_H
#define TT_TOOLS_CHART_H

#include <stdio.h>

enum { TOOL_CHART_WIDTH = 72, TOOL_CHART_CURVES = 48, TOOL_CHART_EVERY = 12 };

struct tool_chart {
    int ncurves;
    const char *names[TOOL_CHART_CURVES], *remarks[TOOL_CHART_CURVES]; /* a remark may be NULL */
    double y[TOOL_CHART_CURVES][TOOL_CHART_WIDTH];                     /* 0 and less, or NAN: no point */
    int best[TOOL_CHART_WIDTH];                                        /* which curve counts, or -1 */
    const char *best_word;                                             /* "chosen" */
    char ticks[TOOL_CHART_WIDTH / TOOL_CHART_EVERY + 1][16]; /* the sizes of every 12th column, and the last one's */
    char *(*y_word)(char *text, size_t size, double y);
};

void tool_chart_print(FILE *out, const struct tool_chart *chart);

/* As it is there. */
char tool_chart_letter(int curve);

#endif
