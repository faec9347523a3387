/* SPDX-License-Identifier: BSD-3-Clause */
/* On a communicator that all share it is the MPI's nonblocking barrier. A group, as of a window or a file, has none:
 * its members meet by dissemination, empty messages in log2 of their number rounds, on a communicator of the library's
 * own, where no wildcard of the user's can match them. It costs a context per process, and needs none per window or
 * file. */
#include "coll/meet.h"

#include <stddef.h>

#include "coll/hook.h"
#include "coll/request.h"

/* Over MPI_COMM_WORLD; MPI_COMM_NULL where nobody needs it, or all ranks found that there is no context left. */
static MPI_Comm world = MPI_COMM_NULL;
static MPI_Group everyone;

void tt_meet_open(void)
{
    if (tt_hook_exists)
        return;
    PMPI_Comm_group(MPI_COMM_WORLD, &everyone);
    if (PMPI_Comm_create(MPI_COMM_WORLD, everyone, &world) != MPI_SUCCESS)
        world = MPI_COMM_NULL;
    else
        PMPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
}

void tt_meet(MPI_Comm comm)
{
    MPI_Request all;

    if (PMPI_Ibarrier(comm, &all) == MPI_SUCCESS)
        tt_wait_for(&all, MPI_STATUS_IGNORE);
}

/* A rank of group as one of MPI_COMM_WORLD's; of another world, or none at all, MPI_PROC_NULL: with whom nothing is
 * exchanged, on either side. */
static int known_as(MPI_Group group, int rank)
{
    int size = 0, here = MPI_UNDEFINED;

    PMPI_Group_size(group, &size);
    if (rank >= 0 && rank < size)
        PMPI_Group_translate_ranks(group, 1, &rank, everyone, &here);
    return here == MPI_UNDEFINED ? MPI_PROC_NULL : here;
}

static void exchange(int to, int from, int tag)
{
    MPI_Request sent, received;

    if (PMPI_Irecv(NULL, 0, MPI_BYTE, from, tag, world, &received) != MPI_SUCCESS)
        return;
    if (PMPI_Isend(NULL, 0, MPI_BYTE, to, tag, world, &sent) == MPI_SUCCESS)
        tt_wait_for(&sent, MPI_STATUS_IGNORE);
    tt_wait_for(&received, MPI_STATUS_IGNORE);
}

void tt_meet_group(MPI_Group group, int tag)
{
    int size, rank;

    PMPI_Group_size(group, &size);
    PMPI_Group_rank(group, &rank);
    if (world == MPI_COMM_NULL || rank == MPI_UNDEFINED)
        return;
    for (int far = 1; far < size; far *= 2)
        exchange(known_as(group, (rank + far) % size), known_as(group, (rank + size - far) % size), tag);
}

/* Who a leader's counterpart is; peers is significant at the leaders alone, and may itself be an intercommunicator. */
static int counterpart(MPI_Comm peers, int remote_leader)
{
    MPI_Group group;
    int inter = 0, found;

    if (peers == MPI_COMM_NULL || PMPI_Comm_test_inter(peers, &inter) != MPI_SUCCESS)
        return MPI_PROC_NULL;
    (inter ? PMPI_Comm_remote_group : PMPI_Comm_group)(peers, &group);
    found = known_as(group, remote_leader);
    PMPI_Group_free(&group);
    return found;
}

void tt_meet_across(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag)
{
    int rank;

    tt_meet(local);
    PMPI_Comm_rank(local, &rank);
    if (rank == leader && world != MPI_COMM_NULL) {
        const int other = counterpart(peers, remote_leader);

        exchange(other, other, tag);
    }
    tt_meet(local);
}
