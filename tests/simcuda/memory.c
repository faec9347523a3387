/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations of all kinds, in one list by address: what an address is, is asked here. Device memory ends 512-aligned
 * against an unmapped page, so that a kernel that runs past it is caught. Freeing waits for all work, as a driver
 * does; what a context has allocated goes with it, pinned memory too. */
#include "tests/simcuda/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, ALIGN = 512 };

static struct {
    struct block **at; /* by address */
    size_t n, room;
} blocks;

/* ---- the list ---- */

/* How many blocks begin at or below address. */
static size_t rank_of(uintptr_t address)
{
    size_t low = 0, high = blocks.n;

    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (blocks.at[mid]->at <= address)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct block *sim_block_at(uintptr_t address)
{
    const size_t i = rank_of(address);

    return i && address - blocks.at[i - 1]->at < blocks.at[i - 1]->bytes ? blocks.at[i - 1] : NULL;
}

CUresult sim_block_add(const struct block *block, struct block **out)
{
    static unsigned long long ids;
    const size_t i = rank_of(block->at);
    struct block *b = malloc(sizeof *b);

    if (b && blocks.n == blocks.room) {
        const size_t room = blocks.room ? 2 * blocks.room : 64;
        struct block **at = realloc(blocks.at, room * sizeof *at);

        if (at) {
            blocks.at = at;
            blocks.room = room;
        }
    }
    if (!b || blocks.n == blocks.room) {
        free(b);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *b = *block;
    b->id = ++ids;
    memmove(blocks.at + i + 1, blocks.at + i, (blocks.n++ - i) * sizeof *blocks.at);
    blocks.at[i] = b;
    if (out)
        *out = b;
    return CUDA_SUCCESS;
}

void sim_block_drop(struct block *b)
{
    const size_t i = rank_of(b->at) - 1;

    memmove(blocks.at + i, blocks.at + i + 1, (--blocks.n - i) * sizeof *blocks.at);
    if (b->span.bytes)
        sim_span_give(&b->span);
    if (b->mapped)
        munmap((void *)b->at, b->mapped);
    if (b->kind == BLOCK_DEVICE || b->kind == BLOCK_MANAGED)
        sim.used[b->device] -= b->bytes;
    free(b);
}

void sim_ctx_drop_blocks(struct CUctx_st *ctx)
{
    for (size_t i = blocks.n; i-- > 0;)
        if (blocks.at[i]->ctx == ctx)
            sim_block_drop(blocks.at[i]);
}

struct block *sim_block_borrowed(const uint64_t stamp[2], struct CUctx_st *ctx)
{
    for (size_t i = 0; i < blocks.n; i++) {
        struct block *b = blocks.at[i];

        if (b->kind == BLOCK_BORROWED && b->ctx == ctx && memcmp(b->stamp, stamp, sizeof b->stamp) == 0)
            return b;
    }
    return NULL;
}

bool sim_block_overlaps(uint64_t owner, uint64_t origin, size_t bytes, const struct CUctx_st *ctx)
{
    for (size_t i = 0; i < blocks.n; i++) {
        const struct block *b = blocks.at[i];

        if (b->kind == BLOCK_BORROWED && b->ctx == ctx && b->stamp[0] == owner && b->origin < origin + bytes &&
            origin < b->origin + b->bytes)
            return true;
    }
    return false;
}

CUresult sim_resolve(CUdeviceptr address, size_t bytes, enum side side, struct operand *operand)
{
    const struct block *b = sim_block_at(address);

    if (!b && (side == SIDE_DEVICE || !address || sim_in_range(address)))
        return CUDA_ERROR_INVALID_VALUE;
    if (b && bytes > b->at + b->bytes - address)
        return CUDA_ERROR_INVALID_VALUE;
    if (b && side == SIDE_HOST && b->kind <= BLOCK_BORROWED)
        return CUDA_ERROR_INVALID_VALUE;
    operand->block = b;
    operand->real = sim_in_range(address) ? sim_real(address) : (char *)address;
    return CUDA_SUCCESS;
}

/* ---- device memory ---- */

static CUresult allot(size_t bytes, struct CUctx_st *ctx)
{
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_fault_due(&sim.fault.oom) || sim_fault_lasts(&sim.fault.oom_from) || bytes > sim.memory - sim.used[ctx->device])
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

uint64_t sim_stamp(void)
{
    static uint64_t stamps;

    return ++stamps;
}

static CUresult device_alloc(size_t bytes, bool pooled, CUdeviceptr *address)
{
    struct block b = {.bytes = bytes, .kind = BLOCK_DEVICE, .ctx = sim_current(), .device = sim_current()->device,
                      .pooled = pooled};
    CUresult error = allot(bytes, b.ctx);

    if (!error)
        error = sim_span_take(bytes + ALIGN, &b.span);
    if (error)
        return error;
    b.at = b.span.at + b.span.bytes - (bytes + ALIGN - 1) / ALIGN * ALIGN;
    error = sim_span_back(&b.span, sim_stamp());
    if (!error)
        error = sim_block_add(&b, NULL);
    if (error) {
        sim_span_give(&b.span);
        return error;
    }
    sim.used[b.device] += bytes;
    sim.counters.device_allocs++;
    *address = b.at;
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !address)
        error = CUDA_ERROR_INVALID_VALUE;
    return sim_leave(error ? error : device_alloc(bytes, false, address));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width, size_t rows, unsigned element)
{
    const size_t whole = (width + ALIGN - 1) / ALIGN * ALIGN;

    (void)element; /* every pitch given here suits every element */
    if (pitch)
        *pitch = whole;
    return pitch && rows && whole <= SIZE_MAX / rows ? cuMemAlloc_v2(address, whole * rows) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && (!available || !total))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error) {
        *total = sim.memory;
        *available = sim.memory - sim.used[sim_current()->device];
    }
    return sim_leave(error);
}

