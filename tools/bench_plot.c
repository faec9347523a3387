/* SPDX-License-Identifier: BSD-3-Clause */
/* Time and bus bandwidth against size for all paths, and where another path becomes the fastest: a picture by gnuplot,
 * two panels for each collective; where there is no gnuplot, charts of times in letters. */
#include <math.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/bench_curves.h"
#include "tools/gnuplot.h"

enum { WIDTH = 1280, HEIGHT = 520 };

/* ---- the picture ---- */

static void write_data(FILE *out, const struct tool_results *r, const struct tool_curves *curves, int number)
{
    fprintf(out, "$rows%d << END\n", number);
    for (int i = 0; i < curves->nsizes; i++) {
        fprintf(out, "%lld", (long long)curves->bytes[i]);
        for (int c = 0; c < curves->ncurves; c++) {
            const struct tool_row *row = curves->of[c].at[i];

            fprintf(out, " %.9g %.9g", row ? row->median : NAN, row ? tool_busbw(r, row) : NAN);
        }
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void write_size_tics(FILE *out, const struct tool_curves *curves)
{
    const int64_t last = curves->bytes[curves->nsizes - 1];
    const char *comma = "";
    char text[32];

    fputs("set xtics (", out);
    for (int64_t bytes = 1; bytes <= last; bytes *= 8) {
        fprintf(out, "%s'%s' %lld", comma, tt_size_print(text, sizeof text, bytes), (long long)bytes);
        comma = ", ";
    }
    fprintf(out, ")\nset xrange [%lld:%lld]\n", (long long)curves->bytes[0],
            (long long)(curves->nsizes > 1 ? last : 2 * last));
}

static void write_tics(FILE *out, char *(*word)(char *, size_t, double), int least, int most)
{
    char text[32];

    fputs("set ytics (", out);
    for (int power = least; power <= most; power++)
        fprintf(out, "%s'%s' 1e%d", power > least ? ", " : "", word(text, sizeof text, pow(10, power)), power);
    fputs(")\n", out);
}

static void write_crossings(FILE *out, const struct tool_curves *curves, bool named)
{
    struct tool_crossing list[TOOL_CURVE_SIZES];
    const int n = tool_crossings(curves, list);
    char size[32];

    fputs("unset arrow\nunset label\n", out);
    for (int i = 0; i < n; i++) {
        if (i > 0)
            fprintf(out, "set arrow from %.6g, graph 0 to %.6g, graph 1 nohead dashtype 2 linecolor '#4a5160'\n",
                    list[i].bytes, list[i].bytes);
        if (named)
            fprintf(out, "set label '%s%s: %s' at %.6g, graph 0.98 right rotate by 90 offset 1,0 textcolor '#4a5160'\n",
                    i ? "from " : "at ", tt_size_print(size, sizeof size, (int64_t)list[i].bytes),
                    curves->of[list[i].to].name, list[i].bytes);
    }
}

/* What was chosen lies under the others, broad. */
static void write_lines(FILE *out, const struct tool_curves *curves, int number, int column)
{
    const char *before = "plot ";
    int colour = 0;

    for (int c = 0; c < curves->ncurves; c++)
        if (curves->of[c].path == TOOL_CHOICE) {
            fprintf(out, "%s$rows%d using 1:%d with lines linewidth 9 linecolor '#dde3f0' title 'chosen'", before,
                    number, 2 * c + column);
            before = ", ";
        }
    for (int c = 0; c < curves->ncurves; c++) {
        if (curves->of[c].path == TOOL_CHOICE)
            continue;
        fprintf(
            out,
            "%s$rows%d using 1:%d with linespoints linewidth 2 pointtype 7 pointsize 0.4 linecolor '%s' dashtype %d "
            "title '%s'",
            before, number, 2 * c + column, tool_gnuplot_colour(colour), tool_gnuplot_dash(colour), curves->of[c].name);
        before = ", ";
        colour++;
    }
    fputc('\n', out);
}

static void write_title(FILE *out, const struct tool_results *r, enum tt_coll coll)
{
    char title[512];

    snprintf(title, sizeof title, "%s%s%s%s%s on %d ranks, %s%s",
             r->form == TOOL_BLOCKING ? "" : tool_form_names[r->form], r->form == TOOL_BLOCKING ? "" : " ",
             tt_coll_name(coll), tool_reduces(coll) ? ", " : "", tool_reduces(coll) ? r->op : "", r->ranks,
             r->memory_words, r->simulated ? ": no GPU's times" : "");
    fputs("set title ", out);
    tool_gnuplot_word(out, title);
    fprintf(out, "\nset xlabel 'size of %s'\n", tool_in_blocks(coll) ? "a block" : "the vector");
}

static void write_panels(FILE *out, const struct tool_results *r, const struct tool_curves *curves, int number)
{
    write_title(out, r, curves->coll);
    write_size_tics(out, curves);
    fputs("set logscale xy\nset yrange [*:*]\nset ylabel 'time, median'\nunset key\n", out);
    write_tics(out, tt_time_print, -9, 3);
    write_crossings(out, curves, true);
    write_lines(out, curves, number, 2);
    fputs("set ylabel 'bus bandwidth'\nset key outside right top Left reverse samplen 2\n", out);
    write_tics(out, tt_rate_print, 0, 13);
    write_crossings(out, curves, false);
    if (tool_bus_factor(curves->coll, r->ranks) > 0)
        write_lines(out, curves, number, 3);
    else
        fputs("set multiplot next\n", out);
}

/* ---- the chart ---- */

/* From which sizes on a curve is the fastest. */
static void remark(const struct tool_curves *curves, const struct tool_crossing *list, int n, int curve, char *text,
                   size_t size)
{
    size_t used = 0;
    char bytes[32];

    *text = '\0';
    for (int i = 0; i < n && used < size; i++) {
        if (list[i].to != curve)
            continue;
        used += (size_t)snprintf(text + used, size - used, " fastest from %s",
                                 tt_size_print(bytes, sizeof bytes, (int64_t)list[i].bytes));
        if (i + 1 < n && used < size)
            used += (size_t)snprintf(text + used, size - used, " to %s;",
                                     tt_size_print(bytes, sizeof bytes, (int64_t)list[i + 1].bytes));
    }
    if (curves->of[curve].path == TOOL_CHOICE)
        snprintf(text, size, " what a program gets");
}

static int fastest(const struct tool_crossing *list, int n, double bytes)
{
    int best = -1;

    for (int i = 0; i < n && list[i].bytes <= bytes * (1 + 1e-9); i++)
        best = list[i].to;
    return best;
}

static void print_chart(FILE *out, const struct tool_results *r, const struct tool_curves *curves)
{
    static struct tool_chart chart;
    static char remarks[TOOL_CHART_CURVES][512];
    struct tool_crossing list[TOOL_CURVE_SIZES];
    const int n = tool_crossings(curves, list);
    const double least = (double)curves->bytes[0], most = (double)curves->bytes[curves->nsizes - 1];

    chart = (struct tool_chart){.ncurves = curves->ncurves, .best_word = "fastest", .y_word = tt_time_print};
    for (int c = 0; c < curves->ncurves; c++) {
        remark(curves, list, n, c, remarks[c], sizeof remarks[c]);
        chart.names[c] = curves->of[c].name;
        chart.remarks[c] = remarks[c];
    }
    for (int i = 0; i < TOOL_CHART_WIDTH; i++) {
        const double bytes = least * pow(most / least, i / (TOOL_CHART_WIDTH - 1.0));
        const int tick = (i + TOOL_CHART_EVERY - 1) / TOOL_CHART_EVERY;

        chart.best[i] = fastest(list, n, bytes);
        for (int c = 0; c < curves->ncurves; c++)
            chart.y[c][i] = tool_curve_time(curves, c, bytes);
        if (i % TOOL_CHART_EVERY == 0 || i == TOOL_CHART_WIDTH - 1)
            tt_size_print(chart.ticks[tick], sizeof chart.ticks[tick], (int64_t)(bytes + 0.5));
    }
    fprintf(out, "%s on %d ranks, %s: median time of a call\n", tt_coll_name(curves->coll), r->ranks, r->memory_words);
    tool_chart_print(out, &chart);
}

/* ---- all collectives ---- */

/* Those of more than one size: the others are no curves. */
static bool next_curves(const struct tool_results *r, int *from, struct tool_curves *curves)
{
    while (*from < r->n) {
        const int end = tool_end_of_coll(r, *from);

        tool_curves_make(r, *from, end, curves);
        *from = end;
        if (curves->nsizes > 1)
            return true;
    }
    return false;
}

static int make_picture(const struct argp_state *state, const char *file, const struct tool_results *r, int n)
{
    static struct tool_curves curves;
    FILE *script = tool_gnuplot_begin(state);
    int from = 0;

    tool_gnuplot_size(script, WIDTH, HEIGHT * n);
    fputs("set grid linecolor '#d5d9e2'\n", script);
    for (int i = 0; next_curves(r, &from, &curves); i++)
        write_data(script, r, &curves, i);
    fprintf(script, "set multiplot layout %d,2\n", n);
    from = 0;
    for (int i = 0; next_curves(r, &from, &curves); i++)
        write_panels(script, r, &curves, i);
    fputs("unset multiplot\n", script);
    if (tool_gnuplot_end(state, script, file))
        return TOOL_FAILED;
    fprintf(stderr, "%s: %s shows time and bus bandwidth against the size\n", state->name, file);
    return TOOL_OK;
}

int tool_bench_plot(const struct argp_state *state, const char *file, const struct tool_results *r)
{
    static struct tool_curves curves;
    const bool as_text = strcmp(file, "-") == 0;
    int n = 0;

    for (int from = 0; next_curves(r, &from, &curves);)
        n++;
    if (n == 0) {
        fprintf(stderr, "%s: --plot: there are no curves of one size\n", state->name);
        return TOOL_FAILED;
    }
    if (!as_text && tool_gnuplot_is_there())
        return make_picture(state, file, r, n);
    for (int from = 0; next_curves(r, &from, &curves);)
        print_chart(as_text ? stdout : stderr, r, &curves);
    return as_text ? TOOL_OK : tool_gnuplot_missing(state, file);
}
