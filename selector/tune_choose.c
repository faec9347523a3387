/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from figures. The promise is that nobody is slower with Tutti than without it by more than noise: so the
 * MPI below is chosen unless another is faster by more than that. */
#include "selector/tune.h"

#include <string.h>

static const double nothing_lost = 1.02; /* for staying with the choice of the size before */

const struct tt_candidate *tt_point_find(const struct tt_point *point, const struct tt_alg *alg, int64_t segment)
{
    for (int i = 0; i < point->n; i++)
        if (point->of[i].alg == alg && point->of[i].segment == segment)
            return &point->of[i];
    return NULL;
}

const struct tt_candidate *tt_point_native(const struct tt_point *point)
{
    for (int i = 0; i < point->n; i++)
        if (point->of[i].alg && point->of[i].alg->delegate == TT_TO_MPI && point->of[i].is.n > 0)
            return &point->of[i];
    return NULL;
}

const struct tt_candidate *tt_point_best(const struct tt_point *point)
{
    const struct tt_candidate *best = NULL;

    for (int i = 0; i < point->n; i++)
        if (point->of[i].is.n > 0 && (!best || point->of[i].is.seconds < best->is.seconds))
            best = &point->of[i];
    return best;
}

/* May it be chosen, native being there? */
static bool keeps_promise(const struct tt_point *point, const struct tt_candidate *c)
{
    const struct tt_candidate *native = tt_point_native(point);

    return !native || c == native || tt_figure_below(&c->is, &native->is);
}

const struct tt_candidate *tt_tune_choose(const struct tt_point *point, const struct tt_candidate *before)
{
    const struct tt_candidate *best = tt_point_best(point),
                              *same = before ? tt_point_find(point, before->alg, before->segment) : NULL;

    if (!best)
        return NULL;
    if (!keeps_promise(point, best))
        return tt_point_native(point);
    return same && same->is.n > 0 && same->is.seconds <= nothing_lost * best->is.seconds && keeps_promise(point, same)
               ? same
               : best;
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
