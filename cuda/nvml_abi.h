/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML as far as Tutti speaks it, declared as cuda_abi.h has the driver; never include NVIDIA's nvml.h beside it. */
#ifndef TT_NVML_ABI_H
#define TT_NVML_ABI_H

#define TT_NVML_NUMBER(name) typedef unsigned name;
#define TT_NVML_HANDLE(name, tag) typedef struct tag *name;
#include "cuda/nvml.def"

#define TT_NVML_CONST(name, value) name = value,
enum {
#include "cuda/nvml.def"
};

#endif
