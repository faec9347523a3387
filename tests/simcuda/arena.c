/* SPDX-License-Identifier: BSD-3-Clause */
/* Device addresses. Two ranges of address space of one size are reserved: the first is what the program sees and stays
 * unmapped for ever, so that a host instruction that follows a device pointer faults; the second, a constant apart, is
 * where the simulator reaches the memory behind it, allocation by allocation. That memory is one anonymous file, so
 * that another process can map a piece of it (IPC) and nothing is left behind however this one ends.
 *
 * A span is a header page, which carries a stamp for other processes and stays unmapped as a guard, then whole pages.
 * Addresses are given out first fit: as on a real device, a freed address soon comes back as something else. */
#include "tests/simcuda/sim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };
static const size_t RANGE = (size_t)1 << 38;

static struct {
    uintptr_t base; /* 0: not yet reserved */
    ptrdiff_t delta;
    int fd;
    size_t length; /* of the file */
    struct span *taken; /* by address; each with its header page */
    size_t ntaken, room;
} arena;

static void *reserve(void)
{
    void *p = mmap(NULL, RANGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

static CUresult open_arena(void)
{
    if (arena.base)
        return CUDA_SUCCESS;
    char *seen = reserve(), *real = reserve();
    arena.fd = memfd_create("tutti-simulated-gpu", MFD_CLOEXEC);
    if (!seen || !real || arena.fd < 0) {
        sim_say("cannot reserve %zu GiB of address space (see ulimit -v)", 2 * RANGE >> 30);
        return CUDA_ERROR_OPERATING_SYSTEM;
    }
    arena.base = (uintptr_t)seen;
    arena.delta = real - seen;
    return CUDA_SUCCESS;
}

bool sim_in_range(uintptr_t address)
{
    return arena.base && address - arena.base < RANGE;
}

char *sim_real(uintptr_t address)
{
    return (char *)(address + (uintptr_t)arena.delta);
}

uint64_t sim_span_offset(const struct span *span)
{
    return span->at - arena.base;
}

int sim_span_fd(void)
{
    return arena.fd;
}

static CUresult make_room(void)
{
    if (arena.ntaken < arena.room)
        return CUDA_SUCCESS;
    const size_t room = arena.room ? 2 * arena.room : 64;
    struct span *taken = realloc(arena.taken, room * sizeof *taken);
    if (!taken)
        return CUDA_ERROR_OUT_OF_MEMORY;
    arena.taken = taken;
    arena.room = room;
    return CUDA_SUCCESS;
}

CUresult sim_span_take(size_t bytes, struct span *span)
{
    CUresult error = open_arena();
    uintptr_t at = arena.base;
    size_t i = 0;

    if (!error && bytes > RANGE - 2 * PAGE)
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error)
        error = make_room();
    if (error)
        return error;
    const size_t whole = (bytes + 2 * PAGE - 1) / PAGE * PAGE;
    while (i < arena.ntaken && arena.taken[i].at - at < whole) {
        at = arena.taken[i].at + arena.taken[i].bytes;
        i++;
    }
    if (arena.base + RANGE - at < whole)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memmove(arena.taken + i + 1, arena.taken + i, (arena.ntaken++ - i) * sizeof *arena.taken);
    arena.taken[i] = (struct span){at, whole};
    *span = (struct span){at + PAGE, whole - PAGE};
    return CUDA_SUCCESS;
}

static CUresult map(const struct span *span, int fd, uint64_t offset)
{
    void *p = mmap(sim_real(span->at), span->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);

    return p == MAP_FAILED ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

CUresult sim_span_back(struct span *span, uint64_t stamp)
{
    const uint64_t offset = sim_span_offset(span), header[2] = {sim.nonce, stamp};

    if (offset + span->bytes > arena.length) {
        if (ftruncate(arena.fd, (off_t)(offset + span->bytes)))
            return CUDA_ERROR_OUT_OF_MEMORY;
        arena.length = offset + span->bytes;
    }
    if (pwrite(arena.fd, header, sizeof header, (off_t)(offset - PAGE)) != (ssize_t)sizeof header)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return map(span, arena.fd, offset);
}

CUresult sim_span_borrow(struct span *span, int fd, uint64_t offset)
{
    return map(span, fd, offset);
}

/* The file's pages go too, header and all: a handle to them is void from now on. */
void sim_span_give(struct span *span)
{
    const uint64_t offset = sim_span_offset(span) - PAGE;
    size_t i = 0;

    mmap(sim_real(span->at), span->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (offset < arena.length)
        fallocate(arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)(span->bytes + PAGE));
    while (arena.taken[i].at != span->at - PAGE)
        i++;
    memmove(arena.taken + i, arena.taken + i + 1, (--arena.ntaken - i) * sizeof *arena.taken);
}
