/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring between two threads, for ThreadSanitizer to watch (test_node_tsan.sh): the words of node_flag.h as they are,
 * which the model of test_node_ring.c replaces. With RELAXED they release nothing, which it must find. */
#include <stdatomic.h>
#ifdef RELAXED
#define memory_order_release memory_order_relaxed
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/node_ring.c"

enum { SIZE = 64 << 10, MESSAGES = 2000 };

static _Alignas(TT_LINE) char memory[SIZE];

static size_t length_of(int message)
{
    return (size_t)(message * 37 % 3000);
}

static void *write_all(void *unused)
{
    struct tt_ring out;
    uint64_t ends[64];
    char *bytes;

    (void)unused;
    tt_ring_open(&out, memory, SIZE);
    out.ends = ends;
    for (int i = 0; i < MESSAGES;) {
        const size_t n = length_of(i);
        struct tt_record *r = tt_ring_claim(&out, n, &bytes);

        if (!r)
            continue;
        memset(bytes, i, n);
        r->length = (uint32_t)n;
        r->at = tt_ring_offset(&out, bytes);
        tt_ring_publish(&out);
        i++;
    }
    return NULL;
}

static int read_all(void)
{
    struct tt_ring in;
    int wrong = 0;

    tt_ring_open(&in, memory, SIZE);
    for (int i = 0; i < MESSAGES;) {
        const struct tt_record *r = tt_ring_look(&in);

        if (!r)
            continue;
        wrong += r->length != length_of(i);
        for (uint32_t k = 0; k < r->length; k++)
            wrong += in.bytes[r->at + k] != (char)i;
        tt_ring_take_lines(in.bytes + r->at, r->length);
        tt_ring_pass(&in);
        i++;
    }
    return wrong;
}

int main(void)
{
    pthread_t writer;
    int wrong;

    if (pthread_create(&writer, NULL, write_all, NULL))
        return EXIT_FAILURE;
    wrong = read_all();
    pthread_join(writer, NULL);
    printf("%d of %d messages are wrong\n", wrong, MESSAGES);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
