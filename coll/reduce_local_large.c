/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Reduce_local_c. Built where the MPI has the large-count twins. */
#include "coll/reduce_local.h"

static int native(const struct tt_local *l)
{
    return PMPI_Reduce_local_c(l->in, l->inout, l->count, l->type, l->op);
}

__attribute__((visibility("default"))) int MPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count,
                                                              MPI_Datatype datatype, MPI_Op op)
{
    return tt_reduce_local(&(const struct tt_local){native, inbuf, inoutbuf, count, datatype, op});
}
