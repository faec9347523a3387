/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI errors with our own words. They have a class of their own: MPICH 4.0 loses the text of a code that a program adds
 * to one of MPI's own classes. There is one code, whose text is replaced each time, since codes are a bounded resource.
 */
#include "coll/error.h"

#include <pthread.h>
#include <stdio.h>

#include "coll/config.h"
#include "coll/job.h"
#include "coll/world.h"

__thread int tt_inside;
__thread int tt_unheard;

static int tutti_code = MPI_ERR_OTHER;

static void make_code(void)
{
    int class, code;

    if (PMPI_Add_error_class(&class) == MPI_SUCCESS && PMPI_Add_error_code(class, &code) == MPI_SUCCESS)
        tutti_code = code;
}

/* In a process that has but sessions, neither of these is there. */
static bool is_there(MPI_Comm comm)
{
    return (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF) || tt_world() == MPI_COMM_WORLD;
}

void tt_call_handler(MPI_Comm comm, int code)
{
    const int inside = tt_inside;

    if (tt_unheard || !is_there(comm))
        return;
    tt_inside = 0;
    PMPI_Comm_call_errhandler(comm, code);
    tt_inside = inside;
}

static int raise_code(MPI_Comm comm, const char *what, bool log)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[MPI_MAX_ERROR_STRING];

    pthread_once(&once, make_code);
    snprintf(text, sizeof text, "Tutti: %s", what);
    if (tutti_code != MPI_ERR_OTHER)
        PMPI_Add_error_string(tutti_code, text);
    if (log)
        tt_log(TT_ERROR, "%s", what);
    tt_call_handler(comm, tutti_code);
    return tutti_code;
}

int tt_raise(MPI_Comm comm, const char *what)
{
    return raise_code(comm, what, true);
}

int tt_raise_together(MPI_Comm comm, const char *what)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return raise_code(comm, what, rank == 0);
}

int tt_raise_unsaid(MPI_Comm comm, const char *what)
{
    return raise_code(comm, what, false);
}

int tt_call_fail(const struct tt_call *c, const struct tt_comm *comm, const char *why)
{
    char text[MPI_MAX_ERROR_STRING];

    snprintf(text, sizeof text, "rank %d: %s: %s", comm->rank, tt_rows[c->coll].name, why);
    return tt_raise(c->comm, text);
}

int tt_call_reject(const struct tt_call *c, const struct tt_comm *comm, int class, const char *why)
{
    tt_log(TT_ERROR, "rank %d: %s: %s", comm->rank, tt_rows[c->coll].name, why);
    tt_call_handler(c->comm, class);
    return class;
}
