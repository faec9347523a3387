/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from figures. The promise is that nobody is slower with Tutti than without it by more than noise: so the
 * MPI below is chosen unless another is faster by more than that. Who is better is asked of each visit apart, in which
 * all took turns: a machine may be another one in the next, where its cores lie closer to each other or somebody else
 * works, and one that is a little faster on the one and far slower on the other is not to be chosen by which of the two
 * was seen more often. */
#include "selector/tune.h"

#include <string.h>

static const double nothing_lost = 1.03; /* for staying with the choice of the size before */

const struct tt_candidate *tt_point_find(const struct tt_point *point, const struct tt_alg *alg, int64_t segment)
{
    for (int i = 0; i < point->n; i++)
        if (point->of[i].alg == alg && point->of[i].segment == segment && !point->of[i].below)
            return &point->of[i];
    return NULL;
}

static const struct tt_candidate *find_native(const struct tt_point *point, bool below)
{
    for (int i = 0; i < point->n; i++)
        if (point->of[i].alg && point->of[i].alg->delegate == TT_TO_MPI && point->of[i].is.n > 0 &&
            point->of[i].below == below)
            return &point->of[i];
    return NULL;
}

const struct tt_candidate *tt_point_native(const struct tt_point *point)
{
    return find_native(point, false);
}

const struct tt_candidate *tt_point_below(const struct tt_point *point)
{
    return find_native(point, true);
}

const struct tt_candidate *tt_point_best(const struct tt_point *point)
{
    const struct tt_candidate *best = NULL;

    for (int i = 0; i < point->n; i++) {
        const struct tt_candidate *c = &point->of[i];

        if (c->is.n > 0 && !c->below && !c->out && (!best || c->times < best->times))
            best = c;
    }
    return best;
}

/* ---- choosing ---- */

/* How a's time is to b's in each visit that measured both; how many there are. */
static int ratios_of(const struct tt_point *point, const struct tt_candidate *a, const struct tt_candidate *b,
                     double ratios[TT_MOST_VISITS])
{
    int n = 0;

    for (int v = 0; v < point->visits; v++)
        if (a->of[v].n > 0 && b->of[v].n > 0)
            ratios[n++] = a->of[v].seconds / b->of[v].seconds;
    return n;
}

double tt_point_ratio(const struct tt_point *point, const struct tt_candidate *c, const struct tt_candidate *other)
{
    double ratios[TT_MOST_VISITS], sum = 0;
    const int n = ratios_of(point, c, other, ratios);

    for (int i = 0; i < n; i++)
        sum += ratios[i] / n;
    return sum;
}

/* The notch of a median takes for noise that one is a little faster at times and much faster at others; but who is
 * slower, by more than the promise allows, in hardly any visit, and faster in most or over all of them, is faster.
 * Where a machine is two by turns, the middle is on one of them, and says nothing of what native loses on the other. */
enum { ENOUGH = 5 }; /* visits: fewer may all be luck */

static bool hardly_ever_slower(const struct tt_candidate *c, const struct tt_candidate *native, const double *ratios,
                               int n, double middle)
{
    static const double as_fast = 1.05, faster = 0.95;
    int slower = 0;

    for (int i = 0; i < n; i++)
        slower += ratios[i] > as_fast;
    return n >= ENOUGH && 4 * slower <= n && (middle < faster || c->times < faster * native->times);
}

/* No slower than native in the middle, and over all visits native loses more than anybody may: slow as it is on one of
 * the machines that this one is by turns, it is no choice for being a little faster on the other. */
static bool loses_far_less(const struct tt_candidate *c, const struct tt_candidate *native, int n, double middle)
{
    static const double worst_regret = 1.2;

    return n >= ENOUGH && middle <= 1 && native->times > worst_regret * c->times;
}

/* May it be chosen, native being there? Of few visits nothing is known but the noise within them. */
static bool keeps_promise(const struct tt_point *point, const struct tt_candidate *c)
{
    enum { FEW = 3 };
    const struct tt_candidate *native = tt_point_native(point);
    double ratios[TT_MOST_VISITS];
    struct tt_figure to;
    int n;

    if (!native || c == native)
        return true;
    n = ratios_of(point, c, native, ratios);
    if (n < FEW)
        return tt_figure_below(&c->is, &native->is);
    to = tt_figure_of(ratios, n);
    return to.seconds + to.noise < 1 || hardly_ever_slower(c, native, ratios, n, to.seconds) ||
           loses_far_less(c, native, n, to.seconds);
}

static bool may_be(const struct tt_candidate *c, bool nccl)
{
    return c->is.n > 0 && !c->out && c->alg && !c->below && (nccl || c->alg->delegate != TT_TO_NCCL);
}

static const struct tt_candidate *least_lost(const struct tt_point *point, bool nccl)
{
    const struct tt_candidate *best = NULL;

    for (int i = 0; i < point->n; i++)
        if (may_be(&point->of[i], nccl) && (!best || point->of[i].times < best->times))
            best = &point->of[i];
    return best;
}

const struct tt_candidate *tt_tune_choose(const struct tt_point *point, const struct tt_candidate *before, bool nccl)
{
    const struct tt_candidate *best = least_lost(point, nccl),
                              *same = before ? tt_point_find(point, before->alg, before->segment) : NULL;

    if (!best || !keeps_promise(point, best))
        return tt_point_native(point);
    return same && may_be(same, nccl) && same->times <= nothing_lost * best->times && keeps_promise(point, same) ? same
                                                                                                                 : best;
}

bool tt_same_choice(const struct tt_candidate *a, const struct tt_candidate *b)
{
    return a->alg == b->alg && a->segment == b->segment;
}

const struct tt_candidate *tt_tune_choose_at(const struct tt_points *points, int i, const struct tt_candidate *before,
                                             bool nccl)
{
    const struct tt_point *point = &points->at[i], *next = i + 1 < points->n ? point + 1 : NULL;
    const struct tt_candidate *chosen = tt_tune_choose(point, before, nccl), *after = NULL;

    if (chosen && next && next->coll == point->coll && !(before && tt_same_choice(chosen, before)))
        after = tt_tune_choose(next, NULL, nccl);
    return after ? tt_tune_choose(point, after, nccl) : chosen;
}

const struct tt_point *tt_tune_slower_before(const struct tt_points *points, const struct tt_point *point,
                                             const struct tt_candidate *c)
{
    for (const struct tt_point *p = point; p-- > points->at && p->coll == point->coll;) {
        const struct tt_candidate *before = tt_point_find(p, c->alg, c->segment);

        if (before && before->is.n > 0 && tt_figure_below(&c->is, &before->is))
            return p;
    }
    return NULL;
}
