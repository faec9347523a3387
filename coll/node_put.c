/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stores to use. */
#include "coll/node_put.h"

#include <stdbool.h>

#include "coll/ticks.h"
#include "cuda/stream.h"

enum { TRIALS_APART = 128, UNIT = 1 << 20 };

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

/* Once in a while, and in the second turn, so that each way has been seen. */
static bool tries(const struct tt_put *p)
{
    return p->turn % TRIALS_APART == 1;
}

size_t tt_put_most(const struct tt_put *p, size_t n)
{
    return tries(p) && n > TT_PUT_WHOLE ? TT_PUT_WHOLE : n;
}

enum tt_stores tt_put(struct tt_put *p, void *to, const void *from, size_t n)
{
    enum tt_stores stores;
    uint64_t start;

    if (n < TT_PUT_LEAST) {
        tt_copy_bytes(to, from, n, false);
        return TT_STORES_PLAIN;
    }
    stores = tries(p) ? TT_NSTORES - 1 - p->best : p->best;
    start = tt_ticks();
    tt_copy_bytes(to, from, n, stores == TT_STORES_PAST);
    tt_pace_see(&p->writing, stores, tt_ticks() - start, n);
    if (p->turn++ % (TRIALS_APART / 8) == 2)
        p->best = both(p, TT_STORES_PAST) < both(p, TT_STORES_PLAIN) ? TT_STORES_PAST : TT_STORES_PLAIN;
    return stores;
}
