/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime's memory: allocation, pointers and copies, each one call of the driver. */
#include "tests/simcuda/runtime.h"

#include <string.h>

/* After rt_enter, one call of the driver. */
#define ENTER_AND(call)                                                                                                \
    do {                                                                                                               \
        const cudaError_t entered = rt_enter();                                                                        \
        return rt_keep(entered ? entered : (call));                                                                    \
    } while (0)

static CUdeviceptr at(const void *p)
{
    return (uintptr_t)p;
}

/* ---- allocation ---- */

/* No bytes are a null pointer here, and an error in the driver. */
cudaError_t cudaMalloc(void **p, size_t bytes)
{
    if (p && !bytes)
        *p = NULL;
    ENTER_AND(!p ? (cudaError_t)CUDA_ERROR_INVALID_VALUE : bytes ? cuMemAlloc_v2((CUdeviceptr *)p, bytes) : 0);
}

cudaError_t cudaMallocPitch(void **p, size_t *pitch, size_t width, size_t rows)
{
    ENTER_AND(cuMemAllocPitch_v2((CUdeviceptr *)p, pitch, width, rows, 4));
}

cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags)
{
    ENTER_AND(cuMemAllocManaged((CUdeviceptr *)p, bytes, flags ? flags : CU_MEM_ATTACH_GLOBAL));
}

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t stream)
{
    ENTER_AND(cuMemAllocAsync((CUdeviceptr *)p, bytes, stream));
}

cudaError_t cudaFree(void *p)
{
    ENTER_AND(cuMemFree_v2(at(p)));
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    ENTER_AND(cuMemFreeAsync(at(p), stream));
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    if (p && !bytes)
        *p = NULL;
    ENTER_AND(bytes ? cuMemHostAlloc(p, bytes, flags) : 0);
}

cudaError_t cudaMallocHost(void **p, size_t bytes)
{
    return cudaHostAlloc(p, bytes, 0);
}

cudaError_t cudaFreeHost(void *p)
{
    ENTER_AND(cuMemFreeHost(p));
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags)
{
    ENTER_AND(cuMemHostRegister_v2(p, bytes, flags));
}

cudaError_t cudaHostUnregister(void *p)
{
    ENTER_AND(cuMemHostUnregister(p));
}

cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags)
{
    ENTER_AND(cuMemHostGetDevicePointer_v2((CUdeviceptr *)device, host, flags));
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *p)
{
    ENTER_AND(cuMemHostGetFlags(flags, p));
}

cudaError_t cudaMemGetInfo(size_t *available, size_t *total)
{
    ENTER_AND(cuMemGetInfo_v2(available, total));
}

/* ---- pointers ---- */

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *p)
{
    unsigned type = 0, managed = 0;
    struct cudaPointerAttributes a = {0};
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                   CU_POINTER_ATTRIBUTE_HOST_POINTER};
    void *data[] = {&type, &managed, &a.device, &a.devicePointer, &a.hostPointer};
    cudaError_t error = rt_enter();

    if (!error && !attributes)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = cuPointerGetAttributes(sizeof asked / sizeof asked[0], asked, data, at(p));
    if (error)
        return rt_keep(error);
    a.type = managed ? cudaMemoryTypeManaged : (enum cudaMemoryType)type; /* the other numbers are the driver's */
    if (!type)
        a = (struct cudaPointerAttributes){cudaMemoryTypeUnregistered, cudaInvalidDeviceId, NULL, (void *)p};
    if (TT_CUDART >= 13)
        memset(attributes, 0, 88);
    memcpy(attributes, &a, sizeof a);
    return CUDA_SUCCESS;
}

/* ---- copies ---- */

static cudaError_t copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return cuMemcpyHtoD_v2(at(dst), src, bytes);
    case cudaMemcpyDeviceToHost:
        return cuMemcpyDtoH_v2(dst, at(src), bytes);
    case cudaMemcpyDeviceToDevice:
        return cuMemcpyDtoD_v2(at(dst), at(src), bytes);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return cuMemcpy(at(dst), at(src), bytes);
    }
    return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_async(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return cuMemcpyHtoDAsync_v2(at(dst), src, bytes, stream);
    case cudaMemcpyDeviceToHost:
        return cuMemcpyDtoHAsync_v2(dst, at(src), bytes, stream);
    case cudaMemcpyDeviceToDevice:
        return cuMemcpyDtoDAsync_v2(at(dst), at(src), bytes, stream);
    case cudaMemcpyHostToHost:
    case cudaMemcpyDefault:
        return cuMemcpyAsync(at(dst), at(src), bytes, stream);
    }
    return cudaErrorInvalidMemcpyDirection;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind)
{
    ENTER_AND(copy(dst, src, bytes, kind));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    ENTER_AND(copy_async(dst, src, bytes, kind, stream));
}

