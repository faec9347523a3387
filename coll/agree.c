/* SPDX-License-Identifier: BSD-3-Clause */
/* Nobody goes on without the others: a choice made from what one rank has not is a hang. And of several ranks that have
 * the same to say, one says it. */
#include "coll/agree.h"

bool tt_all_have(MPI_Comm comm, bool mine)
{
    int one = mine, all = 0;

    return PMPI_Allreduce(&one, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

int tt_first_rank(MPI_Comm comm, bool mine)
{
    int rank, size, one, first;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    one = mine ? rank : size;
    first = size;
    PMPI_Allreduce(&one, &first, 1, MPI_INT, MPI_MIN, comm);
    return first;
}
