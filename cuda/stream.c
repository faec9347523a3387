/* SPDX-License-Identifier: BSD-3-Clause */
/* SSE2, which every x86-64 has, is enough: four stores fill a line, and it is lines that go to memory. Elsewhere a
 * stream is a plain copy. */
#include "cuda/stream.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>

size_t tt_stream_from = 8 << 20;

/* Whole lines, to where one begins. */
static void stream_lines(char *to, const char *from, size_t lines)
{
    for (size_t i = 0; i < lines; i++, to += TT_STREAM_LINE, from += TT_STREAM_LINE) {
        const __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + 16));
        const __m128i c = _mm_loadu_si128((const __m128i *)(from + 32)),
                      d = _mm_loadu_si128((const __m128i *)(from + 48));

        _mm_stream_si128((__m128i *)to, a);
        _mm_stream_si128((__m128i *)(to + 16), b);
        _mm_stream_si128((__m128i *)(to + 32), c);
        _mm_stream_si128((__m128i *)(to + 48), d);
    }
}

void tt_stream_end(bool streamed)
{
    if (streamed)
        _mm_sfence();
}
#else
size_t tt_stream_from = SIZE_MAX;

static void stream_lines(char *to, const char *from, size_t lines)
{
    memcpy(to, from, lines * TT_STREAM_LINE);
}

void tt_stream_end(bool streamed)
{
    (void)streamed;
}
#endif

bool tt_streams(const void *dst, const void *const *src, int k, size_t bytes)
{
    if (bytes < tt_stream_from / (size_t)(k + 1))
        return false;
    for (int j = 0; j < k; j++)
        if (src[j] == dst)
            return false;
    return true;
}

void tt_stream(void *to, const void *from, size_t bytes)
{
    const size_t before = -(uintptr_t)to % TT_STREAM_LINE, head = before < bytes ? before : bytes,
                 lines = (bytes - head) / TT_STREAM_LINE;
    char *const at = (char *)to + head;
    const char *const source = (const char *)from + head;

    memcpy(to, from, head);
    stream_lines(at, source, lines);
    memcpy(at + lines * TT_STREAM_LINE, source + lines * TT_STREAM_LINE, bytes - head - lines * TT_STREAM_LINE);
}

void tt_copy_bytes(void *to, const void *from, size_t bytes, bool past)
{
    if (!past) {
        memcpy(to, from, bytes);
        return;
    }
    tt_stream(to, from, bytes);
    tt_stream_end(true);
}

void tt_copy_host(void *to, const void *from, size_t bytes)
{
    tt_copy_bytes(to, from, bytes, tt_streams(to, &from, 1, bytes));
}
