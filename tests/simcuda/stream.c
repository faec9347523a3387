/* SPDX-License-Identifier: BSD-3-Clause */
/* The entry points for streams; what a stream is stands in work.c. */
#include "tests/simcuda/sim.h"

#include <stdlib.h>

static struct CUstream_st *find(CUstream handle)
{
    for (struct CUctx_st *ctx = sim.contexts; ctx; ctx = ctx->next)
        for (struct CUstream_st *s = ctx->streams; s; s = s->next)
            if (s == handle)
                return s->closing ? NULL : s;
    return NULL;
}

/* A thread's own, made when it is first named. */
static struct CUstream_st *per_thread(struct CUctx_st *ctx)
{
    struct CUstream_st *s = ctx->streams;

    while (s && !(s->per_thread && pthread_equal(s->owner, pthread_self())))
        s = s->next;
    if (!s && !sim_stream_new(ctx, CU_STREAM_DEFAULT, 0, &s)) {
        s->per_thread = true;
        s->owner = pthread_self();
    }
    return s;
}

struct CUstream_st *sim_stream(CUstream handle, struct CUctx_st *ctx)
{
    if (!handle || handle == CU_STREAM_LEGACY)
        return ctx->legacy;
    return handle == CU_STREAM_PER_THREAD ? per_thread(ctx) : find(handle);
}

/* Enters, and finds the stream. */
static CUresult enter_stream(CUstream handle, struct CUstream_st **s)
{
    const CUresult error = sim_enter(NEED_CONTEXT);

    if (error)
        return error;
    *s = sim_stream(handle, sim_current());
    return *s ? (*s)->ctx->error : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && (!stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = sim_stream_new(sim_current(), flags, priority, stream);
    sim.counters.streams += !error;
    return sim_leave(error);
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamQuery(CUstream handle)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    sim.counters.queries++;
    if (!error && s->last && !s->last->done)
        error = CUDA_ERROR_NOT_READY;
    return sim_leave(error);
}

CUresult cuStreamSynchronize(CUstream handle)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    if (!error) {
        struct CUctx_st *ctx = s->ctx;

        sim.counters.syncs++;
        sim_mark_wait(s->last);
        error = ctx->alive ? ctx->error : CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    return sim_leave(error);
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    if (!error && !priority)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *priority = s->priority;
    return sim_leave(error);
}

CUresult cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    if (!error && !flags)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *flags = s->flags;
    return sim_leave(error);
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *context)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    if (!error && !context)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *context = s->ctx;
    return sim_leave(error);
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    if (!error && !status)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *status = s->capturing;
    return sim_leave(error);
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    (void)mode;
    if (!error && s == s->ctx->legacy)
        error = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!error && s->capturing)
        error = CUDA_ERROR_ILLEGAL_STATE;
    if (!error)
        s->capturing = true;
    return sim_leave(error);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);

    if (!error && !graph)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !s->capturing)
        error = CUDA_ERROR_ILLEGAL_STATE;
    if (!error) {
        s->capturing = false;
        *graph = NULL;
    }
    return sim_leave(error);
}

/* ---- functions of the program, called in a stream's order ---- */

static CUresult call_back(struct op *op)
{
    sim_in_callback = true;
    if (op->host.function)
        op->host.function(op->host.data);
    else
        op->host.callback(op->host.stream, CUDA_SUCCESS, op->host.data);
    sim_in_callback = false;
    return CUDA_SUCCESS;
}

static CUresult submit_call(CUstream handle, CUhostFn function, CUstreamCallback callback, void *data)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);
    struct op *op = NULL;

    if (!error && !function && !callback)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !(op = sim_op()))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error)
        return sim_leave(error);
    sim.counters.host_functions++;
    op->run = call_back;
    op->host.function = function;
    op->host.callback = callback;
    op->host.stream = handle;
    op->host.data = data;
    return sim_leave(sim_submit(s, op));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
    return submit_call(stream, function, NULL, data);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags)
{
    (void)flags; /* reserved */
    return submit_call(stream, NULL, callback, data);
}

/* ---- waiting for a word of pinned host memory; for one of the device's, a program would need another kernel ---- */

static bool is_host_word(CUdeviceptr address)
{
    const struct block *b = address % sizeof(uint32_t) ? NULL : sim_block_at(address);

    return b && (b->kind == BLOCK_PINNED || b->kind == BLOCK_REGISTERED);
}

CUresult cuStreamWaitValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value, unsigned flags)
{
    struct CUstream_st *s;
    CUresult error = enter_stream(handle, &s);
    struct op *op = NULL;

    if (!error && !is_host_word(address))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && flags != CU_STREAM_WAIT_VALUE_GEQ)
        error = CUDA_ERROR_NOT_SUPPORTED;
    if (!error && !(op = sim_op()))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error)
        return sim_leave(error);
    sim.counters.value_waits++;
    op->word = (const volatile uint32_t *)(uintptr_t)address;
    op->value = value;
    return sim_leave(sim_submit(s, op));
}
