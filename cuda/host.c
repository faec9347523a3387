/* SPDX-License-Identifier: BSD-3-Clause */
/* The host's memory as a place. Everything is done when the call returns, so its queues are always empty; scratch is
 * pooled, because a large malloc is a fresh mapping whose every page faults again. */
#include <stdlib.h>
#include <string.h>

#include "cuda/inside.h"

enum { BLOCK = 4096 };

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
        memcpy(dst, src, bytes);
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
                          size_t n)
{
    const size_t most = BLOCK / cell->size;
    const void *from[TT_MAX_SOURCES];

    for (size_t at = 0; at < n; at += most) {
        for (int j = 0; j < k; j++)
            from[j] = (const char *)src[j] + at * cell->size;
        reduce_block(cell, dst + at * cell->size, from, k, order, n - at < most ? n - at : most);
    }
}

static int reduce(struct tt_place *place, int queue, const struct tt_cell *cell, void *dst, const void *const *src,
                  int k, unsigned order, size_t n)
{
    (void)place;
    (void)queue;
    if (k == 2 || order == TT_ACCUMULATE)
        cell->host(dst, src, k, n);
    else
        reduce_blocks(cell, dst, src, k, order, n);
    return 0;
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
