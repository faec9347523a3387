/* SPDX-License-Identifier: BSD-3-Clause */
/* How bytes pass between two ranks. One table of functions per way, and a communicator's routes say which way leads to
 * whom. A message under way is a flight; the flights of one round of one lane are a batch, which is posted flight by
 * flight and polled as one, each way polling its own. */
#ifndef TT_WIRE_H
#define TT_WIRE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tt_channel; /* node.h: to a rank of this node */

enum tt_distance { TT_NEAR, TT_FAR, TT_DISTANCES };

/* The ways from this rank to those of a communicator. What leads to whom depends on where the two ranks are alone, and
 * both know it alike. */
struct tt_routes {
    MPI_Comm comm; /* private */
    const struct tt_wire *wire[TT_DISTANCES];
    struct tt_channel **channels; /* to each rank; NULL: it is far. All are, where there is no such array */
    uint64_t context;             /* tells the communicator from others, to whoever is near */
};

/* A message under way, or over. */
struct tt_flight {
    /* set by who posts it */
    void *buf; /* only read, if it is a send */
    size_t bytes;
    int peer, tag;
    bool incoming;
    struct tt_channel *channel; /* NULL: far */
    int step;                   /* of the plan, for who posted it */
    /* set by the wire */
    bool over;
    size_t arrived; /* what a receive that is over has brought */
    bool taken;     /* for who posted it: it has looked at that */
};

/* The messages of one round of one lane. */
struct tt_batch {
    const struct tt_routes *routes;
    int n;
    struct tt_flight *flights;
    bool eager; /* flights are marked over one by one, as far as they are; else all at once will do */
    int carried[TT_DISTANCES]; /* of them, that may not be over yet */
    /* of those that are far, in their order */
    int nrequests;
    MPI_Request *requests;
    MPI_Status *statuses;
    int *indices; /* room */
};

/* Functions return MPI error codes. Nothing blocks. */
struct tt_wire {
    const char *name;
    /* Takes this flight, which is batch->flights[batch->n]; the caller counts it if that was no error. */
    int (*post)(struct tt_batch *batch, struct tt_flight *flight);
    /* *done: all of the batch's flights that this wire carries are over. With an error some may have ended, and the
     * others are to be polled again. */
    int (*poll)(struct tt_batch *batch, bool *done);
};

/* PMPI_Isend and PMPI_Irecv: works everywhere. */
extern const struct tt_wire tt_wire_p2p;

#endif
