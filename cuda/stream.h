/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores that go past the caches. Before an ordinary store to memory that is in no cache, the line is read, so a long
 * result costs one read of itself more than it need; and it pushes out of the caches what is there, to be pushed out
 * by what follows before anybody reads it. Only where it is longer than what the caches hold for it does that pay. */
#ifndef TT_STREAM_H
#define TT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From how many bytes on that one call moves, its sources and its result together, that is: more than a share of the last
 * cache holds. It is a constant, 8 MiB, because what the system says of the cache is not to be trusted: a virtual
 * machine with 32 MiB of it said 320. SIZE_MAX where the processor has no such stores. */
extern size_t tt_stream_from;

/* Is a reduction (or copy, k being 1) of so many bytes of each of k sources to dst to be streamed? Not into one of its
 * sources, whose lines are in the cache when they are written. */
bool tt_streams(const void *dst, const void *const *src, int k, size_t bytes);

/* From how many bytes on that one call of a collective touches, on all ranks that share a last cache: measured through
 * the rings of a node (doc/node.md). */
enum { TT_STREAM_CALL = 20 << 20 };

enum { TT_STREAM_LINE = 64 };

/* Of what is stored past the caches piece by piece, only the first piece is to begin, and the last one to end, within a
 * line: a line that is stored in two goes to memory twice, or is fetched first. So many of the bytes that are left, at
 * most `most`, have the next piece begin with a line, if the caller's elements do. */
static inline size_t tt_stream_piece(const void *to, size_t most, size_t left)
{
    const size_t n = most - (uintptr_t)to % TT_STREAM_LINE;

    return n < left ? n : left;
}

/* Copies to any address past the caches. Others may see it in any order, and only after tt_stream_end(true). */
void tt_stream(void *to, const void *from, size_t bytes);
void tt_stream_end(bool streamed);

/* memcpy, past the caches or not: others may see it once they see what is stored after it returns. */
void tt_copy_bytes(void *to, const void *from, size_t bytes, bool past);

/* The same, past the caches if that pays. */
void tt_copy_host(void *to, const void *from, size_t bytes);

#endif
