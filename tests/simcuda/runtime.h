/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated libcudart from inside: the runtime API on top of the simulated driver's, so that one process sees one
 * state. It is built once for each major version of the runtime that programs are linked with (TT_CUDART is 11, 12 or
 * 13): their symbols' versions differ, and two structs. Result codes need no translation, since for all that can come
 * out of here the two APIs share their numbers. */
#ifndef RUNTIME_H
#define RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_abi.h"

typedef CUresult cudaError_t;
typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUhostFn cudaHostFn_t;
typedef CUstreamCallback cudaStreamCallback_t;
typedef CUipcMemHandle cudaIpcMemHandle_t;
typedef CUipcEventHandle cudaIpcEventHandle_t;

typedef struct {
    unsigned x, y, z;
} dim3;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice,
    cudaMemcpyDefault
};

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };

enum cudaDeviceAttr { cudaDevAttrMaxThreadsPerBlock = 1 }; /* the driver's numbers */

/* CUDA 13 appends reserved words that must be zero. */
struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
};

struct cudaDeviceProp;

/* The runtime's own result codes. */
enum {
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorMissingConfiguration = 52,
    cudaErrorInvalidDeviceFunction = 98,
    cudaInvalidDeviceId = -2
};

#pragma GCC visibility push(default)
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "tests/simcuda/driver_more.def"
#define TT_RUNTIME(type, name, params) type name params;
#include "tests/simcuda/runtime.def"
#pragma GCC visibility pop

cudaError_t rt_keep(cudaError_t error); /* for cudaGetLastError; returns error */
cudaError_t rt_enter(void);             /* initialises the driver and gives the thread a context, if it has none */
void rt_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
