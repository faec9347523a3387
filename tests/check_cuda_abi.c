/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds every row of cuda/driver.def against NVIDIA's cuda.h. The work is done by
 * the compiler: that this file compiles is the test. It never sees cuda_abi.h, whose declarations are made from the
 * same rows. */
#include <cuda.h>
#include <stddef.h>
#include <stdio.h>

#define SAME(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a)

#define TT_DRIVER(name, symbol, need, params) SAME(__typeof__(&symbol), CUresult(*) params);
#define TT_DRIVER_CONST(name, value) _Static_assert((name) == (value), #name);
#define TT_DRIVER_HANDLE(name, tag) SAME(name, struct tag *);
#define TT_DRIVER_NUMBER(name, type) _Static_assert(sizeof(name) == sizeof(type), #name);
#define TT_DRIVER_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#include "cuda/driver.def"

/* The layout that cuda_abi.h writes out. */
_Static_assert(offsetof(CUDA_MEMCPY2D, srcHost) == 24 && offsetof(CUDA_MEMCPY2D, srcPitch) == 48, "source");
_Static_assert(offsetof(CUDA_MEMCPY2D, dstXInBytes) == 56 && offsetof(CUDA_MEMCPY2D, dstMemoryType) == 72 &&
               offsetof(CUDA_MEMCPY2D, dstPitch) == 104 && offsetof(CUDA_MEMCPY2D, Height) == 120, "destination");

int main(void)
{
    puts("cuda/driver.def agrees with cuda.h");
    return 0;
}
