/* SPDX-License-Identifier: BSD-3-Clause */
/* The plot where there is nothing but a terminal: a letter for each algorithm, capital where it is chosen. Both axes
 * are logarithmic. */
#include <math.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/explain_plot.h"

enum { HEIGHT = 20 };

struct chart {
    const struct tool_plot *plot;
    char cells[HEIGHT][TOOL_CHART_WIDTH + 1]; /* the top row first */
};

static char letter(int curve)
{
    return curve < 0 ? '-' : (char)(curve < 26 ? 'a' + curve : '0' + curve - 26);
}

static char capital(int curve)
{
    return curve >= 0 && curve < 26 ? (char)('A' + curve) : letter(curve);
}

static int row_of(const struct tool_plot *plot, double seconds)
{
    const double part = log(seconds / plot->least) / log(plot->most / plot->least);

    return part >= 0 && part <= 1 ? HEIGHT - 1 - (int)(part * (HEIGHT - 1) + 0.5) : HEIGHT - 1;
}

/* Those drawn last are seen: so the chosen one is. */
static void draw(struct chart *chart)
{
    const struct tool_plot *plot = chart->plot;

    for (int i = 0; i < HEIGHT; i++)
        memset(chart->cells[i], ' ', TOOL_CHART_WIDTH);
    for (int i = 0; i < plot->npoints; i++) {
        const int chosen = tool_plot_curve(plot, plot->chosen[i]);

        for (int c = plot->ncurves - 1; c >= 0; c--)
            chart->cells[row_of(plot, plot->seconds[c][i])][i] = letter(c);
        if (chosen >= 0)
            chart->cells[row_of(plot, plot->seconds[chosen][i])][i] = capital(chosen);
    }
}

static void print_axis(FILE *out, const struct tool_plot *plot)
{
    enum { EVERY = 12 };
    char size[32];

    fprintf(out, "%10s +", "");
    for (int i = 0; i < TOOL_CHART_WIDTH; i++)
        fputc(i % EVERY ? '-' : '+', out);
    fprintf(out, "\n%12s", "");
    for (int i = 0; i < TOOL_CHART_WIDTH; i += EVERY)
        fprintf(out, "%-*s", EVERY, tool_ask_size(plot->ask, size, sizeof size, plot->bytes[i]));
    fprintf(out, "%s\n%10s  ", tool_ask_size(plot->ask, size, sizeof size, plot->bytes[TOOL_CHART_WIDTH - 1]),
            "chosen");
    for (int i = 0; i < plot->npoints; i++)
        fputc(letter(tool_plot_curve(plot, plot->chosen[i])), out);
    fputs("\n\n", out);
}

/* Every algorithm, and from which sizes on it is chosen. */
static void print_legend(FILE *out, const struct tool_plot *plot)
{
    char size[32];

    for (int c = 0; c < plot->ncurves; c++) {
        fprintf(out, "  %c %-18s", letter(c), plot->alg[c]->name);
        for (int i = 0; i < plot->nmarks; i++)
            if (plot->marks[i].to == plot->alg[c]) {
                fprintf(out, " from %s", tool_ask_size(plot->ask, size, sizeof size, plot->marks[i].bytes));
                if (i + 1 < plot->nmarks)
                    fprintf(out, " to %s;", tool_ask_size(plot->ask, size, sizeof size, plot->marks[i + 1].bytes));
            }
        fputc('\n', out);
    }
}

void tool_plot_chart(FILE *out, const struct tool_plot *plot)
{
    struct chart chart = {.plot = plot};
    char time[32];

    draw(&chart);
    fputc('\n', out);
    for (int i = 0; i < HEIGHT; i++) {
        const double part = (double)(HEIGHT - 1 - i) / (HEIGHT - 1);
        const double seconds = plot->least * pow(plot->most / plot->least, part);

        fprintf(out, "%10s |%s\n", i % 4 == 3 || i == 0 ? tt_time_print(time, sizeof time, seconds) : "",
                chart.cells[i]);
    }
    print_axis(out, plot);
    print_legend(out, plot);
}
