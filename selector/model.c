/* SPDX-License-Identifier: BSD-3-Clause */
/* Closed forms compared. A segment is tried at every power of two from 4 KiB to LARGEST: the optimum of such
 * formulas is flat, so one within a factor of 1.4 of it loses a few percent at most. Ranks compute in the same order
 * with the same numbers, so they come to the same choice; a difference below a millionth is none, lest another
 * compiler's rounding on another node decide. */
#include "selector/model.h"

#include <math.h>

#include "coll/plan.h"

enum { LARGEST = 64 << 20, SEGMENTS = 15, FALLBACK = 128 << 10 };
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

static double seconds(const struct tt_alg *alg, struct tt_shape s, int64_t segment, const struct tt_net *net,
                      bool rough)
{
    s.segment = segment;
    return rough ? alg->rough(&s, net) : alg->cost(&s, net);
}

static int64_t elements(const struct tt_shape *s, int64_t bytes)
{
    return bytes > (int64_t)s->unit ? bytes / (int64_t)s->unit : 1;
}

/* The least time of any segment, and then the longest segment that is as good to a hundredth: the formulas are flat
 * near their optimum, and each segment is more messages. */
static int64_t best_segment(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net)
{
    double time[SEGMENTS], least = INFINITY;
    int i = 0;

    for (int k = 0; k < SEGMENTS; k++) {
        time[k] = seconds(alg, *s, elements(s, (int64_t)LARGEST >> k), net, alg->rough);
        least = time[k] < least ? time[k] : least;
    }
    while (time[i] > least * as_good)
        i++;
    return elements(s, (int64_t)LARGEST >> i);
}

static struct tt_estimate estimate(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net)
{
    const int64_t segment = s->segment ? s->segment : alg->segmented ? best_segment(alg, s, net) : elements(s, LARGEST);

    return (struct tt_estimate){alg, seconds(alg, *s, segment, net, false), segment};
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
