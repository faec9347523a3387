/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring, robust to noise: candidates take turns, so that what disturbs one for a while disturbs all; each turn is a
 * batch of calls; a point is done when the best is told apart from the others or all are known well, and those that are
 * clearly out of it are measured no more. Each point may use its share of the time that is left. */
#include "selector/tune.h"

#include <math.h>

enum { FEWEST = 3, ENOUGH = 5, MOST_CALLS = 100 }; /* turns: whatever the budget says; where all is clear */
static const double batch_seconds = 4e-3;          /* to aim at: well above what changing the candidate costs */
static const double fine = 0.015;                  /* noise, of the figure itself, below which nothing more is asked */
static const double hopeless = 1.5;                /* times the best, and more than noise */
static const double far_off = 3;                   /* times the best: enough, where time is short */
static const double reserve = 0.25; /* of the budget, for the last grid, whose sizes nobody knows beforehand */

/* ---- one point ---- */

struct series {
    double samples[TT_MOST_SAMPLES];
    double fastest; /* batch: what the length of the next one goes by, since a disturbed one says nothing of it */
    int n, calls;
    bool out;
};

static int calls_for(double seconds)
{
    const double calls = seconds > 0 ? batch_seconds / seconds : MOST_CALLS;

    return calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

/* A first call, of each, only to learn how many make a batch. */
static bool warm_up(struct tt_bench *bench, struct tt_point *point, struct series *series)
{
    for (int i = 0; i < point->n; i++) {
        const double seconds = bench->measure(bench, point, &point->of[i], 1);

        if (seconds < 0)
            return false;
        series[i] = (struct series){.fastest = seconds, .calls = calls_for(seconds)};
    }
    return true;
}

/* A turn of each; who was first is last in the next, so that nobody is always behind the same one. */
static bool turn(struct tt_bench *bench, struct tt_point *point, struct series *series, int round)
{
    for (int k = 0; k < point->n; k++) {
        const int i = (k + round) % point->n;
        double seconds;

        if (series[i].out)
            continue;
        seconds = bench->measure(bench, point, &point->of[i], series[i].calls);
        if (seconds < 0)
            return false;
        series[i].samples[series[i].n++] = seconds;
        series[i].fastest = fmin(series[i].fastest, seconds);
        series[i].calls = calls_for(series[i].fastest);
    }
    return true;
}

static void sum_up(struct tt_point *point, struct series *series)
{
    for (int i = 0; i < point->n; i++)
        point->of[i].is = tt_figure_of(series[i].samples, series[i].n);
}

static bool is_fine(const struct tt_figure *f)
{
    return f->noise <= fine * f->seconds;
}

/* Is it clear what would be chosen, and how good it is? */
static bool is_clear(const struct tt_point *point, const struct series *series)
{
    const struct tt_candidate *best = tt_point_best(point);

    for (int i = 0; i < point->n; i++) {
        const struct tt_figure *f = &point->of[i].is;

        if (&point->of[i] != best && !series[i].out && !tt_figure_below(&best->is, f) &&
            !(is_fine(f) && is_fine(&best->is)))
            return false;
    }
    return true;
}

static void give_up_hopeless(const struct tt_point *point, struct series *series)
{
    const struct tt_figure *best = &tt_point_best(point)->is;

    for (int i = 0; i < point->n; i++)
        series[i].out |= point->of[i].is.seconds - point->of[i].is.noise > hopeless * (best->seconds + best->noise);
}

/* The same before there is any noise to speak of; but of native it must be known, for by it others are judged. */
static void give_up_far_off(const struct tt_point *point, struct series *series)
{
    for (int i = 0; i < point->n; i++)
        series[i].out |= &point->of[i] != tt_point_native(point) &&
                         point->of[i].is.seconds > far_off * tt_point_best(point)->is.seconds;
}

bool tt_tune_point(struct tt_bench *bench, struct tt_point *point, double until)
{
    struct series series[TT_MOST_CANDIDATES];

    if (!warm_up(bench, point, series))
        return false;
    for (int round = 0; round < TT_MOST_SAMPLES; round++) {
        bool late;

        if (!turn(bench, point, series, round))
            return false;
        sum_up(point, series);
        late = bench->now(bench) > until;
        if ((round + 1 >= ENOUGH && is_clear(point, series)) || (round + 1 >= FEWEST && late))
            break;
        if (round + 1 >= FEWEST)
            give_up_hopeless(point, series);
        else if (late)
            give_up_far_off(point, series);
    }
    point->whole = true;
    return true;
}

/* ---- all of them ---- */

struct session {
    struct tt_bench *bench;
    const struct tt_tuning *t;
    struct tt_points *points;
    FILE *journal;
    int done;     /* in this session */
    double began; /* of this session, by the bench's clock */
};

/* Sizes are passed over in three grids, each twice as fine as the last. */
enum { PASSES = 3 };
static const int steps[PASSES] = {4, 2, 1};

static bool is_last(const struct tt_tuning *t, enum tt_coll coll, int k)
{
    return tt_tune_size(t, coll, k + 1) < 0;
}

/* Is the choice at two neighbours another? One that has not been measured says nothing. */
static bool choices_differ(const struct tt_points *points, enum tt_coll coll, int64_t below, int64_t above)
{
    const struct tt_point *a = tt_points_find(points, coll, below), *b = tt_points_find(points, coll, above);
    const struct tt_candidate *x = a ? tt_tune_choose(a, NULL) : NULL, *y = b ? tt_tune_choose(b, x) : NULL;

    return x && y && (x->alg != y->alg || x->segment != y->segment);
}

/* Is the k-th size to be measured in this pass? */
static bool belongs(const struct session *s, int pass, enum tt_coll coll, int k)
{
    const int64_t bytes = tt_tune_size(s->t, coll, k);

    if (tt_points_find(s->points, coll, bytes))
        return false;
    if (k % steps[pass] != 0 && !(pass == 0 && is_last(s->t, coll, k)))
        return false;
    return pass + 1 < PASSES ||
           choices_differ(s->points, coll, tt_tune_size(s->t, coll, k - 1), tt_tune_size(s->t, coll, k + 1));
}

/* How many are left, of this pass and, in the first, of the next, which asks no questions either. */
static int left(const struct session *s, int pass)
{
    int n = 0;

    for (int c = 0; c < TT_NCOLLS; c++)
        for (int k = 0; s->t->colls >> c & 1 && tt_tune_size(s->t, (enum tt_coll)c, k) >= 0; k++)
            n += belongs(s, pass, (enum tt_coll)c, k) || (pass == 0 && belongs(s, 1, (enum tt_coll)c, k));
    return n;
}

static bool out_of_budget(const struct session *s)
{
    return s->bench->now(s->bench) >= s->t->budget;
}

static void tell(struct session *s, const struct tt_point *point, int remaining)
{
    const double now = s->bench->now(s->bench), each = (now - s->began) / s->done, budget = s->t->budget - now;

    if (s->bench->tell)
        s->bench->tell(s->bench, point, s->done, remaining, fmax(0, fmin(each * remaining, budget)));
}

static bool measure(struct session *s, int pass, enum tt_coll coll, int64_t bytes)
{
    const int before = left(s, pass);
    const double now = s->bench->now(s->bench), end = s->t->budget * (pass + 1 < PASSES ? 1 - reserve : 1);
    struct tt_point point;

    tt_tune_candidates(s->t, coll, bytes, &point);
    if (!tt_tune_point(s->bench, &point, now + (end - now) / (before > 0 ? before : 1)))
        return false;
    if (tt_points_add(s->points, &point))
        return false;
    if (s->journal) {
        tt_figures_write(s->journal, &point);
        fflush(s->journal);
    }
    s->done++;
    tell(s, &point, before - 1);
    return true;
}

/* The k-th size of each collective in turn, so that what the budget cuts off is cut off alike. */
static bool measure_kth(struct session *s, int pass, int k, bool *any)
{
    for (int c = 0; c < TT_NCOLLS; c++) {
        const enum tt_coll coll = (enum tt_coll)c;

        if (!(s->t->colls >> c & 1) || tt_tune_size(s->t, coll, k) < 0)
            continue;
        *any = true;
        if (!belongs(s, pass, coll, k))
            continue;
        if (out_of_budget(s) || !measure(s, pass, coll, tt_tune_size(s->t, coll, k)))
            return false;
    }
    return true;
}

bool tt_tune(struct tt_bench *bench, const struct tt_tuning *t, struct tt_points *points, FILE *journal)
{
    struct session s = {bench, t, points, journal, 0, bench->now(bench)};

    for (int pass = 0; pass < PASSES; pass++) {
        bool any = true;

        for (int k = 0; any; k++) {
            any = false;
            if (!measure_kth(&s, pass, k, &any))
                return false;
        }
    }
    return true;
}
