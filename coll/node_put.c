/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stores to use. */
#include "coll/node_put.h"

#include <stdbool.h>
#include <string.h>

#include "coll/ticks.h"
#include "cuda/stream.h"

enum { TRIALS_APART = 128, LOOKS_APART = 16, UNIT = 1 << 20 };

static int size_of(size_t n)
{
    int size = 0;

    for (size_t most = 2 * TT_PUT_LEAST; n >= most && size < TT_PUT_SIZES - 1; most *= 2)
        size++;
    return size;
}

static uint32_t know(const struct tt_pace *p, int size, enum tt_stores stores)
{
    return atomic_load_explicit(&p->of[size][stores], memory_order_relaxed);
}

/* Down at once, since nothing is fast by accident; up by a quarter at a time, since a lot is slow by accident. */
void tt_pace_see(struct tt_pace *p, enum tt_stores stores, uint64_t ticks, size_t n)
{
    const int size = size_of(n);
    const uint64_t seen = ticks * UNIT / n + 1;
    const uint32_t known = know(p, size, stores), most = known ? known + known / 4 + 1 : UINT32_MAX;

    atomic_store_explicit(&p->of[size][stores], seen < most ? (uint32_t)seen : most, memory_order_relaxed);
}

static uint64_t both(const struct tt_put *p, int size, enum tt_stores stores)
{
    return (uint64_t)know(&p->writing, size, stores) + know(p->reading, size, stores);
}

/* A long piece past the caches that is tried among others looks better than many in a row are: memory is idle then. It
 * has to be by a quarter; where cores are far from each other it is four times as fast. */
static bool is_past_better(const struct tt_put *p, int size)
{
    const unsigned quarters = size == TT_PUT_SIZES - 1 ? 3 : 4;

    return 4 * both(p, size, TT_STORES_PAST) < quarters * both(p, size, TT_STORES_PLAIN);
}

/* Once in a while, and in the second turn, so that each way has been seen. */
static bool tries(const struct tt_way *w)
{
    return w->turn % TRIALS_APART == 1;
}

/* In every turn it would cost a short message a tenth of its time. */
static bool is_timed(const struct tt_way *w, size_t n)
{
    return n >= TT_PUT_WHOLE || w->turn % LOOKS_APART < 2;
}

size_t tt_put_most(const struct tt_put *p, size_t n)
{
    return n > TT_PUT_WHOLE && tries(&p->way[size_of(n)]) ? TT_PUT_WHOLE : n;
}

static void put_timed(struct tt_put *p, enum tt_stores stores, void *to, const void *from, size_t n)
{
    const uint64_t start = tt_ticks();

    tt_copy_bytes(to, from, n, stores == TT_STORES_PAST);
    tt_pace_see(&p->writing, stores, tt_ticks_after() - start, n);
}

static enum tt_stores put_in_turn(struct tt_put *p, int size, void *to, const void *from, size_t n)
{
    struct tt_way *w = &p->way[size];
    const enum tt_stores stores = tries(w) ? TT_NSTORES - 1 - w->best : w->best;
    const bool timed = is_timed(w, n);

    if (timed)
        put_timed(p, stores, to, from, n);
    else
        tt_copy_bytes(to, from, n, stores == TT_STORES_PAST);
    if (w->turn++ % LOOKS_APART == 2)
        w->best = is_past_better(p, size) ? TT_STORES_PAST : TT_STORES_PLAIN;
    return timed ? stores : TT_NSTORES;
}

enum tt_stores tt_put(struct tt_put *p, void *to, const void *from, size_t n)
{
    if (n >= TT_PUT_LEAST)
        return put_in_turn(p, size_of(n), to, from, n);
    memcpy(to, from, n);
    return TT_NSTORES;
}
