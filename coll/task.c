/* SPDX-License-Identifier: BSD-3-Clause */
/* A task's life. From the moment in which it has a number on its communicator it takes part to the end, whatever
 * happens to this rank, since the others count on its messages. */
#include "coll/task.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "coll/error.h"

static struct tt_place *home_of(const struct tt_task *t)
{
    return t->plan ? t->bound.with.home : tt_host_place();
}

static void open_task(struct tt_task *t, struct tt_job *job, struct tt_plan *plan)
{
    t->job = job;
    t->plan = plan;
    t->posted = false;
    t->by_nccl.job = NULL;
    t->native = MPI_REQUEST_NULL;
    t->error = MPI_SUCCESS;
    t->why[0] = '\0';
    memset(&t->bound, 0, offsetof(struct tt_bound, kept)); /* the list is as long as nkept says */
    t->bound.nkept = 0;
}

/* All ranks begin their calls in the same order, but for persistent ones, which they need only make in the same order
 * (MPI-4.1 has a hint for programs that also start them so: mpi_assert_strict_persistent_collective_ordering). */
static void take_ticket(struct tt_task *t)
{
    struct tt_comm *comm = t->job->comm;
    const unsigned made = t->job->call->persistent, in_order = comm->in_order;
    const unsigned slot = made ? in_order + made % (comm->slots - in_order) : tt_comm_next_slot(comm);

    t->bound.with.slot = slot;
    t->ticket = comm->slot[slot].tickets++;
}

void tt_task_plan(struct tt_task *t, struct tt_job *job, struct tt_place *home, struct tt_plan *plan, const char *fault)
{
    struct tt_binding *with = &t->bound.with;

    open_task(t, job, tt_plan_hold(plan));
    with->routes = &job->comm->routes;
    with->home = home;
    take_ticket(t);
    if (fault)
        snprintf(t->why, sizeof t->why, "%s", fault);
    else
        tt_bind_plan(&t->bound, job, plan, t->why, sizeof t->why);
}

void tt_task_go_on(struct tt_task *t, struct tt_job *job, struct tt_plan *plan, const struct tt_breath *breath,
                   int from, const struct tt_headway *done)
{
    struct tt_binding *with = &t->bound.with;

    open_task(t, job, tt_plan_hold(plan));
    with->routes = &job->comm->routes;
    with->slot = breath->slot;
    memcpy(with->base, breath->base, sizeof with->base);
    with->home = with->host = tt_host_place();
    with->cell = breath->cell;
    t->posted = true;
    tt_req_resume(&t->req, plan, with, from, done);
}

int tt_task_native(struct tt_task *t, struct tt_job *job, bool at_once)
{
    open_task(t, job, NULL);
    if (tt_bind_native(&t->bound, job, t->why, sizeof t->why))
        return TT_TASK_FAILED;
    t->error = at_once ? tt_call_native(&t->bound.native) : tt_start_native(&t->bound.native, &t->native);
    return 0;
}

/* ---- by NCCL ---- */

/* This rank is out of it, and so are all. */
static void fail_nccl(struct tt_task *t, const char *why)
{
    if (!t->why[0])
        snprintf(t->why, sizeof t->why, "%s", why);
    tt_nccl_fail(t->job->comm, t->why);
}

static int start_nccl(struct tt_task *t)
{
    struct tt_nccl_call *call = &t->by_nccl;
    struct tt_on_gpu at;

    t->bound.with.home = call->use->place;
    if (tt_bind_nccl(&t->bound, t->job, tt_nccl_spare(t->job), &at, t->why, sizeof t->why))
        return -1;
    call->stream = call->use->stream;
    call->send = at.send;
    call->recv = at.recv;
    call->spare = at.spare;
    return tt_nccl_start(call);
}

void tt_task_nccl(struct tt_task *t, struct tt_job *job, const char *fault)
{
    open_task(t, job, NULL);
    t->stage = TT_NCCL_TAKING;
    t->by_nccl = (struct tt_nccl_call){.use = tt_nccl_get(job->comm), .job = job};
    if (!t->by_nccl.use || fault)
        fail_nccl(t, fault ? fault : tt_fault());
    else if (start_nccl(t))
        fail_nccl(t, t->why[0] ? t->why : tt_fault());
}

/* Has NCCL taken all of the call? -1 with tt_fault() set. */
static int poll_taking(struct tt_task *t)
{
    const int taken = tt_nccl_taken(t->by_nccl.use);

    if (taken <= 0)
        return taken;
    t->stage = TT_NCCL_RUNNING;
    return tt_nccl_finish(&t->by_nccl) ? -1 : 1;
}

static bool poll_nccl(struct tt_task *t)
{
    struct tt_place *place;
    int state = 1;

    if (t->why[0])
        return true;
    place = t->by_nccl.use->place;
    if (t->stage == TT_NCCL_TAKING)
        state = poll_taking(t);
    if (state > 0)
        state = place->dev->poll(place, TT_NCCL_QUEUE);
    if (state < 0 || tt_nccl_check(t->job->comm))
        fail_nccl(t, tt_fault());
    return state != 0 || t->why[0];
}

/* ---- polling ---- */

bool tt_task_enter(struct tt_task *t)
{
    struct tt_place *home = home_of(t);

    if (home->dev->enter(home) == 0)
        return true;
    if (t->posted)
        tt_req_fail(&t->req, tt_fault());
    else if (!t->why[0])
        snprintf(t->why, sizeof t->why, "%s", tt_fault());
    return false;
}

void tt_task_leave(struct tt_task *t, bool entered)
{
    struct tt_place *home = home_of(t);

    if (entered)
        home->dev->leave(home);
}

/* Its slot, a part of its messages' tags, may still belong to a task that is far behind. */
static bool is_its_turn(const struct tt_task *t)
{
    return t->job->comm->slot[t->bound.with.slot].turn == t->ticket;
}

static bool poll_plan(struct tt_task *t)
{
    if (t->posted)
        return tt_req_progress(&t->req);
    if (!is_its_turn(t))
        return false;
    if (tt_req_start(&t->req, t->plan, &t->bound.with, t->why[0] ? t->why : NULL)) {
        snprintf(t->why, sizeof t->why, "out of host memory");
        return true;
    }
    t->posted = true;
    return t->req.lanes_left == 0;
}

/* The MPI below may call the user's op or error handler here. */
static bool poll_native(struct tt_task *t)
{
    const int inside = tt_inside;
    int flag = 1, error = MPI_SUCCESS;

    tt_inside = 0;
    if (t->native != MPI_REQUEST_NULL)
        error = PMPI_Test(&t->native, &flag, MPI_STATUS_IGNORE);
    tt_inside = inside;
    if (error != MPI_SUCCESS)
        t->error = error;
    return flag || error != MPI_SUCCESS;
}

bool tt_task_poll(struct tt_task *t)
{
    return t->plan ? poll_plan(t) : t->by_nccl.job ? poll_nccl(t) : poll_native(t);
}

/* ---- the end ---- */

static void end_plan(struct tt_task *t)
{
    if (t->posted) {
        if (t->req.failed)
            snprintf(t->why, sizeof t->why, "%s", t->req.why);
        tt_req_end(&t->req);
    }
    t->job->comm->slot[t->bound.with.slot].turn++;
    tt_plan_free(t->plan);
}

int tt_task_end(struct tt_task *t)
{
    if (t->plan)
        end_plan(t);
    if (t->error == MPI_SUCCESS && !t->why[0])
        tt_bound_deliver(&t->bound, t->why, sizeof t->why);
    tt_bound_end(&t->bound);
    return t->why[0] ? TT_TASK_FAILED : t->error;
}
