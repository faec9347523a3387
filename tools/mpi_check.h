/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank's buffers in a collective whose results are checked: filled before, looked at afterwards. */
#ifndef TT_TOOLS_MPI_CHECK_H
#define TT_TOOLS_MPI_CHECK_H

#include "tools/bench_data.h"
#include "tools/mpi_memory.h"

struct tool_check {
    struct tool_pattern pattern;
    const struct tool_memory *memory;
    char *send, *receive; /* the send buffer has a rank's input in any case, for in place it is copied from there */
    unsigned char *chunk; /* on the host */
    int64_t n;            /* the collective's count */
    int64_t first;        /* element found wrong last, -1: none */
    bool failed;          /* memory could not be read or written */
};

/* 0, or -1: out of memory. */
int tool_check_open(struct tool_check *c, const struct tool_part *part, const struct tool_memory *memory, char *send,
                    char *receive);
void tool_check_close(struct tool_check *c);

/* Fills the send buffer for count n. */
void tool_check_prepare(struct tool_check *c, int64_t n);

/* Before a call that is to be checked: nothing in the receive buffer is as it must become. */
void tool_check_spoil(struct tool_check *c);

/* Before each call: where a rank reads its input from the receive buffer, it is put there. */
void tool_check_restore(struct tool_check *c);

/* After a call: how many elements are wrong, on this rank. */
int64_t tool_check_count(struct tool_check *c);

#endif
