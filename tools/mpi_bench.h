/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring with all ranks. Rank 0 decides what comes next and the others do as they are told, so that no decision is
 * ever made twice. What is told, and the times that are gathered, go by the MPI below on a communicator of its own,
 * past what is being measured. */
#ifndef TT_TOOLS_MPI_BENCH_H
#define TT_TOOLS_MPI_BENCH_H

#include <mpi.h>

#include "selector/tune.h"
#include "tools/mpi_memory.h"

/* What the ranks are told to do. */
enum tool_what {
    TOOL_END,
    TOOL_CALLS,     /* of a collective */
    TOOL_PING_PONG, /* between ranks a and b: the time of one message */
    TOOL_EXCHANGE,  /* between ranks a and b, both ways at once */
    TOOL_POST,      /* of messages by rank a to b: what each costs the sender */
    TOOL_REDUCE,    /* two vectors into one, by every rank */
    TOOL_COPY
};

struct tool_order {
    int32_t what, coll, alg, calls; /* alg: its place in tt_algs; -1: what is chosen while nobody pins it */
    int64_t bytes, segment;
    int32_t a, b;
};

struct tool_bench {
    struct tt_bench is; /* first */
    MPI_Comm control;
    int rank, size;
    struct tool_memory memory;
    size_t room; /* bytes of each of the two buffers */
    char *send, *recv;
    int *counts, *displs; /* of blocks */
    double began;
    int pinned; /* the collective that has a pin, or -1 */
    int pinned_alg;
    int64_t pinned_segment;
};

/* Collective. Device memory is on the GPU of this rank's number on its node. 0, or -1, on all ranks, with why filled on
 * those where something is wrong. room: bytes of a buffer. */
int tool_bench_open(struct tool_bench *b, bool device, size_t room, char *why, size_t size);
void tool_bench_close(struct tool_bench *b);

/* What all but rank 0 do, until rank 0 gives TOOL_END. */
void tool_bench_serve(struct tool_bench *b);

/* Rank 0's: the median of as many times as order.calls says, in seconds; negative: the user wants an end. */
double tool_bench_do(struct tool_bench *b, struct tool_order order);

/* From now on ^C only asks for an end, of which tool_bench_do tells; a second one is as always. */
void tool_bench_catch_signals(void);

#endif
