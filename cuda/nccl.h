/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL, if it is there: its entry points, and its errors as words. Nothing here talks to other ranks. */
#ifndef TT_CUDA_NCCL_H
#define TT_CUDA_NCCL_H

#include <stdbool.h>

#include "cuda/dev.h"
#include "cuda/nccl_abi.h"

enum { TT_NCCL_OLDEST = 21800 };

/* By the symbols' names without their prefix; rows that say MAY can be NULL. */
struct tt_nccl {
#define TT_NCCL(name, result, need, since, params) result(*name) params;
#include "cuda/nccl.def"
    int version; /* as NCCL counts: 22703 is 2.27.3 */
    bool simulated;
};

/* Opens libnccl.so.2, which can take tens of milliseconds, the first time; the answer is remembered. NULL with
 * tt_fault() set, each time, where it is missing, too old or none. Thread-safe; makes no driver call. */
const struct tt_nccl *tt_nccl_open(void);

/* 0 on success, and for what is still in progress; else -1, with tt_fault() "<what was tried>: <NCCL's words> (<its
 * name for it>): <its last error's words, where it has any>". comm may be NULL. */
int tt_nccl_error(const struct tt_nccl *nccl, ncclComm_t comm, ncclResult_t result, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The stream of a queue of a device's place, which must have been entered. 0, or -1 with tt_fault() set. */
int tt_place_stream(struct tt_place *place, int queue, CUstream *stream);

/* Can this NCCL work on a device's place? It does, with the CUDA runtime, in its device's primary context alone, and a
 * simulated one on simulated devices. */
bool tt_place_suits(const struct tt_place *place, const struct tt_nccl *nccl);

/* For CommInitRankConfig of any NCCL from 2.18: everything as NCCL has it by itself, but for blocking. */
ncclConfig_t tt_nccl_config(bool blocking);

#endif
