/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool of scratch blocks. A collective takes one or two blocks, so a list is searched: the smallest that is large
 * enough serves. Sizes are rounded up, to at most a quarter more, so that calls of similar sizes share blocks. */
#include <stdlib.h>

#include "cuda/inside.h"

enum { SMALLEST = 4096 };

struct tt_block {
    struct tt_block *next;
    void *at;
    size_t bytes;
    bool used;
};

void tt_pool_open(struct tt_pool *pool, void *(*make)(size_t bytes), void (*unmake)(void *at))
{
    pool->make = make;
    pool->unmake = unmake;
    pool->blocks = NULL;
    pthread_mutex_init(&pool->lock, NULL);
}

/* Four classes to each power of two. */
static size_t class_of(size_t bytes)
{
    size_t step = SMALLEST / 4;

    while (step <= SIZE_MAX / 16 && step * 8 < bytes)
        step *= 2;
    return bytes > SIZE_MAX - step ? bytes : bytes <= SMALLEST ? SMALLEST : (bytes + step - 1) / step * step;
}

/* ---- all below with the lock held ---- */

static void drop(struct tt_pool *pool, struct tt_block **link)
{
    struct tt_block *block = *link;

    *link = block->next;
    pool->unmake(block->at);
    free(block);
}

/* Frees unused blocks, those unused for longest first, until at most `keep` bytes are unused or only the first is left;
 * keep 0 frees that one as well. */
static void trim(struct tt_pool *pool, size_t keep)
{
    struct tt_block **link = &pool->blocks;
    size_t idle = 0;
    bool first = keep > 0;

    while (*link) {
        if (!(*link)->used) {
            idle += (*link)->bytes;
            if (idle > keep && !first) {
                idle -= (*link)->bytes;
                drop(pool, link);
                continue;
            }
            first = false;
        }
        link = &(*link)->next;
    }
}

static struct tt_block *find_unused(struct tt_pool *pool, size_t bytes)
{
    struct tt_block *best = NULL;

    for (struct tt_block *b = pool->blocks; b; b = b->next)
        if (!b->used && b->bytes >= bytes && (!best || b->bytes < best->bytes))
            best = b;
    return best;
}

static struct tt_block *grow(struct tt_pool *pool, size_t bytes)
{
    struct tt_block *block = malloc(sizeof *block);

    if (!block) {
        tt_fault_set("out of memory for bookkeeping");
        return NULL;
    }
    block->bytes = class_of(bytes);
    block->at = pool->make(block->bytes);
    if (!block->at) {
        trim(pool, 0);
        block->at = pool->make(block->bytes);
    }
    if (!block->at) {
        free(block);
        return NULL;
    }
    block->next = pool->blocks;
    pool->blocks = block;
    return block;
}

/* ---- and these take it ----
 * Memory is freed when more is taken, not when some is given back: who takes has entered the context it belongs to. */

void *tt_pool_take(struct tt_pool *pool, size_t bytes)
{
    struct tt_block *block;
    void *at = NULL;

    pthread_mutex_lock(&pool->lock);
    block = find_unused(pool, bytes);
    if (!block) {
        trim(pool, TT_POOL_IDLE);
        block = grow(pool, bytes);
    }
    if (block) {
        block->used = true;
        at = block->at;
    }
    pthread_mutex_unlock(&pool->lock);
    return at;
}

void tt_pool_empty(struct tt_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    trim(pool, 0);
    pthread_mutex_unlock(&pool->lock);
}

bool tt_pool_give(struct tt_pool *pool, void *at)
{
    struct tt_block **link = &pool->blocks, *block;

    pthread_mutex_lock(&pool->lock);
    while (*link && (*link)->at != at)
        link = &(*link)->next;
    block = *link;
    if (block) {
        block->used = false;
        *link = block->next;
        block->next = pool->blocks;
        pool->blocks = block;
    }
    pthread_mutex_unlock(&pool->lock);
    return block;
}

static void leave_alone(void *at)
{
    (void)at;
}

void tt_pool_close(struct tt_pool *pool, bool gone)
{
    if (gone)
        pool->unmake = leave_alone;
    while (pool->blocks)
        drop(pool, &pool->blocks);
    pthread_mutex_destroy(&pool->lock);
}
