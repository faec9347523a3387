/* SPDX-License-Identifier: BSD-3-Clause */
/* Work that other libraries of the simulated node put on its devices. */
#include "tests/simcuda/guest.h"

#include "tests/simcuda/sim.h"

CUresult simcuda_guest_context(struct simcuda_guest_context *out)
{
    const CUresult error = sim_enter(NEED_CONTEXT);
    const struct CUctx_st *ctx = error ? NULL : sim_current();

    if (ctx)
        *out = (struct simcuda_guest_context){sim_current(), ctx->device, sim_uuid(ctx->device), ctx->primary, ctx->id};
    return sim_leave(error);
}

bool simcuda_guest_memory(const void *at, size_t bytes, struct simcuda_guest_memory *memory)
{
    struct operand operand;
    bool ours;

    pthread_mutex_lock(&sim.lock);
    ours = !sim_resolve((uintptr_t)at, bytes, SIDE_DEVICE, &operand) && sim_on_device(operand.block);
    if (ours) {
        const struct block *b = operand.block;

        memory->real = operand.real;
        memory->device = b->device;
        memory->fd = b->kind == BLOCK_DEVICE ? sim_span_fd() : -1;
        memory->offset = b->kind == BLOCK_DEVICE ? sim_span_offset(&b->span) + ((uintptr_t)at - b->span.at) : 0;
    }
    pthread_mutex_unlock(&sim.lock);
    return ours;
}

static CUresult run_guest(struct op *op)
{
    return op->guest.run(op->guest.data, op->guest.ending);
}

static void end_guest(struct op *op)
{
    op->guest.end(op->guest.data);
}

CUresult simcuda_guest_submit(CUstream stream, CUresult (*run)(void *data, const bool *ending), void (*end)(void *data),
                              void *data)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct CUstream_st *s = error ? NULL : sim_stream(stream, sim_current());
    struct op *op = NULL;

    if (!error && (!s || s->ctx != sim_current()))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && !(op = sim_op()))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error) {
        end(data);
        return sim_leave(error);
    }
    op->work = true;
    op->run = run_guest;
    op->end = end_guest;
    op->guest.run = run;
    op->guest.end = end;
    op->guest.data = data;
    op->guest.ending = &s->ctx->ending;
    sim.counters.launches++;
    return sim_leave(sim_submit(s, op));
}

bool simcuda_guest_due(enum simcuda_guest_fault fault)
{
    bool due;

    pthread_mutex_lock(&sim.lock);
    due = sim_fault_due(&sim.fault.guest[fault]);
    pthread_mutex_unlock(&sim.lock);
    return due;
}

unsigned long simcuda_guest_delay_ms(void)
{
    unsigned long ms;

    pthread_mutex_lock(&sim.lock);
    ms = sim.fault.guest_delay_ms;
    pthread_mutex_unlock(&sim.lock);
    return ms;
}
