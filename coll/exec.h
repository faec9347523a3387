/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor: one execution of one plan. It knows places and wires, not collectives or algorithms. */
#ifndef TT_EXEC_H
#define TT_EXEC_H

#include <mpi.h>

#include "coll/apply.h"
#include "coll/plan.h"
#include "coll/wire.h"
#include "cuda/dev.h"

/* What a plan is bound to. */
struct tt_binding {
    const struct tt_routes *routes;
    unsigned slot;                /* tells calls that are under way on the communicator apart; equal on all ranks */
    char *base[TT_NBUFS];         /* where SEND, RECV, TMP and PIN begin; NULL where the plan does not use one */
    unsigned on_device;           /* bit 1 << enum tt_buf: not for the host to touch */
    struct tt_place *home;        /* does the copies and reductions that touch the device */
    struct tt_place *host;        /* does all others */
    const struct tt_cell *cell;   /* reductions only, and of these those that have one; */
    const struct tt_apply *apply; /* or what they are done by, all buffers being the host's then */
};

/* What of a round has been done before it is posted. */
struct tt_headway {
    int sends, receives; /* so many of each, in their order; */
    bool locals;         /* and what waits for neither */
};

struct tt_lane_state {
    int next;      /* step to post next */
    struct tt_headway headway; /* of the round that begins there */
    struct tt_flight *onward;  /* its first send, if it may leave before; or NULL */
    int from;      /* where the round under way begins */
    int arriving;  /* receives of it that have not been taken */
    int lent;      /* of those that have: what is still with its sender */
    bool after;    /* something waits for them */
    int errors;    /* that the wire has reported */
    unsigned busy; /* bit per enum tt_flow: queues of home that this round gave work to */
    bool done;
    struct tt_batch batch; /* messages of the round under way */
};

/* One execution. A rank that fails on the way does not leave: it goes through the rest of its plan sending empty
 * messages and throwing away what it receives, and whoever gets an empty message does likewise. So every rank reaches
 * the end, the ranks whose data is spoilt return an error, and nobody hangs. */
struct tt_req {
    const struct tt_plan *plan;
    struct tt_binding with;
    struct tt_lane_state lanes[TT_MAX_LANES];
    int lanes_left;
    void *arrays; /* one block for the lanes' arrays: NULL if it is in room */
    void *waste;  /* where a failed rank receives */
    bool failed;
    bool moved; /* a message of another rank's has come */
    bool told;  /* it failed since another had */
    char why[512];
    _Alignas(16) char room[1536]; /* for the arrays of a small plan */
};

enum { TT_TAG_MESSAGES = 64 }; /* of one lane and peer that can be told apart */

static inline int tt_slot_tag(unsigned slot, int lane, int message)
{
    return ((int)slot * TT_MAX_LANES + lane) * TT_TAG_MESSAGES + message % TT_TAG_MESSAGES;
}

/* Posts the first rounds. binding is copied; the plan and all memory must stay until tt_req_end. why: NULL, or the
 * reason for which this rank has failed before it began and takes part only so that the others do not hang. Returns 0,
 * or ENOMEM before anything was posted. */
int tt_req_start(struct tt_req *req, const struct tt_plan *plan, const struct tt_binding *binding, const char *why);

/* Does it take no memory but the request itself? */
bool tt_req_is_small(const struct tt_plan *plan);

/* The same of such a plan with one lane, of which all before that step, where a round begins, is done, and so much of
 * that round. */
void tt_req_resume(struct tt_req *req, const struct tt_plan *plan, const struct tt_binding *binding, int from,
                   const struct tt_headway *done);

/* Moves on what can move. True when all is done, req->failed and req->why being final then. Never blocks. */
bool tt_req_progress(struct tt_req *req);
void tt_req_end(struct tt_req *req);

/* This rank has failed, for a reason that the executor does not see. */
void tt_req_fail(struct tt_req *req, const char *why);

/* How many slots there are, so that no tag exceeds this one. */
unsigned tt_slots_below(int tag);

/* The first tag that no plan uses with so many slots; and so many more, at least, are free for others. */
int tt_tag_beyond(unsigned slots);
enum { TT_CHECK_LINES = 256, TT_CHECK_TAGS = 5 };
enum {
    TT_TAG_NOTICE,
    TT_TAG_CLOCK,
    TT_TAG_CHECKS,
    TT_TAGS_BEYOND = TT_TAG_CHECKS + (1 + TT_CHECK_LINES) * TT_CHECK_TAGS
};

#endif
