/* SPDX-License-Identifier: BSD-3-Clause */
/* Where this thread's stack is. Of the first thread glibc reads that from /proc, once. */
#include "cuda/stack.h"

#include <pthread.h>

__thread struct tt_stack tt_stack;

void tt_stack_look(void)
{
    pthread_attr_t attr;
    void *bottom;
    size_t size;

    tt_stack.top = 1;
    if (pthread_getattr_np(pthread_self(), &attr))
        return;
    if (pthread_attr_getstack(&attr, &bottom, &size) == 0)
        tt_stack = (struct tt_stack){(uintptr_t)bottom, (uintptr_t)bottom + size};
    pthread_attr_destroy(&attr);
}
