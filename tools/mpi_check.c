/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU memory is read and written a chunk at a time, so that checking takes no memory to speak of. */
#include "tools/mpi_check.h"

#include <stdlib.h>

enum { CHUNK = 1 << 20, SPOILT = 0xa5 }; /* bytes; a chunk holds whole elements, of 32 bytes at most */

int tool_check_open(struct tool_check *c, const struct tool_part *part, const struct tool_memory *memory, char *send,
                    char *receive)
{
    *c = (struct tool_check){.memory = memory, .send = send, .receive = receive, .first = -1};
    c->chunk = malloc(CHUNK);
    if (!c->chunk || tool_pattern_make(&c->pattern, part)) {
        tool_check_close(c);
        return -1;
    }
    return 0;
}

void tool_check_close(struct tool_check *c)
{
    tool_pattern_free(&c->pattern);
    free(c->chunk);
    c->chunk = NULL;
}

/* Elements from `from` on that a chunk has, of so many. */
static int64_t chunk_of(const struct tool_check *c, int64_t from, int64_t all)
{
    const int64_t most = CHUNK / (int64_t)c->pattern.unit;

    return all - from < most ? all - from : most;
}

void tool_check_prepare(struct tool_check *c, int64_t n)
{
    const int64_t all = tool_pattern_sent(&c->pattern, n);
    const size_t unit = c->pattern.unit;

    c->n = n;
    for (int64_t from = 0; from < all; from += chunk_of(c, from, all)) {
        const int64_t length = chunk_of(c, from, all);

        tool_pattern_fill(&c->pattern, from, length, c->chunk);
        c->failed |= tool_memory_write(c->memory, c->send + (size_t)from * unit, c->chunk, (size_t)length * unit) != 0;
    }
}

void tool_check_spoil(struct tool_check *c)
{
    const int64_t all = tool_pattern_received(&c->pattern, c->n);

    c->failed |= tool_memory_set(c->memory, c->receive, SPOILT, (size_t)all * c->pattern.unit) != 0;
}

void tool_check_restore(struct tool_check *c)
{
    const size_t unit = c->pattern.unit;
    int64_t at;

    if (tool_pattern_in_receive_buffer(&c->pattern, c->n, &at))
        c->failed |= tool_memory_copy(c->memory, c->receive + (size_t)at * unit, c->send,
                                      (size_t)tool_pattern_sent(&c->pattern, c->n) * unit) != 0;
}

int64_t tool_check_count(struct tool_check *c)
{
    const int64_t all = tool_pattern_received(&c->pattern, c->n);
    const size_t unit = c->pattern.unit;
    int64_t wrong = 0;

    c->first = -1;
    for (int64_t from = 0; from < all; from += chunk_of(c, from, all)) {
        const int64_t length = chunk_of(c, from, all);

        c->failed |=
            tool_memory_read(c->memory, c->chunk, c->receive + (size_t)from * unit, (size_t)length * unit) != 0;
        wrong += tool_pattern_wrong(&c->pattern, c->n, from, length, c->chunk, &c->first);
    }
    return c->failed ? wrong + 1 : wrong;
}
