/* SPDX-License-Identifier: BSD-3-Clause */
/* The best layout at each value of one circumstance: whole numbers doubled, others in even ratios. */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/plan_bars.h"

enum { RATIOS = 9 }; /* values of what is no whole number */

/* One value and what is best there. */
struct point {
    struct tool_circumstances c;
    struct tt_iteration step;
    bool fits;
    double least; /* bytes: what the least of all layouts needs, if none fits; 0: none can be */
};

static int values_of(const struct tool_plan *p, double values[TOOL_MAX_BARS])
{
    int n = 0;

    if (tool_knob_counts(p->sweep)) {
        for (double value = p->from; value <= p->to && n < TOOL_MAX_BARS; value *= 2)
            values[n++] = value;
        return n;
    }
    for (; n < RATIOS; n++)
        values[n] = p->from * pow(p->to / p->from, n / (RATIOS - 1.0));
    return n;
}

static struct point look_at(const struct argp_state *state, const struct tool_plan *p, double value, double first)
{
    struct point point = {.c = p->now};
    struct tool_prospect prospect;
    const struct tt_search *s = &prospect.search;

    point.c.is[p->sweep] = value;
    if (p->weak)
        point.c.is[TOOL_KNOB_batch] = floor(p->now.is[TOOL_KNOB_batch] * value / first);
    tool_plan_look(state, p, &point.c, &prospect);
    point.fits = tt_search_best(s);
    if (s->n)
        point.step = s->ranked[0].step;
    point.least = s->n && !point.fits ? s->ranked[0].step.memory.total : 0;
    tool_plan_forget(&prospect);
    return point;
}

/* Tokens a second of a GPU, of the first point at which anything fits, which the others are held against. */
static double base_of(const struct point *points, int n)
{
    for (int i = 0; i < n; i++)
        if (points[i].fits)
            return points[i].step.tokens / points[i].step.gpus;
    return 0;
}

static double scaling(const struct point *point, double base)
{
    return point->fits && base > 0 ? point->step.tokens / point->step.gpus / base : 0;
}

/* ---- telling ---- */

static void print_point(const struct tool_plan *p, const struct point *point, double base)
{
    const struct tt_iteration *s = &point->step;
    char value[32], layout[128], time[32], tokens[32], needs[32], reason[160];

    tool_knob_print(p->sweep, point->c.is[p->sweep], value, sizeof value);
    if (!point->fits) {
        printf("  %10s  %s%s\n", value, point->least > 0 ? "nothing fits; the least is " : "nothing can be",
               point->least > 0 ? tool_print_gb(point->least, needs, sizeof needs) : "");
        return;
    }
    printf("  %10s  %-40s %9s %8s %6.0f %% %6.0f %% %6.0f %% %5.0f %%   %s\n", value,
           tt_layout_print(&s->layout, layout, sizeof layout), tt_time_print(time, sizeof time, s->seconds),
           tool_print_si(s->tokens, tokens, sizeof tokens), 100 * scaling(point, base), 100 * s->compute / s->seconds,
           100 * tool_plan_exposed(s) / s->seconds, 100 * s->bubble / s->seconds,
           tt_iteration_reason(s, reason, sizeof reason));
}

static void print_points(const struct tool_plan *p, const struct point *points, int n)
{
    const double base = base_of(points, n);

    printf("%s, on %s\n\n", p->m.about, p->gpu->name);
    printf("  %10s  %-40s %9s %8s %8s %8s %8s %7s\n", tool_knob_name(p->sweep), "the best layout", "a step", "tokens/s",
           "scaling", "compute", "exposed", "bubble");
    for (int i = 0; i < n; i++)
        print_point(p, &points[i], base);
    puts("\nScaling: tokens a second of each GPU, against the first line at which anything fits.");
    if (p->sweep == TOOL_KNOB_gpus)
        puts(p->weak
                 ? "Warning: the global batch grows with the GPUs. That is another optimisation problem, not the same "
                   "one "
                   "faster: steps are\nfewer for the same tokens, and the learning rate and the loss they lead to "
                   "change."
                 : "The global batch stays, so the optimisation problem does; each GPU has less of it to do as they "
                   "become more.");
    if (p->sweep == TOOL_KNOB_batch)
        puts("Warning: another global batch is another optimisation problem, not the same one faster.");
}

static void print_json(const struct tool_plan *p, const struct point *points, int n)
{
    const double base = base_of(points, n);
    json_t *list = json_array(), *all;

    for (int i = 0; i < n; i++) {
        const struct tt_iteration *s = &points[i].step;
        json_t *point = json_pack("{s:f, s:f, s:b}", tool_knob_name(p->sweep), points[i].c.is[p->sweep], "sequences",
                                  points[i].c.is[TOOL_KNOB_batch], "fits", points[i].fits);
        char layout[128];

        if (points[i].fits)
            json_object_update_new(point,
                                   json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "layout",
                                             tt_layout_print(&s->layout, layout, sizeof layout), "seconds", s->seconds,
                                             "tokens_per_second", s->tokens, "scaling", scaling(&points[i], base),
                                             "compute_seconds", s->compute, "bubble_seconds", s->bubble));
        json_array_append_new(list, point);
    }
    all = json_pack("{s:s, s:s, s:b, s:o}", "model", p->m.about, "sweep", tool_knob_name(p->sweep), "batch_grows",
                    p->weak, "points", list);
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(all);
}

static int draw(const struct argp_state *state, const struct tool_plan *p, const struct point *points, int n)
{
    static struct tool_bars bars;
    char label[sizeof bars.bar->label], value[32], layout[100];
    const double base = base_of(points, n);

    bars = (struct tool_bars){.title = "What a step of the best layout is made of", .line = "scaling"};
    for (int i = 0; i < n; i++) {
        tool_knob_print(p->sweep, points[i].c.is[p->sweep], value, sizeof value);
        if (points[i].fits)
            snprintf(label, sizeof label, "%s: %s", value,
                     tt_layout_print(&points[i].step.layout, layout, sizeof layout));
        else
            snprintf(label, sizeof label, "%s: nothing fits", value);
        tool_bars_add(&bars, label, points[i].fits ? &points[i].step : NULL, scaling(&points[i], base));
    }
    return tool_bars_draw(state, p->plot, &bars);
}

int tool_plan_sweep(const struct argp_state *state, const struct tool_plan *p)
{
    static struct point points[TOOL_MAX_BARS];
    double values[TOOL_MAX_BARS];
    const int n = values_of(p, values);

    for (int i = 0; i < n; i++)
        points[i] = look_at(state, p, values[i], values[0]);
    (p->json ? print_json : print_points)(p, points, n);
    return p->plot ? draw(state, p, points, n) : TOOL_OK;
}
