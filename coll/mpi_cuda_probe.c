/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi-cuda-probe: does the MPI below take pointers to GPU memory? A process of its own (started by aware.c), because
 * one that does not will most likely crash. It sends GPU memory to itself, once short and once long, since MPIs
 * treat the two differently, and looks at what arrived. Exit status: 0 it is right; 1 it is not; 2 there is no CUDA
 * here. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_abi.h"

enum { SHORT = 64, LONG = 4 << 20 };
enum status { RIGHT, WRONG, NO_CUDA };

#define TT_DRIVER(name, symbol, need, params) static CUresult(*name) params;
#include "cuda/driver.def"

static CUresult (*retain)(CUcontext *context, CUdevice device);

static int load(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);

    if (!driver)
        return -1;
#define TT_DRIVER(name, symbol, need, params) *(void **)&name = dlsym(driver, #symbol);
#include "cuda/driver.def"
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    if (!retain || !cuInit || !cuDeviceGet || !cuCtxPushCurrent || !cuMemAlloc || !cuMemcpyAsync || !cuCtxSynchronize)
        return -1;
    return 0;
}

static int open_device(void)
{
    CUdevice device;
    CUcontext context;

    return cuInit(0) || cuDeviceGet(&device, 0) || retain(&context, device) || cuCtxPushCurrent(context);
}

static CUdeviceptr device_at(const void *host)
{
    return (CUdeviceptr)(uintptr_t)host;
}

static int copy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    return cuMemcpyAsync(to, from, bytes, NULL) || cuCtxSynchronize();
}

static int exchange(CUdeviceptr to, CUdeviceptr from, int bytes)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];

    return MPI_Irecv((void *)(uintptr_t)to, bytes, MPI_BYTE, 0, bytes, MPI_COMM_SELF, &requests[0]) ||
           MPI_Isend((void *)(uintptr_t)from, bytes, MPI_BYTE, 0, bytes, MPI_COMM_SELF, &requests[1]) ||
           MPI_Waitall(2, requests, statuses);
}

/* Both stretches of GPU memory hold something else before. */
static enum status try_bytes(CUdeviceptr from, CUdeviceptr to, unsigned char *sent, unsigned char *got, int bytes)
{
    for (int i = 0; i < bytes; i++)
        sent[i] = (unsigned char)(i * 31 + bytes % 251 + 1);
    memset(got, 0, (size_t)bytes);
    if (copy(from, device_at(sent), (size_t)bytes) || copy(to, device_at(got), (size_t)bytes) ||
        exchange(to, from, bytes) || copy(device_at(got), to, (size_t)bytes))
        return WRONG;
    return memcmp(sent, got, (size_t)bytes) ? WRONG : RIGHT;
}

int main(int argc, char **argv)
{
    unsigned char *sent = malloc(LONG), *got = malloc(LONG);
    CUdeviceptr from, to;
    enum status status;

    if (!sent || !got || load() || open_device() || cuMemAlloc(&from, LONG) || cuMemAlloc(&to, LONG))
        return NO_CUDA;
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return WRONG;
    status = try_bytes(from, to, sent, got, SHORT);
    if (status == RIGHT)
        status = try_bytes(from, to, sent, got, LONG);
    MPI_Finalize();
    free(sent);
    free(got);
    return (int)status;
}