/* Where the memory is, its pointer says. */
cudaError_t cudaMemcpyPeerAsync(void *dst, int dst_device, const void *src, int src_device, size_t bytes,
                                cudaStream_t stream)
{
    CUdevice valid;
    cudaError_t error = rt_enter();

    if (!error)
        error = cuDeviceGet(&valid, dst_device);
    if (!error)
        error = cuDeviceGet(&valid, src_device);
    return rt_keep(error ? error : cuMemcpyDtoDAsync_v2(at(dst), at(src), bytes, stream));
}

cudaError_t cudaMemcpyPeer(void *dst, int dst_device, const void *src, int src_device, size_t bytes)
{
    return cudaMemcpyPeerAsync(dst, dst_device, src, src_device, bytes, CU_STREAM_LEGACY);
}

static cudaError_t rectangle(CUDA_MEMCPY2D *c, void *dst, size_t dst_pitch, const void *src, size_t src_pitch,
                             size_t width, size_t rows, enum cudaMemcpyKind kind)
{
    static const CUmemorytype from[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE,
                                        CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED},
                              to[] = {CU_MEMORYTYPE_HOST, CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_HOST,
                                      CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED};

    if ((unsigned)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    *c = (CUDA_MEMCPY2D){.srcMemoryType = from[kind], .srcHost = src, .srcDevice = at(src), .srcPitch = src_pitch,
                         .dstMemoryType = to[kind], .dstHost = dst, .dstDevice = at(dst), .dstPitch = dst_pitch,
                         .WidthInBytes = width, .Height = rows};
    return rt_enter();
}

cudaError_t cudaMemcpy2D(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows,
                         enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D c;
    const cudaError_t error = rectangle(&c, dst, dst_pitch, src, src_pitch, width, rows, kind);

    return rt_keep(error ? error : cuMemcpy2D_v2(&c));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dst_pitch, const void *src, size_t src_pitch, size_t width, size_t rows,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D c;
    const cudaError_t error = rectangle(&c, dst, dst_pitch, src, src_pitch, width, rows, kind);

    return rt_keep(error ? error : cuMemcpy2DAsync_v2(&c, stream));
}

cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream)
{
    ENTER_AND(cuMemsetD8Async(at(p), (unsigned char)value, bytes, stream));
}

cudaError_t cudaMemset(void *p, int value, size_t bytes)
{
    return cudaMemsetAsync(p, value, bytes, CU_STREAM_LEGACY);
}

cudaError_t cudaMemset2DAsync(void *p, size_t pitch, int value, size_t width, size_t rows, cudaStream_t stream)
{
    ENTER_AND(cuMemsetD2D8Async(at(p), pitch, (unsigned char)value, width, rows, stream));
}

cudaError_t cudaMemset2D(void *p, size_t pitch, int value, size_t width, size_t rows)
{
    return cudaMemset2DAsync(p, pitch, value, width, rows, CU_STREAM_LEGACY);
}

/* ---- across processes ---- */

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *p)
{
    ENTER_AND(cuIpcGetMemHandle(handle, at(p)));
}

cudaError_t cudaIpcOpenMemHandle(void **p, cudaIpcMemHandle_t handle, unsigned flags)
{
    ENTER_AND(cuIpcOpenMemHandle_v2((CUdeviceptr *)p, handle, flags));
}

cudaError_t cudaIpcCloseMemHandle(void *p)
{
    ENTER_AND(cuIpcCloseMemHandle(at(p)));
}

/* ---- hints ---- */

/* Where managed memory should live makes no difference here. What follows the first two parameters differs between
 * versions of the runtime and is not looked at. */
#pragma GCC visibility push(default)

cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes);
cudaError_t cudaMemPrefetchAsync(const void *p, size_t bytes)
{
    (void)p, (void)bytes;
    return rt_keep(rt_enter());
}

cudaError_t cudaMemAdvise(const void *p, size_t bytes);
cudaError_t cudaMemAdvise(const void *p, size_t bytes)
{
    (void)p, (void)bytes;
    return rt_keep(rt_enter());
}
