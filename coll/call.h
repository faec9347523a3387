/* SPDX-License-Identifier: BSD-3-Clause */
/* A call: what the user asked, as one struct for every collective, never modified. */
#ifndef TT_CALL_H
#define TT_CALL_H

#include <mpi.h>

#include "coll/plan.h"

/* Counts and displacements are arrays with an entry for each block, where the row's traits say that there are such; the
 * counts are of int, or of MPI_Count where wide, the displacements of int, or of MPI_Aint where wide or TT_WIDE_DISPLS. */
struct tt_call {
    enum tt_coll coll;
    struct {
        const void *buf;
        MPI_Count count;
        MPI_Datatype type;
        const void *counts, *displs;
        const MPI_Datatype *types; /* TT_TYPES: of each block */
    } send;
    struct {
        void *out;
        MPI_Count count;
        MPI_Datatype type;
        const void *counts, *displs;
        const MPI_Datatype *types;
    } recv;
    bool wide; /* the call came through the _c twin */
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

/* One row of collectives.def, as the library sees it. */
struct tt_row {
    const char *name; /* "MPI_Allreduce" */
    unsigned traits;
    int (*native)(const struct tt_call *c); /* PMPI_Allreduce */
};

extern const struct tt_row tt_rows[TT_NCOLLS];

/* PMPI_Allreduce_c and so on; NULL where the MPI, or the collective, has no such twin. */
extern int (*const tt_native_wide[TT_NCOLLS])(const struct tt_call *c);

/* The MPI below carries out the call as it stands. Returns its error code. */
int tt_call_native(const struct tt_call *c);

/* Does the collective. Returns an MPI error code, after the communicator's error handler has seen it. */
int tt_run(const struct tt_call *c);

#endif
