/* SPDX-License-Identifier: BSD-3-Clause */
/* From one process to another, through memory that both have: a ring of records, of a cache line each, and one of the
 * bytes that do not fit into their records. One writes, one reads, neither locks.
 *
 * A record's turn tells whether it is there: lines have fixed places and turns go up, so what an earlier lap left
 * there is never taken for news, and there is nothing to be cleared. A short message is one line, so it crosses between
 * two cores once. How many records have been read is in a line of the reader's own, at which the writer looks only when
 * the ring seems full: once in a lap.
 *
 * Why it is right where memory is weak: what is in a record and its bytes is written before its turn is raised, and
 * read after the turn was seen; and it is written again after the count of read records was seen to include it, which
 * is raised after it was read, and after what the reader writes there himself (tt_ring_take_lines).
 * tests/test_node_ring.c tries all interleavings, with all values that may be seen. */
#ifndef TT_NODE_RING_H
#define TT_NODE_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "coll/node_flag.h"
#include "coll/node_put.h"

/* So much of what is read at a time is still in the first cache when it is stored for the second time, or its lines are
 * taken (doc/node.md): a portion. */
enum { TT_LINE = 64, TT_INLINE = 40, TT_PORTION = 2 << 10 };

/* Who waits for a message of so many bytes at most has their lines fetched meanwhile, and so at once when they are
 * written, instead of after the record. Of longer ones too many would be taken away half written. */
enum { TT_FETCHED_AHEAD = 256 };

/* What a record is about: */
enum tt_record_kind {
    TT_BEGINS,    /* a message, `total` bytes long, of which `length` are here */
    TT_CONTINUES, /* the message that was begun last */
    TT_OFFERS,    /* a message of `total` bytes, for the other to fetch: these are the name of their place (dev.h), */
    TT_SHOWS,     /* or it is `at` that address in this process */
    TT_HAS,       /* the other has fetched what was offered under `number`, */
    TT_STOOD,     /* which, on a GPU, still stood there then, unless this is spoilt; */
    TT_WANTS,     /* or cannot, and wants the bytes; */
    TT_BRINGS     /* which begin here, as a message whose context is that number */
};

struct tt_record {
    tt_flag turn; /* its number, counted from 1, once it is there */
    uint32_t length;
    uint64_t context;
    int32_t tag;
    uint16_t kind;
    bool is_inline, spoilt; /* spoilt: what is here is not what it should be */
    union {
        char data[TT_INLINE]; /* is_inline: the whole message */
        struct {
            uint64_t total;
            uint64_t at; /* where its bytes are in the ring of bytes; or see TT_SHOWS */
            uint32_t number;
            uint16_t stores; /* enum tt_stores, by which the bytes were written */
            bool is_timed;   /* how long it takes to read them is to be told */
        };
    };
};
_Static_assert(sizeof(struct tt_record) == TT_LINE, "a record is a cache line");

/* Is the writer to be told how long it takes to read what is here? */
static inline bool tt_record_is_timed(const struct tt_record *r)
{
    return !r->is_inline && r->length > 0 && r->is_timed;
}

/* Does tt_ring_take_lines pay, once what is here is read? Of what went past the writer's cache it has no line. */
static inline bool tt_record_lines_pay(const struct tt_record *r)
{
    return !r->is_inline && r->stores == TT_STORES_PLAIN;
}

/* One side's view. */
struct tt_ring {
    tt_flag *read;        /* how many records have been read */
    struct tt_pace *pace; /* at which the reader does */
    struct tt_record *records;
    char *bytes;
    uint32_t nrecords; /* a power of two */
    size_t nbytes;     /* a multiple of TT_LINE, as is */
    size_t apart;      /* so many are left between the bytes of one record and those of the next */
    uint32_t next;     /* record: number of it, counted from 0 */
    uint32_t ahead;    /* next, or beyond: those between are claimed and not yet published, or held and not yet passed */
    uint64_t used;     /* of the ring of bytes, in all laps: what is given away, or was read, ends there */
    /* the writer's: */
    uint32_t freed;  /* so many records have been read, when last looked */
    uint64_t unused; /* what is not yet free begins there */
    uint64_t *ends;  /* where the bytes of each record end */
};

