/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti's public interface. No program needs it to use Tutti: it is for what MPI has no words for. */
#ifndef TUTTI_H
#define TUTTI_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Floating-point formats that MPI has no type for. Sums and products are accumulated in 32 bits and rounded once per
 * reduction. */
enum tutti_format {
    TUTTI_FLOAT16,     /* IEEE binary16, CUDA's __half */
    TUTTI_BFLOAT16,    /* CUDA's __nv_bfloat16 */
    TUTTI_FLOAT8_E4M3, /* OCP FP8: no infinity */
    TUTTI_FLOAT8_E5M2
};

/* A datatype for elements of that format, usable with MPI_SUM, MPI_PROD, MPI_MAX and MPI_MIN in Tutti's reductions, and
 * as an ordinary type of 1 or 2 bytes elsewhere. Tutti's: not to be freed; the same handle each time. Returns
 * MPI_SUCCESS, MPI_ERR_ARG for an unknown format, or the error of the MPI below. Call it after MPI_Init. */
int tutti_type(enum tutti_format format, MPI_Datatype *type);

/* Sets a TUTTI_ variable while the program runs, as if the environment had had it at MPI_Init:
 * tutti_set("TUTTI_ALLREDUCE", "ring"); a NULL value is the default again. Every rank must do the same, between
 * collectives. Returns MPI_SUCCESS; or MPI_ERR_ARG for an unknown name or value, or a variable that is read in MPI_Init
 * alone (TUTTI_TOPO, TUTTI_PROFILE, TUTTI_PROGRESS), having said so on standard error and changed nothing. */
int tutti_set(const char *name, const char *value);

/* The name of the i-th algorithm that serves a collective ("allreduce"), in the order of `tutti info`; NULL when there
 * are no more. */
const char *tutti_algorithm(const char *collective, int i);

/* What carried out this rank's last call of a collective ("allreduce") on comm, and why: "ring (TUTTI_ALLREDUCE, 16K-)".
 * NULL if there has been none, or it is forgotten since. Good until this thread asks again. */
const char *tutti_choice(MPI_Comm comm, const char *collective);

/* 1: from now on a thread moves nonblocking calls on, as with TUTTI_PROGRESS=thread; 0: no longer. For programs that have
 * asked MPI for MPI_THREAD_MULTIPLE. Local. Returns MPI_SUCCESS; or an error, through the handler of MPI_COMM_SELF, if MPI has
 * no such threads, or there is no thread to be had. */
int tutti_progress(int thread);

/* Does now what the first calls on comm would do: finds out where its ranks are, and makes its NCCL communicator, if
 * all ranks can; then NCCL is no longer left out because ranks had no GPU when they were first located. Collective over
 * comm, and can take seconds; best called once the GPUs are chosen (cudaSetDevice). Where MPI was initialised with
 * MPI_THREAD_MULTIPLE that communicator is for calls in streams (below), and none else makes one. Returns MPI_SUCCESS
 * also where there is no NCCL to be had; else an error, through comm's error handler, if not all ranks are heard of
 * within TUTTI_NCCL_TIMEOUT. */
int tutti_comm_prepare(MPI_Comm comm);

/* ---- gradients, in buckets ----
 * A training step makes gradients one after the other, from the last layer to the first, and each is to be reduced over
 * the ranks. One collective per gradient pays its start so many times; one for all of them, at the end, waits for the last
 * gradient. Buckets are between the two: gradients that follow each other are reduced together, by a nonblocking collective
 * of Tutti's that starts when the last of them is ready, while the rest of the step goes on. doc/buckets.md.
 *
 * All functions return MPI_SUCCESS, or an error code after the communicator's error handler has seen it. One thread at a
 * time may use a tutti_buckets. Each rank does the same calls; `ready` alone may come in another order, and at other
 * times, on each of them. Nothing else of the program's has to be in order with what is under way: that has a
 * communicator of its own. */
struct tutti_buckets;

enum tutti_share {
    TUTTI_ALL,   /* each rank gets all of each sum: an allreduce per bucket */
    TUTTI_SHARDS /* rank r gets block r of each tensor, the rest of it being left as it was: a reduce_scatter per bucket.
                    Of count elements over p ranks, block r begins at element count/p*r + min(r, count%p) */
};

/* Sizes of a bucket, besides one that is given in bytes. */
enum {
    TUTTI_BUCKET_MODEL = 0,  /* where the cost model says that all buckets and, once more, the last take least */
    TUTTI_BUCKET_MEASURE = -1 /* the first steps are made with various sizes, a few each, the best of which stays */
};

/* Collective over comm, an intracommunicator. type: a predefined one, or tutti_type's; op: any that goes with it.
 * bucket_bytes: a bucket takes tensors until it has so many, or TUTTI_BUCKET_MODEL or _MEASURE. */
int tutti_buckets_create(MPI_Comm comm, MPI_Datatype type, MPI_Op op, enum tutti_share share, long long bucket_bytes,
                         struct tutti_buckets **buckets);

