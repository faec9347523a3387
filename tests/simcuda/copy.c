/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies and fills. All are work of a stream; the calls that are synchronous wait for it, save between two places on
 * devices, where a real driver does not wait either. An asynchronous copy is as asynchronous as the host memory allows:
 * pageable sources are staged before the call returns, a pageable destination is full before it returns. */
#include "tests/simcuda/sim.h"

#include <stdlib.h>
#include <string.h>

struct request {
    CUdeviceptr dst, src;
    size_t dst_pitch, src_pitch, width, rows;
    enum side dst_side, src_side;
    bool async;
};

static struct request line(CUdeviceptr dst, enum side dst_side, CUdeviceptr src, enum side src_side, size_t bytes)
{
    return (struct request){dst, src, bytes, bytes, bytes, 1, dst_side, src_side, false};
}

static size_t extent(size_t pitch, size_t width, size_t rows)
{
    return pitch * (rows - 1) + width;
}

static CUresult run_copy(struct op *op)
{
    for (size_t y = 0; y < op->copy.rows; y++)
        memmove(op->copy.dst + y * op->copy.dst_pitch, op->copy.src + y * op->copy.src_pitch, op->copy.width);
    return CUDA_SUCCESS;
}

static void end_copy(struct op *op)
{
    free(op->copy.staging);
}

/* The source as it is now. */
static CUresult stage(struct op *op)
{
    char *staging = malloc(op->copy.width * op->copy.rows);

    if (!staging)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t y = 0; y < op->copy.rows; y++)
        memcpy(staging + y * op->copy.width, op->copy.src + y * op->copy.src_pitch, op->copy.width);
    op->copy.src = op->copy.staging = staging;
    op->copy.src_pitch = op->copy.width;
    return CUDA_SUCCESS;
}

static void count(bool from_device, bool to_device, size_t bytes)
{
    const enum simcuda_direction d = from_device ? to_device ? SIMCUDA_D2D : SIMCUDA_D2H
                                                 : to_device ? SIMCUDA_H2D : SIMCUDA_H2H;

    sim.counters.copies[d]++;
    sim.counters.bytes[d] += bytes;
}

void sim_count_peer(const struct block *b, size_t bytes)
{
    if (b && b->kind == BLOCK_BORROWED)
        sim.counters.peer_bytes += bytes;
}

static CUresult submit_copy(struct CUstream_st *s, const struct request *r, const struct operand *dst,
                            const struct operand *src)
{
    const bool from_device = sim_on_device(src->block), to_device = sim_on_device(dst->block);
    struct op *op = sim_op();
    CUresult error = CUDA_SUCCESS;

    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    op->work = true;
    op->run = run_copy;
    op->end = end_copy;
    op->copy.dst = dst->real;
    op->copy.src = src->real;
    op->copy.dst_pitch = r->dst_pitch;
    op->copy.src_pitch = r->src_pitch;
    op->copy.width = r->width;
    op->copy.rows = r->rows;
    if (r->async && !src->block && dst->block)
        error = stage(op);
    if (error)
        return sim_op_drop(op, error);
    count(from_device, to_device, r->width * r->rows);
    sim_count_peer(src->block, r->width * r->rows);
    sim_count_peer(dst->block, r->width * r->rows);
    if (r->async ? dst->block != NULL : from_device && to_device)
        return sim_submit(s, op);
    return sim_submit_and_wait(s, op);
}

/* With the lock held and a healthy context. */
static CUresult copy(const struct request *r, CUstream stream)
{
    struct CUstream_st *s = sim_stream(stream, sim_current());
    struct operand dst, src;
    CUresult error;

    if (!s)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!r->width || !r->rows)
        return CUDA_SUCCESS;
    if (r->rows > 1 && (r->dst_pitch < r->width || r->src_pitch < r->width))
        return CUDA_ERROR_INVALID_VALUE;
    error = sim_resolve(r->dst, extent(r->dst_pitch, r->width, r->rows), r->dst_side, &dst);
    if (!error)
        error = sim_resolve(r->src, extent(r->src_pitch, r->width, r->rows), r->src_side, &src);
    return error ? error : submit_copy(s, r, &dst, &src);
}

static CUresult copy_now(struct request r)
{
    const CUresult error = sim_enter(NEED_CONTEXT);

    return sim_leave(error ? error : copy(&r, CU_STREAM_LEGACY));
}

