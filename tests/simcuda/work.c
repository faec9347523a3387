/* SPDX-License-Identifier: BSD-3-Clause */
/* Asynchronous work. Each stream that is given any gets a thread of its own, so that streams overtake one another as
 * freely as on a device and nothing is done by the time the call returns. The legacy default stream's rule is a matter
 * of dependencies: what goes into it needs the last work of every blocking stream, and what goes into one of
 * those needs its last. A context with a sticky error does nothing any more, and what was waiting in it ends undone. */
#include "tests/simcuda/sim.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { FOREIGN_POLL_NS = 50000 };

static uint64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- marks ---- */

struct mark *sim_mark_hold(struct mark *mark)
{
    if (mark)
        mark->refs++;
    return mark;
}

void sim_mark_drop(struct mark *mark)
{
    if (mark && --mark->refs == 0)
        free(mark);
}

void sim_mark_wait(struct mark *mark)
{
    sim_mark_hold(mark);
    while (mark && !mark->done)
        pthread_cond_wait(&sim.progress, &sim.lock);
    sim_mark_drop(mark);
}

static CUresult marks_add(struct marks *marks, struct mark *mark)
{
    struct mark **at;

    if (!mark || mark->done)
        return CUDA_SUCCESS;
    at = realloc(marks->at, (marks->n + 1) * sizeof *at);
    if (!at)
        return CUDA_ERROR_OUT_OF_MEMORY;
    at[marks->n++] = sim_mark_hold(mark);
    marks->at = at;
    return CUDA_SUCCESS;
}

static void marks_drop(struct marks *marks)
{
    for (unsigned i = 0; i < marks->n; i++)
        sim_mark_drop(marks->at[i]);
    free(marks->at);
}

/* ---- ops ---- */

struct op *sim_op(void)
{
    struct op *op = calloc(1, sizeof *op);

    if (op)
        op->mark = calloc(1, sizeof *op->mark);
    if (op && op->mark) {
        op->mark->refs = 1;
        return op;
    }
    free(op);
    return NULL;
}

CUresult sim_op_needs(struct op *op, struct mark *mark)
{
    return marks_add(&op->needs, mark);
}

static void finish(struct op *op)
{
    op->mark->done = true;
    op->mark->when = now();
    if (op->end)
        op->end(op);
    sim_mark_drop(op->mark);
    marks_drop(&op->needs);
    free(op);
    pthread_cond_broadcast(&sim.progress);
}

CUresult sim_op_drop(struct op *op, CUresult error)
{
    finish(op);
    return error;
}

/* ---- the thread of a stream ---- */

static bool may_begin(const struct CUstream_st *s, const struct op *op)
{
    if (s->ctx->dying || s->ctx->error)
        return true;
    if (op->work && sim.fault.hold)
        return false;
    for (unsigned i = 0; i < op->needs.n; i++)
        if (!op->needs.at[i]->done)
            return false;
    if (op->word && (int32_t)(__atomic_load_n(op->word, __ATOMIC_ACQUIRE) - op->value) < 0)
        return false;
    return !op->flag || __atomic_load_n(op->flag, __ATOMIC_ACQUIRE) >= op->target;
}

