/* SPDX-License-Identifier: BSD-3-Clause */
/* What a test may ask of the simulated device. These functions live in its libcuda.so.1 beside the driver API; a
 * program that is not linked with it finds them with dlsym. They need no context, count as no driver call and may be
 * called at any time.
 *
 * The environment it reads, at cuInit, strictly:
 *   TUTTI_SIM_GPUS=N       devices of the node, 0 to 64, 1 by default; CUDA_VISIBLE_DEVICES picks among them
 *   TUTTI_SIM_MEMORY=SIZE  memory of each device, such as 512M; 8G by default
 *   TUTTI_SIM_LINKS=HOW    what joins the GPUs: nvlink (the default), pcie, or none: they cannot reach each other
 *   TUTTI_SIM_NVML=HOW     which GPUs the libnvidia-ml.so.1 beside it shows: all (the default), own: those in
 *                          CUDA_VISIBLE_DEVICES; none: it does not start
 *   TUTTI_SIM_NCCL_VERSION=N  what the libnccl.so.2 beside it says that it is, as NCCL counts: 22809 by default; it
 *                          refuses what came later. none: each of its calls fails. Read by that library
 *   TUTTI_SIM_DELAY_US=N   each piece of asynchronous work takes at least this long
 *   TUTTI_SIM_FAULT=SPEC   as simcuda_inject
 */
#ifndef SIMCUDA_H
#define SIMCUDA_H

#include <stddef.h>

enum simcuda_direction { SIMCUDA_H2H, SIMCUDA_H2D, SIMCUDA_D2H, SIMCUDA_D2D, SIMCUDA_NDIRECTIONS };

/* Of this process, since its start or the last reset. Managed memory counts as D, pinned as H. */
struct simcuda_counters {
    unsigned long long calls;                       /* of driver entry points, all of them */
    unsigned long long copies[SIMCUDA_NDIRECTIONS]; /* by enum simcuda_direction; copies of no bytes are none */
    unsigned long long bytes[SIMCUDA_NDIRECTIONS];
    unsigned long long fills;                       /* memset */
    unsigned long long launches;                    /* of kernels */
    unsigned long long syncs;                       /* calls that wait: stream, event and context synchronize, and
                                                       every copy or free that does not return before it is done */
    unsigned long long queries;                     /* of streams and events */
    unsigned long long pointer_queries;
    unsigned long long host_functions, value_waits; /* given to streams */
    unsigned long long device_allocs, device_frees; /* device and managed memory */
    unsigned long long pinned_allocs, pinned_frees; /* and registrations */
    unsigned long long streams, events;             /* created */
    unsigned long long contexts;                    /* created, primary ones too */
    unsigned long long exports, opens, closes;      /* of memory between processes (IPC) */
    unsigned long long peer_bytes;                  /* of other processes' memory, that copies and kernels (of which it
                                                       is known what they touch) were told to read or write */
};

void simcuda_counters(struct simcuda_counters *counters);
void simcuda_reset(void); /* counters to zero, faults and delay off, held work released */

/* Where the simulator itself reads and writes what the program knows as device_ptr; NULL if that is no live device
 * memory. A test looks at device memory through it, without a driver call. */
void *simcuda_alias(const void *device_ptr);

/* Parts separated by ';':
 *   oom:after=N     the N-th allocation of device memory from now fails, once
 *   pinned:after=N  the N-th allocation or registration of pinned memory fails, once
 *   oom:from=N, pinned:from=N  the N-th and all later ones fail
 *   code:from=N     the N-th and all later modules hold no code for the device
 *   ipc-export:from=N, ipc-open:from=N  the N-th allocation and all later ones cannot be named to other processes, or
 *                   the N-th of others and all later ones cannot be opened: as where a container forbids it
 *   sticky:after=N  the N-th copy, fill or launch from now breaks its context: CUDA_ERROR_ILLEGAL_ADDRESS ever after
 *   lost:after=N    at the N-th copy, fill or launch its context is destroyed, with all its memory
 *   delay:us=N      as TUTTI_SIM_DELAY_US
 *   nccl-init:after=N    the N-th communicator that this process makes from now fails here: the others wait for it
 *   nccl-absent:after=N  at the N-th it never comes: here and elsewhere they wait
 *   nccl-exit:after=N    the process exits while it makes the N-th, once the others have met it
 *   nccl-delay:ms=N      making one takes that much longer
 *   nccl-stuck:after=N   the N-th operation that this process gives to NCCL is never begun
 *   nccl-error:after=N   the N-th never ends, and says so: an asynchronous error, ncclRemoteError
 *   hold            asynchronous work is accepted but not begun, so that a test need not depend on time
 *   release         it is begun again
 * Returns 0, or -1 after saying on stderr what is wrong; then nothing is changed. */
int simcuda_inject(const char *spec);

/* Code on the CPU that stands for a kernel of that name. It is called once per thread of the grid with its one
 * parameter, a struct of `bytes` bytes in which device pointers have been replaced. name must stay valid. */
struct simcuda_where {
    struct {
        unsigned x, y, z;
    } thread, block, threads, blocks; /* threadIdx, blockIdx, blockDim, gridDim */
};
typedef void simcuda_kernel(const void *param, const struct simcuda_where *where);
int simcuda_add_kernel(const char *name, size_t bytes, simcuda_kernel *code); /* -1: no memory */

#endif
