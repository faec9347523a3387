/* SPDX-License-Identifier: BSD-3-Clause */
/* What the cores of a node do without any MPI, for collectives to be held against: flags that they raise for each other,
 * and copies. Cores are nearer to each other in one minute than in the next where a virtual machine's are moved, so it
 * is measured in the same turns as the calls. */
#ifndef TT_TOOLS_MPI_BARE_H
#define TT_TOOLS_MPI_BARE_H

#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>

enum { TOOL_BARE_BYTES = 32 << 20 }; /* of a copy: more than caches hold */

/* A rank's flag, on lines that nothing else is on. */
struct tool_flag {
    _Alignas(128) atomic_uint turn;
};

struct tool_bare {
    MPI_Win window;
    struct tool_flag *flags; /* of all ranks, in memory that all have */
    int rank, size;
    unsigned turn;
    int patience; /* polls before the core is yielded */
    char *from, *to;
};

/* Collective; the ranks of comm must be of one node. -1, on all ranks, if there is no memory. */
int tool_bare_open(struct tool_bare *b, MPI_Comm comm, int patience);
void tool_bare_close(struct tool_bare *b);

/* Each rank raises its flag, and waits for all others to have raised theirs. */
void tool_bare_exchange(struct tool_bare *b);

/* Reads TOOL_BARE_BYTES and writes as many, past the caches where the processor can. */
void tool_bare_copy(struct tool_bare *b);

#endif
