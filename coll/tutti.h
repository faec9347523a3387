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

/* Does now what the first calls on comm would do: finds out where its ranks are, and makes its NCCL communicator, if all
 * ranks can; then NCCL is no longer left out because ranks had no GPU when they were first located. Collective over comm,
 * and can take seconds; best called once the GPUs are chosen (cudaSetDevice). Returns MPI_SUCCESS also where there is no
 * NCCL to be had; else an error, through comm's error handler, if not all ranks are heard of within TUTTI_NCCL_TIMEOUT. */
int tutti_comm_prepare(MPI_Comm comm);

/* "0.1.0" */
const char *tutti_version(void);

#ifdef __cplusplus
}
#endif

#endif