/* Another process, or the program by a plain store, cannot wake us: its flag is looked at now and then. */
static void wait_for_progress(const struct op *op)
{
    struct timespec until;

    if (!op->flag && !op->word) {
        pthread_cond_wait(&sim.progress, &sim.lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += FOREIGN_POLL_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&sim.progress, &sim.lock, &until);
}

static CUresult execute(struct op *op, unsigned long delay_us)
{
    if (delay_us)
        usleep((useconds_t)delay_us);
    if (op->poison)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    return op->run ? op->run(op) : CUDA_SUCCESS;
}

static void run_first(struct CUstream_st *s)
{
    struct op *op = s->first;

    while (!may_begin(s, op))
        wait_for_progress(op);
    if (!s->ctx->dying && !s->ctx->error) {
        const unsigned long delay_us = op->work ? sim.fault.delay_us : 0;

        pthread_mutex_unlock(&sim.lock);
        const CUresult error = execute(op, delay_us);
        pthread_mutex_lock(&sim.lock);
        if (error && !s->ctx->error)
            s->ctx->error = error;
    }
    s->first = op->next;
    if (!s->first)
        s->end = &s->first;
    finish(op);
}

static void stream_free(struct CUstream_st *s)
{
    struct CUstream_st **link = &s->ctx->streams;

    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    sim_mark_drop(s->last);
    pthread_cond_destroy(&s->wake);
    free(s);
}

static void *serve(void *arg)
{
    struct CUstream_st *s = arg;
    struct CUctx_st *ctx = s->ctx;

    pthread_mutex_lock(&sim.lock);
    while (s->first || !s->closing) {
        if (s->first)
            run_first(s);
        else
            pthread_cond_wait(&s->wake, &sim.lock);
    }
    stream_free(s);
    ctx->workers--;
    pthread_cond_broadcast(&sim.progress);
    pthread_mutex_unlock(&sim.lock);
    return NULL;
}

/* The program's signals are none of the thread's business. */
static CUresult start_thread(struct CUstream_st *s)
{
    pthread_t thread;
    sigset_t all, before;
    int failed;

    if (s->started)
        return CUDA_SUCCESS;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&thread, NULL, serve, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        return CUDA_ERROR_OPERATING_SYSTEM;
    pthread_detach(thread);
    s->started = true;
    s->ctx->workers++;
    return CUDA_SUCCESS;
}

/* ---- giving it work ---- */

static CUresult order(struct CUstream_st *stream, struct op *op)
{
    struct CUctx_st *ctx = stream->ctx;
    CUresult error = CUDA_SUCCESS;

    if (stream->flags & CU_STREAM_NON_BLOCKING)
        return CUDA_SUCCESS;
    if (stream != ctx->legacy)
        return sim_op_needs(op, ctx->legacy->last);
    for (struct CUstream_st *s = ctx->streams; s && !error; s = s->next)
        if (s != stream && !(s->flags & CU_STREAM_NON_BLOCKING))
            error = sim_op_needs(op, s->last);
    return error;
}

static CUresult inject(struct CUstream_st *stream, struct op *op)
{
    if (!op->work)
        return CUDA_SUCCESS;
    if (sim_fault_due(&sim.fault.sticky))
        op->poison = true;
    if (!sim_fault_due(&sim.fault.lost))
        return CUDA_SUCCESS;
    sim_ctx_end(stream->ctx);
    return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult sim_submit(struct CUstream_st *stream, struct op *op)
{
    CUresult error = stream->ctx->error;

    if (!error && stream->capturing)
        error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!error)
        error = order(stream, op);
    if (!error)
        error = inject(stream, op);
    if (!error)
        error = start_thread(stream);
    if (error)
        return sim_op_drop(op, error);
    sim_mark_drop(stream->last);
    stream->last = sim_mark_hold(op->mark);
    *stream->end = op;
    stream->end = &op->next;
    pthread_cond_signal(&stream->wake);
    return CUDA_SUCCESS;
}

CUresult sim_submit_and_wait(struct CUstream_st *stream, struct op *op)
{
    struct mark *mark = sim_mark_hold(op->mark);
    struct CUctx_st *ctx = stream->ctx;
    CUresult error = sim_submit(stream, op);

    sim.counters.syncs++;
    if (!error) {
        sim_mark_wait(mark);
        error = ctx->error;
    }
    sim_mark_drop(mark);
    return error;
}

/* ---- streams, as the rest of the simulator sees them ---- */

CUresult sim_stream_new(struct CUctx_st *ctx, unsigned flags, int priority, struct CUstream_st **out)
{
    struct CUstream_st *s = calloc(1, sizeof *s);

    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->ctx = ctx;
    s->flags = flags;
    s->priority = priority;
    s->end = &s->first;
    pthread_cond_init(&s->wake, NULL);
    s->next = ctx->streams;
    ctx->streams = s;
    *out = s;
    return CUDA_SUCCESS;
}

/* Work given to it later is not waited for. */
CUresult sim_ctx_idle(struct CUctx_st *ctx)
{
    struct marks marks = {0};
    CUresult error = CUDA_SUCCESS;

    for (struct CUstream_st *s = ctx->streams; s && !error; s = s->next)
        error = marks_add(&marks, s->last);
    for (unsigned i = 0; i < marks.n; i++)
        sim_mark_wait(marks.at[i]);
    marks_drop(&marks);
    if (!error)
        error = ctx->alive ? ctx->error : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return error;
}

static void stream_close(struct CUstream_st *s)
{
    s->closing = true;
    if (s->started)
        pthread_cond_signal(&s->wake);
    else
        stream_free(s);
}

void sim_ctx_drop_streams(struct CUctx_st *ctx)
{
    for (struct CUstream_st *s = ctx->streams, *next; s; s = next) {
        next = s->next;
        stream_close(s);
    }
    ctx->legacy = NULL;
    pthread_cond_broadcast(&sim.progress);
    while (ctx->workers)
        pthread_cond_wait(&sim.progress, &sim.lock);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct CUstream_st *s = error ? NULL : sim_stream(handle, sim_current());

    if (!error && (!s || s == s->ctx->legacy || s->per_thread))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error)
        stream_close(s);
    return sim_leave(error);
}