static CUresult copy_async(struct request r, CUstream stream)
{
    const CUresult error = sim_enter(NEED_CONTEXT);

    r.async = true;
    return sim_leave(error ? error : copy(&r, stream));
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return copy_now(line(dst, SIDE_ANY, src, SIDE_ANY, bytes));
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_async(line(dst, SIDE_ANY, src, SIDE_ANY, bytes), stream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
    return copy_now(line(dst, SIDE_DEVICE, (uintptr_t)src, SIDE_HOST, bytes));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
    return copy_async(line(dst, SIDE_DEVICE, (uintptr_t)src, SIDE_HOST, bytes), stream);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
    return copy_now(line((uintptr_t)dst, SIDE_HOST, src, SIDE_DEVICE, bytes));
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_async(line((uintptr_t)dst, SIDE_HOST, src, SIDE_DEVICE, bytes), stream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return copy_now(line(dst, SIDE_DEVICE, src, SIDE_DEVICE, bytes));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
    return copy_async(line(dst, SIDE_DEVICE, src, SIDE_DEVICE, bytes), stream);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes,
                           CUstream stream)
{
    struct request r = line(dst, SIDE_DEVICE, src, SIDE_DEVICE, bytes);
    CUresult error = sim_enter(NEED_CONTEXT);

    r.async = true;
    if (!error)
        error = sim_ctx_check(dst_context);
    if (!error)
        error = sim_ctx_check(src_context);
    return sim_leave(error ? error : copy(&r, stream));
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context, size_t bytes)
{
    return cuMemcpyPeerAsync(dst, dst_context, src, src_context, bytes, CU_STREAM_LEGACY);
}

/* ---- rectangles ---- */

static CUresult corner(CUmemorytype type, const void *host, CUdeviceptr device, size_t offset, CUdeviceptr *address,
                       enum side *side)
{
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        *side = SIDE_HOST;
        *address = (uintptr_t)host + offset;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        *side = type == CU_MEMORYTYPE_DEVICE ? SIDE_DEVICE : SIDE_ANY;
        *address = device + offset;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult rectangle(const CUDA_MEMCPY2D *c, struct request *r)
{
    CUresult error;

    if (!c)
        return CUDA_ERROR_INVALID_VALUE;
    r->dst_pitch = c->dstPitch ? c->dstPitch : c->dstXInBytes + c->WidthInBytes;
    r->src_pitch = c->srcPitch ? c->srcPitch : c->srcXInBytes + c->WidthInBytes;
    r->width = c->WidthInBytes;
    r->rows = c->Height;
    error = corner(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstY * r->dst_pitch + c->dstXInBytes, &r->dst,
                   &r->dst_side);
    if (!error)
        error = corner(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcY * r->src_pitch + c->srcXInBytes, &r->src,
                       &r->src_side);
    return error;
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c)
{
    struct request r = {0};
    const CUresult error = rectangle(c, &r);

    return error ? error : copy_now(r);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c)
{
    return cuMemcpy2D_v2(c);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
    struct request r = {0};
    const CUresult error = rectangle(c, &r);

    return error ? error : copy_async(r, stream);
}

/* ---- fills ---- */

static CUresult run_fill(struct op *op)
{
    for (size_t y = 0; y < op->fill.rows; y++)
        for (size_t x = 0; x < op->fill.width; x += op->fill.size)
            memcpy(op->fill.dst + y * op->fill.pitch + x, &op->fill.value, op->fill.size);
    return CUDA_SUCCESS;
}

static CUresult fill(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned size, size_t n, size_t rows,
                     CUstream stream)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct CUstream_st *s = error ? NULL : sim_stream(stream, sim_current());
    struct operand to;
    struct op *op = NULL;

    if (!error && !s)
        error = CUDA_ERROR_INVALID_HANDLE;
    if (error || !n || !rows)
        return sim_leave(error);
    if (dst % size || (rows > 1 && pitch < n * size))
        return sim_leave(CUDA_ERROR_INVALID_VALUE);
    error = sim_resolve(dst, extent(pitch, n * size, rows), SIDE_DEVICE, &to);
    if (!error && !(op = sim_op()))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error)
        return sim_leave(error);
    op->work = true;
    op->run = run_fill;
    op->fill.dst = to.real;
    op->fill.pitch = pitch;
    op->fill.width = n * size;
    op->fill.rows = rows;
    op->fill.value = value;
    op->fill.size = size;
    sim.counters.fills++;
    return sim_leave(sim_submit(s, op));
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
    return fill(dst, n, value, 1, n, 1, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
    return fill(dst, 2 * n, value, 2, n, 1, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t n, CUstream stream)
{
    return fill(dst, 4 * n, value, 4, n, 1, stream);
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t rows,
                           CUstream stream)
{
    return fill(dst, pitch, value, 1, width, rows, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t n)
{
    return cuMemsetD8Async(dst, value, n, CU_STREAM_LEGACY);
}

CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t n)
{
    return cuMemsetD16Async(dst, value, n, CU_STREAM_LEGACY);
}

CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t n)
{
    return cuMemsetD32Async(dst, value, n, CU_STREAM_LEGACY);
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t rows)
{
    return cuMemsetD2D8Async(dst, pitch, value, width, rows, CU_STREAM_LEGACY);
}
