/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti tune --regret: are rules kept to their promise? For every size that they were made from, what they choose is
 * measured as programs get it, with the rules in force and no pin, in turn with the MPI below and with every algorithm
 * of ours; the regret is how much longer it takes than the best of them, visit by visit: where the machine is another
 * in the next, medians of both may be of different machines. On the host's memory the MPI is called past Tutti, too:
 * that is what programs had before, and what to be in between costs no rule can take away. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/select.h"
#include "tools/mpi_tune.h"
#include "tools/mpi_progress.h"
#include "tools/mpi_tutti.h"
#include "tools/tools.h"

static const double most_over_native = 1.05, most_mean = 1.05, most_worst = 1.20;

struct verdict {
    int n, over, behind; /* sizes; of these, slower than native, and than the MPI without Tutti, by more than is
                            promised, and than noise */
    double sum, worst;
};

/* ---- what is compared ---- */

/* What is chosen stands in for the candidate that it is, by the same decision that the library makes: no plan is
 * compared with itself. */
static void stand_in(const struct tool_session *s, const struct tt_rules *rules, struct tt_point *point)
{
    const int unit = tt_tune_unit(point->coll);
    const struct tt_shape shape = {.coll = tt_coll_family(point->coll),
                                   .size = s->tuning.size,
                                   .commutes = true,
                                   .reproducible = s->tuning.reproducible,
                                   .count = point->bytes / unit,
                                   .unit = (size_t)unit,
                                   .nodes = s->tuning.nodes};
    const struct tt_orders orders = {.rules = rules,
                                     .net = s->net,
                                     .level = tt_topo_slowest(s->topo),
                                     .on_gpus = s->tuning.on_gpus,
                                     .topo = s->topo};
    const struct tt_choice choice = tt_select(point->coll, &shape, &orders, NULL, false);
    const int64_t segment = choice.alg->segmented ? choice.segment * unit : 0;

    for (int i = 0; i < point->n; i++)
        if (point->of[i].alg == choice.alg && point->of[i].segment == segment) {
            point->of[i].alg = NULL;
            point->of[i].segment = 0;
            return;
        }
    point->n -= point->n == TT_MOST_CANDIDATES;
    point->of[point->n++] = (struct tt_candidate){0};
}

static void add_without(const struct tool_session *s, struct tt_point *point)
{
    if (!s->tuning.on_gpus && point->n < TT_MOST_CANDIDATES)
        point->of[point->n++] = (struct tt_candidate){.alg = tt_alg_find(point->coll, "native", 6), .below = true};
}

/* ---- the table ---- */

static bool is_over(const struct tt_candidate *chosen, const struct tt_candidate *other)
{
    return other && chosen->is.seconds > most_over_native * other->is.seconds &&
           tt_figure_below(&other->is, &chosen->is);
}

static void print_line(const struct tt_point *point, const char *choice, struct verdict *v)
{
    const struct tt_candidate *chosen = tt_point_find(point, NULL, 0), *best = tt_point_best(point),
                              *native = tt_point_native(point) ? tt_point_native(point) : chosen,
                              *without = tt_point_below(point);
    const double over = chosen->is.seconds / native->is.seconds,
                 regret = chosen == best ? 1 : tt_point_ratio(point, chosen, best);
    const bool broken = is_over(chosen, native);
    char bytes[32], past[32] = "-";

    if (without)
        snprintf(past, sizeof past, "%.2f", without->is.seconds * 1e6);
    v->n++;
    v->sum += regret;
    v->worst = regret > v->worst ? regret : v->worst;
    v->over += broken;
    v->behind += is_over(chosen, without);
    printf("%-14s %10s  %10.2f %8.2f %10s %10.2f %7.3f%s  %-18s %10.2f %7.3f  %s\n", tt_coll_name(point->coll),
           tt_size_print(bytes, sizeof bytes, point->bytes), chosen->is.seconds * 1e6, chosen->is.noise * 1e6, past,
           native->is.seconds * 1e6, over, broken ? "!" : " ", best->alg ? best->alg->name : "the chosen",
           best->is.seconds * 1e6, regret, choice);
    fflush(stdout);
}

static int print_verdict(const struct verdict *v)
{
    const double mean = v->n ? v->sum / v->n : 0;
    const bool good = v->n && !v->over && mean <= most_mean && v->worst <= most_worst;

    printf("%d sizes: slower than native by more than 5 %% and noise at %d; regret: mean %.3f (goal %.2f), worst %.3f "
           "(goal %.2f); slower than the MPI without Tutti by more than 5 %% and noise at %d\n",
           v->n, v->over, mean, most_mean, v->worst, most_worst, v->behind);
    return good ? TOOL_OK : TOOL_FAILED;
}

