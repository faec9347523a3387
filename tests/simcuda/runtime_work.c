/* SPDX-License-Identifier: BSD-3-Clause */
/* The runtime's streams, events and kernels. A program's own kernels are code for a GPU: there is nothing to run on the
 * CPU, unless a kernel of that name was compiled for it (simcuda.h), and the person is told which one is missing. */
#include "tests/simcuda/runtime.h"

#include <pthread.h>
#include <stdlib.h>

#define ENTER_AND(call)                                                                                                \
    do {                                                                                                               \
        const cudaError_t entered = rt_enter();                                                                        \
        return rt_keep(entered ? entered : (call));                                                                    \
    } while (0)

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    ENTER_AND(cuStreamCreateWithPriority(stream, flags, priority));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, CU_STREAM_DEFAULT, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    ENTER_AND(cuStreamDestroy_v2(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    ENTER_AND(cuStreamQuery(stream));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    ENTER_AND(cuStreamSynchronize(stream));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    ENTER_AND(cuStreamWaitEvent(stream, event, flags));
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags)
{
    ENTER_AND(cuStreamGetFlags(stream, flags));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority)
{
    ENTER_AND(cuStreamGetPriority(stream, priority));
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    ENTER_AND(cuStreamAddCallback(stream, callback, data, flags));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data)
{
    ENTER_AND(cuLaunchHostFunc(stream, function, data));
}

/* ---- events ---- */

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    ENTER_AND(cuEventCreate(event, flags));
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, CU_EVENT_DEFAULT);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    ENTER_AND(cuEventDestroy_v2(event));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER_AND(cuEventRecord(event, stream));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags)
{
    ENTER_AND(cuEventRecordWithFlags(event, stream, flags));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    ENTER_AND(cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    ENTER_AND(cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    ENTER_AND(cuEventElapsedTime(ms, start, end));
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    ENTER_AND(cuIpcGetEventHandle(handle, event));
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t handle)
{
    ENTER_AND(cuIpcOpenEventHandle(event, handle));
}

/* ---- what nvcc's host code calls at start-up ---- */

/* A kernel by the address of its host stub. */
struct registered {
    struct registered *next;
    const void *function;
    const char *name;
};

static struct registered *registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#pragma GCC visibility push(default)

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit, void *tid,
                            void *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
                       int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
                              int constant, int global);
char __cudaInitModule(void **handle);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(const void **kernel, const void *function);
cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                               cudaStream_t stream);
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind);

#pragma GCC visibility pop

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle; /* only its address is ever used */

    (void)binary;
    return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name, int limit, void *tid,
                            void *bid, dim3 *block, dim3 *grid, int *warp)
{
    struct registered *r = malloc(sizeof *r);

    (void)handle, (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    if (!r)
        return; /* its launch will say that there is no such kernel */
    pthread_mutex_lock(&lock);
    *r = (struct registered){registered, function, name};
    registered = r;
    pthread_mutex_unlock(&lock);
}

/* Variables on the device are for kernels, of which there are none. */
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, size_t size, int constant,
                       int global)
{
    (void)handle, (void)host, (void)device, (void)name, (void)ext, (void)size, (void)constant, (void)global;
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, size_t size,
                              int constant, int global)
{
    (void)handle, (void)host, (void)device, (void)name, (void)ext, (void)size, (void)constant, (void)global;
}

char __cudaInitModule(void **handle)
{
    (void)handle;
    return 1;
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t bytes, size_t offset,
                               enum cudaMemcpyKind kind)
{
    (void)symbol, (void)src, (void)bytes, (void)offset, (void)kind;
    return rt_keep(cudaErrorInvalidSymbol);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t bytes, size_t offset, enum cudaMemcpyKind kind)
{
    (void)dst, (void)symbol, (void)bytes, (void)offset, (void)kind;
    return rt_keep(cudaErrorInvalidSymbol);
}

/* ---- launches ---- */

/* What <<<...>>> leaves for the stub that it calls. */
static _Thread_local struct {
    bool pushed;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
} call;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream)
{
    call.pushed = true;
    call.grid = grid;
    call.block = block;
    call.shared_bytes = shared_bytes;
    call.stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    if (!call.pushed)
        return rt_keep(cudaErrorMissingConfiguration);
    call.pushed = false;
    *grid = call.grid;
    *block = call.block;
    *shared_bytes = call.shared_bytes;
    *(cudaStream_t *)stream = call.stream;
    return CUDA_SUCCESS;
}

static const char *name_of(const void *function)
{
    const char *name = NULL;

    pthread_mutex_lock(&lock);
    for (const struct registered *r = registered; r && !name; r = r->next)
        if (r->function == function)
            name = r->name;
    pthread_mutex_unlock(&lock);
    return name;
}

static cudaError_t launch(const char *name, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                          cudaStream_t stream)
{
    CUmodule module;
    CUfunction function;
    cudaError_t error = cuModuleLoadData(&module, name);

    if (error)
        return error;
    error = cuModuleGetFunction(&function, module, name);
    if (!error)
        error = cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, (unsigned)shared_bytes,
                               stream, args, NULL);
    cuModuleUnload(module); /* what has been launched does not need it */
    if (error != CUDA_ERROR_NOT_FOUND)
        return error;
    rt_say("no CPU code for the kernel %s: a program's own kernels need a GPU", name);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                             cudaStream_t stream)
{
    const char *name = name_of(function);
    cudaError_t error = rt_enter();

    if (!error && !name)
        error = cudaErrorInvalidDeviceFunction;
    return rt_keep(error ? error : launch(name, grid, block, args, shared_bytes, stream));
}

/* CUDA 13 names a kernel by a handle; ours is the stub's address again. */
cudaError_t __cudaGetKernel(const void **kernel, const void *function)
{
    *kernel = function;
    return CUDA_SUCCESS;
}

cudaError_t __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
                               cudaStream_t stream)
{
    return cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream);
}
