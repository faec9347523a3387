/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime's devices, errors and contexts. As in the real one, the first call that needs a device takes the primary
 * context of the thread's device, a context that the program has made current through the driver API is used as it is,
 * and after cudaDeviceReset the next call begins anew. */
#include "tests/simcuda/runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NOT_READY = CUDA_ERROR_NOT_READY };

static _Thread_local cudaError_t last;
static _Thread_local int chosen;

void rt_say(const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "simulated GPU: %s\n", line);
}

/* ---- errors ---- */

/* "Not ready" is an answer, not an error. */
cudaError_t rt_keep(cudaError_t error)
{
    if (error && error != NOT_READY)
        last = error;
    return error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last;

    last = CUDA_SUCCESS;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last;
}

/* The runtime's own; the others' words are the driver's. */
static const struct {
    cudaError_t error;
    const char *name, *text;
} own[] = {
    {CUDA_SUCCESS, "cudaSuccess", "no error"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorMissingConfiguration, "cudaErrorMissingConfiguration", "no configuration was pushed"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {CUDA_ERROR_OUT_OF_MEMORY, "cudaErrorMemoryAllocation", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "cudaErrorInitializationError", "initialization error"},
    {CUDA_ERROR_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {CUDA_ERROR_INVALID_DEVICE, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {CUDA_ERROR_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {CUDA_ERROR_NOT_READY, "cudaErrorNotReady", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {CUDA_ERROR_INVALID_HANDLE, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {CUDA_ERROR_INVALID_CONTEXT, "cudaErrorDeviceUninitialized", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "cudaErrorNoKernelImageForDevice", "no CPU code for this kernel"},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, "cudaErrorContextIsDestroyed", "context is destroyed"},
    {CUDA_ERROR_NOT_SUPPORTED, "cudaErrorNotSupported", "operation not supported"},
    {CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the memory is already registered"},
    {CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "cudaErrorHostMemoryNotRegistered", "the memory is not registered"},
};

const char *cudaGetErrorName(cudaError_t error)
{
    const char *name;

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i].error == error)
            return own[i].name;
    return cuGetErrorName(error, &name) ? "unrecognized error code" : name;
}

const char *cudaGetErrorString(cudaError_t error)
{
    const char *text;

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i].error == error)
            return own[i].text;
    return cuGetErrorString(error, &text) ? "unrecognized error code" : text;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    if (!version)
        return rt_keep(CUDA_ERROR_INVALID_VALUE);
    *version = TT_CUDART * 1000;
    return CUDA_SUCCESS;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    return rt_keep(cuDriverGetVersion(version));
}

/* ---- the thread's device ---- */

static cudaError_t use_primary(int device)
{
    CUcontext context;
    cudaError_t error = cuDevicePrimaryCtxRetain(&context, device);

    return error ? error : cuCtxSetCurrent(context);
}

cudaError_t rt_enter(void)
{
    CUdevice device;
    cudaError_t error = cuInit(0);

    if (error)
        return error;
    error = cuCtxGetDevice(&device);
    if (error == CUDA_ERROR_INVALID_CONTEXT || error == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        error = use_primary(chosen);
    return error;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = cuInit(0);

    if (error && count)
        *count = 0;
    return rt_keep(error ? error : cuDeviceGetCount(count));
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = cuInit(0);

    if (!error && !device)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && cuCtxGetDevice(device))
        *device = chosen;
    return rt_keep(error);
}

cudaError_t cudaSetDevice(int device)
{
    CUdevice valid;
    cudaError_t error = cuInit(0);

    if (!error)
        error = cuDeviceGet(&valid, device);
    if (!error)
        error = use_primary(device);
    if (!error)
        chosen = device;
    return rt_keep(error);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags; /* how a thread waits, which makes no difference here */
    return rt_keep(cuInit(0));
}

cudaError_t cudaGetDeviceFlags(unsigned *flags)
{
    const cudaError_t error = rt_enter();

    return rt_keep(error ? error : cuCtxGetFlags(flags));
}

cudaError_t cudaDeviceSynchronize(void)
{
    const cudaError_t error = rt_enter();

    return rt_keep(error ? error : cuCtxSynchronize());
}

cudaError_t cudaDeviceReset(void)
{
    int device;
    cudaError_t error = cudaGetDevice(&device);

    if (!error)
        error = cuDevicePrimaryCtxReset_v2(device);
    return rt_keep(error);
}

/* ---- what is known of one ---- */

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    const cudaError_t error = cuInit(0);

    return rt_keep(error ? error : cuDeviceGetAttribute(value, (CUdevice_attribute)attribute, device));
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    const cudaError_t error = cuInit(0);

    return rt_keep(error ? error : cuDeviceGetPCIBusId(id, length, device));
}

cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *id)
{
    const cudaError_t error = cuInit(0);

    return rt_keep(error ? error : cuDeviceGetByPCIBusId(device, id));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    const cudaError_t error = rt_enter();

    return rt_keep(error ? error : cuCtxGetStreamPriorityRange(least, greatest));
}

/* What rows of TT_PROPERTY take their values from. */
struct figures {
    size_t total;
    int major, minor, processors, bus;
};

static cudaError_t measure(struct figures *sim, int device)
{
    cudaError_t error = cuDeviceTotalMem_v2(&sim->total, device);

    if (!error)
        error = cuDeviceGetAttribute(&sim->major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (!error)
        error = cuDeviceGetAttribute(&sim->minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    if (!error)
        error = cuDeviceGetAttribute(&sim->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    if (!error)
        error = cuDeviceGetAttribute(&sim->bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
    return error;
}

/* The struct is the program's, so its size is that of the program's header; a byte more would be its neighbour's. */
static cudaError_t fill_properties(void *out, size_t bytes, int device)
{
    struct figures sim;
    CUuuid uuid;
    cudaError_t error = cuInit(0);

    if (!error && !out)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = measure(&sim, device);
    if (!error)
        error = cuDeviceGetUuid_v2(&uuid, device);
    if (error)
        return error;
    memset(out, 0, bytes);
    cuDeviceGetName(out, 256, device);
    memcpy((char *)out + 256, &uuid, sizeof uuid);
#define TT_PROPERTY(field, kind, value, offset12, offset13)                                                            \
    memcpy((char *)out + (TT_CUDART >= 13 ? offset13 : offset12), &(kind){value}, sizeof(kind));
#include "tests/simcuda/runtime.def"
    return CUDA_SUCCESS;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    return rt_keep(fill_properties(properties, TT_CUDART >= 13 ? 1008 : 728, device));
}

/* What programs built with CUDA 12 call under the same name in their source. */
__attribute__((visibility("default"))) cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *properties,
                                                                              int device)
{
    return rt_keep(fill_properties(properties, 1032, device));
}

/* ---- peers ---- */

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    const cudaError_t error = cuInit(0);

    return rt_keep(error ? error : cuDeviceCanAccessPeer(can, device, peer));
}

static cudaError_t set_peer(int peer, bool on)
{
    CUcontext context;
    cudaError_t error = rt_enter();

    if (!error)
        error = cuDevicePrimaryCtxRetain(&context, peer);
    if (!error)
        error = on ? cuCtxEnablePeerAccess(context, 0) : cuCtxDisablePeerAccess(context);
    return error;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return rt_keep(flags ? (cudaError_t)CUDA_ERROR_INVALID_VALUE : set_peer(peer, true));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return rt_keep(set_peer(peer, false));
}
