/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions. They begin without the others, so nothing is compared or shared then: a communicator that comes from one is
 * taken for one across worlds (comm.c), where the settings are compared when it is first used. Tutti has a session of
 * its own, which is opened when it is needed and must not keep MPI alive: it ends before the program's last one does.
 */
#include <stdatomic.h>

#include "coll/config.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/world.h"
#include "cuda/objects.h"

#define TT_PUBLIC __attribute__((visibility("default")))

static atomic_int theirs; /* that are open */
static MPI_Session ours = MPI_SESSION_NULL;

bool tt_has_sessions(void)
{
    return atomic_load(&theirs) > 0;
}

/* MPI_COMM_NULL if it is not to be had. */
static MPI_Comm comm_of(MPI_Session session)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group alone;

    if (PMPI_Group_from_session_pset(session, "mpi://SELF", &alone) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    if (PMPI_Comm_create_from_group(alone, "tutti", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) != MPI_SUCCESS)
        made = MPI_COMM_NULL;
    PMPI_Group_free(&alone);
    return made;
}

MPI_Comm tt_session_self(void)
{
    if (ours == MPI_SESSION_NULL && PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &ours) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    return comm_of(ours);
}

void tt_session_close(void)
{
    if (ours != MPI_SESSION_NULL)
        PMPI_Session_finalize(&ours);
    ours = MPI_SESSION_NULL;
}

TT_PUBLIC int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session *session)
{
    int error;

    tt_objects_unwatch(); /* its thread may ask while another does */
    error = PMPI_Session_init(info, errhandler, session);
    if (error == MPI_SUCCESS && !tt_inside)
        atomic_fetch_add(&theirs, 1);
    return error;
}

TT_PUBLIC int MPI_Session_finalize(MPI_Session *session)
{
    const bool counts = session && *session != MPI_SESSION_NULL && !tt_inside;

    if (counts && atomic_fetch_sub(&theirs, 1) == 1)
        tt_last_session_ends();
    return PMPI_Session_finalize(session);
}