/* ---- is it the same machine? ---- */

static double native_seconds(const struct tt_point *point, const struct tt_candidate *stand_in)
{
    const struct tt_candidate *native = tt_point_native(point) ? tt_point_native(point) : stand_in;

    return native ? native->is.seconds : 0;
}

static void tell_drift(const struct tool_session *s, const struct tt_points *points)
{
    double *ratios = malloc((size_t)points->n * sizeof *ratios);
    int n = 0;

    for (int i = 0; i < points->n && ratios; i++) {
        const double before = native_seconds(&s->points.at[i], NULL),
                     now = native_seconds(&points->at[i], tt_point_find(&points->at[i], NULL, 0));

        if (points->at[i].visits > 0 && before > 0 && now > 0)
            ratios[n++] = now / before;
    }
    if (n > 0) {
        const struct tt_figure middle = tt_figure_of(ratios, n);

        printf("native takes %.2f times what it took when these rules were made (%.2f to %.2f, by size)\n",
               middle.seconds, ratios[0], ratios[n - 1]);
    }
    free(ratios);
}

/* ---- all sizes ---- */

/* What is to be measured, in place of the figures that were read. */
static bool prepare(struct tool_session *s, const struct tt_rules *rules, struct tt_points *points)
{
    for (int i = 0; i < s->points.n; i++) {
        struct tt_point point;

        tt_tune_candidates(&s->tuning, s->points.at[i].coll, s->points.at[i].bytes, &point);
        stand_in(s, rules, &point);
        add_without(s, &point);
        if (tt_points_add(points, &point))
            return false;
    }
    return true;
}

/* A call more of what is chosen, for who it is. */
static void tell_choice(struct tool_session *s, const struct tt_point *point, struct verdict *v)
{
    const bool going = s->bench->is.measure(&s->bench->is, point, tt_point_find(point, NULL, 0), 1) >= 0;
    const char *choice = going ? tool_tutti_choice(MPI_COMM_WORLD, tt_coll_name(point->coll)) : NULL;

    print_line(point, choice ? choice : "?", v);
}

static void keep_asked(struct tool_session *s)
{
    struct tt_points *points = &s->points;
    int n = 0;

    for (int i = 0; i < points->n; i++)
        if (s->tuning.colls >> points->at[i].coll & 1)
            points->at[n++] = points->at[i];
    points->n = n;
    tt_points_sort(points);
}

static int read_all(struct tool_session *s, struct tt_rules **rules)
{
    FILE *in = fopen(s->a->regret, "r");
    char why[2048] = "out of memory";

    if (!in) {
        fprintf(stderr, "tutti tune: cannot read %s: %s\n", s->a->regret, strerror(errno));
        return -1;
    }
    *rules = tt_rules_read(s->a->regret, why, sizeof why);
    if (!*rules || tt_figures_read(in, &s->points)) {
        fprintf(stderr, "tutti tune: %s\n", why);
        fclose(in);
        return -1;
    }
    fclose(in);
    keep_asked(s);
    if (!s->points.n)
        fprintf(stderr, "tutti tune: %s has no figures of these collectives: which sizes it is about is not known\n",
                s->a->regret);
    return s->points.n ? 0 : -1;
}

static void print_table(struct tool_session *s, const struct tt_points *points, struct verdict *v)
{
    printf("# %s; medians in us; +-: as noise is counted there; ! breaks the promise\n", s->where);
    printf("%-14s %10s  %10s %8s %10s %10s %7s   %-18s %10s %7s  %s\n", "collective", "size", "chosen us", "+-",
           "without us", "native us", "ratio", "best", "us", "regret", "chosen");
    for (int i = 0; i < points->n; i++)
        if (points->at[i].visits > 0)
            tell_choice(s, &points->at[i], v);
}

int tool_judge_rules(struct tool_session *s)
{
    struct tt_points points = {0};
    struct tt_rules *rules;
    struct verdict v = {0};

    if (read_all(s, &rules) || tool_session_price(s))
        return TOOL_FAILED;
    s->tuning.judge = true;
    if (prepare(s, rules, &points))
        tt_tune_revisit(&s->bench->is, s->a->budget, &points);
    tool_progress_end();
    print_table(s, &points, &v);
    tell_drift(s, &points);
    tt_points_free(&points);
    tt_rules_free(rules);
    return print_verdict(&v);
}
