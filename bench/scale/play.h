/* SPDX-License-Identifier: BSD-3-Clause */
/* What the pieces of the simulated program share. */
#ifndef TT_PLAY_H
#define TT_PLAY_H

#include <mpi.h>

#include "coll/plan.h"
#include "selector/topo.h"

/* The collectives of the table: one row each. In blocks: the size is that of all ranks' blocks together. */
#define PLAY_COLLECTIVES(C)                                                                                          \
    C(allreduce, false)                                                                                              \
    C(reduce_scatter, true)                                                                                          \
    C(allgather, true)                                                                                               \
    C(bcast, false)                                                                                                  \
    C(reduce, false)                                                                                                 \
    C(alltoall, true)

/* One thing to be timed. */
struct play {
    enum tt_coll coll;
    int64_t bytes; /* of the whole vector, as asked for */
    int64_t count; /* floats of the vector, or of a block */
    int64_t total; /* bytes that this makes of the vector */
    const struct tt_topo *topo;
    const struct tt_net *net;
    int rank;
    char *memory; /* of all ranks, for two vectors; our plans never touch it, so any address is good for any length */
};

/* ---- tutti.c: our plans ---- */

/* What is to be carried out, and what is expected of it. */
struct part {
    const struct tt_alg *alg;
    struct tt_shape shape; /* with the segment that was chosen */
    double expected;       /* seconds, by the closed form; 0 where there is none */
    struct tt_plan *plan;  /* of this rank */
};

/* alg, or NULL for the selector's choice; segment in bytes, 0 for the model's. Exits if there is no plan. */
struct part play_part(const struct play *p, const struct tt_alg *alg, int64_t segment);

/* Carries it out. */
void play_tutti(const struct play *p, const struct tt_plan *plan);

/* The shape of what is to be timed, the same on all ranks. */
struct tt_shape play_shape(const struct play *p);

/* ---- native.c: the collectives of the simulator's MPI ---- */
void play_native(const struct play *p);

/* Makes SMPI's collectives find out which ranks share a node, which they do when they are first called, from the host that
 * a rank is on. To be called before any collective is. */
void play_meet(const struct play *p);

/* ---- bound.c ---- */

/* Seconds that nobody can do it in less, and the formula, for those who read the table. */
double play_bound(const struct play *p);
const char *play_bound_words(enum tt_coll coll);

#endif
