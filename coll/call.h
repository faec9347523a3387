/* SPDX-License-Identifier: BSD-3-Clause */
/* A call: what the user asked, as one struct for every collective, never modified. */
#ifndef TT_CALL_H
#define TT_CALL_H

#include <mpi.h>

#include "coll/plan.h"

struct tt_call {
    enum tt_coll coll;
    struct {
        const void *buf;
        MPI_Count count;
        MPI_Datatype type;
    } send;
    struct {
        void *out;
        MPI_Count count;
        MPI_Datatype type;
    } recv;
    const void *counts;   /* TT_COUNTS: int, or MPI_Count if counts_are_wide */
    bool counts_are_wide; /* the call came through the _c twin */
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
