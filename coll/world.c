/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether there is a MPI_COMM_WORLD is asked of the MPI below until there is one: MPI_Init may have been called past
 * us, and a program that begins with sessions may call it later. */
#include "coll/world.h"

#include <pthread.h>
#include <stdatomic.h>

#include "coll/types.h"

static atomic_bool exists; /* MPI_COMM_WORLD */
static _Atomic MPI_Comm self = MPI_COMM_NULL;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

static bool world_exists(void)
{
    int begun = 0, over = 0;

    if (!atomic_load_explicit(&exists, memory_order_relaxed)) {
        PMPI_Initialized(&begun);
        PMPI_Finalized(&over);
        exists = begun && !over;
    }
    return exists;
}

MPI_Comm tt_world(void)
{
    return world_exists() ? MPI_COMM_WORLD : tt_quiet_self();
}

static MPI_Comm make_self(void)
{
    MPI_Comm made;

    if (!world_exists())
        return tt_session_self();
    if (PMPI_Comm_dup(MPI_COMM_SELF, &made) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

MPI_Comm tt_quiet_self(void)
{
    MPI_Comm made = self;

    if (made != MPI_COMM_NULL)
        return made;
    pthread_mutex_lock(&making);
    if (self == MPI_COMM_NULL) {
        tt_types_open();
        self = make_self();
    }
    made = self;
    pthread_mutex_unlock(&making);
    return made == MPI_COMM_NULL ? MPI_COMM_SELF : made;
}

void tt_world_close(void)
{
    MPI_Comm made = self;

    self = MPI_COMM_NULL;
    if (made != MPI_COMM_NULL)
        PMPI_Comm_free(&made);
    tt_session_close();
}

void tt_world_gone(void)
{
    exists = false;
}
