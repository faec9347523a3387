/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls in a stream by NCCL: given to it in that very stream, by the thread that enqueues, so that no thread of ours
 * has to start them when the stream has come to them, and kernels, call and kernels follow each other on the GPU alone.
 *
 * There is nothing that ranks would agree on in the call: where an NCCL communicator was made by tutti_comm_prepare,
 * all have it and keep it, and by that function's contract buffers are where GPUs reach them. The decision is the
 * selector's, for buffers on GPUs. All who enqueue hold NCCL's lock, so that there is one order of launches. Meanwhile
 * the thread of progress looks whether NCCL, or another rank, reports a failure: then it ends NCCL's part, by which
 * streams go on, and the error handler is called.
 *
 * Beside NCCL's own, a call costs two calls of the driver: is the stream under capture, and an event behind the call;
 * in place, where NCCL needs the sent data elsewhere, a copy as well. Buffers are not looked up. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll/begin.h"
#include "coll/check.h"
#include "coll/config.h"
#include "coll/enqueue.h"
#include "coll/error.h"
#include "coll/gaps.h"
#include "coll/nccl_calls.h"
#include "coll/nccl_group.h"
#include "coll/request.h"

/* One under way. They are kept for the next: an event is there once. */
struct launched {
    struct tt_poll poll; /* first */
    struct launched *next;
    struct tt_place *place; /* whose event it is; NULL: there is none yet */
    CUevent over;
    struct tt_call call;
    struct tt_comm *comm;
    void *spare; /* of the place's */
};

static struct launched *idle; /* under NCCL's lock */

/* ---- is it NCCL's? ---- */

bool tt_enqueue_is_nccls(const struct tt_call *c, struct tt_comm *comm, struct tt_job *job)
{
    const char *what;
    bool is_nccls;

    *job = (struct tt_job){.call = c, .row = &tt_rows[c->coll], .comm = comm};
    if (!comm->known.streams || tt_checks(comm) || tt_job_describe(job, &what) != MPI_SUCCESS)
        return false;
    tt_nccl_lock();
    is_nccls = tt_streams_by_nccl(job);
    tt_nccl_unlock();
    return is_nccls;
}

/* ---- giving it to NCCL ---- */

static struct launched *take_idle(struct tt_place *place)
{
    struct launched **at = &idle, *l;

    while (*at && (*at)->place != place)
        at = &(*at)->next;
    l = *at;
    if (l)
        *at = l->next;
    else
        l = calloc(1, sizeof *l);
    return l;
}

static void put_idle(struct launched *l)
{
    l->next = idle;
    idle = l;
}

/* The context is the caller's, in which the stream is. */
static int open_launched(struct launched *l, const struct tt_job *job, struct tt_place *place)
{
    const struct tt_driver *d = tt_driver_find();

    if (!l->place && tt_driver_check(d, d->cuEventCreate(&l->over, CU_EVENT_DISABLE_TIMING), "cuEventCreate"))
        return -1;
    l->place = place;
    l->call = *job->call;
    l->comm = job->comm;
    l->spare = NULL;
    return 0;
}

static int take_spare(struct launched *l, size_t bytes)
{
    if (bytes == 0)
        return 0;
    if (l->place->dev->enter(l->place))
        return -1;
    l->spare = l->place->dev->take(l->place, bytes);
    l->place->dev->leave(l->place);
    return l->spare ? 0 : -1;
}

/* Where a side's data begin, which have to be one piece: nobody packs them in the stream. NULL: this rank has none. */
static int find_data(const struct tt_job *job, const struct tt_side *side, char **at)
{
    MPI_Aint first = 0;
    char name[64];

    *at = NULL;
    if (!side->significant)
        return 0;
    if (!job->cell && side->bytes > 0 && !tt_side_solid(side, &first))
        return tt_fault_set(
            "data with gaps, which nobody packs in a stream for NCCL: have %s name another algorithm, on "
            "all ranks",
            tt_config_pin_name(job->call->coll, name, sizeof name));
    *at = tt_away(side->buf, first);
    return 0;
}

