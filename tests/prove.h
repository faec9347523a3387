/* SPDX-License-Identifier: BSD-3-Clause */
/* The prover: builds the plans of all ranks in one process and carries them out on symbols instead of numbers, so
 * that a plan is shown right for every possible data, op and timing, with no MPI and no GPU. A fault comes with a
 * kind of its own and a sentence that names ranks, lanes and steps. Reaches PROVE_MAX_RANKS ranks, because the
 * set of ranks that went into a value is one 64-bit word; costs about 10 ns per element moved or folded. */
#ifndef PROVE_H
#define PROVE_H

#include "coll/whole.h"

enum { PROVE_MAX_RANKS = 64 };

/* What can be wrong, in the order in which it is looked for. */
#define PROVE_FAULTS(F)                                                                                              \
    F(NOT_BUILT, "the builder refused")                                                                              \
    F(BOUNDS, "a step touches memory outside the buffers of the call")                                               \
    F(WRITES_SEND, "a step writes the send buffer")                                                                  \
    F(UNSTAGED, "a message names device memory although it was to be staged")                                        \
    F(HAZARD, "two concurrent steps touch the same memory and one of them writes it")                                \
    F(MATCHING, "one side of a message does not know of it")                                                         \
    F(LENGTH, "the two sides of a message differ in length")                                                         \
    F(OVERTAKING, "parts of one message are posted out of order, and nothing else tells them apart")                 \
    F(WIRE, "what goes on the wire depends on where memory is")                                                      \
    F(DEADLOCK, "ranks wait for each other in a circle")                                                             \
    F(UNINITIALISED, "a step reads memory that nobody wrote")                                                        \
    F(MISPLACED, "an element is folded or stored where another one belongs")                                         \
    F(WRONG_CONTRIBUTIONS, "a rank's part is missing, foreign or counted twice")                                     \
    F(ORDER, "operands are folded out of rank order although the op does not commute")                               \
    F(TREES_DIFFER, "two ranks fold the same element in different ways")                                             \
    F(NOT_CANONICAL, "an element of a reproducible reduction is folded in another tree than the canonical one")      \
    F(EARLY, "a rank leaves a barrier that some rank has not entered")                                               \
    F(OUT_OF_MEMORY, "the prover itself ran out of memory")

enum prove_fault {
    PROVED,
#define F(id, words) PROVE_##id,
    PROVE_FAULTS(F)
#undef F
    PROVE_NFAULTS
};

struct prove_verdict {
    enum prove_fault fault;
    char why[1024]; /* algorithm, P, count, root, in place: the kind: a sentence; empty if proved */
};

const char *prove_fault_name(enum prove_fault fault);  /* "HAZARD" */
const char *prove_fault_words(enum prove_fault fault); /* "two concurrent steps touch ..." */

/* Shapes are those of whole calls. Builds every rank's plan into plans[0 .. s->size - 1]. False, and no plans, if
 * one cannot be built. */
bool prove_build(const struct tt_alg *alg, const struct tt_shape *s, struct tt_plan **plans, struct prove_verdict *v);
void prove_free(struct tt_plan **plans, int size);

/* The proof, of any sealed plans. Element i of rank r's contribution is the symbol r[i]; results must be what the
 * collective promises, in rank order unless s->commutes, with the same tree of operations on every rank; and with the
 * canonical tree of pieces.h, which knows of nothing but the number of ranks, if s->reproducible. A send
 * completes only when its receive is posted. Reads nothing but its arguments; frees nothing. */
bool prove_plans(struct tt_plan *const *plans, const struct tt_shape *s, struct prove_verdict *v);

/* The proof of plans that stage what rank r has in device_bufs[r] (bits 1 << enum tt_buf): right like any others, no
 * message from or to device memory, and the same messages of the same lengths as in the plans they were made from. */
bool prove_staging(struct tt_plan *const *staged, struct tt_plan *const *plans, const struct tt_shape *s,
                   const unsigned *device_bufs, struct prove_verdict *v);

/* Fuses, cuts messages into parts of that many elements, stages, and proves all of it: the messages of fused plans are
 * those of the plans they were made from. */
bool prove_passes(struct tt_plan *const *plans, const struct tt_shape *s, int64_t part, const unsigned *device_bufs,
                  struct prove_verdict *v);

/* Builds, proves, frees. */
bool prove(const struct tt_alg *alg, const struct tt_shape *s, struct prove_verdict *v);

#endif
