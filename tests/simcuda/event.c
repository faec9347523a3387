/* SPDX-License-Identifier: BSD-3-Clause */
/* Events. Recording one gives the stream an empty piece of work and keeps its mark; whoever waits, waits for that mark,
 * so recording again does not disturb earlier waits. An interprocess event is, besides, two numbers in memory that all
 * its processes map: how often it was recorded, and up to which of these it is done. */
#include "tests/simcuda/sim.h"

#include <stdlib.h>
#include <string.h>

struct counts {
    volatile uint64_t recorded, done;
};

/* What an interprocess event and the work that signals or awaits it share; the event may be destroyed first. */
struct shared {
    unsigned refs;
    struct span span;
    struct counts *counts;
};

struct CUevent_st {
    struct CUevent_st *next; /* of the context */
    struct CUctx_st *ctx;
    unsigned flags;
    struct mark *mark; /* NULL: never recorded by this process */
    struct shared *shared; /* interprocess */
    bool borrowed;         /* made by another process */
};

static struct CUevent_st *find(CUevent handle)
{
    for (struct CUctx_st *ctx = sim.contexts; ctx; ctx = ctx->next)
        for (struct CUevent_st *e = ctx->events; e; e = e->next)
            if (e == handle)
                return e;
    return NULL;
}

static CUresult enter_event(CUevent handle)
{
    const CUresult error = sim_enter(NEED_CONTEXT);

    if (error)
        return error;
    return find(handle) ? handle->ctx->error : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult event_new(unsigned flags, CUevent *event)
{
    struct CUctx_st *ctx = sim_current();
    struct CUevent_st *e = calloc(1, sizeof *e);

    if (!e)
        return CUDA_ERROR_OUT_OF_MEMORY;
    e->ctx = ctx;
    e->flags = flags;
    e->next = ctx->events;
    ctx->events = e;
    *event = e;
    sim.counters.events++;
    return CUDA_SUCCESS;
}

static void shared_drop(struct shared *shared)
{
    if (!shared || --shared->refs)
        return;
    sim_span_give(&shared->span);
    free(shared);
}

static void end_shared(struct op *op)
{
    shared_drop(op->signal.shared);
}

static void event_free(struct CUevent_st *e)
{
    struct CUevent_st **link = &e->ctx->events;

    while (*link != e)
        link = &(*link)->next;
    *link = e->next;
    sim_mark_drop(e->mark);
    shared_drop(e->shared);
    free(e);
}

void sim_ctx_drop_events(struct CUctx_st *ctx)
{
    while (ctx->events)
        event_free(ctx->events);
}

static CUresult share(struct CUevent_st *e)
{
    struct shared *shared = calloc(1, sizeof *shared);
    CUresult error = shared ? sim_span_take(sizeof *shared->counts, &shared->span) : CUDA_ERROR_OUT_OF_MEMORY;

    if (error) {
        free(shared);
        return error;
    }
    shared->refs = 1;
    shared->counts = (struct counts *)sim_real(shared->span.at);
    e->shared = shared;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    const unsigned known = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && (!event || (flags & ~known)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && (flags & CU_EVENT_INTERPROCESS) && !(flags & CU_EVENT_DISABLE_TIMING))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = event_new(flags, event);
    if (!error && (flags & CU_EVENT_INTERPROCESS)) {
        error = share(*event);
        if (!error)
            error = sim_span_back(&(*event)->shared->span, sim_stamp());
        if (error)
            event_free(*event);
    }
    return sim_leave(error);
}

CUresult cuEventDestroy_v2(CUevent event)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !find(event))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error)
        event_free(event);
    return sim_leave(error);
}

/* ---- recording and waiting ---- */

