/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions by an op that only the MPI below can call: the user's, and predefined ones on types without code of ours.
 */
#ifndef TT_APPLY_H
#define TT_APPLY_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "coll/types.h"

/* The op, on whole elements of the datatype. These lie packed on the host, as they travel; the op is to find them as
 * the datatype says. */
struct tt_apply {
    MPI_Op op;
    MPI_Datatype type;
    size_t size;                /* bytes of a packed element */
    const struct tt_runs *runs; /* where they lie unpacked; NULL: as they do packed */
    MPI_Count piece;            /* so many at a time */
    char *in, *inout; /* room for a piece of an operand each, where its element 0 is; in only for elements with gaps */
};

/* Bytes of room that are needed; tt_apply_place says where it is, at a multiple of 256. */
size_t tt_apply_open(struct tt_apply *a, MPI_Op op, MPI_Datatype type, const struct tt_layout *layout);
void tt_apply_place(struct tt_apply *a, char *room);

/* dst[i] = left[i] op right[i], of n elements; dst may be exactly one of the two. Returns the error of the MPI below.
 */
int tt_apply(const struct tt_apply *a, void *dst, const void *left, const void *right, int64_t n);

#endif
