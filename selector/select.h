/* SPDX-License-Identifier: BSD-3-Clause */
/* Which page of the book to open. Decisions are made from the shape and the configuration: facts that all ranks
 * share. */
#ifndef TT_SELECT_H
#define TT_SELECT_H

#include "algos/algos.h"

struct tt_choice {
    const struct tt_alg *alg;
    char why[192]; /* words: "default: up to 16K", "TUTTI_ALLREDUCE" */
};

/* coll is the call's own, s its family's shape. foreign: why only the MPI below can do it (a user's op), or NULL; ours:
 * the MPI below cannot (a type of Tutti's). Both are the same on all ranks. alg is NULL if nobody can. */
struct tt_choice tt_select(enum tt_coll coll, const struct tt_shape *s, const struct tt_alg *pin, const char *foreign,
                           bool ours);

#endif
