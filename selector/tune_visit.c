/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring one size, robust to noise: candidates take turns, so that what disturbs one for a while disturbs all; each
 * turn is a batch of calls; a visit is done when the best is told apart from the others or all are known well, and
 * those that are clearly out of it are measured no more. A visit is short, since what lasts longer than one is met only
 * by coming again later. */
#include "selector/tune.h"

#include <math.h>
#include <string.h>

enum { FEWEST = 3, ENOUGH = 5, MOST_TURNS = 9, MOST_CALLS = 100 }; /* turns: whatever the time; where all is clear */
static const double batch_seconds = 4e-3;         /* to aim at: well above what changing the candidate costs */
static const double fine = 0.015;                 /* noise, of the figure itself, below which nothing more is asked */
static const double hopeless = 1.5;               /* times the best, and more than noise: no more of it in this visit */
static const double far_off = 3;                  /* times the best: enough, where time is short */
static const double lost = 2.5, lost_at_once = 4; /* times the best, in each visit: no more visits */

/* ---- one visit ---- */

struct series {
    double samples[TT_MOST_SAMPLES];
    double fastest; /* batch: what the length of the next one goes by, since a disturbed one says nothing of it */
    int n, calls;
    bool out;
};

struct visit {
    struct tt_bench *bench;
    struct tt_point *point;
    struct series series[TT_MOST_CANDIDATES];
    struct tt_figure now[TT_MOST_CANDIDATES];
    int best, own; /* of now: of all, and of those that every call may have; -1: none */
};

