/* SPDX-License-Identifier: BSD-3-Clause */
/* Bars by gnuplot, or of letters where there is none. */
#include "tools/plan_bars.h"

#include <string.h>

#include "tools/gnuplot.h"

enum { WIDTH = 60 };

static const struct {
    char letter;
    const char *words;
} parts[TOOL_BAR_PARTS] = {
    {'#', "computing"},
#define F(id, words, member) {#id[0], words},
    TT_FLOWS(F)
#undef F
        {'i', "imbalance"},
    {'o', "optimizer"},
    {'.', "bubble"},
};

void tool_bars_add(struct tool_bars *bars, const char *label, const struct tt_iteration *step, double level)
{
    struct tool_bar *bar = &bars->bar[bars->n];

    if (bars->n == TOOL_MAX_BARS)
        return;
    bars->n++;
    *bar = (struct tool_bar){.level = level};
    snprintf(bar->label, sizeof bar->label, "%s", label);
    if (!step)
        return;
    bar->share[0] = step->compute / step->seconds;
    for (int kind = 0; kind < TT_NFLOWS; kind++)
        bar->share[1 + kind] = step->exposed[kind] / step->seconds;
    bar->share[TT_NFLOWS + 1] = step->imbalance / step->seconds;
    bar->share[TT_NFLOWS + 2] = step->optimizer / step->seconds;
    bar->share[TT_NFLOWS + 3] = step->bubble / step->seconds;
}

/* ---- letters ---- */

static void print_bar(FILE *out, const struct tool_bar *bar, bool level)
{
    double sum = 0;
    int column = 0;

    fprintf(out, "  %-48s ", bar->label);
    for (int part = 0; part < TOOL_BAR_PARTS; part++)
        for (sum += bar->share[part]; column < sum * WIDTH - 0.5; column++)
            fputc(parts[part].letter, out);
    fprintf(out, level ? "%*s %4.0f %%\n" : "%*s\n", WIDTH - column, "", 100 * bar->level);
}

static void print_bars(FILE *out, const struct tool_bars *bars)
{
    fprintf(out, "\n%s%s%s\n", bars->title, bars->line ? "; at the right, " : "", bars->line ? bars->line : "");
    for (int i = 0; i < bars->n; i++)
        print_bar(out, &bars->bar[i], bars->line);
    fputs("  ", out);
    for (int part = 0; part < TOOL_BAR_PARTS; part++)
        fprintf(out, "%c %s%s", parts[part].letter, parts[part].words, part + 1 < TOOL_BAR_PARTS ? ", " : "\n");
}

/* ---- a picture ---- */

static void write_data(FILE *out, const struct tool_bars *bars)
{
    fputs("$bars << END\n", out);
    for (int i = 0; i < bars->n; i++) {
        fprintf(out, "\"%s\"", bars->bar[i].label);
        for (int part = 0; part < TOOL_BAR_PARTS; part++)
            fprintf(out, " %.6g", 100 * bars->bar[i].share[part]);
        fprintf(out, " %.6g\n", 100 * bars->bar[i].level);
    }
    fputs("END\n", out);
}

/* The bars are 1 high, but the line may be higher. */
static double highest(const struct tool_bars *bars)
{
    double level = 1;

    for (int i = 0; i < bars->n && bars->line; i++)
        level = bars->bar[i].level > level ? bars->bar[i].level : level;
    return level;
}

static void write_script(FILE *out, const struct tool_bars *bars)
{
    tool_gnuplot_size(out, 960, 600);
    fputs("set style data histograms\nset style histogram rowstacked\nset style fill solid 0.85\nset boxwidth 0.75\n"
          "set key outside right top Left reverse\nset ylabel '% of the step'\n"
          "set grid ytics linecolor '#d5d9e2'\nset xtics rotate by 40 right\nset bmargin 12\nset lmargin 14\n",
          out);
    fprintf(out, "set yrange [0:%.0f]\n", 105 * highest(bars));
    fputs("set title ", out);
    tool_gnuplot_word(out, bars->title);
    fputc('\n', out);
    write_data(out, bars);
    fputs("plot ", out);
    for (int part = 0; part < TOOL_BAR_PARTS; part++)
        fprintf(out, "%s$bars using %d%s linecolor '%s' title '%s'", part ? ", " : "", part + 2, part ? "" : ":xtic(1)",
                part + 1 < TOOL_BAR_PARTS ? tool_gnuplot_colour(part) : "#c8ccd4", parts[part].words);
    if (bars->line)
        fprintf(out, ", $bars using 0:%d with linespoints linewidth 2 linecolor '#111111' title '%s'",
                TOOL_BAR_PARTS + 2, bars->line);
    fputc('\n', out);
}

int tool_bars_draw(const struct argp_state *state, const char *file, const struct tool_bars *bars)
{
    FILE *script;

    fflush(stdout);
    if (strcmp(file, "-") == 0 || !tool_gnuplot_is_there()) {
        print_bars(stdout, bars);
        return strcmp(file, "-") == 0 ? TOOL_OK : tool_gnuplot_missing(state, file);
    }
    script = tool_gnuplot_begin(state);
    write_script(script, bars);
    if (tool_gnuplot_end(state, script, file))
        return TOOL_FAILED;
    fprintf(stderr, "%s: %s shows what a step is made of\n", state->name, file);
    return TOOL_OK;
}

int tool_plan_plot(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect)
{
    static struct tool_bars bars;
    const struct tt_search *s = &prospect->search;
    char layout[128];

    bars = (struct tool_bars){.title = "What a step is made of"};
    for (int i = 0; i < s->n && i < (p->explain ? 1 : p->top); i++)
        if (p->explain || s->ranked[i].step.memory.fits)
            tool_bars_add(&bars, tt_layout_print(&s->ranked[i].step.layout, layout, sizeof layout), &s->ranked[i].step,
                          1);
    return tool_bars_draw(state, p->plot, &bars);
}
