/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Win_wait, by polling while anything is under way; and its test, a place where a program looks again and again.
 * The other calls in which a rank may wait for single ranks, which know nothing of it, are the MPI's own: but who
 * listens is told. */
#include "coll/error.h"
#include "coll/pause.h"
#include "coll/request.h"
#include "coll/watch.h"

#define TT_PUBLIC __attribute__((visibility("default")))

struct exposed {
    MPI_Win win;
    int flag, error;
};

static bool is_over(void *what)
{
    struct exposed *e = what;

    tt_progress();
    e->error = PMPI_Win_test(e->win, &e->flag);
    return e->flag || e->error != MPI_SUCCESS;
}

static int wait_for(struct exposed e)
{
    if (tt_inside || !tt_has_business())
        return PMPI_Win_wait(e.win);
    tt_wait(is_over, &e);
    return e.error;
}

#define FOR_SOMEBODY(name, call) TT_WATCHED_WITH(name, MPI_COMM_NULL, TT_SOMEBODY, TT_NOBODY, call)

TT_PUBLIC int MPI_Win_wait(MPI_Win win)
{
    FOR_SOMEBODY("Win_wait", wait_for((struct exposed){.win = win}));
}

TT_PUBLIC int MPI_Win_start(MPI_Group group, int assert, MPI_Win win)
{
    FOR_SOMEBODY("Win_start", PMPI_Win_start(group, assert, win));
}

TT_PUBLIC int MPI_Win_complete(MPI_Win win)
{
    FOR_SOMEBODY("Win_complete", PMPI_Win_complete(win));
}

TT_PUBLIC int MPI_Win_lock(int type, int rank, int assert, MPI_Win win)
{
    FOR_SOMEBODY("Win_lock", PMPI_Win_lock(type, rank, assert, win));
}

TT_PUBLIC int MPI_Win_unlock(int rank, MPI_Win win)
{
    FOR_SOMEBODY("Win_unlock", PMPI_Win_unlock(rank, win));
}

TT_PUBLIC int MPI_Win_lock_all(int assert, MPI_Win win)
{
    FOR_SOMEBODY("Win_lock_all", PMPI_Win_lock_all(assert, win));
}

TT_PUBLIC int MPI_Win_unlock_all(MPI_Win win)
{
    FOR_SOMEBODY("Win_unlock_all", PMPI_Win_unlock_all(win));
}

TT_PUBLIC int MPI_Win_flush(int rank, MPI_Win win)
{
    FOR_SOMEBODY("Win_flush", PMPI_Win_flush(rank, win));
}

TT_PUBLIC int MPI_Win_flush_all(MPI_Win win)
{
    FOR_SOMEBODY("Win_flush_all", PMPI_Win_flush_all(win));
}

TT_PUBLIC int MPI_Win_flush_local(int rank, MPI_Win win)
{
    FOR_SOMEBODY("Win_flush_local", PMPI_Win_flush_local(rank, win));
}

TT_PUBLIC int MPI_Win_flush_local_all(MPI_Win win)
{
    FOR_SOMEBODY("Win_flush_local_all", PMPI_Win_flush_local_all(win));
}

TT_PUBLIC int MPI_Win_test(MPI_Win win, int *flag)
{
    if (!tt_inside)
        tt_progress();
    return PMPI_Win_test(win, flag);
}