static int calls_for(double seconds)
{
    const double calls = seconds > 0 ? batch_seconds / seconds : MOST_CALLS;

    return calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

static void take_out(struct tt_point *point, int i)
{
    point->n--;
    memmove(&point->of[i], &point->of[i + 1], (size_t)(point->n - i) * sizeof point->of[i]);
}

/* What a first call and a batch of all who are out would take. */
static double seconds_to_hear(const struct tt_point *point)
{
    double seconds = 0;

    for (int i = 0; i < point->n; i++)
        if (point->of[i].out)
            seconds += fmax(batch_seconds, point->of[i].is.seconds) + point->of[i].is.seconds;
    return seconds;
}

/* Who is out is heard again in some visits, ever more rarely: it may have been out of it only on the machine that this
 * one was in those minutes. It must not take the visit from the others. */
static bool hears_all(const struct visit *v, double until)
{
    const int visits = v->point->visits;
    const double left = until - v->bench->now(v->bench);

    return visits >= 4 && (visits & (visits - 1)) == 0 && 2 * seconds_to_hear(v->point) <= left;
}

/* A first call, of each, only to learn how many make a batch; and who cannot serve such calls. */
static bool warm_up(struct visit *v, double until)
{
    const bool all = hears_all(v, until);

    for (int i = 0; i < v->point->n;) {
        const struct tt_candidate *c = &v->point->of[i];
        const bool out = c->out && !all;
        const double seconds = out ? 0 : v->bench->measure(v->bench, v->point, c, 1);

        if (seconds < 0)
            return false;
        if (isinf(seconds)) {
            take_out(v->point, i);
            continue;
        }
        v->series[i] = (struct series){.fastest = seconds, .calls = calls_for(seconds), .out = out};
        i++;
    }
    return true;
}

/* A turn of each; who was first is last in the next, so that nobody is always behind the same one. */
static bool turn(struct visit *v, int round)
{
    for (int k = 0; k < v->point->n; k++) {
        const int i = (k + round) % v->point->n;
        struct series *s = &v->series[i];
        double seconds;

        if (s->out)
            continue;
        seconds = v->bench->measure(v->bench, v->point, &v->point->of[i], s->calls);
        if (seconds < 0)
            return false;
        s->samples[s->n++] = seconds;
        s->fastest = fmin(s->fastest, seconds);
        s->calls = calls_for(s->fastest);
    }
    return true;
}

/* May every call have it? Not NCCL, nor what is called past Tutti. */
static bool is_common(const struct tt_candidate *c)
{
    return !c->below && !(c->alg && c->alg->delegate == TT_TO_NCCL);
}

static int better_of(const struct visit *v, int best, int i)
{
    return v->now[i].n > 0 && (best < 0 || v->now[i].seconds < v->now[best].seconds) ? i : best;
}

static void sum_up(struct visit *v)
{
    v->best = v->own = -1;
    for (int i = 0; i < v->point->n; i++) {
        v->now[i] = tt_figure_of(v->series[i].samples, v->series[i].n);
        v->best = better_of(v, v->best, i);
        v->own = is_common(&v->point->of[i]) ? better_of(v, v->own, i) : v->own;
    }
    v->own = v->own < 0 ? v->best : v->own;
}

static bool is_fine(const struct tt_figure *f)
{
    return f->noise <= fine * f->seconds;
}

/* Is it clear that none of the others is better than this one, or how good they are? */
static bool is_clear_of(const struct visit *v, int one)
{
    const struct tt_figure *best = &v->now[one];

    for (int i = 0; i < v->point->n; i++)
        if (i != one && i != v->best && !v->series[i].out && !tt_figure_below(best, &v->now[i]) &&
            !(is_fine(&v->now[i]) && is_fine(best)))
            return false;
    return true;
}

static bool is_clear(const struct visit *v)
{
    return is_clear_of(v, v->best) && is_clear_of(v, v->own);
}

static void give_up_hopeless(struct visit *v)
{
    const struct tt_figure *best = &v->now[v->own];

    for (int i = 0; i < v->point->n; i++)
        v->series[i].out |= v->now[i].seconds - v->now[i].noise > hopeless * (best->seconds + best->noise);
}

static bool is_native(const struct tt_candidate *c)
{
    return c->alg && c->alg->delegate == TT_TO_MPI;
}

/* The same before there is any noise to speak of; but of native it must be known, for by it others are judged. */
static void give_up_far_off(struct visit *v)
{
    for (int i = 0; i < v->point->n; i++)
        v->series[i].out |= !is_native(&v->point->of[i]) && v->now[i].seconds > far_off * v->now[v->own].seconds;
}

/* One turn tells of those who are heard again. */
static void give_up_still_lost(struct visit *v)
{
    for (int i = 0; i < v->point->n; i++)
        v->series[i].out |= v->point->of[i].out && v->now[i].seconds > lost * v->now[v->own].seconds;
}

static bool take_turns(struct visit *v, double until)
{
    for (int round = 1; round <= MOST_TURNS; round++) {
        bool late;

        if (!turn(v, round - 1))
            return false;
        sum_up(v);
        late = v->bench->now(v->bench) > until;
        if (v->best < 0 || (round >= ENOUGH && is_clear(v)) || (round >= FEWEST && late))
            break;
        give_up_still_lost(v);
        if (round >= FEWEST)
            give_up_hopeless(v);
        else if (late)
            give_up_far_off(v);
    }
    return true;
}

bool tt_tune_visit(struct tt_bench *bench, struct tt_point *point, double until)
{
    struct visit v = {.bench = bench, .point = point};

    if (point->visits == TT_MOST_VISITS)
        return true;
    if (!warm_up(&v, until) || !take_turns(&v, until))
        return false;
    for (int i = 0; i < point->n; i++)
        point->of[i].of[point->visits] = v.now[i];
    point->visits++;
    point->whole = true;
    tt_point_sum_up(point);
    return true;
}

/* ---- all visits ---- */

/* Of those that every call may have, if there is any. */
static double best_of(const struct tt_point *point, int visit)
{
    double best[2] = {INFINITY, INFINITY};

    for (int i = 0; i < point->n; i++) {
        const bool common = is_common(&point->of[i]);

        if (point->of[i].of[visit].n > 0)
            best[common] = fmin(best[common], point->of[i].of[visit].seconds);
    }
    return isinf(best[1]) ? best[0] : best[1];
}

/* Only so many times behind in a visit counts: it is known to be bad, and one such visit must not outweigh all others.
 */
static const double worst_that_counts = 4;

static void sum_up_candidate(struct tt_candidate *c, const double *best, int visits)
{
    struct tt_figure of[TT_MOST_VISITS];
    double times = 0, least = INFINITY;
    int n = 0;

    for (int v = 0; v < visits; v++) {
        const double ratio = c->of[v].seconds / best[v];

        if (c->of[v].n == 0)
            continue;
        of[n++] = c->of[v];
        times += fmin(ratio, worst_that_counts);
        least = fmin(least, ratio);
    }
    c->is = tt_figure_middle(of, n);
    c->times = n ? times / n : 0;
    c->out = n > 0 && c->alg && !is_native(c) && (least > lost_at_once || (n > 1 && least > lost));
}

void tt_point_sum_up(struct tt_point *point)
{
    double best[TT_MOST_VISITS];

    for (int v = 0; v < point->visits; v++)
        best[v] = best_of(point, v);
    for (int i = 0; i < point->n; i++)
        sum_up_candidate(&point->of[i], best, point->visits);
}
