/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in's words, numbers and questions. */
#include "tests/simcuda/nccl_sim.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct simnccl_counters nccl_counts;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char last[512];

const struct nccl_kind_row nccl_kinds[NCCL_NKINDS] = {
    [NCCL_ALL_REDUCE] = {"AllReduce", true, false},
    [NCCL_REDUCE] = {"Reduce", true, true},
    [NCCL_BROADCAST] = {"Broadcast", false, true},
    [NCCL_ALL_GATHER] = {"AllGather", false, false},
    [NCCL_REDUCE_SCATTER] = {"ReduceScatter", true, false},
    [NCCL_ALL_TO_ALL] = {"AlltoAll", false, false},
    [NCCL_GATHER] = {"Gather", false, true},
    [NCCL_SCATTER] = {"Scatter", false, true},
    [NCCL_SEND] = {"Send", false, false},
    [NCCL_RECV] = {"Recv", false, false},
};

/* ---- words ---- */

static void keep(const char *format, va_list words)
{
    pthread_mutex_lock(&lock);
    vsnprintf(last, sizeof last, format, words);
    pthread_mutex_unlock(&lock);
}

ncclResult_t nccl_fail(ncclResult_t result, const char *format, ...)
{
    va_list words;

    va_start(words, format);
    keep(format, words);
    va_end(words);
    return result;
}

ncclResult_t nccl_report(ncclResult_t result, const char *format, ...)
{
    char line[512];
    va_list words;

    va_start(words, format);
    vsnprintf(line, sizeof line, format, words);
    va_end(words);
    fprintf(stderr, "simulated NCCL: %s\n", line);
    COUNT(reports);
    return nccl_fail(result, "%s", line);
}

const char *ncclGetErrorString(ncclResult_t result)
{
    COUNT(GetErrorString);
    switch (result) {
#define TT_NCCL_RESULT(name, value, words)                                                                             \
    case value:                                                                                                        \
        return words;
#include "cuda/nccl.def"
    default:
        return "unknown result code";
    }
}

/* A copy, for another thread may fail meanwhile. */
const char *ncclGetLastError(ncclComm_t comm)
{
    static _Thread_local char copy[sizeof last];

    (void)comm;
    COUNT(GetLastError);
    pthread_mutex_lock(&lock);
    memcpy(copy, last, sizeof copy);
    pthread_mutex_unlock(&lock);
    return copy;
}

/* ---- numbers ---- */

size_t nccl_type_size(ncclDataType_t type)
{
    switch (type) {
#define TT_NCCL_TYPE(name, value, id, bytes, since)                                                                    \
    case value:                                                                                                        \
        return since <= nccl_version() ? bytes : 0;
#include "cuda/nccl.def"
    default:
        return 0;
    }
}

const char *nccl_type_name(ncclDataType_t type)
{
    switch (type) {
#define TT_NCCL_TYPE(name, value, id, bytes, since)                                                                    \
    case value:                                                                                                        \
        return #name;
#include "cuda/nccl.def"
    default:
        return "unknown type";
    }
}

static int version;

static void read_version(void)
{
    const char *text = getenv("TUTTI_SIM_NCCL_VERSION");
    char *end;
    long n = 22809;

    if (text && strcmp(text, "none") == 0)
        return;
    if (text && *text) {
        n = strtol(text, &end, 10);
        if (*end || n < 20000 || n > 29999) {
            nccl_report(ncclSystemError, "TUTTI_SIM_NCCL_VERSION=%s is no version such as 22809, nor none", text);
            return;
        }
    }
    version = (int)n;
}

int nccl_version(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_version);
    return version;
}

ncclResult_t ncclGetVersion(int *out)
{
    COUNT(GetVersion);
    if (!out)
        return nccl_report(ncclInvalidArgument, "GetVersion of NULL");
    *out = nccl_version();
    return *out ? ncclSuccess : ncclSystemError;
}

void simnccl_counters(struct simnccl_counters *counters)
{
    const unsigned long long *from = (const unsigned long long *)&nccl_counts;
    unsigned long long *to = (unsigned long long *)counters;

    for (size_t i = 0; i < sizeof nccl_counts / sizeof *from; i++)
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
}

void simnccl_reset(void)
{
    unsigned long long *at = (unsigned long long *)&nccl_counts;

    for (size_t i = 0; i < sizeof nccl_counts / sizeof *at; i++)
        if (at + i != &nccl_counts.alive)
            __atomic_store_n(at + i, 0, __ATOMIC_RELAXED);
}

/* ---- questions ---- */

static ncclResult_t answer(ncclComm_t handle, const char *who, int *out, int (*value)(const struct nccl_comm *))
{
    ncclResult_t result;
    const struct nccl_comm *comm = nccl_usable(handle, who, &result);

    if (!comm)
        return result;
    if (!out)
        return nccl_report(ncclInvalidArgument, "%s to NULL", who);
    *out = value(comm);
    return ncclSuccess;
}

static int count_of(const struct nccl_comm *comm)
{
    return comm->nranks;
}

static int device_of(const struct nccl_comm *comm)
{
    return comm->home.device;
}

static int rank_of(const struct nccl_comm *comm)
{
    return comm->rank;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    COUNT(CommCount);
    return answer(comm, "CommCount", count, count_of);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
    COUNT(CommCuDevice);
    return answer(comm, "CommCuDevice", device, device_of);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    COUNT(CommUserRank);
    return answer(comm, "CommUserRank", rank, rank_of);
}

int nccl_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}
