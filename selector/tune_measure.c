/* SPDX-License-Identifier: BSD-3-Clause */
/* What is measured when. First each size once, coarsely and then finer where that matters, so that a short budget
 * leaves a table without gaps; then, for the rest of the budget, all sizes again and again: what a visit finds may hold
 * only for the minute, or for the memory that the buffers happen to have, and only a visit at another time tells. */
#include "selector/tune.h"

#include <math.h>

struct session {
    struct tt_bench *bench;
    const struct tt_tuning *t; /* NULL: no more sizes are looked for */
    struct tt_points *points;
    FILE *journal; /* or NULL */
    double budget;
    int done;     /* visits in this session */
    double began; /* of this session, by the bench's clock */
};

static bool out_of_budget(const struct session *s)
{
    return s->bench->now(s->bench) >= s->budget;
}

static void tell(struct session *s, const struct tt_point *point, int remaining)
{
    const double now = s->bench->now(s->bench), each = (now - s->began) / s->done, budget = s->budget - now;

    if (s->bench->tell)
        s->bench->tell(s->bench, point, s->done, remaining, fmax(0, fmin(each * remaining, budget)));
}

static void note(struct session *s, const struct tt_point *point)
{
    s->done++;
    if (!s->journal)
        return;
    tt_figures_write(s->journal, point, point->visits - 1);
    fflush(s->journal);
}

/* ---- each size once ---- */

/* Sizes are passed over in three grids, each twice as fine as the last; and those parts of the budget may be gone by
 * the end of each: of the last nobody knows beforehand how many sizes it has. */
enum { PASSES = 3 };
static const int steps[PASSES] = {4, 2, 1};
static const double until[PASSES] = {0.4, 0.4, 0.55};

static bool is_last(const struct tt_tuning *t, enum tt_coll coll, int k)
{
    return tt_tune_size(t, coll, k + 1) < 0;
}

/* Is the choice at two neighbours another? One that has not been measured says nothing. */
static bool choices_differ(const struct tt_points *points, enum tt_coll coll, int64_t below, int64_t above)
{
    const struct tt_point *a = tt_points_find(points, coll, below), *b = tt_points_find(points, coll, above);
    const struct tt_candidate *x = a ? tt_tune_choose(a, NULL, true) : NULL, *y = b ? tt_tune_choose(b, x, true) : NULL;

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

static bool measure(struct session *s, int pass, enum tt_coll coll, int64_t bytes)
{
    const int before = left(s, pass);
    const double now = s->bench->now(s->bench), share = (until[pass] * s->budget - now) / (before > 0 ? before : 1);
    struct tt_point point;

    tt_tune_candidates(s->t, coll, bytes, &point);
    if (!tt_tune_visit(s->bench, &point, now + share) || tt_points_add(s->points, &point))
        return false;
    note(s, &point);
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

/* What no visit has come to yet. */
static bool cover(struct session *s)
{
    for (int pass = 0; pass < PASSES; pass++) {
        bool any = true;

        for (int k = 0; any; k++) {
            any = false;
            if (!measure_kth(s, pass, k, &any))
                return false;
        }
    }
    return true;
}

/* ---- and again ---- */

static int count_wanted(const struct tt_points *points)
{
    int n = 0;

    for (int i = 0; i < points->n; i++)
        n += TT_MOST_VISITS - points->at[i].visits;
    return n;
}

/* What the budget leaves of that many visits, as long as they have taken so far. */
static int affordable(const struct session *s, int wanted)
{
    const double now = s->bench->now(s->bench), each = (now - s->began) / s->done;

    return each * wanted > s->budget - now ? (int)fmax(0, (s->budget - now) / each) : wanted;
}

/* Every point once more, while the budget lasts, which is shared by those that are left of this pass. false: the bench
 * wants an end. */
static bool revisit(struct session *s)
{
    if (s->bench->renew && !s->bench->renew(s->bench))
        return false;
    for (int i = 0; i < s->points->n && !out_of_budget(s); i++) {
        struct tt_point *point = &s->points->at[i];
        const double now = s->bench->now(s->bench);

        if (point->visits == TT_MOST_VISITS)
            continue;
        if (!tt_tune_visit(s->bench, point, now + (s->budget - now) / (s->points->n - i)))
            return false;
        note(s, point);
        tell(s, point, affordable(s, count_wanted(s->points)));
    }
    return true;
}

static bool go_on(struct session *s)
{
    bool going = true;

    while (going && count_wanted(s->points) > 0 && !out_of_budget(s)) {
        going = revisit(s);
        if (going && s->t && !cover(s))
            return out_of_budget(s);
    }
    return going;
}

bool tt_tune(struct tt_bench *bench, const struct tt_tuning *t, struct tt_points *points, FILE *journal)
{
    struct session s = {bench, t, points, journal, t->budget, 0, bench->now(bench)};

    return cover(&s) && go_on(&s);
}

bool tt_tune_revisit(struct tt_bench *bench, double budget, struct tt_points *points)
{
    struct session s = {bench, NULL, points, NULL, budget, 0, bench->now(bench)};

    return go_on(&s);
}
