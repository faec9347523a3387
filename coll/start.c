/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking and persistent calls: a task on the heap, polled by whoever comes by, behind a request that completes
 * when the task has ended. What the call names and the user may free meanwhile is held: datatypes by what they
 * consist of, or by handles of our own, arrays by copies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/awaited.h"
#include "coll/begin.h"
#include "coll/check.h"
#include "coll/comm.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/flat.h"
#include "coll/init.h"
#include "coll/op.h"
#include "coll/pause.h"
#include "coll/progress.h"
#include "coll/request.h"
#include "coll/watch.h"

struct work {
    struct tt_ticket ticket; /* first: the ticket is the work */
    struct tt_poll poll;
    struct tt_stub stub;
    struct tt_call call;
    struct tt_job job;
    struct tt_task task;
    struct tt_comm *comm; /* held */
    struct tt_event event; /* if anybody watches: */
    struct tt_event *watched; /* this is it, or NULL */
    struct tt_check *check;   /* TUTTI_CHECK's; NULL: there is none */
    int ended;            /* what tt_task_end returned */
    void *arrays;         /* persistent: copies of those that the call points to */
    MPI_Datatype *held;   /* persistent: handles of our own, to free */
    int nheld;
    bool keeps_op, holds_runs;
};

static struct work *work_of(struct tt_ticket *t)
{
    return (struct work *)t;
}

static struct work *polled(struct tt_poll *p)
{
    return (struct work *)((char *)p - offsetof(struct work, poll));
}

/* ---- holding what the call names ---- */

/* A side's datatypes, of those that are the user's to free; what is not significant here may not be looked at. */
static bool is_to_hold(const struct tt_side *side)
{
    return side->significant && !side->lasting;
}

/* A call that has begun needs no more of them than the runs that they consist of. */
static void each_run(const struct tt_side *side, void (*each)(const struct tt_runs *))
{
    for (int i = 0; is_to_hold(side) && i < side->nblocks; i++)
        if (tt_block_of(side, i)->layout.runs)
            each(tt_block_of(side, i)->layout.runs);
}

static void hold_runs(struct work *w)
{
    each_run(&w->job.send, tt_flat_hold);
    each_run(&w->job.recv, tt_flat_hold);
    w->holds_runs = true;
}

static void drop_runs(struct work *w)
{
    each_run(&w->job.send, tt_flat_drop);
    each_run(&w->job.recv, tt_flat_drop);
}

/* The same type under a handle of our own. Not by MPI_Type_dup, which would call the user's attribute functions. */
static int same_type(MPI_Datatype type, MPI_Datatype *same)
{
    int error = PMPI_Type_contiguous(1, type, same);

    return error == MPI_SUCCESS ? PMPI_Type_commit(same) : error;
}

/* Blocks that share a type share the handle. But the user's op is to be called with the user's own, whether a plan or
 * the MPI below calls it: in every MPI that is good, freed or not, for as long as there is a type made of it. */
static int hold_types(struct work *w, struct tt_side *side)
{
    const bool is_for_an_op = (w->job.row->traits & TT_REDUCES) && !w->job.cell;
    MPI_Datatype theirs = MPI_DATATYPE_NULL, ours = MPI_DATATYPE_NULL;

    for (int i = 0; is_to_hold(side) && i < side->nblocks; i++) {
        MPI_Datatype *type = side->many ? &side->many[i].type : &side->only.type;

        if (*type != theirs) {
            theirs = *type;
            if (same_type(theirs, &ours) != MPI_SUCCESS)
                return -1;
            w->held[w->nheld++] = ours;
        }
        *type = is_for_an_op ? theirs : ours;
    }
    return 0;
}

/* A call that will be begun again needs handles. 0, or -1 if there is no memory. */
static int hold(struct work *w)
{
    if (!is_to_hold(&w->job.send) && !is_to_hold(&w->job.recv))
        return 0;
    w->held = malloc(((size_t)w->job.send.nblocks + (size_t)w->job.recv.nblocks) * sizeof *w->held + 1);
    return !w->held || hold_types(w, &w->job.send) || hold_types(w, &w->job.recv) ? -1 : 0;
}

