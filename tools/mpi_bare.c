/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory for the flags is the MPI's, on the side of the first rank. */
#include "tools/mpi_bare.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "coll/relax.h"
#include "cuda/stream.h"

static int take_flags(struct tool_bare *b, MPI_Comm comm)
{
    const MPI_Aint bytes = b->rank == 0 ? (MPI_Aint)((size_t)(b->size + 1) * sizeof *b->flags) : 0;
    MPI_Aint there;
    void *at;
    int unit;

    if (PMPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, comm, &at, &b->window) != MPI_SUCCESS)
        return -1;
    PMPI_Win_shared_query(b->window, 0, &there, &unit, &at);
    at = (char *)at + (sizeof *b->flags - (uintptr_t)at % sizeof *b->flags) % sizeof *b->flags;
    b->flags = at;
    atomic_store(&b->flags[b->rank].turn, 0);
    PMPI_Barrier(comm);
    return 0;
}

/* What was never written is no memory yet. */
static int take_buffers(struct tool_bare *b)
{
    b->from = malloc(TOOL_BARE_BYTES);
    b->to = malloc(TOOL_BARE_BYTES);
    if (!b->from || !b->to)
        return -1;
    memset(b->from, 1, TOOL_BARE_BYTES);
    memset(b->to, 1, TOOL_BARE_BYTES);
    return 0;
}

int tool_bare_open(struct tool_bare *b, MPI_Comm comm, int patience)
{
    int good, all;

    *b = (struct tool_bare){.window = MPI_WIN_NULL, .patience = patience};
    PMPI_Comm_rank(comm, &b->rank);
    PMPI_Comm_size(comm, &b->size);
    good = take_flags(b, comm) == 0 && take_buffers(b) == 0;
    PMPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, comm);
    return all ? 0 : -1;
}

void tool_bare_close(struct tool_bare *b)
{
    if (b->window != MPI_WIN_NULL)
        PMPI_Win_free(&b->window);
    free(b->from);
    free(b->to);
}

static void await(const struct tool_bare *b, int rank)
{
    for (int polls = 0; (int)(atomic_load_explicit(&b->flags[rank].turn, memory_order_acquire) - b->turn) < 0; polls++)
        if (polls < b->patience)
            tt_relax();
        else
            sched_yield();
}

void tool_bare_exchange(struct tool_bare *b)
{
    atomic_store_explicit(&b->flags[b->rank].turn, ++b->turn, memory_order_release);
    for (int rank = 0; rank < b->size; rank++)
        await(b, rank);
}

void tool_bare_copy(struct tool_bare *b)
{
    tt_copy_host(b->to, b->from, TOOL_BARE_BYTES);
}
