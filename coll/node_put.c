/* SPDX-License-Identifier: BSD-3-Clause */
/* Which stores to use. */
#include "coll/node_put.h"

#include <stdbool.h>
#include <string.h>

#include "coll/ticks.h"
#include "cuda/stream.h"

/* Messages from one trial past the caches to the next, of long ones and of those that are not always timed, and from one
 * look at the clock to the next, of the latter; laps from one trial of plain stores to the next. */
enum { LONG_TRIALS_APART = 128, TRIALS_APART = 512, LOOKS_APART = 64, LAPS_APART = 256, UNIT = 1 << 20 };

static int size_of(size_t n)
{
    int size = 0;

    for (size_t most = 2 * TT_PUT_LEAST; n >= most && size < TT_PUT_LONG; most *= 2)
        size++;
    return size;
}

static uint32_t know(const struct tt_pace *p, int size, enum tt_stores stores)
{
    return atomic_load_explicit(&p->of[size][stores], memory_order_relaxed);
}

/* Down at once, since nothing is fast by accident; up by little at a time, since a lot is slow by accident: what goes
 * past the caches by a quarter; plain stores by a sixteenth, as all of a lap are slow when something else has used the
 * cache.
 */
void tt_pace_see(struct tt_pace *p, enum tt_stores stores, uint64_t ticks, size_t n)
{
    static const uint32_t parts[TT_NSTORES] = {[TT_STORES_PLAIN] = 16, [TT_STORES_PAST] = 4};
    const int size = size_of(n);
    const uint64_t seen = ticks * UNIT / n + 1;
    const uint32_t known = know(p, size, stores), most = known ? known + known / parts[stores] + 1 : UINT32_MAX;

    atomic_store_explicit(&p->of[size][stores], seen < most ? (uint32_t)seen : most, memory_order_relaxed);
}

static uint64_t both(const struct tt_put *p, int size, enum tt_stores stores)
{
    return (uint64_t)know(&p->writing, size, stores) + know(p->reading, size, stores);
}

static enum tt_stores other_than(enum tt_stores stores)
{
    return TT_NSTORES - 1 - stores;
}

/* By a tenth, lest two that are as good take turns. Past the caches by three: what both sides spend says more for that
 * than a call takes, in which the two overlap; and where cores share a cache it seems better now and then, when
 * something else has pushed the ring out of it (doc/node.md). And both sides that know of the one have to know of the
 * other. */
static bool is_other_better(const struct tt_put *p, int size)
{
    const enum tt_stores best = p->way[size].best, other = other_than(best);
    const unsigned percent = other == TT_STORES_PAST ? 70 : 90;

    return know(&p->writing, size, other) && (know(p->reading, size, other) || !know(p->reading, size, best)) &&
           100 * both(p, size, other) < percent * both(p, size, best);
}

static void judge(struct tt_put *p, int size)
{
    struct tt_way *w = &p->way[size];

    if (!is_other_better(p, size))
        return;
    w->best = other_than(w->best);
    w->since = 0;
}

static void put_timed(struct tt_put *p, enum tt_stores stores, void *to, const void *from, size_t n)
{
    const uint64_t start = tt_ticks();

    tt_copy_bytes(to, from, n, stores == TT_STORES_PAST);
    tt_pace_see(&p->writing, stores, tt_ticks_after() - start, n);
}

/* In one turn of eight it would cost a message of 512 bytes a tenth of its time. */
static bool is_timed(const struct tt_way *w, size_t n)
{
    return n >= TT_PUT_WHOLE || w->turn % LOOKS_APART < 2;
}

/* One past the caches, among plain ones, is tried once in a while, and as soon as any counts. */
static bool tries_past(const struct tt_put *p, struct tt_way *w, size_t n, bool *counts)
{
    const unsigned apart = n >= TT_PUT_WHOLE ? LONG_TRIALS_APART : TRIALS_APART;
    const bool tries = w->since >= p->lap && (!w->was_tried || w->turn % apart == 1);

    *counts = w->since >= p->lap;
    w->was_tried |= tries;
    return tries;
}

static size_t trial_of_plain(const struct tt_put *p)
{
    return LAPS_APART * p->lap;
}

/* Plain ones are tried many in a row, for two laps. */
static bool tries_plain(const struct tt_put *p, struct tt_way *w, bool *counts)
{
    const size_t begin = trial_of_plain(p), end = begin + 2 * p->lap;

    if (w->since >= end)
        w->since = 0;
    *counts = w->since >= (w->since < begin ? 0 : begin) + p->lap;
    return w->since >= begin;
}

/* Those of the first lap of either way do not count: they find the memory as the other has left it, plain ones lines
 * that nobody has taken, or none that are mapped yet. */
static enum tt_stores put(struct tt_put *p, int size, void *to, const void *from, size_t n, bool *timed)
{
    struct tt_way *w = &p->way[size];
    bool counts;
    const bool tries = w->best == TT_STORES_PLAIN ? tries_past(p, w, n, &counts) : tries_plain(p, w, &counts);
    const enum tt_stores stores = tries ? other_than(w->best) : w->best;

    *timed = counts && (tries || is_timed(w, n));
    if (*timed)
        put_timed(p, stores, to, from, n);
    else
        tt_copy_bytes(to, from, n, stores == TT_STORES_PAST);
    w->turn++;
    w->since += n;
    if (*timed)
        judge(p, size);
    return stores;
}

/* Line after line: who waits for a short message takes each as soon as it is written, and it would have to be fetched
 * back if it were written in two goes, as memcpy does. A fence keeps the compiler from calling that. */
static void copy_in_order(char *to, const char *from, size_t n)
{
    enum { AT_ONCE = 16 };

    for (; n >= AT_ONCE; to += AT_ONCE, from += AT_ONCE, n -= AT_ONCE) {
        memcpy(to, from, AT_ONCE);
        atomic_signal_fence(memory_order_release);
    }
    if (n > 0)
        memcpy(to, from, n);
}

enum tt_stores tt_put(struct tt_put *p, void *to, const void *from, size_t n, bool *timed)
{
    if (n >= TT_PUT_LEAST)
        return put(p, size_of(n), to, from, n, timed);
    copy_in_order(to, from, n);
    *timed = false;
    return TT_STORES_PLAIN;
}

enum tt_stores tt_put_along(struct tt_put *p, size_t n)
{
    struct tt_way *w = &p->way[TT_PUT_LONG];
    const bool tries = w->best == TT_STORES_PAST && w->since >= trial_of_plain(p);

    w->since += n;
    return tries ? TT_STORES_PLAIN : w->best;
}
