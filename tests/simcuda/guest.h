/* SPDX-License-Identifier: BSD-3-Clause */
/* What libcuda.so.1 of the simulated device does for another library that puts work on it, as the stand-in for NCCL:
 * what real ones do with kernels of their own. Not for programs. */
#ifndef SIM_GUEST_H
#define SIM_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_abi.h"

#pragma GCC visibility push(default)

/* The context that is current, healthy and alive. */
struct simcuda_guest_context {
    CUcontext context;
    int device;
    CUuuid uuid;
    bool primary;
    unsigned long long life; /* another number after a reset */
};
CUresult simcuda_guest_context(struct simcuda_guest_context *context);

/* [at, at + bytes), if it is one piece of device or managed memory. */
struct simcuda_guest_memory {
    char *real; /* where the simulator touches it */
    int device;
    int fd; /* of the file that another process reads it from, and where in it; -1: memory of this process alone */
    uint64_t offset;
};
bool simcuda_guest_memory(const void *at, size_t bytes, struct simcuda_guest_memory *memory);

/* Work in a stream of the current context: run is called on the stream's thread, without locks, as long as it likes;
 * once *ending is set, the context is about to end, and it should return. Nonzero breaks the context. end is called
 * exactly once, run or not, also where this fails; it may not call the driver. Counts as a driver call and a launch. */
CUresult simcuda_guest_submit(CUstream stream, CUresult (*run)(void *data, const bool *ending), void (*end)(void *data),
                              void *data);

/* Faults of TUTTI_SIM_FAULT that are the guest's: is one due now? It counts down. */
enum simcuda_guest_fault { GUEST_INIT, GUEST_ABSENT, GUEST_EXIT, GUEST_STUCK, GUEST_ERROR, GUEST_NFAULTS };
bool simcuda_guest_due(enum simcuda_guest_fault fault);
unsigned long simcuda_guest_delay_ms(void);

#pragma GCC visibility pop

#endif
