/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens NVIDIA's libnccl.so.2, which is given by path, as Tutti opens it, and makes a communicator of one rank: where
 * there is no GPU, that must fail cleanly, in words. Prints what it found; the exit status says whether that will do.
 * Run by test_nccl_real.sh. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cuda/dev.h"
#include "cuda/nccl.h"

static int fail(const char *what)
{
    printf("FAILED: %s (%s)\n", what, tt_fault());
    return 1;
}

/* Its last result, at most ten seconds later. */
static ncclResult_t settle(const struct tt_nccl *n, ncclComm_t comm)
{
    const struct timespec nap = {0, 10000000};
    ncclResult_t result = ncclInProgress;

    for (int i = 0; i < 1000 && result == ncclInProgress; i++) {
        nanosleep(&nap, NULL);
        if (n->CommGetAsyncError(comm, &result) != ncclSuccess)
            return ncclInternalError;
    }
    return result;
}

static int make_one(const struct tt_nccl *n, bool gpu)
{
    ncclConfig_t config = tt_nccl_config(false);
    ncclUniqueId id;
    ncclComm_t comm = NULL;
    ncclResult_t result = n->GetUniqueId(&id);

    if (result == ncclSuccess)
        result = n->CommInitRankConfig(&comm, 1, id, 0, &config);
    if (result == ncclInProgress)
        result = settle(n, comm);
    tt_nccl_error(n, comm, result, "a communicator of one rank");
    printf("%s\n", result == ncclSuccess ? "made" : tt_fault());
    if (comm)
        n->CommAbort(comm);
    if (result == ncclInProgress || (gpu && result != ncclSuccess))
        return fail("with a GPU it must be made");
    if (!gpu && (result == ncclSuccess || !strstr(tt_fault(), "ncclUnhandledCudaError")))
        return fail("without a GPU it must be refused");
    return 0;
}

int main(int argc, char **argv)
{
    const struct tt_nccl *n;
    struct tt_driver_info driver;

    if (argc < 2 || !dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL)) {
        printf("FAILED: no library (%s)\n", argc < 2 ? "say which" : dlerror());
        return 1;
    }
    n = tt_nccl_open();
    if (!n)
        return fail("it is of no use");
    printf("NCCL %d.%d.%d\n", n->version / 10000, n->version / 100 % 100, n->version % 100);
    if (n->simulated)
        return fail("it is the stand-in");
    if ((n->version >= 22800) != (n->AlltoAll != NULL))
        return fail("entry points that came with 2.28");
    driver = tt_driver_look();
    return make_one(n, driver.version && driver.devices > 0);
}
