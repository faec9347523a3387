/* SPDX-License-Identifier: BSD-3-Clause */
/* The few calls of the CUDA runtime that the examples make, declared anew, so that the examples can be built on a
 * machine without the CUDA Toolkit and run on simulated GPUs. Where there is a Toolkit its own header is used. */
#ifndef TT_CUDA_RUNTIME_API_H
#define TT_CUDA_RUNTIME_API_H

#include <stddef.h>

typedef enum cudaError { cudaSuccess = 0 } cudaError_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned flags);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
const char *cudaGetErrorString(cudaError_t error);

#endif
