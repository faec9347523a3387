/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI errors with our own words. They have a class of their own: MPICH 4.0 loses the text of a code that a program adds to
 * one of MPI's own classes. There is one code, whose text is replaced each time, since codes are a bounded resource. */
#include <stdio.h>

#include "coll/config.h"
#include "coll/job.h"

static int tutti_code(void)
{
    static int code = MPI_SUCCESS;
    int class;

    if (code == MPI_SUCCESS &&
        (PMPI_Add_error_class(&class) != MPI_SUCCESS || PMPI_Add_error_code(class, &code) != MPI_SUCCESS))
        code = MPI_ERR_OTHER;
    return code;
}

int tt_raise(MPI_Comm comm, const char *what)
{
    const int code = tutti_code();
    char text[MPI_MAX_ERROR_STRING];

    snprintf(text, sizeof text, "Tutti: %s", what);
    if (code != MPI_ERR_OTHER)
        PMPI_Add_error_string(code, text);
    tt_log(TT_ERROR, "%s", what);
    PMPI_Comm_call_errhandler(comm, code);
    return code;
}

int tt_job_fail(const struct tt_job *job, const char *why)
{
    char text[MPI_MAX_ERROR_STRING];

    snprintf(text, sizeof text, "rank %d: %s: %s", job->comm->rank, job->row->name, why);
    return tt_raise(job->call->comm, text);
}

int tt_job_reject(const struct tt_job *job, int class, const char *why)
{
    tt_log(TT_ERROR, "rank %d: %s: %s", job->comm->rank, job->row->name, why);
    PMPI_Comm_call_errhandler(job->call->comm, class);
    return class;
}
