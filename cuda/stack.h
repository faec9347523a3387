/* SPDX-License-Identifier: BSD-3-Clause */
/* Small buffers are mostly variables of the function that calls MPI. What lies in a frame of this thread that has not
 * returned is the host's, whatever drivers this process has, or will have: so nobody need be asked, which is more than
 * half of what it costs to find out that there is no driver. A thread that runs on a stack of the program's own making
 * (coroutines, signals) is told by where it stands: of such a stack nothing is known. */
#ifndef TT_STACK_H
#define TT_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* Of this thread, as the system made it; top is 0 until somebody has looked, and 1 if it is not to be had. */
extern __thread struct tt_stack {
    uintptr_t bottom, top;
} tt_stack;

void tt_stack_look(void);

/* Is it above the frame of the function that this is written into? */
static inline bool tt_is_on_stack(const void *p)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), at = (uintptr_t)p;

    if (!tt_stack.top)
        tt_stack_look();
    return at > here && at < tt_stack.top && here >= tt_stack.bottom;
}

#endif
