/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring between two processes. */
#include "coll/node_ring.h"

enum { LEAST_RECORDS = 4, MOST_RECORDS = 64, MOST_APART = 2 << 10, APARTS = 512 };

/* A sixteenth of it is for records. */
static uint32_t count_records(size_t size)
{
    uint32_t n = MOST_RECORDS;

    while (n > LEAST_RECORDS && n * TT_LINE > size / 16)
        n /= 2;
    return n;
}

/* The reader's line, which begins with a flag and has its pace in the middle, is apart from the records by one more,
 * since processors fetch lines in pairs. */
bool tt_ring_open(struct tt_ring *r, void *memory, size_t size)
{
    const uint32_t n = count_records(size);
    const size_t head = (size_t)(2 + n) * TT_LINE, apart = size / APARTS / TT_LINE * TT_LINE;

    if (size < 2 * head)
        return false;
    *r = (struct tt_ring){.read = memory,
                          .pace = (struct tt_pace *)((char *)memory + TT_LINE / 2),
                          .records = (struct tt_record *)((char *)memory + 2 * TT_LINE),
                          .bytes = (char *)memory + head,
                          .nrecords = n,
                          .nbytes = (size - head) / TT_LINE * TT_LINE,
                          .apart = apart < MOST_APART ? apart : MOST_APART};
    return true;
}

static size_t step_of(const struct tt_ring *r)
{
    return 2 * r->apart + TT_LINE;
}

size_t tt_ring_room(const struct tt_ring *r, int records)
{
    return r->nbytes / (size_t)records / step_of(r) * step_of(r) - r->apart;
}

/* Bytes of one record lie in one piece: where n of them would begin that come next. */
static uint64_t begin_of(const struct tt_ring *r, size_t n)
{
    const size_t at = r->used % r->nbytes;

    return at + n > r->nbytes ? r->used + (r->nbytes - at) : r->used;
}

/* Where what comes next may begin, after n bytes. Not right behind them: the reader's core fetches beyond what it
 * reads, and would have copies of lines that are about to be written. And at multiples of one step, which are the same
 * in each lap, so that lines that were read, and are the reader's (tt_ring_take_lines), are those that are written
 * again. An odd number of lines, so that not all records begin in the same few places of a cache. */
static uint64_t end_of(const struct tt_ring *r, uint64_t begin, size_t n)
{
    const size_t step = step_of(r);
    const uint64_t end = begin + (n + r->apart + step - 1) / step * step,
                   lap_end = begin - begin % r->nbytes + r->nbytes;

    return n == 0 ? begin : end < lap_end ? end : lap_end;
}

static bool has_room(const struct tt_ring *r, uint64_t end)
{
    return r->ahead - r->freed < r->nrecords && end - r->unused <= r->nbytes;
}

static void look_what_is_free(struct tt_ring *r)
{
    const uint32_t freed = tt_flag_read(r->read);

    if (freed != r->freed)
        r->unused = r->ends[tt_ring_slot(r, freed - 1)];
    r->freed = freed;
}

struct tt_record *tt_ring_claim(struct tt_ring *r, size_t n, char **bytes)
{
    const uint64_t begin = n ? begin_of(r, n) : r->used;
    const uint64_t end = end_of(r, begin, n);
    uint32_t slot;

    if (!has_room(r, end)) {
        look_what_is_free(r);
        if (!has_room(r, end))
            return NULL;
    }
    slot = tt_ring_slot(r, r->ahead++);
    r->used = r->ends[slot] = end;
    *bytes = r->bytes + begin % r->nbytes;
    return &r->records[slot];
}

const char *tt_ring_expect(const struct tt_ring *r, size_t n)
{
    return r->bytes + begin_of(r, n) % r->nbytes;
}

void tt_ring_told(struct tt_ring *r, const struct tt_record *record)
{
    r->used = end_of(r, record->at, record->length);
}

void tt_ring_hold(struct tt_ring *r)
{
    r->ahead++;
}