static const void *copy_array(char **to, const void *from, size_t bytes)
{
    char *copy = *to;

    if (!from)
        return NULL;
    memcpy(copy, from, bytes);
    *to += (bytes + 7) / 8 * 8;
    return copy;
}

/* What a call says of one of its sides. */
struct said {
    MPI_Datatype *type;
    const void **counts, **displs;
    const MPI_Datatype **types;
};

/* The side's part of the call in terms of what is held, for when it is begun again. */
static void keep_side(struct work *w, const struct tt_side *side, const struct said *said, int n, char **room)
{
    const bool wide = w->call.wide, wide_displs = wide || (w->job.row->traits & TT_WIDE_DISPLS);
    MPI_Datatype *types = (MPI_Datatype *)*room;

    if (!side->significant)
        return;
    if (*said->types) {
        *said->types = copy_array(room, *said->types, (size_t)n * sizeof *types);
        for (int i = 0; i < n; i++)
            types[i] = tt_block_of(side, i)->type;
    } else if (side->nblocks > 0) {
        *said->type = tt_block_of(side, 0)->type;
    }
    *said->counts = copy_array(room, *said->counts, (size_t)n * (wide ? sizeof(MPI_Count) : sizeof(int)));
    *said->displs = copy_array(room, *said->displs, (size_t)n * (wide_displs ? sizeof(MPI_Aint) : sizeof(int)));
}

/* An op that is not applied by code of ours. */
static void keep_op(struct work *w)
{
    w->keeps_op = (w->job.row->traits & TT_REDUCES) && !w->job.cell && tt_op_hold(w->call.op) == 0;
}

static int keep_call(struct work *w)
{
    struct tt_call *c = &w->call;
    int senders = 0, receivers = 0;
    char *room;

    if (tt_count_peers(c, w->comm, &senders, &receivers) != MPI_SUCCESS)
        return -1;
    keep_op(w);
    room = w->arrays =
        malloc(((size_t)senders + (size_t)receivers) * (sizeof(MPI_Datatype) + 2 * sizeof(int64_t)) + 64);
    if (!room)
        return -1;
    keep_side(w, &w->job.send, &(struct said){&c->send.type, &c->send.counts, &c->send.displs, &c->send.types},
              receivers, &room);
    keep_side(w, &w->job.recv, &(struct said){&c->recv.type, &c->recv.counts, &c->recv.displs, &c->recv.types}, senders,
              &room);
    return 0;
}

/* ---- a work's life ---- */

static struct work *work_new(const struct tt_call *c, struct tt_comm *comm)
{
    struct work *w = malloc(sizeof *w);

    if (!w)
        return NULL;
    w->call = *c;
    w->comm = tt_comm_hold(comm);
    w->job.room = NULL;
    w->arrays = NULL;
    w->held = NULL;
    w->nheld = 0;
    w->keeps_op = w->holds_runs = false;
    w->watched = NULL;
    w->task.posted = false;
    w->check = NULL;
    return w;
}

static void work_free(struct work *w)
{
    for (int i = 0; i < w->nheld; i++)
        PMPI_Type_free(&w->held[i]);
    if (w->keeps_op)
        tt_op_release(w->call.op);
    if (w->holds_runs)
        drop_runs(w);
    tt_job_end(&w->job);
    tt_comm_release(w->comm);
    free(w->held);
    free(w->arrays);
    free(w->check);
    free(w);
}

static void end(struct work *w)
{
    w->ended = tt_task_end(&w->task);
    tt_watch_leave(w->watched, w->ended, &w->task);
    tt_stub_complete(&w->stub);
}

static bool poll_work(struct tt_poll *p)
{
    struct work *w = polled(p);
    const bool entered = tt_task_enter(&w->task);
    const bool done = tt_task_poll(&w->task);

    tt_task_leave(&w->task, entered);
    tt_watch_poll(w->watched, &w->task);
    if (done)
        end(w);
    return done;
}

/* What has been begun starts moving; what needs nobody is over at once. But a first round's messages may be long, and
 * be copied as they are sent: that is for the thread, where it runs. */