static CUresult signal_shared(struct op *op)
{
    __atomic_store_n(op->signal.flag, op->signal.value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

static void hold_shared(struct op *op, struct shared *shared)
{
    shared->refs++;
    op->signal.shared = shared;
    op->end = end_shared;
}

static CUresult record(struct CUevent_st *e, struct CUstream_st *s)
{
    struct op *op = sim_op();
    struct mark *mark;
    CUresult error;

    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (e->shared) {
        hold_shared(op, e->shared);
        op->run = signal_shared;
        op->signal.flag = &e->shared->counts->done;
        op->signal.value = __atomic_add_fetch(&e->shared->counts->recorded, 1, __ATOMIC_ACQ_REL);
    }
    mark = sim_mark_hold(op->mark);
    error = sim_submit(s, op);
    if (error) {
        sim_mark_drop(mark);
        return error;
    }
    sim_mark_drop(e->mark);
    e->mark = mark;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    CUresult error = enter_event(event);
    struct CUstream_st *s = error ? NULL : sim_stream(stream, sim_current());

    if (!error && (!s || s->ctx != event->ctx))
        error = CUDA_ERROR_INVALID_HANDLE;
    return sim_leave(error ? error : record(event, s));
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags)
{
    return flags ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(event, stream);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
    CUresult error = enter_event(event);
    struct CUstream_st *s = error ? NULL : sim_stream(stream, sim_current());
    struct op *op = NULL;

    if (!error && !s)
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && flags)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !(op = sim_op()))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error)
        return sim_leave(error);
    if (event->shared) {
        hold_shared(op, event->shared);
        op->flag = &event->shared->counts->done;
        op->target = __atomic_load_n(&event->shared->counts->recorded, __ATOMIC_ACQUIRE);
    } else {
        error = sim_op_needs(op, event->mark);
    }
    return sim_leave(error ? sim_op_drop(op, error) : sim_submit(s, op));
}

static bool done(const struct CUevent_st *e)
{
    if (e->shared)
        return __atomic_load_n(&e->shared->counts->done, __ATOMIC_ACQUIRE) >=
               __atomic_load_n(&e->shared->counts->recorded, __ATOMIC_ACQUIRE);
    return !e->mark || e->mark->done;
}

CUresult cuEventQuery(CUevent event)
{
    CUresult error = enter_event(event);

    sim.counters.queries++;
    if (!error && !done(event))
        error = CUDA_ERROR_NOT_READY;
    return sim_leave(error);
}

/* Another process's record is polled for, with the lock released in between. */
static void wait_shared(struct CUevent_st *e)
{
    struct timespec nap = {0, 50000};

    while (find(e) && !done(e)) {
        pthread_mutex_unlock(&sim.lock);
        nanosleep(&nap, NULL);
        pthread_mutex_lock(&sim.lock);
    }
}

CUresult cuEventSynchronize(CUevent event)
{
    CUresult error = enter_event(event);

    if (!error) {
        struct CUctx_st *ctx = event->ctx;

        sim.counters.syncs++;
        if (event->shared)
            wait_shared(event);
        else
            sim_mark_wait(event->mark);
        error = ctx->alive ? ctx->error : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    return sim_leave(error);
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    CUresult error = enter_event(start);

    if (!error && !find(end))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && !ms)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && (((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING) || !start->mark || !end->mark))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && (!start->mark->done || !end->mark->done))
        error = CUDA_ERROR_NOT_READY;
    if (!error)
        *ms = (float)((double)((int64_t)end->mark->when - (int64_t)start->mark->when) * 1e-6);
    return sim_leave(error);
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    return cuEventElapsedTime(ms, start, end);
}

/* ---- across processes ---- */

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event)
{
    CUresult error = enter_event(event);

    if (!error && (!handle || !event->shared || event->borrowed))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        sim_export(handle, &event->shared->span, event->shared->span.at, sizeof(struct counts), event->ctx->device);
    return sim_leave(error);
}

static CUresult borrow(const CUipcEventHandle *handle, CUevent *event)
{
    CUresult error = event_new(CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS, event);

    if (error)
        return error;
    error = share(*event);
    if (!error)
        error = sim_import(handle, &(*event)->shared->span);
    (*event)->borrowed = true;
    if (error)
        event_free(*event);
    return error;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !event)
        error = CUDA_ERROR_INVALID_VALUE;
    return sim_leave(error ? error : borrow(&handle, event));
}
