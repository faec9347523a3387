/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stores to use. */
#include "coll/node_put.h"

#include <stdbool.h>
#include <string.h>

#include "coll/ticks.h"
#include "cuda/stream.h"

enum { TRIALS_APART = 128, TRIAL = 16 << 10, UNIT = 1 << 20 };

static uint32_t know(const struct tt_pace *p, enum tt_stores stores)
{
    return atomic_load_explicit(&p->of[stores], memory_order_relaxed);
}

/* Down at once, since nothing is fast by accident; up by a quarter at a time, since a lot is slow by accident. */
void tt_pace_see(struct tt_pace *p, enum tt_stores stores, uint64_t ticks, size_t n)
{
    const uint64_t seen = ticks * UNIT / n + 1;
    const uint32_t known = know(p, stores), most = known ? known + known / 4 + 1 : UINT32_MAX;

    atomic_store_explicit(&p->of[stores], seen < most ? (uint32_t)seen : most, memory_order_relaxed);
}

static uint64_t both(const struct tt_put *p, enum tt_stores stores)
{
    return (uint64_t)know(&p->writing, stores) + know(p->reading, stores);
}

/* Once in a while, and in the very first turns once each. */
static bool tries(const struct tt_put *p)
{
    return p->turn % TRIALS_APART == 1;
}

size_t tt_put_most(const struct tt_put *p, size_t n)
{
    return tries(p) && n > TRIAL ? TRIAL : n;
}

static void write_bytes(enum tt_stores stores, void *to, const void *from, size_t n)
{
    if (stores == TT_STORES_PLAIN) {
        memcpy(to, from, n);
        return;
    }
    tt_stream(to, from, n);
    tt_stream_end(true);
}

enum tt_stores tt_put(struct tt_put *p, void *to, const void *from, size_t n)
{
    const enum tt_stores stores = n < TT_PUT_LEAST ? TT_STORES_PLAIN : tries(p) ? TT_NSTORES - 1 - p->best : p->best;
    const uint64_t start = n < TT_PUT_LEAST ? 0 : tt_ticks();

    write_bytes(stores, to, from, n);
    if (n < TT_PUT_LEAST)
        return stores;
    tt_pace_see(&p->writing, stores, tt_ticks() - start, n);
    if (p->turn++ % (TRIALS_APART / 8) == 2)
        p->best = both(p, TT_STORES_PAST) < both(p, TT_STORES_PLAIN) ? TT_STORES_PAST : TT_STORES_PLAIN;
    return stores;
}
