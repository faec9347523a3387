/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers to measure with: the host's, or of the GPU of this rank. */
#ifndef TT_TOOLS_MPI_MEMORY_H
#define TT_TOOLS_MPI_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

struct tool_memory {
    bool device, simulated;
    const char *words; /* "host memory", "device memory", "SIMULATED device memory" */
};

/* Device memory is of the GPU that has this rank's number on its node, by whose context all is done from then on. 0, or
 * -1 with why filled. */
int tool_memory_open(struct tool_memory *m, bool device, int turn, char *why, size_t size);

/* Bytes of zero; NULL: there is no such memory left. */
void *tool_memory_take(const struct tool_memory *m, size_t bytes);
void tool_memory_give(const struct tool_memory *m, void *block);

/* From one block to another of the same memory; done when it returns. 0 or -1. */
int tool_memory_copy(const struct tool_memory *m, void *to, const void *from, size_t bytes);

#endif
