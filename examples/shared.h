/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory for the examples: a GPU's managed memory, which the examples' plain C can compute in and which MPI is given as
 * it is, or the host's where there is no GPU. To MPI managed memory is a GPU's: most MPIs without Tutti do not take it.
 */
#ifndef SHARED_H
#define SHARED_H

#include <cuda_runtime_api.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared_gpus;

/* One GPU per rank of a node, in turn. */
static inline void shared_open(const char *program)
{
    MPI_Comm node;
    int place, rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &place);
    MPI_Comm_free(&node);
    if (cudaGetDeviceCount(&shared_gpus) != cudaSuccess || shared_gpus < 1)
        shared_gpus = 0;
    else if (cudaSetDevice(place % shared_gpus) != cudaSuccess)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("%s: %d ranks, in %s memory\n", program, size, shared_gpus ? "managed GPU" : "host");
}

/* Zeros. */
static inline void *shared_new(size_t bytes)
{
    void *at = NULL;

    if (shared_gpus ? cudaMallocManaged(&at, bytes + 1, 1) != cudaSuccess : !(at = malloc(bytes + 1)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(at, 0, bytes);
    return at;
}

static inline void shared_free(void *at)
{
    if (shared_gpus)
        cudaFree(at);
    else
        free(at);
}

#endif
