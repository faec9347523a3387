/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce_local and its large-count twin, as one struct. */
#ifndef TT_REDUCE_LOCAL_H
#define TT_REDUCE_LOCAL_H

#include <mpi.h>

struct tt_local {
    int (*native)(const struct tt_local *l); /* PMPI_Reduce_local, or its twin */
    const void *in;
    void *inout;
    MPI_Count count;
    MPI_Datatype type;
    MPI_Op op;
};

/* inout = in op inout. Returns an MPI error code, after the error handler of MPI_COMM_WORLD has seen it. */
int tt_reduce_local(const struct tt_local *l);

#endif
