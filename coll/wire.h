/* SPDX-License-Identifier: BSD-3-Clause */
/* How bytes pass between two ranks. One table of functions per way. */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* A message under way, or done. */
struct tt_flight {
    size_t bytes; /* expected */
    int peer;
    bool incoming;
};

/* Functions return MPI error codes. Nothing blocks. */
struct tt_wire {
    const char *name;
    int (*send)(MPI_Comm comm, int peer, int tag, const void *buf, size_t bytes, MPI_Request *request);
    int (*recv)(MPI_Comm comm, int peer, int tag, void *buf, size_t bytes, MPI_Request *request);
    /* *done: all n have arrived or left, and statuses are set. */
    int (*test)(int n, MPI_Request *requests, MPI_Status *statuses, bool *done);
    /* The bytes that a done receive brought. */
    size_t (*length)(const MPI_Status *status);
};

/* PMPI_Isend and PMPI_Irecv: works everywhere. */
extern const struct tt_wire tt_wire_p2p;

#endif
