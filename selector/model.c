/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed forms compared. A segment is tried at every power of two from 4 KiB to LARGEST: the optimum of such
 * formulas is flat, so one within a factor of 1.4 of it loses a few percent at most. Ranks compute in the same order
 * with the same numbers, so they come to the same choice; a difference below a millionth is none, lest another
 * compiler's rounding on another node decide. */
#include "selector/model.h"

#include <math.h>

#include "algos/pieces.h"
#include "coll/plan.h"

enum { LARGEST = 64 << 20, SEGMENTS = 15, LONGER = 2, FEW = 8, FALLBACK = 128 << 10 };
static const double same = 1 - 1e-6, as_good = 1.01;

/* Of a shape, what all ranks share, and what all ranks know of lengths: nothing where they are local. */
static struct tt_shape shared_part(const struct tt_shape *s)
{
    struct tt_shape shared = *s;

    shared.inplace = false;
    if (tt_coll_lengths_local(s->coll)) {
        shared.count = 0;
        shared.counts = shared.sends = NULL;
    }
    return shared;
}

static int64_t elements(const struct tt_shape *s, int64_t bytes)
{
    return bytes > (int64_t)s->unit ? bytes / (int64_t)s->unit : 1;
}

static struct tt_estimate with_segment(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net,
                                       int64_t segment, bool roughly)
{
    struct tt_shape t = *s;

    t.segment = segment;
    return (struct tt_estimate){alg, (roughly ? alg->rough : alg->cost)(&t, net), segment};
}

/* Segments that are worth a look, longest first: how many. All that are as long as what is cut are one. A rough formula
 * falls, but for a step where lanes become more, and then rises or, where there would be too many segments, stays:
 * after two that do not fall there is no need to look further. */
static int look(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net,
                struct tt_estimate e[SEGMENTS])
{
    const int64_t whole = tt_longest(s);
    bool falls, fell = true;
    int n = 0;

    for (int k = 0; k < SEGMENTS; k++) {
        const int64_t segment = elements(s, (int64_t)LARGEST >> k);

        if (n > 0 && segment >= whole)
            continue;
        e[n++] = with_segment(alg, s, net, segment, alg->rough);
        falls = n < 2 || e[n - 1].seconds < e[n - 2].seconds;
        if (alg->rough && !falls && !fell)
            break;
        fell = falls;
    }
    return n;
}

/* The first, and so the longest, that is as good as any to a hundredth: the formulas are flat near their optimum, and
 * each segment is more messages. */
static int longest_as_good(const struct tt_estimate *e, int n)
{
    double least = INFINITY;
    int i = 0;

    for (int k = 0; k < n; k++)
        least = e[k].seconds < least ? e[k].seconds : least;
    while (e[i].seconds > least * as_good)
        i++;
    return i;
}

/* Of a few segments the full formula is short work. */
static bool are_few(const struct tt_shape *s, int64_t segment)
{
    return segment >= tt_longest(s) / FEW;
}

/* Where formulas were rough, that segment in full; and two longer ones, the next one in full, too, if there are but few
 * of it, else by what the rough formula missed. That, lanes that get in each other's way, is half as much where there
 * are half as many segments: in 760 cases, five collectives on seven machines, the time of who is taken so is between
 * .94 and 1.12 of the full formula's, which would take as long again to ask. */
static struct tt_estimate estimate(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net)
{
    struct tt_estimate e[SEGMENTS], best;
    bool is_full = true;
    double missed;
    int i;

    if (!alg->segmented || s->segment)
        return with_segment(alg, s, net, s->segment ? s->segment : elements(s, LARGEST), false);
    i = longest_as_good(e, look(alg, s, net, e));
    if (!alg->rough)
        return e[i];
    best = with_segment(alg, s, net, e[i].segment, false);
    missed = best.seconds / e[i].seconds - 1;
    for (int k = i - 1; k >= 0 && k >= i - LONGER; k--) {
        struct tt_estimate longer = e[k];

        missed /= 2;
        longer.seconds *= 1 + missed;
        if (k == i - 1 && are_few(s, longer.segment))
            longer = with_segment(alg, s, net, longer.segment, false);
        if (longer.seconds >= best.seconds * same)
            continue;
        best = longer;
        is_full = k == i - 1 && are_few(s, longer.segment);
    }
    return !is_full && are_few(s, best.segment) ? with_segment(alg, s, net, best.segment, false) : best;
}

struct tt_estimate tt_estimate(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net)
{
    const struct tt_shape shared = shared_part(s);

    return estimate(alg, &shared, net);
}

int64_t tt_best_segment(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net)
{
    if (s->segment)
        return s->segment;
    return alg->cost && net ? tt_estimate(alg, s, net).segment : elements(s, FALLBACK);
}

void tt_model_choose(enum tt_coll coll, const struct tt_shape *s, const struct tt_net *net, struct tt_estimate *best,
                     struct tt_estimate *next)
{
    const struct tt_shape shared = shared_part(s);

    *best = *next = (struct tt_estimate){0};
    for (int i = 0; tt_algs[i]; i++) {
        const struct tt_alg *alg = tt_algs[i];
        struct tt_estimate e;

        if (!alg->cost || !tt_alg_serves(alg, coll) || tt_infeasible(alg, s))
            continue;
        e = estimate(alg, &shared, net);
        if (!best->alg || e.seconds < best->seconds * same) {
            *next = *best;
            *best = e;
        } else if (!next->alg || e.seconds < next->seconds) {
            *next = e;
        }
    }
}
