/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Comm_set_name, only for who listens: a communicator may be used for messages alone, and is to be told of by its
 * name. */
#include "coll/watch.h"

__attribute__((visibility("default"))) int MPI_Comm_set_name(MPI_Comm comm, const char *name)
{
    const int error = PMPI_Comm_set_name(comm, name);

    if (error == MPI_SUCCESS)
        tt_watch_named(comm);
    return error;
}
