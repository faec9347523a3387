/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA driver API as far as Tutti speaks it: types, numbers and the shape of each call, so that the library and
 * the simulated device build on a machine without the CUDA Toolkit. Names are the driver's own. The rows are in
 * driver.def; where the toolkit is installed, tests/check_cuda_abi.c holds each of them against NVIDIA's cuda.h.
 * Never include both headers in one file. */
#ifndef TT_CUDA_ABI_H
#define TT_CUDA_ABI_H

#include <stddef.h>

#define TT_DRIVER_NUMBER(name, type) typedef type name;
#define TT_DRIVER_HANDLE(name, tag) typedef struct tag *name;
#include "cuda/driver.def"

#define TT_DRIVER_CONST(name, value) name = value,
enum {
#include "cuda/driver.def"
};

typedef struct {
    char bytes[16];
} CUuuid;

typedef struct {
    char reserved[64];
} CUipcMemHandle;

typedef struct {
    char reserved[64];
} CUipcEventHandle;

/* Source, then destination, then the extent; the fields that a memory type does not use are ignored. */
typedef struct {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct CUctxCreateParams_st CUctxCreateParams;
typedef void (*CUhostFn)(void *data);
typedef void (*CUstreamCallback)(CUstream stream, CUresult status, void *data);

/* Launch parameters as one packed block, in cuLaunchKernel's `extra`. */
#define CU_LAUNCH_PARAM_END ((void *)0x00)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void *)0x01)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void *)0x02)

/* The stream of a thread's own, and the one that waits for all blocking streams. */
#define CU_STREAM_LEGACY ((CUstream)0x1)
#define CU_STREAM_PER_THREAD ((CUstream)0x2)

#define TT_DRIVER_SIZE(type, bytes) _Static_assert(sizeof(type) == bytes, #type);
#include "cuda/driver.def"

#endif