static void go(struct work *w)
{
    w->poll = (struct tt_poll){.poll = poll_work, .calls_out = !w->task.plan};
    if (tt_progress_thread_runs() || !poll_work(&w->poll))
        tt_poll_add(&w->poll);
}

/* ---- checked first: begun when the ranks have met and agree on what they call ---- */

/* All that the call names is held, as for one that is begun again. But its communicator may be freed before the MPI below
 * starts, on some ranks and not yet on others: so it gets the private one, which has the same ranks, unless it is for the
 * topology that the user's has. */
static enum tt_begun begin_checked(struct work *w)
{
    const MPI_Comm user = w->call.comm;
    enum tt_begun begun;
    int error;

    if (w->comm->wire_comm != MPI_COMM_NULL && !(tt_rows[w->call.coll].traits & TT_NEIGHBOURS))
        w->call.comm = w->comm->wire_comm;
    begun = tt_begin(&w->call, w->comm, TT_PERSISTENT, &w->job, &w->task, &error);
    tt_watch_begin(w->watched, &w->task);
    w->call.comm = user;
    return begun;
}

static bool poll_checked(struct tt_poll *p)
{
    struct work *w = polled(p);
    bool begun;

    if (!tt_check_poll(w->check))
        return false;
    begun = !w->check->failed && begin_checked(w) == TT_BEGUN;
    tt_check_close(w->check);
    if (begun) {
        p->poll = poll_work;
        return poll_work(p);
    }
    w->ended = TT_TASK_FAILED;
    tt_watch_leave(w->watched, w->ended, &w->task);
    tt_stub_complete(&w->stub);
    return true;
}

static void go_checked(struct work *w, enum tt_call_form form)
{
    w->task.why[0] = '\0';
    w->task.posted = false;
    tt_check_open(w->check, &w->call, w->comm, form, NULL);
    w->poll = (struct tt_poll){.poll = poll_checked, .calls_out = true};
    if (!poll_checked(&w->poll))
        tt_poll_add(&w->poll);
}

/* ---- what a request is good for ---- */

/* The communicator may be gone: then errors go where those of no communicator go. */
static MPI_Comm handler_of(const struct tt_ticket *t)
{
    const struct work *w = (const struct work *)t;

    return w->comm->freed ? MPI_COMM_SELF : w->call.comm;
}

static int settle(struct tt_ticket *t, MPI_Status *status, int error)
{
    struct work *w = work_of(t);

    (void)status;
    if (error != MPI_SUCCESS)
        return error;
    if (w->check && w->ended != TT_TASK_FAILED && w->ended != MPI_SUCCESS)
        tt_call_handler(handler_of(t), w->ended); /* which the MPI below has not seen */
    if (w->ended != TT_TASK_FAILED)
        return w->ended;
    w->call.comm = handler_of(t);
    if (w->check && w->check->failed)
        return tt_check_raise(w->check, w->call.comm);
    return tt_call_fail(&w->call, w->comm, w->task.why);
}

static const struct tt_event *event_of(const struct tt_ticket *t)
{
    return ((const struct work *)t)->watched;
}

static void drop(struct tt_ticket *t)
{
    tt_stub_close(&work_of(t)->stub);
    work_free(work_of(t));
}

static const struct tt_business nonblocking = {.settle = settle, .drop = drop, .comm = handler_of, .event = event_of};

/* ---- nonblocking ---- */

/* The request could not be had, but the others count on this rank: it stays until the work is done. */
static bool is_over(void *what)
{
    struct work *w = what;
    const bool entered = tt_task_enter(&w->task);
    const bool done = tt_task_poll(&w->task);

    tt_task_leave(&w->task, entered);
    tt_progress();
    return done;
}

static int finish_without_request(struct work *w)
{
    int error;

    tt_wait(is_over, w);
    tt_watch_leave(w->watched, tt_task_end(&w->task), &w->task);
    error = tt_raise(w->call.comm, "out of host memory, or of requests");
    work_free(w);
    return error;
}

