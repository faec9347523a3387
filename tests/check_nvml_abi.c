/* SPDX-License-Identifier: BSD-3-Clause */
/* Holds every row of cuda/nvml.def against NVIDIA's nvml.h, which not every Toolkit is installed with. The work is done
 * by the compiler: that this file compiles is the test. In some versions a device is a struct around its one pointer,
 * which is passed as the pointer is. */
#include <stdio.h>

#if __has_include(<nvml.h>)

#include <nvml.h>

#define TT_NVML(name, params)                                                                                          \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), nvmlReturn_t(*) params), #name);
#define TT_NVML_CONST(name, value) _Static_assert((name) == (value), #name);
#define TT_NVML_HANDLE(name, tag) _Static_assert(sizeof(name) == sizeof(struct tag *), #name);
#define TT_NVML_NUMBER(name) _Static_assert(sizeof(name) == sizeof(unsigned), #name);
#include "cuda/nvml.def"

static const char *const result = "the rows of NVML agree with nvml.h";

#else

static const char *const result = "the rows of NVML were not compared: there is no nvml.h";

#endif

int main(void)
{
    puts(result);
    return 0;
}
