/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that stay the MPI's own, but in which a rank may wait for others. An MPI whose progress is its own affair would
 * hang there where it does not without Tutti: a rank inside MPI_Comm_dup moves on no collective that Tutti has under
 * way, and another waits for its part in one before it comes to its own MPI_Comm_dup. So whoever such a call waits for
 * meets first, by polling, at the cost of a barrier; calls of this kind are rarely in a program's innermost loop. */
#include "coll/foreign_wrap.h"

#include "coll/comm.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/hook.h"
#include "coll/init.h"
#include "coll/meet.h"

static bool needs_meeting(void)
{
    return !tt_hook_exists && !tt_inside && tt_is_on();
}

void tt_foreign_comm(MPI_Comm comm)
{
    if (comm != MPI_COMM_NULL && needs_meeting())
        tt_meet(comm);
}

void tt_foreign_group(MPI_Group group, int tag)
{
    if (group != MPI_GROUP_NULL && tag >= 0 && needs_meeting())
        tt_meet_group(group, tag);
}

void tt_foreign_across(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag)
{
    if (local != MPI_COMM_NULL && tag >= 0 && needs_meeting())
        tt_meet_across(local, leader, peers, remote_leader, tag);
}

void tt_foreign_win(MPI_Win win)
{
    MPI_Group group;

    if (win == MPI_WIN_NULL || !needs_meeting() || PMPI_Win_get_group(win, &group) != MPI_SUCCESS)
        return;
    tt_meet_group(group, 0);
    PMPI_Group_free(&group);
}

void tt_foreign_file(MPI_File file)
{
    MPI_Group group;

    if (file == MPI_FILE_NULL || !needs_meeting() || PMPI_File_get_group(file, &group) != MPI_SUCCESS)
        return;
    tt_meet_group(group, 0);
    PMPI_Group_free(&group);
}

void tt_foreign_made(MPI_Comm comm)
{
    struct tt_comm *state;

    if (comm == MPI_COMM_NULL || tt_inside || !tt_is_on())
        return;
    tt_inside++;
    tt_watch_made(comm);
    if (tt_config.reproducible || tt_config.check)
        tt_comm_of(comm, TT_READY, &state);
    tt_inside--;
}

int tt_foreign_made_with(MPI_Comm *comm, MPI_Info info)
{
    int error;

    if (*comm == MPI_COMM_NULL)
        return MPI_SUCCESS;
    tt_foreign_made(*comm);
    error = tt_hints_set(*comm, info);
    if (error != MPI_SUCCESS)
        PMPI_Comm_free(comm);
    return error;
}

/* ---- the wrappers ---- */

#define N int
#define D int
#define TT_FOREIGN(id, Name, who, made, ...) TT_WRAP_FOREIGN(Name, , who, made, __VA_ARGS__)
#include "coll/foreign.def"
