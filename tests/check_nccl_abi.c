/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds every row of cuda/nccl.def against NVIDIA's nccl.h, of whatever version is at hand: rows that came later than
 * it are not asked. The work is done by the compiler: that this file compiles is the test. */
#include <stdio.h>

#if __has_include(<nccl.h>)

#include <cuda.h>
#include <nccl.h>
#include <stddef.h>

/* A declaration that disagrees with the header's does not compile; one that the header lacks stands for itself. */
#define TT_NCCL(name, result, need, since, params) result nccl##name params;
#define TT_NCCL_RESULT(name, value, words) _Static_assert((name) == (value), #name);
#define TT_NCCL_OP(name, value, id) _Static_assert((name) == (value), #name);
#define TT_NCCL_CONST(name, value) _Static_assert((name) == (value), #name);
#define TT_NCCL_HANDLE(name, tag) _Static_assert(__builtin_types_compatible_p(name, struct tag *), #name);
#define TT_NCCL_NUMBER(name) _Static_assert(sizeof(name) == sizeof(unsigned), #name);
#define TT_NCCL_FIELD(name, offset) _Static_assert(offsetof(ncclConfig_t, name) == (offset), #name);
#include "cuda/nccl.def"

/* Enumerators that an older header lacks would not compile. */
#if NCCL_VERSION_CODE >= 22400
#define TT_NCCL_TYPE(name, value, id, bytes, since) _Static_assert((name) == (value), #name);
#include "cuda/nccl.def"
#endif

/* What nccl_abi.h has of it; the magic number is no constant here. */
_Static_assert(sizeof(ncclConfig_t) >= 48, "the configuration of 2.18");

static const char *const result = "the rows of NCCL agree with nccl.h";

#else

static const char *const result = "the rows of NCCL were not compared: there is no nccl.h";

#endif

int main(void)
{
    puts(result);
    return 0;
}
