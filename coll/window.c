/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Win_wait, by polling while anything is under way; and its test, a place where a program looks again and again. */
#include "coll/error.h"
#include "coll/pause.h"
#include "coll/request.h"

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

TT_PUBLIC int MPI_Win_wait(MPI_Win win)
{
    struct exposed e = {.win = win};

    if (tt_inside || !tt_has_business())
        return PMPI_Win_wait(win);
    tt_wait(is_over, &e);
    return e.error;
}

TT_PUBLIC int MPI_Win_test(MPI_Win win, int *flag)
{
    if (!tt_inside)
        tt_progress();
    return PMPI_Win_test(win, flag);
}