/* Adds a tensor: count elements at `at`, on the host or on a GPU, reduced in place, which must stay there until `free`.
 * To be called in the order in which a step makes them, before commit; the first is number 0. name: for messages, copied;
 * NULL: "tensor 0". MPI_ERR_COUNT if count is negative or more than INT_MAX. */
int tutti_buckets_add(struct tutti_buckets *buckets, const char *name, void *at, MPI_Count count);

/* No more tensors. Collective: an error on every rank if the tensors' names, lengths or order, or what create was told,
 * are not the same on all. Takes as much memory as all tensors have, where the first of them is, unless they lie one
 * behind the other in memory, in the order in which they were added: then nothing is copied. */
int tutti_buckets_commit(struct tutti_buckets *buckets);

/* The tensor's gradient is there (all that a GPU's stream does to it is over), and may not be touched before `wait`. Starts
 * what can start; never waits for other ranks, but for the GPU to have copied what a bucket that starts consists of. */
int tutti_buckets_ready(struct tutti_buckets *buckets, int tensor);

/* Ends the step: all gradients are reduced. An error on every rank, which names them, if there are tensors that were not
 * ready on some; what is in the tensors is undefined then. The next `ready` begins the next step. */
int tutti_buckets_wait(struct tutti_buckets *buckets);

/* How this rank's last step went. */
struct tutti_overlap {
    int buckets;            /* how many there were, */
    long long bucket_bytes; /* the size they were made for, and */
    long long bytes;        /* their bytes in all */
    double step;            /* seconds from the first `ready` to the end of `wait` */
    double exposed;         /* seconds of it in `wait` */
    double overlap;         /* of all bytes, those that had been reduced when `wait` was called: 0 to 1 */
    int late;               /* buckets that had not */
    long long last_bytes;   /* of the last bucket, which can start only when the last gradient is there */
    int out_of_order;       /* tensors, over all steps, that were ready on this rank before one added earlier */
    char why[512];          /* in words, why so much of it is exposed */
    int differed;           /* steps, of all, in which tensors were not ready in the same order on all ranks */
    char order[256];        /* the first such step's first difference, with rank and tensor; "" if there was none */
};

/* MPI_ERR_OTHER before the first step has ended. */
int tutti_buckets_overlap(const struct tutti_buckets *buckets, struct tutti_overlap *overlap);

/* Frees them, and sets *buckets to NULL. Collective. An error, and nothing is freed, in the midst of a step. */
int tutti_buckets_free(struct tutti_buckets **buckets);

/* ---- collectives in the order of a CUDA stream ----
 * As the MPI_ functions of these names, and they return at once; stream is a cudaStream_t or CUstream of the current
 * context. The collective begins when the stream has come to it, and the stream goes on when it is over on this rank:
 * kernels before it may write its send buffer, kernels behind it may read its results. Buffers, datatypes, ops and
 * communicator must stay until then; arrays of counts, displacements and types are copied. Each rank enqueues the calls
 * on a communicator in the same order. They need TUTTI_PROGRESS=thread at MPI_Init, which moves them on. The program
 * may not make the stream wait, by a host function of its own (cudaLaunchHostFunc) in another stream, for what comes
 * behind a collective: CUDA runs one host function after the other.
 *
 * By NCCL: where tutti_comm_prepare has made an NCCL communicator, calls that the selector gives to NCCL are launched
 * in the stream by the calling thread, behind what is in the stream and behind all that was enqueued before on this MPI
 * communicator. Then each rank's buffers must be memory that its GPU reaches (device, managed or pinned), the data of a
 * buffer in one piece, and calls on several prepared communicators that share ranks are enqueued in the same order on
 * all ranks: NCCL would wait for ever. The first call waits for the others to make theirs.
 *
 * MPI_SUCCESS; or an error, through the communicator's error handler, and nothing is enqueued: no progress thread, no
 * CUDA in this process, or a stream that is being captured into a graph. What goes wrong later is told to the error
 * handler, by the progress thread, and is what the next of these calls returns. When NCCL has failed on a rank, or a
 * rank could not give it a call, all calls in streams that are NCCL's fail on that communicator, on all ranks, until
 * all of them call tutti_comm_prepare again; then the host drives them. */
int tutti_allreduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, void *stream);
int tutti_reduce_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, void *stream);
int tutti_bcast_enqueue(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, void *stream);
int tutti_allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_reduce_scatter_enqueue(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, void *stream);
int tutti_reduce_scatter_block_enqueue(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, void *stream);
int tutti_alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_gather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, void *stream);
int tutti_scatter_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, void *stream);
int tutti_scan_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, void *stream);
int tutti_exscan_enqueue(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, void *stream);
int tutti_allgatherv_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_gatherv_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, void *stream);
int tutti_scatterv_enqueue(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, void *stream);
int tutti_alltoallv_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_alltoallw_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, void *stream);
int tutti_neighbor_allgather_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_neighbor_allgatherv_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_neighbor_alltoall_enqueue(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_neighbor_alltoallv_enqueue(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, void *stream);
int tutti_neighbor_alltoallw_enqueue(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, void *stream);
int tutti_barrier_enqueue(MPI_Comm comm, void *stream);

/* "0.1.0" */
const char *tutti_version(void);

#ifdef __cplusplus
}
#endif

#endif
