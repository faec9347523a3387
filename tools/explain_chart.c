/* SPDX-License-Identifier: BSD-3-Clause */
/* The plot as a chart of letters, capital where the algorithm is chosen. */
#include <string.h>

#include "coll/sizes.h"
#include "tools/chart.h"
#include "tools/explain_plot.h"

/* From which sizes on a curve's algorithm is chosen. */
static void remark(const struct tool_plot *plot, int curve, char *text, size_t size)
{
    size_t used = 0;
    char bytes[32];

    *text = '\0';
    for (int i = 0; i < plot->nmarks && used < size; i++) {
        if (plot->marks[i].to != plot->alg[curve])
            continue;
        used += (size_t)snprintf(text + used, size - used, " from %s",
                                 tool_ask_size(plot->ask, bytes, sizeof bytes, plot->marks[i].bytes));
        if (i + 1 < plot->nmarks && used < size)
            used += (size_t)snprintf(text + used, size - used, " to %s;",
                                     tool_ask_size(plot->ask, bytes, sizeof bytes, plot->marks[i + 1].bytes));
    }
}

void tool_plot_chart(FILE *out, const struct tool_plot *plot)
{
    static struct tool_chart chart;
    static char remarks[TOOL_CHART_CURVES][512];

    chart = (struct tool_chart){.ncurves = plot->ncurves, .best_word = "chosen", .y_word = tt_time_print};
    for (int c = 0; c < plot->ncurves; c++) {
        chart.names[c] = plot->alg[c]->name;
        remark(plot, c, remarks[c], sizeof remarks[c]);
        chart.remarks[c] = remarks[c];
        memcpy(chart.y[c], plot->seconds[c], sizeof chart.y[c]);
    }
    for (int i = 0; i < TOOL_CHART_WIDTH; i++) {
        const int tick = (i + TOOL_CHART_EVERY - 1) / TOOL_CHART_EVERY;

        chart.best[i] = tool_plot_curve(plot, plot->chosen[i]);
        if (i % TOOL_CHART_EVERY == 0 || i == TOOL_CHART_WIDTH - 1)
            tool_ask_size(plot->ask, chart.ticks[tick], sizeof chart.ticks[tick], plot->bytes[i]);
    }
    tool_chart_print(out, &chart);
}
