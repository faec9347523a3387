/* SPDX-License-Identifier: BSD-3-Clause */
/* A call as all ranks together make it, for those who look at every rank's plan: the prover and the drawings. The
 * shape of a whole call is one for all ranks. inplace says that it is in place wherever the standard allows it, and
 * lengths that a rank knows for itself alone are all there: in counts, of a gatherv or scatterv every rank's block, and
 * of an alltoallv size * size lengths, in row r those that rank r sends to each. Where counts is NULL all blocks have
 * count elements. */
#ifndef TT_WHOLE_H
#define TT_WHOLE_H

#include "coll/plan.h"

/* Is this rank in place: everywhere, or at the root alone, as the standard says? */
bool tt_whole_in_place(const struct tt_shape *whole, int rank);

/* The shape that rank sees. room: whole->size elements, for as long as the shape is used. */
struct tt_shape tt_whole_part(const struct tt_shape *whole, int rank, int64_t *room);

/* rank's plan of the whole call: what tt_plan_build says. */
struct tt_plan *tt_whole_plan(const struct tt_alg *alg, const struct tt_shape *whole, int rank);

/* Elements of the block that goes from a rank to another in an alltoall(v), and of all that rank sends to those below
 * `end`, or receives from them. */
int64_t tt_whole_block(const struct tt_shape *whole, int from, int to);
int64_t tt_whole_sent(const struct tt_shape *whole, int rank, int end);
int64_t tt_whole_received(const struct tt_shape *whole, int rank, int end);

/* Elements of SEND or RECV that the standard gives rank, in place or not; 0 for one that it does not have. */
int64_t tt_whole_elements(const struct tt_shape *whole, int rank, enum tt_buf buf);

/* Where rank's caller has put what it contributes, and how much; *n is 0 if it is nothing. */
struct tt_loc tt_whole_brought(const struct tt_shape *whole, int rank, int64_t *n);

#endif
