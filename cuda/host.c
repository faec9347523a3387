/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's memory as a place. Everything is done when the call returns, so its queues are always empty; scratch is
 * pooled, because a large malloc is a fresh mapping whose every page faults again. Long results go past the caches
 * (stream.h), made a block at a time. */
#include <stdlib.h>

#include "cuda/inside.h"
#include "cuda/stream.h"

/* So much of what waits stays in the first cache. Of two sources nothing waits, and half as much is best if the result
 * goes past the caches: loading the next piece begins while this one is stored. The arithmetic of narrow types takes as
 * long as memory does, so that there is nothing to gain for them. */
enum { BLOCK = 4096, PIECE = 2048, NARROW = 4 };

static void *make(size_t bytes)
{
    void *at = NULL;

    if (posix_memalign(&at, 256, bytes)) {
        tt_fault_set("malloc of %zu bytes: out of memory", bytes);
        return NULL;
    }
    return at;
}

static struct tt_pool pool = {.make = make, .unmake = free, .lock = PTHREAD_MUTEX_INITIALIZER};

static int enter(struct tt_place *place)
{
    (void)place;
    return 0;
}

static void leave(struct tt_place *place)
{
    (void)place;
}

static void *take(struct tt_place *place, size_t bytes)
{
    (void)place;
    return tt_pool_take(&pool, bytes);
}

static void give(struct tt_place *place, void *block)
{
    (void)place;
    if (block)
        tt_pool_give(&pool, block);
}

static int copy(struct tt_place *place, int queue, void *dst, const void *src, size_t bytes)
{
    (void)place;
    (void)queue;
    if (bytes > 0)
        tt_copy_host(dst, src, bytes);
    return 0;
}

/* In the order given: what waits stays in the first cache. */
static void reduce_block(const struct tt_cell *cell, void *out, const void *const *src, int k, unsigned order, size_t n)
{
    _Alignas(64) char room[TT_MAX_WAITING][BLOCK];
    const void *waiting[TT_MAX_WAITING + 1];
    int w = 0, left = k - 1;

    for (int j = 0; j < k; j++) {
        waiting[w++] = src[j];
        for (int i = tt_foldings(order, j); i > 0; i--, w--) {
            void *const to = --left > 0 ? room[w - 2] : out;

            cell->host(to, &waiting[w - 2], 2, n);
            waiting[w - 2] = to;
        }
    }
}

/* Block by block: so memory sees each source once and dst once. */
static void reduce_blocks(const struct tt_cell *cell, char *dst, const void *const *src, int k, unsigned order,
                          size_t n, bool streams)
{
    const size_t most = k == 2 ? PIECE : BLOCK;
    _Alignas(64) char made[BLOCK];
    const void *from[TT_MAX_SOURCES];

    for (size_t at = 0, m; at < n; at += m) {
        char *const to = dst + at * cell->size;

        m = tt_stream_piece(to, most, (n - at) * cell->size) / cell->size;
        for (int j = 0; j < k; j++)
            from[j] = (const char *)src[j] + at * cell->size;
        if (k > 2 && order != TT_ACCUMULATE)
            reduce_block(cell, streams ? made : to, from, k, order, m);
        else
            cell->host(streams ? made : to, from, k, m);
        if (streams)
            tt_stream(to, made, m * cell->size);
    }
    tt_stream_end(streams);
}

static void reduce_part(const struct tt_cell *cell, void *dst, const void *const *src, int k, unsigned order, size_t n,
                        bool past)
{
    const bool streams = cell->size >= NARROW && past;

    if (!streams && (k == 2 || order == TT_ACCUMULATE))
        cell->host(dst, src, k, n);
    else
        reduce_blocks(cell, dst, src, k, order, n, streams);
}

static int reduce(struct tt_place *place, int queue, const struct tt_cell *cell, void *dst, const void *const *src,
                  int k, unsigned order, size_t n)
{
    (void)place;
    (void)queue;
    reduce_part(cell, dst, src, k, order, n, tt_streams(dst, src, k, n * cell->size));
    return 0;
}

void tt_host_reduce_part(const struct tt_cell *cell, void *dst, const void *const *src, size_t n, bool past)
{
    reduce_part(cell, dst, src, 2, TT_ACCUMULATE, n, past);
}

static int pack(struct tt_place *place, int queue, const struct tt_runs *runs, int64_t count, const void *spread,
                void *packed)
{
    (void)place;
    (void)queue;
    tt_runs_pack(runs, count, spread, packed);
    return 0;
}

static int unpack(struct tt_place *place, int queue, const struct tt_runs *runs, int64_t count, void *spread,
                  const void *packed)
{
    (void)place;
    (void)queue;
    tt_runs_unpack(runs, count, spread, packed);
    return 0;
}

static bool reduces(struct tt_place *place, const struct tt_cell *cell)
{
    (void)place;
    return cell->host;
}

static int poll(struct tt_place *place, int queue)
{
    (void)place;
    (void)queue;
    return 1;
}

static int mark(struct tt_place *place, int queue, uint64_t *mark)
{
    (void)place;
    (void)queue;
    *mark = 0;
    return 0;
}

static int reached(struct tt_place *place, int queue, uint64_t mark)
{
    (void)place;
    (void)queue;
    (void)mark;
    return 1;
}

static const struct tt_dev host_dev = {.name = "host",
                                       .enter = enter,
                                       .leave = leave,
                                       .take = take,
                                       .take_pinned = take,
                                       .give = give,
                                       .copy = copy,
                                       .reduce = reduce,
                                       .pack = pack,
                                       .unpack = unpack,
                                       .reduces = reduces,
                                       .poll = poll,
                                       .mark = mark,
                                       .reached = reached,
                                       .settle = enter};
static struct tt_place host_place = {&host_dev};

struct tt_place *tt_host_place(void)
{
    return &host_place;
}

/* Only what is unused: the place lives as long as the process. */
void tt_host_close(void)
{
    tt_pool_empty(&pool);
}
