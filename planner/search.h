/* SPDX-License-Identifier: BSD-3-Clause */
/* All layouts of so many GPUs that a wish leaves open, worked out and ranked; those that cannot be, with the reason.
 * Layouts of the same sizes (tensor, context, pipeline, data, expert) differ in schedule, microbatch and what is cut of
 * the state; of these the best one stands for all. */
#ifndef TT_SEARCH_H
#define TT_SEARCH_H

#include "planner/iteration.h"

/* Layouts of the same sizes: the fastest that fits; or if none does, the one that needs least memory. */
struct tt_ranked {
    struct tt_iteration step;
    int variants; /* so many were worked out */
};

/* Why some layouts cannot be. */
struct tt_refusal {
    char why[192];
    int count;
    struct tt_layout example;
};

struct tt_search {
    struct tt_layout wish;
    int gpus;
    int worked_out, fitting, refused; /* layouts */
    int n, nrefusals;
    struct tt_ranked *ranked; /* those that fit first, the fastest first; then those that do not, by memory */
    struct tt_refusal *refusals;
};

/* Of all ranks of the placement's topology. 0, or -1: out of memory. To be freed in any case. */
int tt_search_run(struct tt_search *s, const struct tt_layout *wish, const struct tt_setting *with);
void tt_search_free(struct tt_search *s);

/* The best that fits, or NULL. */
const struct tt_iteration *tt_search_best(const struct tt_search *s);

#endif
