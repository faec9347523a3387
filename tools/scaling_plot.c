/* SPDX-License-Identifier: BSD-3-Clause */
/* Both axes are logarithmic, so that what is ideal is a straight line. */
#include "tools/scaling_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/chart.h"
#include "tools/gnuplot.h"
#include "tools/tools.h"

static char *times(char *text, size_t size, double y)
{
    snprintf(text, size, "%.3gx", y);
    return text;
}

/* ---- letters ---- */

/* Between two runs as the straight line goes. */
static double between(const struct tool_run *runs, int n, double ranks)
{
    int i = 1;

    while (i + 1 < n && runs[i].ranks < ranks)
        i++;
    return tool_run_speedup(&runs[0], &runs[i - 1]) *
           pow(runs[i].rate / runs[i - 1].rate,
               log(ranks / runs[i - 1].ranks) / log((double)runs[i].ranks / runs[i - 1].ranks));
}

static void print_chart(const struct tool_run *runs, int n)
{
    static struct tool_chart chart;
    const double least = runs[0].ranks, most = runs[n - 1].ranks;

    chart = (struct tool_chart){
        .ncurves = 2, .names = {"measured", "ideal"}, .remarks = {"speedup"}, .best_word = "runs", .y_word = times};
    memset(chart.best, -1, sizeof chart.best);
    for (int i = 0; i < n; i++)
        chart.best[(int)(log(runs[i].ranks / least) / log(most / least) * (TOOL_CHART_WIDTH - 1) + 0.5)] = 0;
    for (int i = 0; i < TOOL_CHART_WIDTH; i++) {
        const double ranks = least * pow(most / least, i / (TOOL_CHART_WIDTH - 1.0));
        const int tick = (i + TOOL_CHART_EVERY - 1) / TOOL_CHART_EVERY;

        chart.y[0][i] = between(runs, n, ranks);
        chart.y[1][i] = ranks / least;
        if (i % TOOL_CHART_EVERY == 0 || i == TOOL_CHART_WIDTH - 1)
            snprintf(chart.ticks[tick], sizeof chart.ticks[tick], "%.0f", ranks);
    }
    tool_chart_print(stdout, &chart);
}

/* ---- gnuplot ---- */

static void write_script(FILE *out, const struct tool_run *runs, int n)
{
    const struct tool_run *first = &runs[0], *last = &runs[n - 1];

    tool_gnuplot_size(out, 720, 480);
    fprintf(out, "set title '%s'\n", first->simulated ? "Scaling (SIMULATED GPUs: no times of a GPU)" : "Scaling");
    fputs("set logscale xy 2\nset grid linecolor '#d5d9e2'\nset key left top Left reverse samplen 2\n"
          "set xlabel 'ranks'\nset ylabel 'speedup'\nset format y '%gx'\nset xtics (",
          out);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%d", i ? ", " : "", runs[i].ranks);
    fprintf(out, ")\nset xrange [%g:%g]\n$runs << END\n", first->ranks / 1.1, last->ranks * 1.1);
    for (int i = 0; i < n; i++)
        fprintf(out, "%d %.9g %.9g '%.2f %%'\n", runs[i].ranks, tool_run_speedup(first, &runs[i]),
                (double)runs[i].ranks / first->ranks, 100 * tool_run_efficiency(first, &runs[i]));
    fprintf(out,
            "END\nplot $runs using 1:3 with lines linewidth 2 linecolor '#8a8f98' dashtype 2 title 'ideal', "
            "$runs using 1:2 with linespoints linewidth 2 pointtype 7 linecolor '%s' title 'measured', "
            "$runs using 1:2:4 with labels offset 0,-1.2 notitle\n",
            tool_gnuplot_colour(0));
}

int tool_scaling_plot(const struct argp_state *state, const struct tool_run *runs, int n, const char *file)
{
    FILE *script;

    fflush(stdout);
    if (strcmp(file, "-") == 0 || !tool_gnuplot_is_there()) {
        print_chart(runs, n);
        return strcmp(file, "-") == 0 ? TOOL_OK : tool_gnuplot_missing(state, file);
    }
    script = tool_gnuplot_begin(state);
    write_script(script, runs, n);
    if (tool_gnuplot_end(state, script, file))
        return TOOL_FAILED;
    printf("%s shows the speedup against the ranks, and the efficiency of each run.\n", file);
    return TOOL_OK;
}
