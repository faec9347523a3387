/* SPDX-License-Identifier: BSD-3-Clause */
/* The cost model: every candidate's closed form, for the links at hand, and the least of them. */
#ifndef TT_MODEL_H
#define TT_MODEL_H

#include "algos/algos.h"

/* What the model says of one candidate. */
struct tt_estimate {
    const struct tt_alg *alg;
    double seconds;
    int64_t segment; /* elements: the best of those tried, where the algorithm is segmented; else the shape's */
};

/* What alg would take, with its best segment unless s->segment is set already. Seconds; not negative. alg is feasible
 * and has a closed form. At most O(log p) for each segment tried. */
struct tt_estimate tt_estimate(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net);

/* Elements of the segment with which a segmented algorithm runs where nobody has said one: the shape's, or the best by the
 * closed form, or where there is none, or no net (NULL), one that does little harm. */
int64_t tt_best_segment(const struct tt_alg *alg, const struct tt_shape *s, const struct tt_net *net);

/* The least of all our own that can serve coll, whose family's shape s is; and the next, for saying by how much. An alg
 * of NULL: there is none. best and next are the same on all ranks, for they depend on s and net alone. */
void tt_model_choose(enum tt_coll coll, const struct tt_shape *s, const struct tt_net *net, struct tt_estimate *best,
                     struct tt_estimate *next);

#endif
