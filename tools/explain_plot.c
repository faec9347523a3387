/* SPDX-License-Identifier: BSD-3-Clause */
/* Predicted time against size, for every candidate. The picture is gnuplot's, which most people who plot have; where it
 * is not there, a chart of letters is printed in its place. */
#include "tools/explain_plot.h"

#include <math.h>
#include <string.h>

#include "coll/sizes.h"
#include "selector/model.h"
#include "selector/nccl.h"
#include "tools/gnuplot.h"

enum { PICTURE_POINTS = 145 };

/* ---- the numbers ---- */

static void add_curve(struct tool_plot *plot, const struct tt_alg *alg)
{
    const int64_t unit = (int64_t)plot->ask->shape.unit;
    struct tt_shape s = plot->ask->shape;

    plot->alg[plot->ncurves] = alg;
    for (int i = 0; i < plot->npoints; i++) {
        s.count = plot->bytes[i] / unit;
        plot->seconds[plot->ncurves][i] = alg->cost ? tt_estimate(alg, &s, plot->ask->net).seconds
                                                    : tt_nccl_seconds(&s, plot->ask->topo) + tool_ask_vote(plot->ask);
    }
    plot->ncurves++;
}

static void mark_changes(struct tool_plot *plot)
{
    const struct tool_ask *a = plot->ask;
    struct tool_change change = {plot->bytes[0], plot->chosen[0]};

    do
        plot->marks[plot->nmarks++] = change;
    while (plot->nmarks < TOOL_MAX_MARKS &&
           tool_change_above(a, change.bytes, plot->bytes[plot->npoints - 1], &change));
}

static bool has_curve(const struct tool_ask *a, const struct tt_alg *alg)
{
    if (alg->delegate == TT_TO_NCCL)
        return a->on_gpus && !tool_ask_no_nccl(a) && tt_nccl_seconds(&a->shape, a->topo) >= 0;
    return alg->cost;
}

static void calculate(const struct argp_state *state, struct tool_plot *plot, const struct tool_ask *a, int points)
{
    const int64_t unit = (int64_t)a->shape.unit;

    *plot = (struct tool_plot){.ask = a, .npoints = points};
    for (int i = 0; i < points; i++) {
        const double bytes = (double)a->least * pow((double)a->most / (double)a->least, i / (points - 1.0));
        const int64_t count = (int64_t)(bytes / (double)unit + 0.5);

        plot->bytes[i] = (count > 0 ? count : 1) * unit;
        plot->chosen[i] = tool_choose(a, plot->bytes[i] / unit).alg;
    }
    for (int i = 0; tt_algs[i] && plot->ncurves < TOOL_MAX_CURVES; i++)
        if (has_curve(a, tt_algs[i]) && tt_alg_serves(tt_algs[i], a->coll) && !tt_infeasible(tt_algs[i], &a->shape))
            add_curve(plot, tt_algs[i]);
    if (plot->ncurves == 0)
        tool_die(state, TOOL_FAILED, "--plot: the model knows no time of any that can serve %s", tt_coll_name(a->coll));
    mark_changes(plot);
}

int tool_plot_curve(const struct tool_plot *plot, const struct tt_alg *alg)
{
    for (int i = 0; i < plot->ncurves; i++)
        if (plot->alg[i] == alg)
            return i;
    return -1;
}

/* ---- what gnuplot is told ---- */

static void write_title(FILE *out, const struct tool_ask *a)
{
    char title[256];

    snprintf(title, sizeof title, "%s on %d ranks%s%s", tt_coll_name(a->coll), a->shape.size, a->seats.file ? ": " : "",
             a->seats.file ? a->topo->about : "");
    fputs("set title ", out);
    tool_gnuplot_word(out, title);
    fprintf(out, "\nset xlabel 'size of %s'\nset ylabel 'expected time, by speeds %s'\n",
            tool_in_blocks(a->shape.coll) ? "a block" : "the vector", a->topo->measured ? "measured" : "assumed");
}