/* A plan that applies an op hands it the datatype, and both may be freed as soon as the call has begun. Without memory
 * for that, this rank goes through the motions. */
static void hold_applied(struct work *w)
{
    if (!w->job.applies)
        return;
    keep_op(w);
    if ((hold(w) || !w->keeps_op) && !w->task.why[0])
        snprintf(w->task.why, sizeof w->task.why, "out of host memory");
}

static int start_work(struct work *w, MPI_Request *request)
{
    hold_runs(w);
    hold_applied(w);
    if (tt_stub_open(&w->stub, false) != MPI_SUCCESS)
        return finish_without_request(w);
    *request = w->stub.request;
    tt_ticket_open(&w->ticket, *request, &nonblocking, false);
    go(w);
    return MPI_SUCCESS;
}

/* A work that has not begun is freed before the user's error handler is called, which may not come back. */
static int refuse(struct work *w, const struct tt_call *c, struct tt_comm *comm, int error)
{
    char why[sizeof w->task.why];

    memcpy(why, w->task.why, sizeof why);
    work_free(w);
    return tt_refuse(c, comm, error, why);
}

/* The MPI below has it as it stands. */
static int hand_over(const struct tt_call *c, struct tt_event *event, MPI_Request *request)
{
    const int error = tt_start_native(c, request);

    if (error == MPI_SUCCESS)
        tt_awaited_collective(*request, event);
    tt_watch_hand_over(event, error);
    return error;
}

/* What is watched goes on in the work. */
static void take_event(struct work *w, const struct tt_event *event)
{
    if (!event)
        return;
    w->event = *event;
    w->event.call = &w->call;
    w->watched = &w->event;
}

/* This rank cannot do it, and all are told. It waits for that, having no memory to do it later. w may be NULL. */
static int give_up(const struct tt_call *c, struct tt_comm *comm, struct work *w, struct tt_event *event)
{
    int error;

    if (w)
        work_free(w);
    error = tt_check_call(c, comm, TT_CALL_NONBLOCKING, "out of host memory, or of requests");
    tt_watch_leave(event, error, NULL);
    return error;
}

/* What the call names is held, if it means something. 0, or -1 if there is no memory. */
static int keep_checked(struct work *w)
{
    const char *what = "";
    int error = 0;

    w->job = (struct tt_job){.call = &w->call, .row = &tt_rows[w->call.coll], .comm = w->comm};
    w->check = malloc(sizeof *w->check);
    if (tt_job_describe(&w->job, &what) == MPI_SUCCESS)
        error = hold(w) || keep_call(w);
    tt_job_end(&w->job);
    return w->check && !error ? 0 : -1;
}

static int start_checked(const struct tt_call *c, struct work *w, struct tt_event *event, MPI_Request *request)
{
    if (keep_checked(w) || tt_stub_open(&w->stub, false) != MPI_SUCCESS)
        return give_up(c, w->comm, w, event);
    *request = w->stub.request;
    tt_ticket_open(&w->ticket, *request, &nonblocking, false);
    take_event(w, event);
    go_checked(w, TT_CALL_NONBLOCKING);
    return MPI_SUCCESS;
}

static int run_nonblocking(const struct tt_call *c, struct tt_event *event, MPI_Request *request)
{
    struct tt_comm *comm;
    struct work *w;
    enum tt_begun begun;
    int error;

    if (c->comm == MPI_COMM_NULL || tt_comm_of(c->comm, TT_KNOWN, &comm) != MPI_SUCCESS)
        return hand_over(c, event, request);
    w = work_new(c, comm);
    if (!w && tt_checks(comm))
        return give_up(c, comm, NULL, event);
    if (!w) {
        tt_watch_leave(event, MPI_ERR_NO_MEM, NULL);
        return tt_raise(c->comm, "out of host memory");
    }
    if (tt_checks(comm))
        return start_checked(c, w, event, request);
    begun = tt_begin(&w->call, comm, TT_NONBLOCKING, &w->job, &w->task, &error);
    tt_watch_begin(event, &w->task);
    switch (begun) {
    case TT_BEGUN:
        take_event(w, event);
        return start_work(w, request);
    case TT_PASS:
        work_free(w);
        return hand_over(c, event, request);
    default:
        tt_watch_leave(event, error, &w->task);
        return refuse(w, c, comm, error);
    }
}

