/* SPDX-License-Identifier: BSD-3-Clause */
/* What the prover's files share: the state of a proof, and the words of an accusation. */
#ifndef PROVE_PARTS_H
#define PROVE_PARTS_H

#include "tests/prove.h"

/* Trees: 0 is memory that nobody wrote, 1 + r is rank r's own part, the rest are foldings of two others. */
enum { NOBODY, FIRST_LEAF, FIRST_FOLD = FIRST_LEAF + PROVE_MAX_RANKS };

struct value {
    uint32_t tree;
    int32_t at;
};

struct tree {
    uint32_t a, b;
    uint64_t ranks; /* whose parts are in it */
};

struct forest {
    struct tree *trees;
    uint32_t count, capacity;
    uint32_t *slots, nslots; /* a hash table of foldings, at most half full */
};

/* A lane of one rank while it runs: steps[at .. end) are posted, `pending` of them have not completed; the
 * whole lane ends at stop. */
struct track {
    int at, end, stop;
    int pending;
    int arriving; /* receives of them that have not arrived */
    uint64_t told, knows; /* ranks whose entry it knew of when the round began, and now */
};

/* One side of a message. */
struct side {
    uint64_t key; /* lane, message, part: sorts as they are numbered */
    int rank, step;
};

struct ticket {
    int rank, lane;
};

struct rank_state {
    const struct tt_plan *plan;
    bool inplace;
    int64_t extent[TT_NBUFS];
    struct value *memory[TT_NBUFS];
    int *partner;  /* of each step that is a message: the other side's step */
    bool *posted;  /* of each step; a reduction that waits for receives, not at once */
    struct track tracks[TT_MAX_LANES];
};

struct proof {
    const struct tt_shape *shape;
    int size;
    struct rank_state ranks[PROVE_MAX_RANKS];
    struct forest forest;
    struct value *memory;
    int *partners;
    bool *posted;
    struct ticket *ready; /* a stack of lanes whose round is complete */
    int nready;
    struct prove_verdict *verdict;
};

/* A text that is cut, never overrun, when it is full. */
struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) void prove_say(struct text *t, const char *format, ...);
void prove_say_place(struct text *t, struct tt_loc loc, int64_t n);
void prove_say_step(struct text *t, const struct tt_plan *p, int step);
void prove_say_value(struct text *t, const struct forest *f, struct value v);

/* Start a verdict: algorithm, shape, kind. The caller says the rest. */
struct text prove_accuse_shape(struct prove_verdict *v, const char *algorithm, const struct tt_shape *s,
                               enum prove_fault fault);
struct text prove_accuse(struct proof *pr, enum prove_fault fault);

/* Whole verdicts about one step, or two; words stand after the first. Always false. */
bool prove_accuse_step(struct proof *pr, enum prove_fault fault, int rank, int step, const char *words);
bool prove_accuse_pair(struct proof *pr, enum prove_fault fault, const struct side *x, const char *words,
                       const struct side *y);

/* Bounds, the send buffer, overlaps: prove_memory.c. */
bool prove_memory(struct proof *pr);

/* Every message has two sides of equal length; sets partner[]: prove_messages.c. */
bool prove_messages(struct proof *pr);

/* The same messages are sent here as there. */
bool prove_same_wire(struct proof *here, struct proof *there);

#endif
