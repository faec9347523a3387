/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers to measure with: the host's, or of the GPU of this rank. */
#ifndef TT_TOOLS_MPI_MEMORY_H
#define TT_TOOLS_MPI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum tool_where { TOOL_HOST, TOOL_DEVICE, TOOL_MANAGED, TOOL_NWHERES };

struct tool_memory {
    enum tool_where where;
    bool device, simulated; /* device: not the host's */
    int gpu, gpus;          /* which of how many */
    const char *words;      /* "host memory", "device memory", "SIMULATED device memory" */
};

/* GPU memory is of the GPU that has this rank's number on its node, by whose context all is done from then on. 0, or
 * -1 with why filled. */
int tool_memory_open(struct tool_memory *m, enum tool_where where, int turn, char *why, size_t size);

/* Bytes that there are left: on the GPU, or on this node. */
size_t tool_memory_left(const struct tool_memory *m);

/* Bytes of zero; NULL: there is no such memory left. */
void *tool_memory_take(const struct tool_memory *m, size_t bytes);
void tool_memory_give(const struct tool_memory *m, void *block);

/* From one block to another of the same memory; done when it returns. 0 or -1. */
int tool_memory_copy(const struct tool_memory *m, void *to, const void *from, size_t bytes);

/* From the host to a block, from a block to the host, and a byte all over a block; done when they return. 0 or -1. */
int tool_memory_write(const struct tool_memory *m, void *to, const void *from, size_t bytes);
int tool_memory_read(const struct tool_memory *m, void *to, const void *from, size_t bytes);
int tool_memory_set(const struct tool_memory *m, void *block, int byte, size_t bytes);

#endif
