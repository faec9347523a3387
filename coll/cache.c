/* SPDX-License-Identifier: BSD-3-Clause */
/* Set-associative, as a processor's cache is: the hash names a set, whose few ways are compared; the least recently
 * used way of the set goes when it is full. A look-up touches one set, so it costs the same in a full cache. */
#include "coll/cache.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 32;
}

static uint64_t hash_of(const struct tt_key *k)
{
    const struct tt_shape *s = &k->shape;
    uint64_t h =
        mix(1, (uint64_t)k->coll | (uint64_t)s->inplace << 8 | (uint64_t)s->commutes << 9 | (uint64_t)k->staged << 10);

    h = mix(h, (uint64_t)s->count);
    h = mix(h, (uint64_t)s->root << 32 | (uint64_t)s->unit);
    h = mix(h, ((uint64_t)(uintptr_t)k->cell ^ k->generation) + k->foreign);
    for (int i = 0; s->counts && i < s->size; i++)
        h = mix(h, (uint64_t)s->counts[i]);
    return h ? h : 1;
}

static bool same_counts(const struct tt_shape *a, const struct tt_shape *b)
{
    if (!a->counts || !b->counts)
        return a->counts == b->counts;
    return memcmp(a->counts, b->counts, (size_t)a->size * sizeof *a->counts) == 0;
}

static bool same_key(const struct tt_key *a, const struct tt_key *b)
{
    const struct tt_shape *s = &a->shape, *t = &b->shape;

    return a->coll == b->coll && a->cell == b->cell && a->staged == b->staged && a->foreign == b->foreign &&
           a->generation == b->generation && s->coll == t->coll && s->size == t->size && s->root == t->root &&
           s->inplace == t->inplace && s->commutes == t->commutes && s->count == t->count && s->segment == t->segment &&
           s->unit == t->unit && same_counts(s, t);
}

enum { WAYS = 8, SETS = TT_CACHE_SLOTS / WAYS };

static struct tt_entry *set_of(const struct tt_cache *cache, uint64_t hash)
{
    return cache->entries + (hash >> 32) % SETS * WAYS;
}

static void entry_clear(struct tt_entry *e)
{
    free((void *)e->key.shape.counts);
    tt_plan_free(e->plan);
    *e = (struct tt_entry){0};
}

struct tt_entry *tt_cache_find(struct tt_cache *cache, const struct tt_key *key)
{
    const uint64_t hash = hash_of(key);
    struct tt_entry *set = cache->entries ? set_of(cache, hash) : NULL;

    for (int i = 0; set && i < WAYS; i++)
        if (set[i].hash == hash && same_key(&set[i].key, key)) {
            tt_cache_touch(cache, &set[i]);
            return &set[i];
        }
    return NULL;
}

/* An empty way has been used at time 0, so it is the oldest. */
static struct tt_entry *oldest(struct tt_entry *set)
{
    struct tt_entry *old = set;

    for (int i = 1; i < WAYS; i++)
        if (set[i].used < old->used)
            old = &set[i];
    return old;
}

struct tt_entry *tt_cache_put(struct tt_cache *cache, const struct tt_key *key, const struct tt_choice *choice,
                              struct tt_plan *plan)
{
    int64_t *counts = NULL;
    struct tt_entry *e;

    if (!cache->entries)
        cache->entries = calloc(TT_CACHE_SLOTS, sizeof *cache->entries);
    if (key->shape.counts)
        counts = malloc((size_t)key->shape.size * sizeof *counts);
    if (!cache->entries || (key->shape.counts && !counts)) {
        tt_plan_free(plan);
        free(counts);
        return NULL;
    }
    e = oldest(set_of(cache, hash_of(key)));
    entry_clear(e);
    *e = (struct tt_entry){.hash = hash_of(key), .used = ++cache->clock, .key = *key, .choice = *choice, .plan = plan};
    if (counts)
        memcpy(counts, key->shape.counts, (size_t)key->shape.size * sizeof *counts);
    e->key.shape.counts = counts;
    return e;
}

void tt_cache_free(struct tt_cache *cache)
{
    for (int i = 0; cache->entries && i < TT_CACHE_SLOTS; i++)
        entry_clear(&cache->entries[i]);
    free(cache->entries);
    cache->entries = NULL;
}
