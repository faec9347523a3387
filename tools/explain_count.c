/* SPDX-License-Identifier: BSD-3-Clause */
/* What each algorithm costs. Rounds, messages and bytes are counted in the plans that would run, not taken from
 * formulas. Up to TOOL_ALL_RANKS ranks every rank's plan is built and set in time; beyond, that would take gigabytes,
 * so a few ranks stand for all. Times are the cost model's; beside them is
 * what `tutti tune` measured, if a rules file tells it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "selector/model.h"
#include "selector/nccl.h"
#include "selector/tune.h"
#include "tools/explain.h"

static bool count_all(struct tool_figures *f, const struct tt_shape *s)
{
    struct tt_score *score = tt_score_make(f->alg, s);

    if (!score)
        return false;
    f->rounds = score->rounds;
    f->most = score->most;
    tt_score_free(score);
    return true;
}

/* Ranks at the root, beside it, opposite to it, and at the ends: the extremes of every tree, ring and chain. */
static bool count_some(struct tool_figures *f, const struct tt_shape *s)
{
    const int p = s->size, r = s->root;
    const int ranks[] = {0, 1, p / 2, p - 1, r, tt_mod(r + 1, p), tt_mod(r - 1, p), tt_mod(r + tt_pow2_below(p), p)};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct tt_plan *plan = tt_whole_plan(f->alg, s, ranks[i]);
        int rounds;

        if (!plan)
            return false;
        rounds = tt_score_own_rounds(plan);
        f->rounds = rounds > f->rounds ? rounds : f->rounds;
        tt_score_raise(&f->most, plan);
        tt_plan_free(plan);
    }
    return true;
}

/* It is told of where it can be: on GPUs, of which every rank has one; or where it was named. */
static void count_nccl(struct tool_figures *f, const struct tool_ask *a, bool chosen)
{
    f->seconds = tt_nccl_seconds(&a->shape, a->topo);
    f->latency = tt_nccl_seconds(&a->shape, &a->instant);
    f->timed = a->on_gpus && f->seconds >= 0;
    f->vote = f->timed ? tool_ask_vote(a) : 0;
    f->seconds += f->vote;
    f->latency += f->vote;
    f->why_not = tool_ask_no_nccl(a);
    if (f->why_not || chosen || f->timed)
        return;
    f->why_not = !a->on_gpus                         ? "it is for GPU memory (--memory device), unless it is named"
                 : tt_coll_lengths_local(a->coll) ? "no rank knows the others' lengths, so it has to be named"
                                                  : "not every rank has a GPU of its own";
}

/* Of more segments than that, which only a pin asks for, the plan would not fit in memory. */
enum { MOST_SEGMENTS = 1 << 17 };

/* With the segment that was chosen for it, if it was; else with the one that would be. */
static struct tool_figures count(const struct argp_state *state, const struct tt_alg *alg, const struct tool_ask *a,
                                 const struct tt_choice *choice)
{
    struct tool_figures f = {.alg = alg, .why_not = tt_infeasible(alg, &a->shape)};
    struct tt_shape s = a->shape;

    f.timed = alg->cost && !f.why_not;
    if (alg->delegate == TT_TO_NCCL && !f.why_not)
        count_nccl(&f, a, choice->alg == alg);
    if (alg->segmented && !f.why_not) {
        s.segment = choice->alg == alg && choice->segment ? choice->segment : tt_best_segment(alg, &s, a->net);
        f.segment = s.segment * (int64_t)s.unit;
    }
    if (f.timed && alg->cost) {
        f.seconds = tt_estimate(alg, &s, a->net).seconds;
        f.latency = tt_estimate(alg, &s, a->latencies).seconds;
    }
    f.planned = alg->build && !f.why_not && !(alg->segmented && s.count / s.segment > MOST_SEGMENTS);
    if (f.planned && !(s.size <= TOOL_ALL_RANKS ? count_all(&f, &s) : count_some(&f, &s)))
        tool_die(state, TOOL_FAILED, "cannot set out %s %s: %s", tt_coll_name(s.coll), alg->name, strerror(errno));
    return f;
}

/* ---- what was measured ---- */

/* The best that a segment gave. */
static void add_figure(struct tool_figures *f, const struct tt_point *point)
{
    for (int i = 0; i < point->n; i++) {
        const struct tt_candidate *c = &point->of[i];

        if (c->alg != f->alg || c->is.n == 0 || (f->tuned && f->measured <= c->is.seconds))
            continue;
        f->tuned = true;
        f->measured = c->is.seconds;
    }
}

/* Of that size, from the remarks in the rules file, if a rule of it holds for such calls: else it is of other ranks. */
static void add_measured(const struct tool_ask *a, struct tool_figures *rows, int n)
{
    const struct tt_facts facts = tt_facts_of(a->coll, &a->shape, tt_topo_slowest(a->topo));
    FILE *in = tt_rules_next(tt_config.read, NULL, &facts) ? fopen(getenv("TUTTI_RULES"), "r") : NULL;
    struct tt_points points = {0};
    const struct tt_point *point = NULL;

    if (in && tt_figures_read(in, &points) == 0)
        point = tt_points_find(&points, a->coll, a->bytes);
    for (int i = 0; point && i < n; i++)
        add_figure(&rows[i], point);
    if (in)
        fclose(in);
    tt_points_free(&points);
}

/* ---- the list ---- */

/* Should x come after y? Those without a time come behind those with one, and those that cannot serve it last. */
static bool is_behind(const struct tool_figures *x, const struct tool_figures *y)
{
    if (!x->why_not != !y->why_not)
        return x->why_not;
    if (x->timed != y->timed)
        return y->timed;
    return x->timed && x->seconds > y->seconds;
}

int tool_explain_rows(const struct argp_state *state, const struct tool_ask *a, const struct tt_choice *choice,
                      struct tool_figures rows[TOOL_MAX_ROWS])
{
    int n = 0;

    for (int i = 0; tt_algs[i] && n < TOOL_MAX_ROWS; i++) {
        int at = n;

        if (!tt_alg_serves(tt_algs[i], a->coll))
            continue;
        rows[n++] = count(state, tt_algs[i], a, choice);
        for (; at > 0 && is_behind(&rows[at - 1], &rows[at]); at--) {
            const struct tool_figures row = rows[at];

            rows[at] = rows[at - 1];
            rows[at - 1] = row;
        }
    }
    add_measured(a, rows, n);
    return n;
}
