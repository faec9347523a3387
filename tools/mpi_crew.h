/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring with all ranks, for tune and bench. Rank 0 decides what comes next and the others do as they are told, so
 * that no decision is ever made twice. What is told, and the times that are gathered, go by the MPI below on a
 * communicator of its own, past what is being measured. */
#ifndef TT_TOOLS_MPI_CREW_H
#define TT_TOOLS_MPI_CREW_H

#include <mpi.h>

#include "selector/tune.h"
#include "tools/mpi_bare.h"
#include "tools/mpi_calls.h"
#include "tools/mpi_check.h"
#include "tools/mpi_memory.h"

enum { TOOL_MOST_CALLS = 256 };

/* What the ranks are told to do. */
enum tool_what {
    TOOL_END,
    TOOL_CALLS,     /* of a collective */
    TOOL_FIRST,     /* one call of it, with what a first call has to set up; a time that is no median */
    TOOL_PREPARE,   /* data to be checked, of that collective and size */
    TOOL_RENEW,     /* other memory for the buffers, where none is checked */
    TOOL_PING_PONG, /* between ranks a and b: the time of one message */
    TOOL_EXCHANGE,  /* between ranks a and b, both ways at once */
    TOOL_POST,      /* of messages by rank a to b: what each costs the sender */
    TOOL_REDUCE,    /* two vectors into one, by every rank */
    TOOL_COPY,
    TOOL_FLAGS,  /* of all ranks, for each other, as what a call is made of; and */
    TOOL_COPIES, /* by all ranks at once: mpi_bare.h, which is open then */
};

struct tool_order {
    int32_t what, coll, alg, calls; /* alg: its place in tt_algs, or one of these: */
    int64_t bytes, segment;
    int32_t a, b;
    double compute; /* seconds of work between the start of a nonblocking call and the wait for it */
};
enum {
    TOOL_CHOSEN = -1,   /* what is chosen while nobody pins it */
    TOOL_BELOW = -2,    /* no Tutti: the MPI below is called past it */
    TOOL_THREADED = -3, /* what is chosen, with the progress thread; */
    TOOL_CORE_FREE = -4 /* and the work meanwhile is a GPU's: the core is left alone for so long */
};

/* Is it what is chosen, however it is moved on? */
bool tool_is_choice(int alg);

/* How collectives are called: the same on all ranks. Where nothing is said: sums of 32-bit floats, bytes that move,
 * root 0, blocking calls. */
struct tool_manner {
    bool given;
    MPI_Datatype datatype;
    MPI_Op mpi_op;
    enum tt_type type; /* as the data to be checked sees them */
    enum tt_op op;
    int root;
    bool inplace;
    enum tool_form form;
    double skew; /* seconds that rank `late` comes later than the others; all, by random parts of it, if that is -1 */
    int late;
};

/* Of the calls that were timed last, at rank 0. */
struct tool_timing {
    int n;
    double slowest[TOOL_MOST_CALLS];    /* rank's time of each */
    double mean, mean_least, mean_most; /* of a rank's mean over its calls: over ranks the mean and the extremes */
    int64_t wrong;                      /* elements, on all ranks, of what the last of the calls gave */
    double kept;                        /* share of the work that got done meanwhile; the mean over ranks */
};

struct tool_crew {
    struct tt_bench is; /* first */
    MPI_Comm control;
    int rank, size, on_node; /* ranks of this one's node */
    bool settled;            /* they outnumber cores, and nobody had bound them: each is kept on one */
    struct tool_memory memory;
    size_t room; /* bytes of each of the two buffers */
    char *send, *recv;
    int *counts, *displs; /* of blocks */
    MPI_Datatype *types;
    struct tool_manner manner;
    bool checked; /* check.pattern is of checked_coll */
    int checked_coll;
    struct tool_check check;
    struct tool_bare bare;
    struct tool_timing last;
    long worked; /* in the calls that were timed last; */
    double kept; /* of what would have been done in that time without them */
    double began;
    double reading;          /* seconds that a look at the clock takes, which no time has in it */
    char *before[TT_NCOLLS]; /* pins of the user's, which count for what is chosen where a manner is given */
    int pinned;              /* the collective that has a pin, or -1 */
    int pinned_alg;
    int64_t pinned_segment;
};

/* Collective: GPU memory where every rank has a GPU and Tutti takes it to the MPI; else the host's. */
enum tool_where tool_crew_where(void);

/* Collective. Device memory is on the GPU of this rank's number on its node. 0, or -1, on all ranks, with why filled on
 * those where something is wrong. room: bytes of a buffer. */
int tool_crew_open(struct tool_crew *b, enum tool_where where, size_t room, char *why, size_t size);

/* Collective: for orders of TOOL_FLAGS and TOOL_COPIES. 0, or -1 on all ranks. */
int tool_crew_open_bare(struct tool_crew *b, char *why, size_t size);
void tool_crew_close(struct tool_crew *b);

/* Says so, if ranks have been settled: what is measured is not quite what a program has that nobody binds. */
void tool_crew_tell_settled(const struct tool_crew *b, const char *command);

/* What all but rank 0 do, until rank 0 gives TOOL_END. */
void tool_crew_serve(struct tool_crew *b);

/* Rank 0's: the median of as many times as order.calls says, in seconds; negative: the user wants an end. More of them
 * is in b->last, where data is checked. */
double tool_crew_do(struct tool_crew *b, struct tool_order order);

/* From now on ^C only asks for an end, of which tool_crew_do tells; a second one is as always. */
void tool_crew_catch_signals(void);

#endif
