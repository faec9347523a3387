/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/chart.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { HEIGHT = 20 };

struct canvas {
    const struct tool_chart *chart;
    double least, most;
    char cells[HEIGHT][TOOL_CHART_WIDTH + 1]; /* the top row first */
};

char tool_chart_letter(int curve)
{
    return curve < 0 ? '-' : (char)(curve < 26 ? 'a' + curve : '0' + curve - 26);
}

static char capital(int curve)
{
    return curve >= 0 && curve < 26 ? (char)('A' + curve) : tool_chart_letter(curve);
}

static bool is_point(double y)
{
    return isfinite(y) && y > 0;
}

static void find_range(struct canvas *canvas)
{
    const struct tool_chart *chart = canvas->chart;

    canvas->least = INFINITY;
    canvas->most = 0;
    for (int c = 0; c < chart->ncurves; c++)
        for (int i = 0; i < TOOL_CHART_WIDTH; i++)
            if (is_point(chart->y[c][i])) {
                canvas->least = fmin(canvas->least, chart->y[c][i]);
                canvas->most = fmax(canvas->most, chart->y[c][i]);
            }
    if (canvas->most <= canvas->least)
        canvas->most = 2 * canvas->least;
}

static int row_of(const struct canvas *canvas, double y)
{
    const double part = log(y / canvas->least) / log(canvas->most / canvas->least);

    return part >= 0 && part <= 1 ? HEIGHT - 1 - (int)(part * (HEIGHT - 1) + 0.5) : HEIGHT - 1;
}

static void put(struct canvas *canvas, int curve, int column, char letter)
{
    if (is_point(canvas->chart->y[curve][column]))
        canvas->cells[row_of(canvas, canvas->chart->y[curve][column])][column] = letter;
}

/* Those drawn last are seen: so the one that counts is. */
static void draw(struct canvas *canvas)
{
    const struct tool_chart *chart = canvas->chart;

    for (int i = 0; i < HEIGHT; i++)
        memset(canvas->cells[i], ' ', TOOL_CHART_WIDTH);
    for (int i = 0; i < TOOL_CHART_WIDTH; i++) {
        for (int c = chart->ncurves - 1; c >= 0; c--)
            put(canvas, c, i, tool_chart_letter(c));
        if (chart->best[i] >= 0)
            put(canvas, chart->best[i], i, capital(chart->best[i]));
    }
}

static void print_axis(FILE *out, const struct tool_chart *chart)
{
    int tick = 0;

    fprintf(out, "%10s +", "");
    for (int i = 0; i < TOOL_CHART_WIDTH; i++)
        fputc(i % TOOL_CHART_EVERY ? '-' : '+', out);
    fprintf(out, "\n%12s", "");
    for (int i = 0; i < TOOL_CHART_WIDTH; i += TOOL_CHART_EVERY)
        fprintf(out, "%-*s", TOOL_CHART_EVERY, chart->ticks[tick++]);
    fprintf(out, "%s\n%10s  ", chart->ticks[tick], chart->best_word);
    for (int i = 0; i < TOOL_CHART_WIDTH; i++)
        fputc(tool_chart_letter(chart->best[i]), out);
    fputs("\n\n", out);
}

static void print_legend(FILE *out, const struct tool_chart *chart)
{
    for (int c = 0; c < chart->ncurves; c++)
        fprintf(out, "  %c %-18s%s\n", tool_chart_letter(c), chart->names[c],
                chart->remarks[c] ? chart->remarks[c] : "");
}

void tool_chart_print(FILE *out, const struct tool_chart *chart)
{
    struct canvas canvas = {.chart = chart};
    char word[32];

    find_range(&canvas);
    draw(&canvas);
    fputc('\n', out);
    for (int i = 0; i < HEIGHT; i++) {
        const double part = (double)(HEIGHT - 1 - i) / (HEIGHT - 1);
        const double y = canvas.least * pow(canvas.most / canvas.least, part);

        fprintf(out, "%10s |%s\n", i % 4 == 3 || i == 0 ? chart->y_word(word, sizeof word, y) : "", canvas.cells[i]);
    }
    print_axis(out, chart);
    print_legend(out, chart);
}
