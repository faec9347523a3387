/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of another process. A handle says which process, which open file of its, where in it, and which stamp the
 * span's header page must carry: freeing wipes the page, so a stale handle is refused. The file is reached through
 * /proc/PID/fd, which leaves nothing behind and needs no more than the same user. */
#include "tests/simcuda/sim.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, MAGIC = 0x54535543 };

struct handle {
    uint32_t magic;
    int32_t pid, fd;
    uint32_t into;   /* from the span's first byte to the allocation's */
    uint64_t offset; /* of the span, in the file */
    uint64_t bytes;  /* of the allocation */
    CUuuid device;
    uint64_t stamp[2]; /* process, span */
};
_Static_assert(sizeof(struct handle) == sizeof(CUipcMemHandle), "a handle is 64 bytes");

static bool read_stamp(int fd, uint64_t offset, uint64_t stamp[2])
{
    return pread(fd, stamp, 2 * sizeof *stamp, (off_t)(offset - PAGE)) == (ssize_t)(2 * sizeof *stamp);
}

void sim_export(void *out, const struct span *span, uintptr_t at, size_t bytes, int device)
{
    struct handle h = {.magic = MAGIC, .pid = (int32_t)getpid(), .fd = sim_span_fd(), .into = (uint32_t)(at - span->at),
                       .offset = sim_span_offset(span), .bytes = bytes, .device = sim_uuid(device)};

    read_stamp(h.fd, h.offset, h.stamp);
    memcpy(out, &h, sizeof h);
}

static CUresult open_owner(const struct handle *h, int *fd)
{
    char path[64];
    uint64_t stamp[2];

    if (h->magic != MAGIC)
        return CUDA_ERROR_INVALID_VALUE;
    if (h->stamp[0] == sim.nonce)
        return CUDA_ERROR_INVALID_CONTEXT; /* its own: a driver refuses it too */
    snprintf(path, sizeof path, "/proc/%d/fd/%d", h->pid, h->fd);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0)
        return CUDA_ERROR_MAP_FAILED;
    if (read_stamp(*fd, h->offset, stamp) && memcmp(stamp, h->stamp, sizeof stamp) == 0)
        return CUDA_SUCCESS;
    close(*fd);
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_import(const void *handle, struct span *span)
{
    struct handle h;
    int fd;
    CUresult error;

    memcpy(&h, handle, sizeof h);
    error = open_owner(&h, &fd);
    if (error)
        return error;
    error = sim_span_borrow(span, fd, h.offset);
    close(fd);
    return error;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    const struct block *b = error ? NULL : sim_block_at(address);

    if (!error && (!handle || !b || b->kind != BLOCK_DEVICE || b->pooled))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && sim_fault_lasts(&sim.fault.export_from))
        error = CUDA_ERROR_NOT_SUPPORTED;
    if (!error) {
        sim_export(handle, &b->span, b->at, b->bytes, b->device);
        sim.counters.exports++;
    }
    return sim_leave(error);
}

static CUresult borrow(const CUipcMemHandle *handle, CUdeviceptr *address)
{
    struct block b = {.kind = BLOCK_BORROWED, .ctx = sim_current(), .opened = 1};
    struct handle h;
    CUresult error;

    memcpy(&h, handle, sizeof h);
    b.device = sim_device_of(&h.device);
    b.bytes = h.bytes;
    b.origin = h.offset + h.into;
    memcpy(b.stamp, h.stamp, sizeof b.stamp);
    if (b.device < 0)
        return CUDA_ERROR_INVALID_DEVICE;
    error = sim_reach(b.ctx->device, b.device);
    if (!error && sim_block_overlaps(b.stamp[0], b.origin, b.bytes, b.ctx))
        error = CUDA_ERROR_ALREADY_MAPPED; /* what was there before, and has been freed there, is still open here */
    if (!error)
        error = sim_span_take(h.into + h.bytes, &b.span);
    if (error)
        return error;
    b.at = b.span.at + h.into;
    error = sim_import(handle, &b.span);
    if (!error)
        error = sim_block_add(&b, NULL);
    if (error) {
        sim_span_give(&b.span);
        return error;
    }
    *address = b.at;
    sim.counters.opens++;
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct block *already;
    struct handle h;

    if (!error && (!address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))
        error = CUDA_ERROR_INVALID_VALUE;
    memcpy(&h, &handle, sizeof h);
    if (!error && h.magic != MAGIC)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && sim_fault_lasts(&sim.fault.open_from))
        error = CUDA_ERROR_MAP_FAILED;
    if (error)
        return sim_leave(error);
    already = sim_block_borrowed(h.stamp, sim_current());
    if (!already)
        return sim_leave(borrow(&handle, address));
    already->opened++;
    *address = already->at;
    return sim_leave(CUDA_SUCCESS);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct block *b = error ? NULL : sim_block_at(address);

    if (!error && (!b || b->kind != BLOCK_BORROWED || b->at != address))
        error = CUDA_ERROR_INVALID_VALUE;
    if (error)
        return sim_leave(error);
    sim_ctx_idle(b->ctx);
    b = sim_block_at(address);
    if (b && b->kind == BLOCK_BORROWED && --b->opened == 0) {
        sim_block_drop(b);
        sim.counters.closes++;
    }
    return sim_leave(CUDA_SUCCESS);
}
