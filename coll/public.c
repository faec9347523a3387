/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of tutti.h that have no better home. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/plan.h"
#include "coll/tutti.h"

#define TT_PUBLIC __attribute__((visibility("default")))

TT_PUBLIC const char *tutti_version(void)
{
    return PACKAGE_VERSION;
}

TT_PUBLIC const char *tutti_algorithm(const char *collective, int i)
{
    const enum tt_coll coll = tt_coll_find(collective, strlen(collective));

    for (int a = 0; coll < TT_NCOLLS && tt_algs[a]; a++)
        if (tt_alg_serves(tt_algs[a], coll) && i-- == 0)
            return tt_algs[a]->name;
    return NULL;
}

/* A setting that is set too late would be ignored in silence. */
static bool is_too_late(const char *name)
{
    int begun = 0;

    PMPI_Initialized(&begun);
    return begun && tt_config_is_for_start(name);
}

/* The environment is where settings live, so one set here is inherited like the others. */
static int put(const char *name, const char *value)
{
    return value ? setenv(name, value, 1) : unsetenv(name);
}

TT_PUBLIC int tutti_set(const char *name, const char *value)
{
    const char *before = getenv(name);
    char *kept = before ? strdup(before) : NULL, why[1024] = "out of memory";
    int error = MPI_SUCCESS;

    if (!tt_config_known(name)) {
        tt_log(TT_ERROR, "tutti_set: there is no %s: see `tutti info` for the names", name);
        error = MPI_ERR_ARG;
    } else if (is_too_late(name)) {
        tt_log(TT_ERROR, "tutti_set: %s is read in MPI_Init alone: set it before, in the environment", name);
        error = MPI_ERR_ARG;
    } else if (put(name, value) || tt_config_load(why, sizeof why)) {
        tt_log(TT_ERROR, "tutti_set: %s", why);
        put(name, kept);
        error = MPI_ERR_ARG;
    }
    free(kept);
    return error;
}
