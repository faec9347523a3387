/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel does of it. A wake comes from another process, so the word is not the process's own to the kernel;
 * and a process that has not said that it takes part is passed over by the fence, so all have to. */
#include "coll/node_park.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct tt_parking tt_parking_of_nobody;

static long wake_all(tt_flag *word)
{
    return syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool tt_park_open(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0 &&
           wake_all(&tt_parking_of_nobody.wakes) == 0;
}

void tt_flag_fence_all(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void tt_park_wait(struct tt_parking *parking, uint32_t wakes, long ns)
{
    const struct timespec most = {.tv_nsec = ns};

    syscall(SYS_futex, &parking->wakes, FUTEX_WAIT, wakes, &most, NULL, 0);
}

void tt_park_wake(struct tt_parking *parking)
{
    tt_flag_count(&parking->wakes, 1);
    wake_all(&parking->wakes);
}
