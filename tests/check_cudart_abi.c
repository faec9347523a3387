/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds every row of tests/simcuda/runtime.def against NVIDIA's cuda_runtime_api.h, of whichever version is
 * installed. The work is done by the compiler: that this file compiles is the test. */
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdio.h>

#define SAME(a, b) _Static_assert(__builtin_types_compatible_p(a, b), #a)

#define TT_RUNTIME(type, name, params) SAME(__typeof__(&name), type(*) params);
#define TT_PROPERTY(field, kind, value, offset12, offset13)                                                            \
    _Static_assert(offsetof(struct cudaDeviceProp, field) == (CUDART_VERSION >= 13000 ? offset13 : offset12), #field); \
    SAME(__typeof__(((struct cudaDeviceProp *)0)->field), kind);
#include "tests/simcuda/runtime.def"

_Static_assert(sizeof(struct cudaDeviceProp) == (CUDART_VERSION >= 13000 ? 1008 : CUDART_VERSION >= 12000 ? 1032 : 728),
               "properties");
_Static_assert(offsetof(struct cudaDeviceProp, uuid) == 256, "uuid");
_Static_assert(sizeof(struct cudaPointerAttributes) == (CUDART_VERSION >= 13000 ? 88 : 24), "pointer attributes");
_Static_assert(offsetof(struct cudaPointerAttributes, hostPointer) == 16, "pointer attributes");
_Static_assert(sizeof(dim3) == 12 && sizeof(cudaIpcMemHandle_t) == 64 && sizeof(cudaIpcEventHandle_t) == 64, "sizes");
_Static_assert(cudaMemcpyDefault == 4 && cudaMemoryTypeManaged == 3 && cudaErrorInvalidMemcpyDirection == 21 &&
               cudaErrorNoKernelImageForDevice == 209 && cudaErrorInvalidDeviceFunction == 98 &&
               cudaErrorMissingConfiguration == 52 && cudaErrorInvalidSymbol == 13 && cudaInvalidDeviceId == -2,
               "numbers");

int main(void)
{
    puts("the rows of the runtime API agree with cuda_runtime_api.h");
    return 0;
}
