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
    const void *caller; /* where it returns to */
    unsigned persistent; /* it is one, the so-manieth that was made on the communicator; 0: it is none */
};

/* PMPI_Allreduce and PMPI_Iallreduce, from a call. */
struct tt_native {
    int (*call)(const struct tt_call *c);
    int (*start)(const struct tt_call *c, MPI_Request *request);
};

/* One row of collectives.def, as the library sees it. */
struct tt_row {
    const char *name; /* "MPI_Allreduce" */
    unsigned traits;
    struct tt_native native;
};

extern const struct tt_row tt_rows[TT_NCOLLS];

/* PMPI_Allreduce_c and so on; NULL where the MPI, or the collective, has no such twin. */
extern const struct tt_native tt_native_wide[TT_NCOLLS];

/* PMPI_Allreduce_init and PMPI_Allreduce_init_c; NULL likewise. */
typedef int tt_init_function(const struct tt_call *c, MPI_Info info, MPI_Request *request);
extern tt_init_function *const tt_native_init[TT_NCOLLS], *const tt_native_init_wide[TT_NCOLLS];

/* The MPI below carries out the call as it stands, in each flavour. Returns its error code. */
int tt_call_native(const struct tt_call *c);
int tt_start_native(const struct tt_call *c, MPI_Request *request);
int tt_init_native(const struct tt_call *c, MPI_Info info, MPI_Request *request);

/* Does the collective, in each flavour. Returns an MPI error code, after the communicator's error handler has seen it.
 * What a nonblocking or persistent call needs of its arguments is copied: counts and so on may go when it returns, as
 * far as the standard lets them. */
int tt_run(const struct tt_call *c);
int tt_run_nonblocking(const struct tt_call *c, MPI_Request *request);
int tt_run_init(const struct tt_call *c, MPI_Info info, MPI_Request *request);

#endif