int tt_run_nonblocking(const struct tt_call *c, MPI_Request *request)
{
    struct tt_event room, *event;
    int error;

    if (tt_inside || !tt_is_on())
        return tt_start_native(c, request);
    tt_progress_in_passing();
    tt_inside++;
    event = tt_watch_enter(&room, c, TT_NONBLOCKING);
    error = run_nonblocking(c, event, request);
    tt_inside--;
    return error;
}

/* ---- persistent ---- */

static int restart(struct tt_ticket *t)
{
    struct work *w = work_of(t);
    MPI_Request request = t->request;
    enum tt_begun begun;
    int error = MPI_ERR_ARG;

    tt_progress_in_passing();
    tt_inside++;
    tt_job_end(&w->job);
    w->task.why[0] = '\0';
    w->watched = tt_watch_enter(&w->event, &w->call, TT_PERSISTENT);
    if (w->check && !w->comm->freed) {
        PMPI_Start(&request);
        go_checked(w, TT_CALL_START);
        tt_inside--;
        return MPI_SUCCESS;
    }
    begun = w->comm->freed ? TT_REFUSED : tt_begin(&w->call, w->comm, TT_PERSISTENT, &w->job, &w->task, &error);
    tt_watch_begin(w->watched, &w->task);
    if (begun == TT_BEGUN) {
        PMPI_Start(&request);
        go(w);
    } else {
        tt_watch_leave(w->watched, error, &w->task);
    }
    tt_inside--;
    w->call.comm = handler_of(t);
    return begun == TT_BEGUN ? MPI_SUCCESS : tt_refuse(&w->call, w->comm, error, w->task.why);
}

static const struct tt_business persistent = {.start = restart, .settle = settle, .drop = drop, .comm = handler_of, .event = event_of};

/* Making one is a call for which the ranks meet, in the same order as for all others. */
static int check_init(const struct tt_call *c, struct tt_comm *comm)
{
    return tt_checks(comm) ? tt_check_call(c, comm, TT_CALL_INIT, NULL) : MPI_SUCCESS;
}

static int run_init(const struct tt_call *c, MPI_Info info, MPI_Request *request)
{
    struct tt_comm *comm;
    struct work *w;
    unsigned made;
    int class;

    if (c->comm == MPI_COMM_NULL ||
        tt_comm_of(c->comm, tt_config.check ? TT_READY : TT_LOCATED, &comm) != MPI_SUCCESS)
        return tt_init_native(c, info, request);
    class = check_init(c, comm);
    if (class != MPI_SUCCESS)
        return class;
    made = ++comm->persistent; /* here on all ranks, or on none */
    w = work_new(c, comm);
    if (!w)
        return tt_raise(c->comm, "out of host memory");
    w->call.persistent = made;
    class = tt_would_begin(&w->call, comm, &w->job);
    if (class != MPI_SUCCESS && class != MPI_ERR_NO_MEM) {
        work_free(w);
        return tt_init_native(c, info, request);
    }
    w->check = tt_checks(comm) ? malloc(sizeof *w->check) : NULL;
    if (class == MPI_ERR_NO_MEM || (tt_checks(comm) && !w->check) || hold(w) || keep_call(w) ||
        tt_stub_open(&w->stub, true) != MPI_SUCCESS) {
        work_free(w);
        return tt_raise(c->comm, "out of host memory, or of requests");
    }
    *request = w->stub.request;
    tt_ticket_open(&w->ticket, *request, &persistent, true);
    return MPI_SUCCESS;
}

int tt_run_init(const struct tt_call *c, MPI_Info info, MPI_Request *request)
{
    int error;

    if (tt_inside || !tt_is_on())
        return tt_init_native(c, info, request);
    tt_progress_in_passing();
    tt_inside++;
    error = run_init(c, info, request);
    tt_inside--;
    return error;
}