/* The block that begins there, of a kind from low to high. */
static struct block *whole_block(uintptr_t address, enum block_kind low, enum block_kind high)
{
    struct block *b = sim_block_at(address);

    return b && b->at == address && b->kind >= low && b->kind <= high ? b : NULL;
}

/* The work of any context may be using it. A context may end meanwhile and take the block with
 * it, so it is looked up again. */
static CUresult free_block(uintptr_t address, enum block_kind low, enum block_kind high, unsigned long long *counter)
{
    struct block *b = whole_block(address, low, high);

    if (!b)
        return CUDA_ERROR_INVALID_VALUE;
    for (struct CUctx_st *ctx = sim.contexts; ctx; ctx = ctx->next)
        sim_ctx_idle(ctx);
    b = whole_block(address, low, high);
    if (!b)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    sim_block_drop(b);
    ++*counter;
    sim.counters.syncs++;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && address) {
        const struct block *b = whole_block(address, BLOCK_DEVICE, BLOCK_MANAGED);

        error = !b || b->kind == BLOCK_BORROWED ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    if (!error && address)
        error = free_block(address, BLOCK_DEVICE, BLOCK_MANAGED, &sim.counters.device_frees);
    return sim_leave(error);
}

/* ---- in the order of a stream ---- */

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !address)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !sim_stream(stream, sim_current()))
        error = CUDA_ERROR_INVALID_HANDLE;
    return sim_leave(error ? error : device_alloc(bytes, true, address));
}

static void end_free(struct op *op)
{
    struct block *b = whole_block(op->freed, BLOCK_DEVICE, BLOCK_DEVICE);

    if (b)
        sim_block_drop(b);
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct CUstream_st *s = error ? NULL : sim_stream(stream, sim_current());
    struct op *op = NULL;

    if (!error && !s)
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && !whole_block(address, BLOCK_DEVICE, BLOCK_DEVICE))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !(op = sim_op()))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error)
        return sim_leave(error);
    op->freed = address;
    op->end = end_free;
    sim.counters.device_frees++;
    return sim_leave(sim_submit(s, op));
}

/* ---- memory that the host may touch ---- */

static CUresult host_alloc(size_t bytes, enum block_kind kind, unsigned flags, uintptr_t *address)
{
    struct block b = {.bytes = bytes, .kind = kind, .flags = flags, .ctx = sim_current(),
                      .device = sim_current()->device, .mapped = (bytes + PAGE - 1) / PAGE * PAGE};
    CUresult error;
    void *p = mmap(NULL, b.mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *address = b.at = (uintptr_t)p;
    error = sim_block_add(&b, NULL);
    if (error)
        munmap(p, b.mapped);
    return error;
}

CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    uintptr_t at;

    if (!error && (!address || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = allot(bytes, sim_current());
    if (!error)
        error = host_alloc(bytes, BLOCK_MANAGED, flags, &at);
    if (!error) {
        sim.used[sim_current()->device] += bytes;
        sim.counters.device_allocs++;
        *address = at;
    }
    return sim_leave(error);
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    uintptr_t at;

    if (!error && (!address || !bytes || flags > 7))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && (sim_fault_due(&sim.fault.pinned) || sim_fault_lasts(&sim.fault.pinned_from)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error)
        error = host_alloc(bytes, BLOCK_PINNED, flags, &at);
    if (!error) {
        sim.counters.pinned_allocs++;
        *address = (void *)at;
    }
    return sim_leave(error);
}

CUresult cuMemAllocHost_v2(void **address, size_t bytes)
{
    return cuMemHostAlloc(address, bytes, 0);
}

CUresult cuMemFreeHost(void *address)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && address)
        error = free_block((uintptr_t)address, BLOCK_PINNED, BLOCK_PINNED, &sim.counters.pinned_frees);
    return sim_leave(error);
}

static bool overlaps(uintptr_t at, size_t bytes)
{
    const size_t i = rank_of(at + bytes - 1);

    return i && blocks.at[i - 1]->at + blocks.at[i - 1]->bytes > at;
}

CUresult cuMemHostRegister_v2(void *address, size_t bytes, unsigned flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct block b = {.at = (uintptr_t)address, .bytes = bytes, .kind = BLOCK_REGISTERED, .flags = flags};

    if (!error && (!address || !bytes || flags > 15 || b.at + bytes < b.at || sim_in_range(b.at)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && overlaps(b.at, bytes))
        error = CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (!error && (sim_fault_due(&sim.fault.pinned) || sim_fault_lasts(&sim.fault.pinned_from)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (error)
        return sim_leave(error);
    b.ctx = sim_current();
    b.device = b.ctx->device;
    error = sim_block_add(&b, NULL);
    sim.counters.pinned_allocs += !error;
    return sim_leave(error);
}

CUresult cuMemHostUnregister(void *address)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !whole_block((uintptr_t)address, BLOCK_REGISTERED, BLOCK_REGISTERED))
        error = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (!error)
        error = free_block((uintptr_t)address, BLOCK_REGISTERED, BLOCK_REGISTERED, &sim.counters.pinned_frees);
    return sim_leave(error);
}

/* The block of host memory that a kernel may touch, or NULL. */
static const struct block *pinned_at(const void *address)
{
    const struct block *b = sim_block_at((uintptr_t)address);

    return b && b->kind >= BLOCK_MANAGED ? b : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned flags)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && (!address || flags || !pinned_at(host)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *address = (uintptr_t)host;
    return sim_leave(error);
}

CUresult cuMemHostGetFlags(unsigned *flags, void *address)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && (!flags || !pinned_at(address)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *flags = pinned_at(address)->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return sim_leave(error);
}
