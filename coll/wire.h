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
struct tt_place;   /* cuda/dev.h */
struct tt_cell;    /* cuda/cells.h */
struct tt_name;

enum tt_distance { TT_NEAR, TT_FAR, TT_DISTANCES };

/* The ways from this rank to those of a communicator. What leads to whom depends on where the two ranks are alone, and
 * both know it alike. */
struct tt_routes {
    MPI_Comm comm; /* private */
    const struct tt_wire *wire[TT_DISTANCES];
    struct tt_channel **channels; /* to each rank; NULL: it is far. All are, where there is no such array */
    bool *near;                   /* what of each rank is not NULL there; or NULL */
    bool all_near;                /* but for this rank itself */
    uint64_t context;             /* tells the communicator from others, to whoever is near */
};

/* What is to become of bytes that arrive, all on the host: dst = other op what arrives; or, if it is what stands to the
 * left, the other way round. dst may be other. */
struct tt_fold {
    const struct tt_cell *cell; /* NULL: nothing */
    char *dst;
    const char *other;
    bool left;
};

/* A message under way, or over. */
struct tt_flight {
    /* set by who posts it */
    void *buf; /* only read, if it is a send */
    size_t bytes;
    size_t touched; /* bytes of memory that the call touches on this rank: what of it stays in a cache */
    int peer, tag;
    bool incoming;
    bool is_segment;            /* of something longer: the next one is written while this one is read */
    struct tt_channel *channel; /* NULL: far */
    struct tt_place *place;     /* who copies from or to buf; NULL: it is the host's */
    int queue;                  /* and the first of its queues for that, one for each enum tt_flow */
    bool lends;                 /* a receive's bytes may stay where they are until it is released */
    struct tt_fold fold;        /* what a wire that has the bytes in its hands may do instead of putting them into buf */
    int step;                   /* of the plan, for who posted it */
    struct tt_flight *onward;   /* a send, to somebody near, of what this receive makes, all of it and nothing else: not
                                   posted, but a wire that has the bytes in its hands may carry it out; then it is over */
    /* set by the wire */
    bool over;
    bool folded;    /* it did that */
    bool failed;    /* not all bytes could be copied: tt_fault() says why */
    bool lost;      /* the other has died before it was */
    size_t arrived; /* what a receive that is over has brought */
    const void *at; /* lent, elsewhere than in buf; NULL: it is there */
    bool taken;     /* for who posted it: it has looked at that */
    /* a channel's own */
    uint64_t context;
    bool past;       /* the caches goes what it brings */
    size_t moved;    /* bytes, so far */
    unsigned undone; /* copies between a GPU and records of a ring */
    const char *theirs; /* what is offered, in the other's own memory on the host; else NULL */
    size_t had;         /* bytes that were read there before it turned out that the rest cannot be */
    bool is_copying;    /* to a GPU from elsewhere, until mark; or from theirs */
    uint64_t mark;
    struct tt_name *name; /* of what is fetched from the other's memory */
    uint32_t number;      /* of the offer */
    bool is_wanted;       /* so the other said */
    bool is_fetched;      /* so is to be said */
    bool spoilt;          /* so the other said of its bytes */
    struct tt_flight *next;
};

/* The messages of one round of one lane. */
struct tt_batch {
    const struct tt_routes *routes;
    int n;
    struct tt_flight *flights;
    bool eager;                /* flights are marked over one by one, as far as they are; else all at once will do */
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
    /* What a receive has lent has been read; it is under way again until its sender has been told. */
    void (*release)(struct tt_flight *flight);
};

/* PMPI_Isend and PMPI_Irecv: works everywhere. */
extern const struct tt_wire tt_wire_p2p;

#endif
