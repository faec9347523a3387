/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Abort, only for who listens: it is where a rank was last, and why all others are gone. */
#include "coll/watch.h"

__attribute__((visibility("default"))) int MPI_Abort(MPI_Comm comm, int code)
{
    TT_WATCHED("Abort", PMPI_Abort(comm, code));
}