/* Only a communicator's first calls take long, for which NCCL connects the ranks. */
static int await_taken(struct tt_comm *comm, const struct tt_nccl_use *use)
{
    const double deadline = tt_nccl_now() + (double)tt_config.nccl_timeout;
    int taken;

    while ((taken = tt_nccl_taken(use)) == 0 && tt_nccl_check(comm) == 0) {
        if (tt_nccl_now() > deadline)
            return tt_fault_set("NCCL did not get all ranks together within TUTTI_NCCL_TIMEOUT=%d seconds: does each "
                                "of them enqueue this call?",
                                (int)tt_config.nccl_timeout);
        sched_yield();
    }
    return taken == 1 ? 0 : -1;
}

/* 0, or -1 with tt_fault() set. */
static int launch(struct launched *l, const struct tt_job *job, const struct tt_nccl_use *use, CUstream stream)
{
    const struct tt_driver *d = tt_driver_find();
    struct tt_nccl_call call = {.use = use, .job = job, .stream = stream};

    if (find_data(job, &job->send, &call.send) || find_data(job, &job->recv, &call.recv) ||
        open_launched(l, job, use->place) || take_spare(l, tt_nccl_spare(job)))
        return -1;
    call.spare = l->spare;
    if (tt_nccl_start(&call) || await_taken(job->comm, use) || tt_nccl_finish(&call))
        return -1;
    return tt_driver_check(d, d->cuEventRecord(l->over, stream), "cuEventRecord");
}

/* ---- until it is over ---- */

static int is_past(const struct launched *l)
{
    const struct tt_driver *d = tt_driver_find();
    CUresult result;

    if (tt_place_is_stale(l->place) || l->place->dev->enter(l->place))
        return tt_fault_set("the GPU's context is gone");
    result = d->cuEventQuery(l->over);
    l->place->dev->leave(l->place);
    return result == CUDA_ERROR_NOT_READY ? 0 : tt_driver_check(d, result, "cuEventQuery") ? -1 : 1;
}

/* Under the lock. why: of a failure. */
static bool is_over(const struct launched *l, char *why, size_t size)
{
    const int past = tt_nccl_check(l->comm) ? -1 : is_past(l);

    if (past >= 0)
        return past;
    snprintf(why, size, "%s", tt_fault());
    tt_nccl_fail(l->comm, why);
    return true;
}

/* Under the lock. */
static void close_launched(struct launched *l)
{
    if (l->spare)
        l->place->dev->give(l->place, l->spare);
    put_idle(l);
}

static bool poll_launched(struct tt_poll *p)
{
    struct launched *l = (struct launched *)p;
    struct tt_comm *comm = l->comm;
    struct tt_call call = l->call;
    char why[512] = "";
    bool over;

    if (!tt_nccl_trylock())
        return false;
    over = is_over(l, why, sizeof why);
    if (over)
        close_launched(l);
    tt_nccl_unlock();
    if (!over)
        return false;
    call.comm = comm->freed ? MPI_COMM_SELF : call.comm;
    if (why[0])
        tt_enqueue_note(tt_call_fail(&call, comm, why));
    tt_comm_release(comm);
    return true;
}

static int refuse(const struct tt_job *job, const char *why)
{
    char words[640];

    snprintf(words, sizeof words, "%s; calls by NCCL in streams fail here until tutti_comm_prepare is called again",
             why);
    return tt_call_fail(job->call, job->comm, words);
}

int tt_enqueue_nccl(const struct tt_job *job, CUstream stream, const char *fault)
{
    struct tt_comm *comm = job->comm;
    const struct tt_nccl_use *use;
    struct launched *l = NULL;
    char why[512] = "";

    tt_nccl_lock();
    use = fault ? NULL : tt_nccl_get(comm);
    if (use && !(l = take_idle(use->place)))
        tt_fault_set("out of host memory");
    if (!l || launch(l, job, use, stream)) {
        snprintf(why, sizeof why, "%s", fault ? fault : tt_fault());
        tt_nccl_fail(comm, why);
        if (l)
            close_launched(l);
    }
    tt_nccl_unlock();
    if (why[0])
        return refuse(job, why);
    l->poll = (struct tt_poll){.poll = poll_launched, .calls_out = true};
    tt_comm_hold(comm);
    tt_poll_add(&l->poll);
    return MPI_SUCCESS;
}

/* Their events went with their contexts, or with the process. */
void tt_enqueue_close(void)
{
    while (idle) {
        struct launched *l = idle;

        idle = l->next;
        free(l);
    }
}
