/* SPDX-License-Identifier: BSD-3-Clause */
/* How a model is cut for GPUs, and whether it can be. Ranks are counted with tensor groups innermost, then context,
 * then data (of which experts take the first), then the stages of the pipeline: neighbours talk most. */
#ifndef TT_LAYOUT_H
#define TT_LAYOUT_H

#include <stdbool.h>

#include "planner/transformer.h"

/* When the stages of a pipeline work on which microbatch. */
#define TT_SCHEDULES(S)                                                                                                \
    S(gpipe, "all forward, then all backward")                                                                         \
    S(1f1b, "one forward, one backward")                                                                               \
    S(interleaved, "one forward, one backward, each rank having several pieces of the model")
enum tt_schedule {
#define S(id, words) TT_SCHEDULE_##id,
    TT_SCHEDULES(S)
#undef S
        TT_NSCHEDULES
};
extern const char *const tt_schedule_names[];

/* In a wish 0 (of schedule and zero and sequence: -1) leaves it open. */
struct tt_layout {
    int tensor, context, pipeline, data, expert; /* sizes; their product, but for expert, is that of all GPUs */
    int zero;                                    /* what of the state is cut for the data-parallel ranks: 0 to 3 */
    int micro;                                   /* sequences in a microbatch */
    int schedule;                                /* of a pipeline */
    int pieces;                                  /* of the model on each rank: more than 1 if interleaved */
    int sequence;                                /* what lies between a tensor group's exchanges is cut, too */
};
extern const struct tt_layout tt_any_layout; /* all left open */

/* "tp8,pp8,dp16,zero1,mb1,1f1b,sp", what says nothing being left out. Returns text. */
char *tt_layout_print(const struct tt_layout *l, char *text, size_t size);

/* Reads the same, each part being optional, in any order. 0, or -1 with why filled. */
int tt_layout_parse(const char *text, struct tt_layout *l, char *why, size_t size);

/* Is it one that was wished for? */
bool tt_layout_is(const struct tt_layout *l, const struct tt_layout *wish);

/* Why no layout with these sizes can be, whatever the rest; or NULL. why is filled. */
const char *tt_sizes_impossible(const struct tt_layout *l, const struct tt_transformer *m, char *why, size_t size);

/* Why the rest cannot be, these sizes being possible; or NULL. */
const char *tt_layout_impossible(const struct tt_layout *l, const struct tt_transformer *m, char *why, size_t size);

/* Microbatches in a step, of each pipeline. */
int tt_microbatches(const struct tt_layout *l, const struct tt_transformer *m);

#endif
