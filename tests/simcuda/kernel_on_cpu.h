/* SPDX-License-Identifier: BSD-3-Clause */
/* What turns the source of the device kernels into C for the CPU: gcc -x c -include this cuda/kernels.cu. Each kernel
 * becomes a function that does the work of one thread of the grid; the simulator calls it once for each. */
#ifndef KERNEL_ON_CPU_H
#define KERNEL_ON_CPU_H

#include "tests/simcuda/simcuda.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __restrict__ restrict

/* Of the thread that is being played. */
extern _Thread_local struct simcuda_where sim_here;
#define threadIdx (sim_here.thread)
#define blockIdx (sim_here.block)
#define blockDim (sim_here.threads)
#define gridDim (sim_here.blocks)

#endif
