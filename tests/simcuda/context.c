/* SPDX-License-Identifier: BSD-3-Clause */
/* Contexts: their lives, and which one each thread is in. A context's struct is never freed, so that a handle that
 * outlives its context is told CUDA_ERROR_CONTEXT_IS_DESTROYED. A device's primary context keeps one handle for
 * all its lives, as on a real driver: only the id tells that the memory and streams of the one before are gone. */
#include "tests/simcuda/sim.h"

#include <stdlib.h>
#include <unistd.h>

enum { STACK = 64, API_VERSION = 3020 };

static _Thread_local struct {
    CUcontext at[STACK];
    int depth;
} stack;

struct CUctx_st *sim_current(void)
{
    return stack.depth ? stack.at[stack.depth - 1] : NULL;
}

bool sim_ctx_known(CUcontext ctx)
{
    for (struct CUctx_st *c = sim.contexts; c; c = c->next)
        if (c == ctx)
            return true;
    return false;
}

static CUresult check_alive(CUcontext ctx)
{
    if (!ctx || !sim_ctx_known(ctx))
        return CUDA_ERROR_INVALID_CONTEXT;
    return ctx->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult sim_ctx_check(CUcontext ctx)
{
    const CUresult error = check_alive(ctx);

    return error ? error : ctx->error;
}

/* ---- lives ---- */

static struct CUctx_st *ctx_new(bool primary)
{
    struct CUctx_st *ctx = calloc(1, sizeof *ctx);

    if (ctx) {
        ctx->primary = primary;
        ctx->next = sim.contexts;
        sim.contexts = ctx;
    }
    return ctx;
}

CUresult sim_ctx_fresh(struct CUctx_st *ctx, int device)
{
    static unsigned long long lives;
    CUresult error;

    ctx->device = device;
    ctx->error = CUDA_SUCCESS;
    ctx->dying = false;
    __atomic_store_n(&ctx->ending, false, __ATOMIC_RELEASE);
    ctx->peers = 0;
    error = sim_stream_new(ctx, CU_STREAM_DEFAULT, 0, &ctx->legacy);
    if (error)
        return error;
    ctx->id = ++lives;
    ctx->alive = true;
    sim.counters.contexts++;
    return CUDA_SUCCESS;
}

/* Work that has been accepted is done first, unless the context has failed. */
void sim_ctx_end(struct CUctx_st *ctx)
{
    __atomic_store_n(&ctx->ending, true, __ATOMIC_RELEASE);
    if (!ctx->error)
        sim_ctx_idle(ctx);
    if (!ctx->alive)
        return; /* another thread was faster */
    ctx->dying = true;
    ctx->alive = false;
    sim_ctx_drop_streams(ctx);
    sim_ctx_drop_events(ctx);
    sim_ctx_drop_modules(ctx);
    sim_ctx_drop_blocks(ctx);
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
    CUresult error = sim_enter(NEED_INIT);
    struct CUctx_st *ctx = NULL;

    if (!error && !context)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !sim_device_valid(device))
        error = CUDA_ERROR_INVALID_DEVICE;
    if (!error && (stack.depth == STACK || !(ctx = ctx_new(false))))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error)
        error = sim_ctx_fresh(ctx, device);
    if (!error) {
        ctx->flags = flags;
        stack.at[stack.depth++] = *context = ctx;
    }
    return sim_leave(error);
}

CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned flags, CUdevice device)
{
    return params ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error)
        error = check_alive(context);
    if (!error && context->primary)
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (!error) {
        sim_ctx_end(context);
        if (sim_current() == context)
            stack.depth--;
    }
    return sim_leave(error);
}

/* ---- primary contexts ---- */

static CUresult enter_device(CUdevice device)
{
    const CUresult error = sim_enter(NEED_INIT);

    return error || sim_device_valid(device) ? error : CUDA_ERROR_INVALID_DEVICE;
}

static bool active(int device)
{
    return sim.primary[device] && sim.primary[device]->alive;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult error = enter_device(device);

    if (!error && !context)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !sim.primary[device])
        sim.primary[device] = ctx_new(true);
    if (!error && !sim.primary[device])
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error && !active(device))
        error = sim_ctx_fresh(sim.primary[device], device);
    if (!error) {
        sim.primary[device]->retained++;
        *context = sim.primary[device];
    }
    return sim_leave(error);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult error = enter_device(device);

    if (!error && (!sim.primary[device] || !sim.primary[device]->retained))
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (!error && --sim.primary[device]->retained == 0 && active(device))
        sim_ctx_end(sim.primary[device]);
    return sim_leave(error);
}

/* Who retained it still must release it, and finds a new life when it is retained again. */
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    const CUresult error = enter_device(device);

    if (!error && active(device))
        sim_ctx_end(sim.primary[device]);
    return sim_leave(error);
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    CUresult error = enter_device(device);

    (void)flags; /* how a thread waits, which makes no difference here */
    return sim_leave(error);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *is_active)
{
    CUresult error = enter_device(device);

    if (!error && (!flags || !is_active))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error) {
        *flags = 0;
        *is_active = active(device);
    }
    return sim_leave(error);
}

/* ---- the thread's ---- */

CUresult cuCtxGetCurrent(CUcontext *context)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error && !context)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *context = sim_current();
    return sim_leave(error);
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error && context)
        error = check_alive(context);
    if (!error && !stack.depth && context)
        stack.depth++;
    if (!error && stack.depth) {
        stack.at[stack.depth - 1] = context;
        stack.depth -= !context;
    }
    return sim_leave(error);
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error)
        error = check_alive(context);
    if (!error && stack.depth == STACK)
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error)
        stack.at[stack.depth++] = context;
    return sim_leave(error);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error && !stack.depth)
        error = CUDA_ERROR_INVALID_CONTEXT;
    if (!error && context)
        *context = stack.at[stack.depth - 1];
    if (!error)
        stack.depth--;
    return sim_leave(error);
}

/* ---- what is known of one ---- */

CUresult cuCtxGetDevice(CUdevice *device)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error)
        error = check_alive(sim_current());
    if (!error && !device)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *device = sim_current()->device;
    return sim_leave(error);
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!context)
        context = sim_current();
    if (!error)
        error = check_alive(context);
    if (!error && !id)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *id = context->id;
    return sim_leave(error);
}

CUresult cuCtxGetFlags(unsigned *flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !flags)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *flags = sim_current()->flags;
    return sim_leave(error);
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error)
        error = check_alive(context ? context : sim_current());
    if (!error && !version)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *version = API_VERSION;
    return sim_leave(error);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    const CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && least)
        *least = 0;
    if (!error && greatest)
        *greatest = 0;
    return sim_leave(error);
}

CUresult cuCtxSynchronize(void)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error) {
        sim.counters.syncs++;
        error = sim_ctx_idle(sim_current());
    }
    return sim_leave(error);
}

/* ---- peers ---- */

static CUresult set_peer(CUcontext peer, bool on)
{
    struct CUctx_st *ctx = sim_current();
    const CUresult error = check_alive(peer);

    if (error)
        return error;
    const uint64_t bit = UINT64_C(1) << peer->device;
    if (peer->device == ctx->device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (on && sim_reach(ctx->device, peer->device))
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (!(ctx->peers & bit) != on)
        return on ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    ctx->peers ^= bit;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && flags)
        error = CUDA_ERROR_INVALID_VALUE;
    return sim_leave(error ? error : set_peer(peer, true));
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    const CUresult error = sim_enter(NEED_CONTEXT);

    return sim_leave(error ? error : set_peer(peer, false));
}
