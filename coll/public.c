/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of tutti.h that have no better home. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "coll/comm.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/nccl_comm.h"
#include "coll/plan.h"
#include "coll/progress.h"
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

TT_PUBLIC int tutti_progress(int thread)
{
    int level = MPI_THREAD_SINGLE;

    if (!thread)
        tt_progress_thread_stop();
    PMPI_Query_thread(&level);
    if (thread && level != MPI_THREAD_MULTIPLE)
        return tt_raise(MPI_COMM_SELF, "tutti_progress: the program must have asked for MPI_THREAD_MULTIPLE "
                                       "(MPI_Init_thread)");
    if (thread)
        tt_progress_thread_start();
    if (thread && !tt_progress_thread_runs())
        return tt_raise(MPI_COMM_SELF, "tutti_progress: no thread to be had");
    return MPI_SUCCESS;
}

/* What all ranks know of NCCL here may be news: they may have chosen their GPUs since they were located. */
static int prepare(MPI_Comm comm)
{
    struct tt_comm *c;
    const int error = tt_comm_of(comm, TT_LOCATED, &c);
    int made;

    if (error != MPI_SUCCESS)
        return error == MPI_ERR_NO_MEM ? tt_raise(comm, "tutti_comm_prepare: out of host memory") : error;
    if (c->lost)
        return tt_raise(comm,
                        "tutti_comm_prepare: this rank failed before it could take part in an earlier call on this "
                        "communicator, so it is behind the others for good");
    c->known.prepared = true;
    made = tt_nccl_prepare(c);
    if (made == 0)
        tt_comm_forget(c);
    c->known.there |= made == 0;
    c->known.alive = made == 0;
    c->known.streams = made == 0 && c->known.threads;
    c->known.kept = c->known.streams;
    if (c->known.streams)
        tt_nccl_keep(c);
    return made < 0 ? tt_raise(comm, tt_fault()) : MPI_SUCCESS;
}

TT_PUBLIC int tutti_comm_prepare(MPI_Comm comm)
{
    int error;

    if (comm == MPI_COMM_NULL)
        return MPI_ERR_COMM;
    if (tt_inside || !tt_is_on())
        return MPI_SUCCESS;
    tt_inside++;
    error = prepare(comm);
    tt_inside--;
    return error;
}
