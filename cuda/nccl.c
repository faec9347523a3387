/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL, opened at run time, and only when a call may have use for it: the library has hundreds of megabytes. If the
 * program has one loaded already, as PyTorch has, that is the one. It is held for ever: its threads outlive its
 * communicators. */
#include "cuda/nccl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "cuda/driver.h"
#include "cuda/inside.h"

static const char library[] = "libnccl.so.2";

static struct tt_nccl nccl;
static bool usable;
static char why_not[384];

/* The first that must be there and is not, or NULL. */
static const char *resolve(void *handle)
{
    enum { MAY, MUST };
    const char *lacks = NULL;

#define TT_NCCL(name, result, need, since, params)                                                                     \
    *(void **)&nccl.name = dlsym(handle, "nccl" #name);                                                                \
    if (need == MUST && !nccl.name && !lacks)                                                                          \
        lacks = "nccl" #name;
#include "cuda/nccl.def"
    nccl.simulated = dlsym(handle, "simnccl_counters") != NULL;
    return lacks;
}

/* Whatever the library exports, what came with a later version than it tells is not there. */
static void forget_newer(void)
{
#define TT_NCCL(name, result, need, since, params)                                                                     \
    if (since > nccl.version)                                                                                          \
        nccl.name = NULL;
#include "cuda/nccl.def"
}

/* The version first: an old library is better told so than by the name of an entry point that it lacks. */
static bool judge(const char *lacks)
{
    const struct tt_driver *d = tt_driver_find();
    const int oldest = TT_NCCL_OLDEST;

    if (nccl.GetVersion && nccl.GetVersion(&nccl.version) == ncclSuccess && nccl.version < oldest)
        tt_fault_set("%s is NCCL %d.%d.%d, and %d.%d is the oldest that serves", library, nccl.version / 10000,
                     nccl.version / 100 % 100, nccl.version % 100, oldest / 10000, oldest / 100 % 100);
    else if (lacks)
        tt_fault_set("%s has no %s: it is too old, or is none", library, lacks);
    else if (!nccl.version)
        tt_fault_set("%s does not tell its version", library);
    else if (d && d->simulated != nccl.simulated)
        tt_fault_set("%s and the CUDA driver are not both simulated, or both real", library);
    else
        return true;
    return false;
}

static void open_once(void)
{
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

    if (handle)
        usable = judge(resolve(handle));
    else
        tt_fault_set("%s was not found: %s", library, dlerror());
    if (usable)
        forget_newer();
    else
        snprintf(why_not, sizeof why_not, "%s", tt_fault());
}

const struct tt_nccl *tt_nccl_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_once);
    if (usable)
        return &nccl;
    tt_fault_set("%s", why_not);
    return NULL;
}

static const char *name_of(ncclResult_t result)
{
    switch (result) {
#define TT_NCCL_RESULT(name, value, words)                                                                             \
    case value:                                                                                                        \
        return #name;
#include "cuda/nccl.def"
    default:
        return "a result unknown to Tutti";
    }
}

int tt_nccl_error(const struct tt_nccl *n, ncclComm_t comm, ncclResult_t result, const char *format, ...)
{
    char what[160];
    const char *last;
    va_list words;

    if (result == ncclSuccess || result == ncclInProgress)
        return 0;
    va_start(words, format);
    vsnprintf(what, sizeof what, format, words);
    va_end(words);
    last = n->GetLastError(comm);
    return tt_fault_set("%s: %s (%s)%s%s", what, n->GetErrorString(result), name_of(result), last && *last ? ": " : "",
                        last ? last : "");
}

ncclConfig_t tt_nccl_config(bool blocking)
{
    const int unset = NCCL_CONFIG_UNDEF_INT;

    return (ncclConfig_t){.size = sizeof(ncclConfig_t),
                          .magic = 0xcafebeef,
                          .version = TT_NCCL_OLDEST,
                          .blocking = blocking,
                          .cgaClusterSize = unset,
                          .minCTAs = unset,
                          .maxCTAs = unset,
                          .splitShare = unset,
                          .later = unset};
}
