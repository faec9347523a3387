/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds every row of cuda/driver.def and tests/simcuda/driver_more.def against NVIDIA's cuda.h. The work is done by
 * the compiler: that this file compiles is the test. It never sees cuda_abi.h, whose declarations are made from the
 * same rows. Older toolkits lack some of the newer entry points, so they are not asked. */
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>

#if CUDA_VERSION >= 13000

/* Exported by every driver, but no longer declared by its header. */
CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device);

#define SAME(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a)

#define TT_DRIVER(name, symbol, need, params) SAME(__typeof__(&symbol), CUresult(*) params);
#define TT_DRIVER_CONST(name, value) _Static_assert((name) == (value), #name);
#define TT_DRIVER_HANDLE(name, tag) SAME(name, struct tag *);
#define TT_DRIVER_NUMBER(name, type) _Static_assert(sizeof(name) == sizeof(type), #name);
#define TT_DRIVER_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) SAME(__typeof__(&symbol), CUresult(*) params);
#include "tests/simcuda/driver_more.def"

/* The layout that cuda_abi.h writes out. */
_Static_assert(offsetof(CUDA_MEMCPY2D, srcHost) == 24 && offsetof(CUDA_MEMCPY2D, srcPitch) == 48, "source");
_Static_assert(offsetof(CUDA_MEMCPY2D, dstXInBytes) == 56 && offsetof(CUDA_MEMCPY2D, dstMemoryType) == 72 &&
               offsetof(CUDA_MEMCPY2D, dstPitch) == 104 && offsetof(CUDA_MEMCPY2D, Height) == 120, "destination");
_Static_assert(sizeof(CUstreamCaptureStatus) == 4 && sizeof(CUdriverProcAddressQueryResult) == 4, "enums");

static const char *const result = "the rows of the driver API agree with cuda.h";

#else

static const char *const result = "the rows of the driver API were not compared: cuda.h is older than 13.0";

#endif

int main(void)
{
    puts(result);
    return 0;
}
