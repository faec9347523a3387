/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocking calls: a task on the stack, polled until it is over, while all that is under way moves on too. And the MPI
 * below, called as it stands. */
#include <limits.h>
#include <stdio.h>

#include "coll/begin.h"
#include "coll/check.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/hook.h"
#include "coll/init.h"
#include "coll/meet.h"
#include "coll/pause.h"
#include "coll/request.h"
#include "coll/watch.h"

/* ---- the MPI below ---- */

static bool is_wide(const struct tt_call *c)
{
    return c->wide || c->send.count > INT_MAX || c->recv.count > INT_MAX;
}

static const struct tt_native *native_of(const struct tt_call *c)
{
    return is_wide(c) && tt_native_wide[c->coll].call ? &tt_native_wide[c->coll] : &tt_rows[c->coll].native;
}

/* Outside of Tutti: the MPI below may call the user's error handler or op. */
int tt_call_native(const struct tt_call *c)
{
    const int inside = tt_inside;
    int error;

    tt_inside = 0;
    error = native_of(c)->call(c);
    tt_inside = inside;
    return error;
}

int tt_start_native(const struct tt_call *c, MPI_Request *request)
{
    const int inside = tt_inside;
    int error;

    tt_inside = 0;
    error = native_of(c)->start(c, request);
    tt_inside = inside;
    return error;
}

int tt_init_native(const struct tt_call *c, MPI_Info info, MPI_Request *request)
{
    const int inside = tt_inside;
    int error;

    tt_inside = 0;
    error =
        (is_wide(c) && tt_native_init_wide[c->coll] ? tt_native_init_wide : tt_native_init)[c->coll](c, info, request);
    tt_inside = inside;
    return error;
}

/* ---- Tutti ---- */

struct waiting {
    struct tt_task *task;
    struct tt_event *event;
};

static bool is_over(void *what)
{
    struct waiting *w = what;
    bool over;

    tt_progress();
    over = tt_task_poll(w->task);
    tt_watch_poll(w->event, w->task);
    return over;
}

/* The user's error handler may not come back: nothing of ours is held when it is called. */
static int finish(struct tt_task *task, const struct tt_call *c, struct tt_comm *comm, struct tt_event *event,
                  struct tt_job *own)
{
    const bool entered = tt_task_enter(task);
    int error;

    if (!tt_task_poll(task))
        tt_wait(is_over, &(struct waiting){task, event});
    tt_task_leave(task, entered);
    error = tt_task_end(task);
    if (own)
        tt_job_end(own);
    tt_watch_leave(event, error, task);
    return error == TT_TASK_FAILED ? tt_call_fail(c, comm, task->why) : error;
}

/* What was begun in one breath has to wait. */
static __attribute__((noinline)) int go_on(const struct tt_call *c, struct tt_event *event,
                                           const struct tt_entry *entry, struct tt_job *job,
                                           const struct tt_breath *breath, int from, const struct tt_headway *done)
{
    struct tt_task task;

    task.alg = entry->choice.alg;
    tt_task_go_on(&task, job, entry->plan, breath, from, done);
    return finish(&task, c, job->comm, event, NULL);
}

static int take_breath(const struct tt_call *c, struct tt_event *event, const struct tt_entry *entry,
                       struct tt_job *job, struct tt_breath *breath)
{
    struct tt_slot *slot = &job->comm->slot[breath->slot];
    struct tt_headway done;
    int from;

    slot->tickets++;
    if (event)
        tt_event_begin(event, entry->choice.alg, job);
    if (!tt_breath_take(breath, &from, &done))
        return go_on(c, event, entry, job, breath, from, &done);
    slot->turn++;
    tt_wait_in_passing();
    if (event && breath->moved)
        tt_event_move(event, breath->moved);
    tt_watch_leave(event, MPI_SUCCESS, NULL);
    return MPI_SUCCESS;
}

/* Nothing else is under way, and it is a call that can be carried out in one breath: then it is, and *error is what it
 * returns. */
static bool run_again(const struct tt_call *c, struct tt_comm *comm, struct tt_event *event, int *error)
{
    const struct tt_slot *slot = &comm->slot[comm->sequence];
    struct tt_breath breath;
    struct tt_job *job;
    const struct tt_entry *entry;

    if (tt_is_under_way() || slot->turn != slot->tickets)
        return false;
    entry = tt_begin_again(c, comm, &job, &breath);
    if (!entry)
        return false;
    breath.slot = tt_comm_next_slot(comm);
    breath.glances = tt_wait_glances();
    breath.is_timed = event != NULL;
    *error = take_breath(c, event, entry, job, &breath);
    return true;
}

/* Its ranks may not all be in the same call: so before that is known, nothing is done together that they might do in
 * different orders. */
static int check_first(const struct tt_call *c, struct tt_comm *comm)
{
    const int error = tt_checks(comm) ? tt_check_call(c, comm, TT_CALL_BLOCKING, NULL) : MPI_SUCCESS;

    if (error == MPI_SUCCESS)
        tt_comm_of(c->comm, TT_LOCATED, &comm);
    return error;
}

/* Begins it, and waits. Apart from what most small calls come through, since it needs more of the stack. */
static __attribute__((noinline)) int run_anew(const struct tt_call *c, struct tt_comm *comm, struct tt_event *event)
{
    struct tt_task task;
    struct tt_job own;
    enum tt_begun begun;
    int error = tt_config.check ? check_first(c, comm) : MPI_SUCCESS;

    own.room = NULL;
    if (error != MPI_SUCCESS)
        return error;
    if (comm->inter && !tt_hook_exists)
        tt_meet(c->comm);
    begun = tt_begin(c, comm, TT_BLOCKING, &own, &task, &error);
    tt_watch_begin(event, &task);
    switch (begun) {
    case TT_BEGUN:
        return finish(&task, c, comm, event, &own);
    case TT_PASS:
        return tt_call_native(c);
    default:
        tt_watch_leave(event, error, &task);
        tt_job_end(&own);
        return tt_refuse(c, comm, error, task.why);
    }
}

static int run(const struct tt_call *c, struct tt_event *event)
{
    struct tt_comm *comm;
    int error;

    if (c->comm == MPI_COMM_NULL)
        return tt_call_native(c);
    switch (tt_comm_of(c->comm, tt_config.check ? TT_READY : TT_LOCATED, &comm)) {
    case MPI_SUCCESS:
        break;
    case MPI_ERR_NO_MEM:
        return tt_raise(c->comm, "out of host memory");
    default:
        return tt_call_native(c);
    }
    return !tt_config.check && run_again(c, comm, event, &error) ? error : run_anew(c, comm, event);
}

int tt_run(const struct tt_call *c)
{
    struct tt_event room, *event;
    int error;

    if (tt_inside || !tt_is_on())
        return tt_call_native(c);
    tt_progress();
    tt_inside++;
    event = tt_watch_enter(&room, c, TT_BLOCKING);
    error = run(c, event);
    tt_watch_leave(event, error, NULL);
    tt_inside--;
    return error;
}
