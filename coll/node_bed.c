/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel does of it. A call comes from another process, so the word is not the process's own to the kernel;
 * and a process that has not said that it takes part is passed over by the fence, so all have to. */
#include "coll/node_bed.h"

#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct tt_bed tt_bed_empty;

static long call_all(tt_flag *word)
{
    return syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool tt_bed_open(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) == 0 &&
           syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0 && call_all(&tt_bed_empty.calls) == 0;
}

void tt_flag_fence_all(void)
{
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

void tt_bed_sleep(struct tt_bed *bed, uint32_t calls, long ns)
{
    const struct timespec most = {.tv_nsec = ns};

    syscall(SYS_futex, &bed->calls, FUTEX_WAIT, calls, &most, NULL, 0);
}

void tt_bed_call(struct tt_bed *bed)
{
    tt_flag_count(&bed->calls, 1);
    call_all(&bed->calls);
}