static void write_tics(FILE *out, const struct tool_plot *plot)
{
    const int step = plot->ask->tens ? 10 : 8;
    char text[32];

    fputs("set xtics (", out);
    for (int64_t bytes = 1; bytes <= plot->ask->most; bytes *= step)
        fprintf(out, "%s'%s' %lld", bytes > 1 ? ", " : "", tool_ask_size(plot->ask, text, sizeof text, bytes),
                (long long)bytes);
    fputs(")\nset ytics (", out);
    for (int power = -9; power < 6; power++)
        fprintf(out, "%s'%s' 1e%d", power > -9 ? ", " : "", tt_time_print(text, sizeof text, pow(10, power)), power);
    fputs(")\n", out);
}

static void write_marks(FILE *out, const struct tool_plot *plot)
{
    char size[32];

    for (int i = 0; i < plot->nmarks; i++) {
        const struct tool_change *m = &plot->marks[i];

        if (i > 0)
            fprintf(out, "set arrow from %lld, graph 0 to %lld, graph 1 nohead dashtype 2 linecolor '#4a5160'\n",
                    (long long)m->bytes, (long long)m->bytes);
        fprintf(out, "set label 'from %s: %s' at %lld, graph 0.98 right rotate by 90 offset 1,0 textcolor '#4a5160'\n",
                tool_ask_size(plot->ask, size, sizeof size, m->bytes), m->to->name, (long long)m->bytes);
    }
}

/* Size, the time of what is chosen, the time of each. */
static void write_data(FILE *out, const struct tool_plot *plot)
{
    fputs("$times << END\n", out);
    for (int i = 0; i < plot->npoints; i++) {
        const int chosen = tool_plot_curve(plot, plot->chosen[i]);

        fprintf(out, "%lld %.9g", (long long)plot->bytes[i], chosen < 0 ? NAN : plot->seconds[chosen][i]);
        for (int c = 0; c < plot->ncurves; c++)
            fprintf(out, " %.9g", plot->seconds[c][i]);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

static void write_script(FILE *out, const struct tool_plot *plot)
{
    tool_gnuplot_size(out, 960, 600);
    fputs("set logscale xy\nset grid linecolor '#d5d9e2'\nset key outside right top Left reverse samplen 2\n", out);
    fprintf(out, "set xrange [%lld:%lld]\n", (long long)plot->bytes[0], (long long)plot->bytes[plot->npoints - 1]);
    write_title(out, plot->ask);
    write_tics(out, plot);
    write_marks(out, plot);
    write_data(out, plot);
    fputs("plot $times using 1:2 with lines linewidth 9 linecolor '#dde3f0' title 'chosen'", out);
    for (int c = 0; c < plot->ncurves; c++)
        fprintf(out, ", $times using 1:%d with lines linewidth 2 linecolor '%s' dashtype %d title '%s'", c + 3,
                tool_gnuplot_colour(c), tool_gnuplot_dash(c), plot->alg[c]->name);
    fputc('\n', out);
}

/* ---- making it ---- */

static int make_picture(const struct argp_state *state, const struct tool_plot *plot)
{
    FILE *script = tool_gnuplot_begin(state);

    write_script(script, plot);
    if (tool_gnuplot_end(state, script, plot->ask->plot))
        return TOOL_FAILED;
    if (!plot->ask->json)
        printf("\n%s shows the expected time against the size, for all that can serve it.\n", plot->ask->plot);
    return TOOL_OK;
}

int tool_explain_plot(const struct argp_state *state, const struct tool_ask *a)
{
    static struct tool_plot plot;
    const bool as_text = strcmp(a->plot, "-") == 0;

    fflush(stdout);
    if (!as_text && tool_gnuplot_is_there()) {
        calculate(state, &plot, a, PICTURE_POINTS);
        return make_picture(state, &plot);
    }
    calculate(state, &plot, a, TOOL_CHART_WIDTH);
    tool_plot_chart(a->json ? stderr : stdout, &plot);
    return as_text ? TOOL_OK : tool_gnuplot_missing(state, a->plot);
}
