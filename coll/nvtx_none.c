/* SPDX-License-Identifier: BSD-3-Clause */
/* Without NVTX's headers no profiler is told anything. */
#include "coll/watch.h"

static bool open_nvtx(void)
{
    return false;
}

const struct tt_listener tt_listen_nvtx = {.open = open_nvtx};
