/* SPDX-License-Identifier: BSD-3-Clause */
/* The score of an algorithm: the plans of all ranks laid side by side in time, as one reads music. */
#ifndef TT_SCORE_H
#define TT_SCORE_H

#include "coll/whole.h"

/* Something that happens: a message from rank to its peer, or a copy or reduction at rank. Messages of round k come
 * before the local steps of round k; local steps of round 0 come before any message. */
struct tt_event {
    int round, lane, rank;
    const struct tt_step *step; /* send, copy or reduce: at rank */
    const struct tt_step *recv; /* a message's other end, at step->peer; NULL for a local step */
    int order;                  /* place of step in its plan */
};

struct tt_score {
    const struct tt_alg *alg;
    struct tt_shape shape;
    struct tt_plan **plans; /* one per rank */
    int rounds;             /* that carry messages, on the longest chain of events */
    int nlanes;
    int nevents;
    struct tt_event *events; /* in the order told above, then by lane, rank and place */
    struct tt_totals most;   /* the largest of each total over ranks, rounds excepted */
    int64_t all_messages;
};

/* Builds every rank's plan of shape s, a whole call's, whose counts must last as long as the score, and sets them in time,
 * a message taking one round and all else none. NULL with errno: what tt_plan_build says, or EPROTO when the plans do
 * not fit each other (a send without its receive, or a deadlock). Memory: all steps of all ranks. */
struct tt_score *tt_score_make(const struct tt_alg *alg, const struct tt_shape *s);
void tt_score_free(struct tt_score *score);

/* Raises each total in most to that of plan, if larger. */
void tt_score_raise(struct tt_totals *most, const struct tt_plan *plan);

/* Rounds of this plan alone that carry messages: of its longest lane. */
int tt_score_own_rounds(const struct tt_plan *plan);

/* ---- contents: what lies where while the score is played, for at most 64 ranks ---- */

/* One element: which one of the whole (see tt_score_whole), and whose contributions are in it; who == 0: nothing yet. */
struct tt_note {
    uint64_t who;
    int64_t what;
};

struct tt_stage {
    const struct tt_score *score;
    int next;                 /* event */
    struct tt_note *notes[64][TT_NBUFS];
    int64_t length[64][TT_NBUFS];
};

/* The distinct elements of the collective: the vector, all blocks, or for alltoall(v) all blocks of all ranks. */
int64_t tt_score_whole(const struct tt_shape *s);

/* Does every rank have a block for every other? Then of element `what` of the whole: who has it for whom. */
bool tt_score_in_pairs(const struct tt_shape *s);
void tt_score_pair(const struct tt_shape *s, int64_t what, int *from, int *to);

/* Contents before the first event. Returns -1 with errno when there is no memory for it. */
int tt_stage_open(struct tt_stage *stage, const struct tt_score *score);
void tt_stage_play(struct tt_stage *stage); /* the next event */
void tt_stage_close(struct tt_stage *stage);
const struct tt_note *tt_stage_at(const struct tt_stage *stage, int rank, struct tt_loc loc);

#endif
