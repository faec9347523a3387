/* SPDX-License-Identifier: BSD-3-Clause */
/* What Tutti keeps with a communicator: cached as an attribute, so that it goes when the communicator goes. */
#ifndef TT_COMM_H
#define TT_COMM_H

#include <mpi.h>
#include <stdatomic.h>

#include "coll/cache.h"
#include "coll/hints.h"
#include "coll/wire.h"
#include "selector/net.h"

/* How far the state of a communicator has come. What is collective about a step is done in a call that all ranks make.
 */
enum tt_stage {
    TT_KNOWN,   /* a rank's own doing: the MPI below has to serve, on all ranks alike */
    TT_READY,   /* the private communicator is there: MPI_Init, or a call that makes communicators, will do */
    TT_LOCATED, /* where the ranks are has been gathered: a blocking collective of the program's, by when the GPUs that
                   it works with have most likely been chosen */
};

/* What all ranks know of NCCL on a communicator, and how their votes went (vote.h): the same on each of them. */
struct tt_nccl_known {
    bool threads;   /* a rank may call MPI from several threads at once */
    bool there;     /* when they were located, each had a GPU, and a libnccl that can be opened */
    bool alive;     /* each has the NCCL communicator, as the last vote, or making it, has shown */
    bool kept;      /* and none gives it up for others */
    bool prepared;  /* they have come to tutti_comm_prepare, */
    bool streams;   /* by which each has it, keeps it, and gives it calls in streams */
    bool ruled_out; /* it is not to be used here, ever */
    unsigned since; /* calls by NCCL since then */
    unsigned noes;  /* votes in a row that changed nothing: no NCCL, nor what is for GPUs alone */
    unsigned rests; /* so many calls more go without a vote */
};

/* A part of the tags, for one call at a time: their tickets are numbers upwards, and `turn` is whose it is. */
struct tt_slot {
    unsigned tickets, turn;
};

struct tt_comm {
    MPI_Comm wire_comm; /* private: no wildcard of the user's can match our messages. MPI_COMM_NULL if the MPI had no
                           context left for it (all ranks see that alike), or there is but one rank */
    int rank, size;
    bool inter; /* an intercommunicator */
    int peers;  /* with how many ranks a collective deals: size, or of an intercommunicator's remote group */
    enum tt_stage stage;
    bool usable;        /* own algorithms may run */
    bool lost;          /* this rank stayed away from a call that the others are in */
    bool freed;         /* by the user: the handle means nothing any more */
    atomic_int holders; /* the user's communicator, and all that is under way on it */
    uint64_t id;        /* the same on all its ranks, and no other communicator's; 0: not agreed on yet */
    bool second;        /* of an intercommunicator: in what is recorded, the other group's ranks come first */
    uint64_t mark;      /* the same on all its ranks, known to each by itself (watch.h); 0: there is none */
    uint64_t copies;    /* that MPI_Comm_idup has made of it, so that they have ids of their own */
    uint64_t calls;     /* collectives that were watched (watch.h) */
    uint32_t ordinal;   /* of this process's, among those that it recorded (record.c); 0: none yet */
    unsigned sequence;  /* slot of the next call carried out by a plan, but for persistent ones; */
    unsigned persistent;   /* which are counted as they are made, */
    unsigned slots;        /* how many calls the tags tell apart: */
    unsigned in_order;     /* so many the former, the others the latter */
    struct tt_slot *slot;
    struct tt_routes routes; /* of wire_comm */
    struct tt_topo *topo; /* where its ranks are, assumed until they are located; NULL: no rank has it */
    struct tt_net *net;   /* of topo: what the model reads */
    struct tt_net
        *staged; /* the same where GPU memory goes by way of the host, if it does, and there is NCCL; or NULL */
    struct tt_hints *hints; /* its info keys; NULL: none */
    struct tt_checks *checks; /* of TUTTI_CHECK (check.h); NULL: none yet */
    struct tt_arrivals *arrivals; /* of TUTTI_REPORT (report.h); NULL: none yet */
    struct tt_nccl_known known;
    struct tt_nccl_life *nccl; /* nccl_comm.h; NULL: nobody has asked for it yet */
    struct tt_cache cache;
    struct tt_cache in_streams; /* of calls in streams: whether NCCL has them; under its lock */
    struct tt_memo *memos; /* the last call of each collective, TT_NCOLLS of them (job.h); made at first use */
};

/* comm's state, made on first use, and brought to that stage, or further. Beyond TT_KNOWN it is collective over comm.
 * Sets *state; or returns MPI_ERR_NO_MEM, where what is collective was due on all ranks, since one of them had no
 * memory; or another MPI error code: comm is no communicator. */
static inline int tt_comm_of(MPI_Comm comm, enum tt_stage stage, struct tt_comm **state);

/* The communicator that this thread used last: asking for an attribute costs several times the rest of a small call. A
 * handle may be freed and come back as another communicator, so every free makes all of these stale. */
extern __thread struct tt_comm_last {
    MPI_Comm comm;
    struct tt_comm *state; /* NULL: none */
    unsigned frees;
} tt_comm_last;
extern atomic_uint tt_comm_frees;
int tt_comm_of_another(MPI_Comm comm, enum tt_stage stage, struct tt_comm **state);

static inline int tt_comm_of(MPI_Comm comm, enum tt_stage stage, struct tt_comm **state)
{
    const struct tt_comm_last *last = &tt_comm_last;

    if (!last->state || last->comm != comm ||
        last->frees != atomic_load_explicit(&tt_comm_frees, memory_order_acquire) || last->state->stage < stage)
        return tt_comm_of_another(comm, stage, state);
    *state = last->state;
    return MPI_SUCCESS;
}

/* comm's state if there is one, else NULL. For what is no collective call: another thread may be making the state, and
 * of two that are made the one would be freed under whoever uses it. */
struct tt_comm *tt_comm_known(MPI_Comm comm);

/* State for a copy of comm that MPI_Comm_idup is about to make, original being comm's; NULL: there is no memory. Once
 * the copy is there, and a twin of what the original's ranks meet on, both are given to it, and it becomes the copy's.
 * Returns an MPI error code. */
struct tt_comm *tt_comm_copy_new(MPI_Comm comm, struct tt_comm *original);
int tt_comm_copy_end(const struct tt_comm *original, struct tt_comm *copy, MPI_Comm made, MPI_Comm twin);

/* MPI is finalised, or about to be: what was kept with communicators means nothing to the next. */
void tt_comms_end(void);

/* What was decided counts no more: something that it was decided by has changed. */
void tt_comm_forget(struct tt_comm *c);

/* State that is held outlives the user's MPI_Comm_free, as calls under way must. */
struct tt_comm *tt_comm_hold(struct tt_comm *c);
void tt_comm_release(struct tt_comm *c);

/* The slot of a call that begins now. */
static inline unsigned tt_comm_next_slot(struct tt_comm *c)
{
    const unsigned slot = c->sequence;

    c->sequence = slot + 1 < c->in_order ? slot + 1 : 0;
    return slot;
}

/* Compares the settings that must be equal on all ranks of comm. Collective. MPI_SUCCESS, or an error code after this
 * rank has said on standard error what differs. */
int tt_comm_agree(MPI_Comm comm);

#endif
