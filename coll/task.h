/* SPDX-License-Identifier: BSD-3-Clause */
/* One call under way, by a plan or by the MPI below on stand-ins: begun, polled until it is over, ended. Blocking,
 * nonblocking and persistent calls are all this, and differ only in who polls. */
#ifndef TT_TASK_H
#define TT_TASK_H

#include "coll/brief.h"
#include "coll/job.h"
#include "coll/nccl_calls.h"

/* How far a call by NCCL has come: NCCL may still be busy taking it; or it is in its stream. */
enum tt_nccl_stage { TT_NCCL_TAKING, TT_NCCL_RUNNING };

struct tt_task {
    struct tt_job *job;
    const struct tt_alg *alg; /* whose plan, NCCL's or the MPI's below; tt_begin sets it, NULL if it was refused */
    struct tt_plan *plan; /* held until the end; NULL: NCCL or the MPI below does the work */
    struct tt_nccl_call by_nccl; /* if it has a job: NCCL does */
    enum tt_nccl_stage stage;
    struct tt_bound bound;
    struct tt_req req;
    bool posted;        /* req has begun; until then it waits for its turn on the communicator */
    unsigned ticket;    /* for its slot (comm.h) */
    MPI_Request native; /* of the MPI below */
    int error;          /* what the MPI below said */
    char why[512];      /* why this rank has failed; empty if it has not */
};

enum { TT_TASK_FAILED = -1 };

/* Binds the plan, which sends nothing yet: tt_task_poll does. fault: NULL, or why this rank can only go through the
 * motions. job must stay until the end. */
void tt_task_plan(struct tt_task *t, struct tt_job *job, struct tt_place *home, struct tt_plan *plan,
                  const char *fault);

/* What was begun in one breath goes on from there. It has had its turn; job, and breath, must stay until the end. */
void tt_task_go_on(struct tt_task *t, struct tt_job *job, struct tt_plan *plan, const struct tt_breath *breath,
                   int from, const struct tt_headway *done);

/* The MPI below starts, on stand-ins for what is on a device; at once: by its blocking call, so that it has also ended.
 * 0, or TT_TASK_FAILED with t->why, nothing having been sent; tt_task_end is due in both cases. */
int tt_task_native(struct tt_task *t, struct tt_job *job, bool at_once);

/* NCCL starts, on stand-ins for what is not on its GPU. All ranks have agreed on that: if this one cannot, which fault
 * tells or t->why does then, the others are told, and all fail. tt_task_poll and tt_task_end as for the others. */
void tt_task_nccl(struct tt_task *t, struct tt_job *job, const char *fault);

/* Around polls: makes the context of the task's GPU current, and the caller's again. */
bool tt_task_enter(struct tt_task *t);
void tt_task_leave(struct tt_task *t, bool entered);

/* Moves on what can move; true when all is done. Never blocks. */
bool tt_task_poll(struct tt_task *t);

/* Has anything come of what others have sent? Not told of what NCCL or the MPI below do. */
static inline bool tt_task_has_moved(const struct tt_task *t)
{
    return t->posted && t->req.moved;
}

/* Delivers the results and gives back all that was held, but the job. Returns MPI_SUCCESS; or the error of the MPI
 * below, which its handler has seen; or TT_TASK_FAILED, and t->why is for the handler. */
int tt_task_end(struct tt_task *t);

#endif
