/* SPDX-License-Identifier: BSD-3-Clause */
/* From one process to another, through memory that both have: a ring of records, of a cache line each, and one of the
 * bytes that do not fit into their records. One writes, one reads, neither locks.
 *
 * A record's turn tells whether it is there: lines have fixed places and turns go up, so what an earlier lap left
 * there is never taken for news, and there is nothing to be cleared. A short message is one line, so it crosses between two
 * cores once. How many records have been read is in a line of the reader's own, at which the writer looks only when the
 * ring seems full: once in a lap.
 *
 * Why it is right where memory is weak: what is in a record and its bytes is written before its turn is raised, and read
 * after the turn was seen; and it is written again after the count of read records was seen to include it, which is
 * raised after it was read. tests/test_node_ring.c tries all interleavings, with all values that may be seen. */
#ifndef TT_NODE_RING_H
#define TT_NODE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "coll/node_flag.h"

enum { TT_LINE = 64, TT_INLINE = 40 };

/* What a record is about: */
enum tt_record_kind {
    TT_BEGINS,   /* a message, `total` bytes long, of which `length` are here */
    TT_CONTINUES /* the message that was begun last */
};

struct tt_record {
    tt_flag turn; /* its number, counted from 1, once it is there */
    uint32_t length;
    uint64_t context;
    int32_t tag;
    uint16_t kind, is_inline;
    union {
        char data[TT_INLINE]; /* is_inline: the whole message */
        struct {
            uint64_t total;
            uint64_t at; /* where its bytes are in the ring of bytes */
        };
    };
};
_Static_assert(sizeof(struct tt_record) == TT_LINE, "a record is a cache line");

/* One side's view. */
struct tt_ring {
    tt_flag *read; /* how many records have been read */
    struct tt_record *records;
    char *bytes;
    uint32_t nrecords; /* a power of two */
    size_t nbytes;     /* a multiple of TT_LINE */
    uint32_t next;     /* record: number of it, counted from 0 */
    /* the writer's: */
    uint32_t freed;       /* so many records have been read, when last looked */
    uint64_t used, unused; /* of the ring of bytes, in all laps: what is given away ends there; what is not yet free begins */
    uint64_t *ends;       /* where the bytes of each record end */
};

/* How a piece of memory is laid out as a ring; all of it is zero at first. False: too small for one. The view of the
 * writer needs `ends`, as many as there are records. */
bool tt_ring_open(struct tt_ring *r, void *memory, size_t size);

/* For the writer: the next record, and *bytes where n bytes are to be (none if n is 0); NULL if there is no room now. What
 * was claimed last is there for the reader once it is published. */
struct tt_record *tt_ring_claim(struct tt_ring *r, size_t n, char **bytes);
void tt_ring_publish(struct tt_ring *r, struct tt_record *record);

/* For the reader: the next record, if it is there, else NULL; it is gone once it is passed. */
struct tt_record *tt_ring_look(struct tt_ring *r);
void tt_ring_pass(struct tt_ring *r);

#endif
