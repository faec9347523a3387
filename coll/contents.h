/* SPDX-License-Identifier: BSD-3-Clause */
/* How a datatype was made: what MPI_Type_get_envelope and MPI_Type_get_contents say, in one form for constructors of
 * any age. */
#ifndef TT_CONTENTS_H
#define TT_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* numbers: the integers, then the addresses, then the large counts. But for subarray and darray that is the order in
 * which the constructor takes them, whether with int, MPI_Aint or MPI_Count. */
struct tt_contents {
    int combiner;
    bool large; /* made by a constructor that takes MPI_Count */
    int64_t *numbers;
    MPI_Datatype *types;
    int64_t nnumbers, ntypes;
};

/* Returns MPI_SUCCESS, or an error and then holds nothing. A predefined type has no numbers and no types. */
int tt_contents_get(MPI_Datatype type, struct tt_contents *c);

/* Gives everything back: the MPI hands out handles that its caller must free, unless they are predefined. */
void tt_contents_end(struct tt_contents *c);

/* ---- what differs between MPI-3 and MPI-4: contents_large.c or contents_no_large.c ---- */

struct tt_envelope {
    MPI_Count nints, naddresses, nlarge, ntypes;
    int combiner;
};

int tt_envelope_get(MPI_Datatype type, struct tt_envelope *e);
int tt_envelope_open(MPI_Datatype type, const struct tt_envelope *e, int *ints, MPI_Aint *addresses, MPI_Count *large,
                     MPI_Datatype *types);

#endif
