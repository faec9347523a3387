/* SPDX-License-Identifier: BSD-3-Clause */
/* Which sizes, and which candidates: of our own those that the cost model cannot tell from the best, which spares most
 * of the work; the MPI below always, since it is what nobody may be slower than, and the model knows nothing of it; and
 * on GPUs NCCL, if it is there and can, which is found out by trying. */
#include "selector/tune.h"

#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "selector/model.h"

/* The last: so much of it under way stays in a core's own cache, of which the model knows nothing. */
enum { SMALLEST_SEGMENT = 4 << 10, USUAL_SEGMENT = 128 << 10, CACHED_SEGMENT = 256 << 10 };

/* ---- sets of points ---- */

/* Room grows by doubling: there is none left when n is a power of two. */
int tt_points_add(struct tt_points *points, const struct tt_point *point)
{
    const int n = points->n;

    if ((n & (n - 1)) == 0) {
        struct tt_point *more = realloc(points->at, (size_t)(n ? 2 * n : 1) * sizeof *more);

        if (!more)
            return -1;
        points->at = more;
    }
    points->at[points->n++] = *point;
    return 0;
}

struct tt_point *tt_points_find(const struct tt_points *points, enum tt_coll coll, int64_t bytes)
{
    for (int i = 0; i < points->n; i++)
        if (points->at[i].coll == coll && points->at[i].bytes == bytes)
            return &points->at[i];
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const struct tt_point *x = a, *y = b;

    return x->coll != y->coll ? (x->coll > y->coll) - (x->coll < y->coll)
                              : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

void tt_points_sort(struct tt_points *points)
{
    if (points->n)
        qsort(points->at, (size_t)points->n, sizeof *points->at, by_size);
}

void tt_points_free(struct tt_points *points)
{
    free(points->at);
    *points = (struct tt_points){0};
}

/* ---- sizes ---- */

bool tt_tunable(enum tt_coll coll)
{
    return !tt_coll_lengths_local(coll) && !(tt_coll_traits(coll) & TT_NEIGHBOURS);
}

int tt_tune_unit(enum tt_coll coll)
{
    return tt_coll_traits(coll) & TT_REDUCES ? 4 : 1;
}

int64_t tt_tune_size(const struct tt_tuning *t, enum tt_coll coll, int k)
{
    const unsigned traits = tt_coll_traits(coll);
    int64_t most = traits & (TT_SEND_BLOCKS | TT_RECV_BLOCKS) ? t->most / t->size : t->most, least = t->least;

    if (traits & TT_NO_BUFFER)
        return k == 0 ? 0 : -1;
    least = least > tt_tune_unit(coll) ? least : tt_tune_unit(coll);
    most = most > least ? most : least;
    while (k > 0 && least < most) {
        least = least > most / 2 ? most : 2 * least;
        k--;
    }
    return k == 0 ? least : -1;
}

/* ---- candidates ---- */

static struct tt_shape shape_of(const struct tt_tuning *t, enum tt_coll coll, int64_t bytes)
{
    const int unit = tt_tune_unit(coll);

    return (struct tt_shape){.coll = tt_coll_family(coll),
                             .size = t->size,
                             .commutes = true,
                             .reproducible = t->reproducible,
                             .count = bytes / unit,
                             .unit = (size_t)unit,
                             .nodes = t->nodes};
}

static void add(struct tt_point *point, const struct tt_candidate *c)
{
    if (point->n < TT_MOST_CANDIDATES && !tt_point_find(point, c->alg, c->segment))
        point->of[point->n++] = *c;
}

static struct tt_candidate candidate(const struct tt_tuning *t, const struct tt_shape *s, const struct tt_alg *alg)
{
    struct tt_candidate c = {.alg = alg, .segment = alg->segmented ? USUAL_SEGMENT : 0};
    struct tt_estimate e;

    if (!alg->cost)
        return c;
    e = tt_estimate(alg, s, t->net);
    c.expected = e.seconds;
    c.segment = alg->segmented ? e.segment * (int64_t)s->unit : 0;
    return c;
}

static int all_of(const struct tt_tuning *t, const struct tt_shape *s, enum tt_coll coll, struct tt_candidate *all,
                  int most)
{
    int n = 0;

    for (int i = 0; tt_algs[i] && n < most; i++)
        if (tt_algs[i]->delegate == TT_OWN && tt_alg_serves(tt_algs[i], coll) && !tt_infeasible(tt_algs[i], s))
            all[n++] = candidate(t, s, tt_algs[i]);
    return n;
}

static int by_expectation(const void *a, const void *b)
{
    const struct tt_candidate *x = a, *y = b;

    return (x->expected == 0) != (y->expected == 0) ? (x->expected == 0) - (y->expected == 0)
                                                    : (x->expected > y->expected) - (x->expected < y->expected);
}

/* Besides that which is best for the model: a quarter of it, but no more than what stays in a cache. */
static int64_t another_segment(int64_t first, int64_t whole)
{
    const int64_t quarter = (first < whole ? first : whole) / 4;

    return quarter > CACHED_SEGMENT                      ? CACHED_SEGMENT
           : first < whole && quarter < SMALLEST_SEGMENT ? 4 * first
                                                         : quarter;
}

/* A pipeline's best segment follows from alpha and beta, of which the model has only an idea: so another one, too. One
 * that is longer than what is sent is none. */
static void add_with_segments(struct tt_point *point, struct tt_candidate c)
{
    const int64_t whole = point->bytes;

    add(point, &c);
    if (!c.alg->segmented)
        return;
    c.segment = another_segment(c.segment, whole);
    if (c.segment >= SMALLEST_SEGMENT && c.segment < whole)
        add(point, &c);
}

static void add_delegates(const struct tt_tuning *t, const struct tt_shape *s, struct tt_point *point)
{
    static const char *const names[] = {"native", "nccl"};

    for (int i = 0; i < (t->on_gpus ? 2 : 1); i++) {
        const struct tt_alg *alg = tt_alg_find(point->coll, names[i], strlen(names[i]));

        if (!tt_infeasible(alg, s))
            add(point, &(struct tt_candidate){.alg = alg});
    }
}

void tt_tune_candidates(const struct tt_tuning *t, enum tt_coll coll, int64_t bytes, struct tt_point *point)
{
    const struct tt_shape s = shape_of(t, coll, bytes);
    struct tt_candidate all[TT_MOST_CANDIDATES];
    const int n = all_of(t, &s, coll, all, TT_MOST_CANDIDATES);

    *point = (struct tt_point){.coll = coll, .bytes = bytes};
    add_delegates(t, &s, point);
    qsort(all, (size_t)n, sizeof *all, by_expectation);
    for (int i = 0; i < n; i++)
        if (t->judge || all[i].expected <= t->factor * all[0].expected)
            add_with_segments(point, all[i]);
}
