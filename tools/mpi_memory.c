/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of one's own would use the CUDA runtime; this one must run where there is none, so it asks the driver,
 * which it opens at run time, for what a runtime would ask: the primary context of a GPU. */
#include "tools/mpi_memory.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_abi.h"
#include "cuda/dev.h"

/* What is asked of the driver: E(name here, its symbol, parameters). */
#define ENTRIES(E)                                                                                                     \
    E(get_device, cuDeviceGet, (CUdevice * device, int ordinal))                                                       \
    E(retain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))                                        \
    E(set_current, cuCtxSetCurrent, (CUcontext context))                                                               \
    E(take, cuMemAlloc_v2, (CUdeviceptr * address, size_t bytes))                                                      \
    E(take_managed, cuMemAllocManaged, (CUdeviceptr * address, size_t bytes, unsigned flags))                          \
    E(left, cuMemGetInfo_v2, (size_t * available, size_t * total))                                                     \
    E(write, cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes))                                        \
    E(read, cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes))                                               \
    E(give, cuMemFree_v2, (CUdeviceptr address))                                                                       \
    E(clear, cuMemsetD8_v2, (CUdeviceptr address, unsigned char value, size_t bytes))                                  \
    E(copy, cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                                         \
    E(synchronize, cuCtxSynchronize, (void))

enum { ATTACH_GLOBAL = 1 }; /* managed memory that every stream may use: CU_MEM_ATTACH_GLOBAL */

static struct {
#define E(name, symbol, params) CUresult(*name) params;
    ENTRIES(E)
#undef E
} driver;

static const char *find_entries(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);

    if (!library)
        return "libcuda.so.1";
#define E(name, symbol, params)                                                                                        \
    *(void **)&driver.name = dlsym(library, #symbol);                                                                  \
    if (!driver.name)                                                                                                  \
        return #symbol;
    ENTRIES(E)
#undef E
    return NULL;
}

static const char *const words[TOOL_NWHERES][2] = {[TOOL_HOST] = {"host memory", "host memory"},
                                                   [TOOL_DEVICE] = {"device memory", "SIMULATED device memory"},
                                                   [TOOL_MANAGED] = {"managed memory", "SIMULATED managed memory"}};

static int open_device(struct tool_memory *m, int turn, char *why, size_t size)
{
    const struct tt_driver_info info = tt_driver_look();
    const char *lacks = info.devices > 0 ? find_entries() : NULL;
    CUcontext context;
    CUdevice device;

    if (info.devices == 0 || lacks) {
        snprintf(why, size, "no GPU memory: %s%s", lacks ? lacks : "there is no GPU",
                 lacks ? " is not there" : " (tutti run --sim-gpus 2 -- mpiexec ... simulates two)");
        return -1;
    }
    m->simulated = info.simulated;
    m->words = words[m->where][info.simulated];
    m->gpu = turn % info.devices;
    m->gpus = info.devices;
    if (driver.get_device(&device, turn % info.devices) || driver.retain(&context, device) ||
        driver.set_current(context)) {
        snprintf(why, size, "no GPU memory: GPU %d gives no context", turn % info.devices);
        return -1;
    }
    return 0;
}

int tool_memory_open(struct tool_memory *m, enum tool_where where, int turn, char *why, size_t size)
{
    *m = (struct tool_memory){.where = where, .device = where != TOOL_HOST, .words = words[TOOL_HOST][0]};
    return m->device ? open_device(m, turn, why, size) : 0;
}

/* What the kernel would give without swapping; caches count, which no call of the C library tells. */
static size_t left_on_node(void)
{
    FILE *info = fopen("/proc/meminfo", "r");
    size_t kib = 0;
    char line[128];

    while (info && !kib && fgets(line, sizeof line, info))
        sscanf(line, "MemAvailable: %zu kB", &kib);
    if (info)
        fclose(info);
    return kib ? kib << 10 : SIZE_MAX;
}

size_t tool_memory_left(const struct tool_memory *m)
{
    size_t available, total;

    if (!m->device)
        return left_on_node();
    return driver.left(&available, &total) ? SIZE_MAX : available;
}

void *tool_memory_take(const struct tool_memory *m, size_t bytes)
{
    CUdeviceptr address;

    if (!m->device)
        return calloc(1, bytes);
    if (m->where == TOOL_MANAGED ? driver.take_managed(&address, bytes, ATTACH_GLOBAL) : driver.take(&address, bytes))
        return NULL;
    if (driver.clear(address, 0, bytes) || driver.synchronize()) {
        driver.give(address);
        return NULL;
    }
    return (void *)(uintptr_t)address;
}

void tool_memory_give(const struct tool_memory *m, void *block)
{
    if (!m->device)
        free(block);
    else if (block)
        driver.give((CUdeviceptr)(uintptr_t)block);
}

int tool_memory_copy(const struct tool_memory *m, void *to, const void *from, size_t bytes)
{
    if (m->device)
        return driver.copy((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes) || driver.synchronize() ? -1
                                                                                                                    : 0;
    memcpy(to, from, bytes);
    return 0;
}

int tool_memory_write(const struct tool_memory *m, void *to, const void *from, size_t bytes)
{
    if (m->device)
        return driver.write((CUdeviceptr)(uintptr_t)to, from, bytes) || driver.synchronize() ? -1 : 0;
    memcpy(to, from, bytes);
    return 0;
}

int tool_memory_read(const struct tool_memory *m, void *to, const void *from, size_t bytes)
{
    if (m->device)
        return driver.read(to, (CUdeviceptr)(uintptr_t)from, bytes) ? -1 : 0;
    memcpy(to, from, bytes);
    return 0;
}

int tool_memory_set(const struct tool_memory *m, void *block, int byte, size_t bytes)
{
    if (m->device)
        return driver.clear((CUdeviceptr)(uintptr_t)block, (unsigned char)byte, bytes) || driver.synchronize() ? -1 : 0;
    memset(block, byte, bytes);
    return 0;
}
