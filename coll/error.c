/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI errors with our own words. A code is made once per class and its text replaced: codes are a bounded resource
 * in the MPIs. */
#include <stdio.h>

#include "coll/config.h"
#include "coll/job.h"

enum { MAX_CLASSES = 16 };

static int code_of(int class)
{
    static struct {
        int class, code;
    } codes[MAX_CLASSES];
    static int n;

    for (int i = 0; i < n; i++)
        if (codes[i].class == class)
            return codes[i].code;
    if (n == MAX_CLASSES || PMPI_Add_error_code(class, &codes[n].code) != MPI_SUCCESS)
        return class;
    codes[n].class = class;
    return codes[n++].code;
}

int tt_raise(const struct tt_job *job, int class, const char *why)
{
    const int code = code_of(class);
    char text[MPI_MAX_ERROR_STRING];

    snprintf(text, sizeof text, "Tutti: rank %d: %s: %s", job->comm->rank, job->row->name, why);
    if (code != class)
        PMPI_Add_error_string(code, text);
    tt_log(TT_ERROR, "rank %d: %s: %s", job->comm->rank, job->row->name, why);
    PMPI_Comm_call_errhandler(job->call->comm, code);
    return code;
}
