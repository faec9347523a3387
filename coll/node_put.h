/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing to memory that another core has read and will read again. An ordinary store first fetches the line from where
 * it was read: cheap where the two cores share a cache, and dearer than memory where they do not. A store
 * past the caches fetches nothing, but then the other reads from memory, half as fast as from a cache (doc/node.md).
 * Which is better is measured as bytes are written and read, since it may change: virtual machines are moved, and so
 * are ranks that are not bound. It depends on how many they are, too, since what is past the caches has to be awaited.
 * It is the writer's choice alone: whoever reads finds the same bytes in the same place. Both look at the clock for
 * each long piece, and for one in 32 of the others. */
#ifndef TT_NODE_PUT_H
#define TT_NODE_PUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fewer are written plainly without a thought; and so many are always timed. */
enum { TT_PUT_LEAST = 512, TT_PUT_WHOLE = 16 << 10 };

/* Up to twice as many bytes are alike; long ones all are. */
enum { TT_PUT_LONG = 3, TT_PUT_SIZES };

enum tt_stores { TT_STORES_PLAIN, TT_STORES_PAST, TT_NSTORES };

/* What a MiB takes that is written in either way, in ticks, as it was seen lately; 0: not yet. One side writes it, for
 * itself or the other to read, as it is. */
struct tt_pace {
    _Atomic uint32_t of[TT_PUT_SIZES][TT_NSTORES];
};

/* n bytes, TT_PUT_LEAST or more, have taken so long. */
void tt_pace_see(struct tt_pace *p, enum tt_stores stores, uint64_t ticks, size_t n);

/* Of who writes. */
struct tt_put {
    struct tt_pace writing;        /* zeros at first */
    const struct tt_pace *reading; /* the other's */
    size_t lap;                    /* bytes after which, at the latest, the same memory is written again */
    struct tt_way {
        enum tt_stores best;
        unsigned turn;
        bool was_tried; /* that which is past the caches; */
        size_t since;   /* bytes written since this is the best, or since the other was tried in a row */
    } way[TT_PUT_SIZES];
};

/* Writes n bytes. They are there for the other as soon as a flag is raised, written in the way that is returned. Is he
 * to tell how long they take him? */
enum tt_stores tt_put(struct tt_put *p, void *to, const void *from, size_t n, bool *timed);

/* By which stores somebody else is to write n bytes there, long ones, among those that are put: as these are. */
enum tt_stores tt_put_along(struct tt_put *p, size_t n);

/* Are plain stores the better ones for long pieces? So they are where both share a cache. */
static inline bool tt_put_is_near(const struct tt_put *p)
{
    return p->way[TT_PUT_LONG].best == TT_STORES_PLAIN;
}

#endif