/* How a piece of memory is laid out as a ring; all of it is zero at first. False: too small for one. The view of the
 * writer needs `ends`, as many as there are records. */
bool tt_ring_open(struct tt_ring *r, void *memory, size_t size);

/* For the writer: one record more, and *bytes where n bytes are to be (none if n is 0), which the record has to say;
 * NULL if there is no room now. What was claimed is there for the reader once it is published; of several, the first
 * one first. */
struct tt_record *tt_ring_claim(struct tt_ring *r, size_t n, char **bytes);
static inline uint64_t tt_ring_offset(const struct tt_ring *r, const char *bytes)
{
    return (uint64_t)(bytes - r->bytes);
}
static inline void tt_ring_publish(struct tt_ring *r);

/* How many bytes each of so many records may have, for all of them to fit at once: a multiple of TT_LINE. */
size_t tt_ring_room(const struct tt_ring *r, int records);

/* The same for a record without bytes. */
static inline struct tt_record *tt_ring_claim_line(struct tt_ring *r);

/* For the reader: the next record, if it is there, else NULL; it is gone once it is passed. Or it is held: looking finds
 * the one behind it, and passing the first one that is held. */
static inline struct tt_record *tt_ring_look(struct tt_ring *r);
static inline void tt_ring_pass(struct tt_ring *r);
void tt_ring_hold(struct tt_ring *r);

/* For the reader: where the next n bytes will be, if their record is the next one that has any and he has told of the
 * last. */
const char *tt_ring_expect(const struct tt_ring *r, size_t n);
void tt_ring_told(struct tt_ring *r, const struct tt_record *record);

/* Asks for the lines of n bytes, and does not wait for them. */
static inline void tt_ring_fetch_lines(const char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += TT_LINE)
        __builtin_prefetch(bytes + at);
}

/* For the reader, of n bytes that he has read and whose record he has not passed: the first byte of each line becomes
 * 0, so that his core is the only one that has it. Such a line the writer's core gets several times as fast as one that
 * it has kept and the reader has a copy of: that copy has to be called back (doc/node.md). */
static inline void tt_ring_take_lines(char *bytes, size_t n)
{
    for (size_t at = 0; at < n; at += TT_LINE)
        *(volatile char *)(bytes + at) = 0;
}

/* The record that is to be published, or passed, next; and where it is in a list of as many as there are. */
static inline uint32_t tt_ring_slot(const struct tt_ring *r, uint32_t number)
{
    return number & (r->nrecords - 1);
}

static inline struct tt_record *tt_ring_first(const struct tt_ring *r)
{
    return &r->records[tt_ring_slot(r, r->next)];
}

static inline struct tt_record *tt_ring_look(struct tt_ring *r)
{
    struct tt_record *record = &r->records[tt_ring_slot(r, r->ahead)];

    return tt_flag_read(&record->turn) == r->ahead + 1 ? record : NULL;
}

static inline struct tt_record *tt_ring_claim_line(struct tt_ring *r)
{
    char *none;
    uint32_t slot;

    if (r->ahead - r->freed >= r->nrecords)
        return tt_ring_claim(r, 0, &none);
    slot = tt_ring_slot(r, r->ahead++);
    r->ends[slot] = r->used;
    return &r->records[slot];
}

static inline void tt_ring_publish(struct tt_ring *r)
{
    struct tt_record *record = tt_ring_first(r);

    tt_flag_raise(&record->turn, ++r->next);
}

static inline void tt_ring_pass(struct tt_ring *r)
{
    const uint32_t next = r->next + 1;

    if (r->ahead == r->next)
        r->ahead = next;
    r->next = next;
    tt_flag_raise(r->read, next);
}

/* Does nothing stand between next and ahead? */
static inline bool tt_ring_is_level(const struct tt_ring *r)
{
    return r->next == r->ahead;
}

#endif
