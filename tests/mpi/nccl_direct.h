/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call of NCCL asks of the driver when it is the program's own: by which Tutti's calls of it are judged. */
#ifndef NCCL_DIRECT_H
#define NCCL_DIRECT_H

#include <dlfcn.h>

#include "cuda/nccl_abi.h"
#include "tests/mpi/harness.h"

/* One call of the driver is any but a question whether it is done. Collective: a communicator is made for it. */
static inline unsigned long long nccl_direct_calls(const void *send, void *recv, int n)
{
    void *nccl = dlopen("libnccl.so.2", RTLD_NOW), *stream;
    ncclResult_t (*get_id)(ncclUniqueId *), (*init)(ncclComm_t *, int, ncclUniqueId, int), (*destroy)(ncclComm_t);
    ncclResult_t (*sum)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, CUstream);
    struct simcuda_counters counted;
    ncclUniqueId id;
    ncclComm_t comm;

    *(void **)&get_id = dlsym(nccl, "ncclGetUniqueId");
    *(void **)&init = dlsym(nccl, "ncclCommInitRank");
    *(void **)&sum = dlsym(nccl, "ncclAllReduce");
    *(void **)&destroy = dlsym(nccl, "ncclCommDestroy");
    if (test_rank == 0)
        get_id(&id);
    PMPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    cudaStreamCreateWithFlags(&stream, 1);
    test_check(init(&comm, test_size, id, test_rank) == ncclSuccess, "no NCCL");
    PMPI_Barrier(MPI_COMM_WORLD);
    simulator.reset();
    test_check(sum(send, recv, (size_t)n, ncclFloat32, ncclSum, comm, stream) == ncclSuccess, "no sum");
    simulator.counters(&counted);
    cudaStreamSynchronize(stream);
    PMPI_Barrier(MPI_COMM_WORLD);
    destroy(comm);
    cudaStreamDestroy(stream);
    return counted.calls - counted.queries;
}

#endif
