/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL as far as Tutti speaks it, declared as cuda_abi.h has the driver, so that nccl.h need not be at hand where Tutti
 * is built; never include NVIDIA's nccl.h beside it. */
#ifndef TT_NCCL_ABI_H
#define TT_NCCL_ABI_H

#include <limits.h>
#include <stddef.h>

#include "cuda/cuda_abi.h"

#define TT_NCCL_NUMBER(name) typedef unsigned name;
#define TT_NCCL_HANDLE(name, tag) typedef struct tag *name;
#include "cuda/nccl.def"

#define TT_NCCL_RESULT(name, value, words) name = value,
#define TT_NCCL_TYPE(name, value, id, bytes, since) name = value,
#define TT_NCCL_OP(name, value, id) name = value,
#define TT_NCCL_CONST(name, value) name = value,
enum {
#include "cuda/nccl.def"
};

typedef struct {
    char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

/* As NCCL 2.18 has it, which every later one reads: it takes `size` bytes and gives the fields behind them their
 * defaults. `later` is padding there, and from 2.25 on a field, trafficClass, which would be read with them: it is
 * undefined in words that both understand. */
typedef struct {
    size_t size;
    unsigned magic, version;
    int blocking, cgaClusterSize, minCTAs, maxCTAs;
    const char *netName;
    int splitShare, later;
} ncclConfig_t;

#define TT_NCCL_FIELD(name, offset) _Static_assert(offsetof(ncclConfig_t, name) == (offset), #name);
#include "cuda/nccl.def"

#endif
