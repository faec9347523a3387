/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver knows where each allocation begins and how long it is. Memory that has been freed it does not know any
 * more, nor can the host read it: so what neither can reach is not there. An allocator that keeps freed memory for
 * itself hides both from the driver. */
#include "cuda/extent.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cuda/dev.h"
#include "cuda/driver.h"

/* 1: yes, 0: no, -1: this system does not let a process ask. */
static int host_reads(const void *p)
{
    char byte;
    const struct iovec here = {&byte, 1}, there = {(void *)p, 1};

    if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1)
        return 1;
    return errno == EFAULT ? 0 : -1;
}

static int check_host(const void *p, size_t bytes, char *why, size_t size)
{
    const char *const ends[] = {p, (const char *)p + bytes - 1};

    for (int i = 0; i < 2; i++)
        if (host_reads(ends[i]) == 0) {
            snprintf(why, size, "%zu bytes at %p: its %s byte is in no memory of a GPU nor of the host: freed?", bytes,
                     p, i ? "last" : "first");
            return -1;
        }
    return 0;
}

static int check_device(const struct tt_driver *d, const void *p, size_t bytes, char *why, size_t size)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    CUdeviceptr start = 0;
    size_t length = 0;
    void *answers[] = {&start, &length};
    const uintptr_t from = (uintptr_t)p;

    if (d->cuPointerGetAttributes(2, wanted, answers, from) != CUDA_SUCCESS || !length ||
        (from >= start && from + bytes <= start + length))
        return 0;
    snprintf(why, size, "%zu bytes at %p, reaches %zu bytes beyond its allocation of GPU memory, %zu bytes at 0x%llx",
             bytes, p, (size_t)(from + bytes - start - length), length, start);
    return -1;
}

int tt_mem_check(const void *p, size_t bytes, char *why, size_t size)
{
    const struct tt_driver *d = tt_driver_find();
    struct tt_mem mem;

    if (bytes == 0)
        return 0;
    if (tt_mem_where(p, &mem)) {
        snprintf(why, size, "%zu bytes at %p: %s", bytes, p, tt_fault());
        return -1;
    }
    return tt_mem_on_device(&mem) ? check_device(d, p, bytes, why, size) : check_host(p, bytes, why, size);
}
