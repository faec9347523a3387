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

static uint64_t mix_lengths(uint64_t h, const int64_t *n, int size)
{
    for (int i = 0; n && i < size; i++)
        h = mix(h, (uint64_t)n[i]);
    return h;
}

/* Two halves, so that a processor may work on both at once. */
static uint64_t hash_of(const struct tt_key *k)
{
    const struct tt_shape *s = &k->shape;
    const uint64_t flags =
        (uint64_t)k->coll | (uint64_t)s->inplace << 8 | (uint64_t)s->commutes << 9 | (uint64_t)k->staged << 10 |
        (uint64_t)k->on_gpus << 20 | (uint64_t)k->bar << 21;
    const uint64_t what = mix(mix(1, flags), (uint64_t)s->count);
    const uint64_t by =
        mix(mix(2, (uint64_t)s->root << 32 | (uint64_t)s->unit), (uint64_t)(uintptr_t)k->cell ^ k->generation);
    uint64_t h = mix(what, by + k->foreign);

    h = mix_lengths(h, s->counts, s->size);
    h = mix_lengths(h, s->sends, s->size);
    return h ? h : 1;
}

static bool same_lengths(const int64_t *a, const int64_t *b, int n)
{
    return a && b ? memcmp(a, b, (size_t)n * sizeof *a) == 0 : a == b;
}

static bool same_key(const struct tt_key *a, const struct tt_key *b)
{
    const struct tt_shape *s = &a->shape, *t = &b->shape;

    return a->coll == b->coll && a->cell == b->cell && a->staged == b->staged && a->foreign == b->foreign &&
           a->generation == b->generation && a->on_gpus == b->on_gpus && a->bar == b->bar && s->coll == t->coll && s->size == t->size && s->root == t->root &&
           s->inplace == t->inplace && s->commutes == t->commutes && s->reproducible == t->reproducible &&
           s->count == t->count && s->segment == t->segment && s->unit == t->unit &&
           same_lengths(s->counts, t->counts, s->size) && same_lengths(s->sends, t->sends, s->size);
}

enum { WAYS = 8, SETS = TT_CACHE_SLOTS / WAYS };

static struct tt_entry *set_of(const struct tt_cache *cache, uint64_t hash)
{
    return cache->entries + (hash >> 32) % SETS * WAYS;
}

static size_t bytes_of(const struct tt_entry *e)
{
    const struct tt_shape *s = &e->key.shape;

    return tt_plan_bytes(e->plan) + (size_t)s->size * (!!s->counts + !!s->sends) * sizeof *e->lengths;
}

static void entry_clear(struct tt_cache *cache, struct tt_entry *e)
{
    if (e->hash) {
        cache->n--;
        cache->bytes -= bytes_of(e);
    }
    free(e->lengths);
    free(e->brief);
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

/* Of all that are there; NULL: none. */
static struct tt_entry *oldest_of_all(struct tt_cache *cache)
{
    struct tt_entry *old = NULL;

    for (struct tt_entry *e = cache->entries; e < cache->entries + TT_CACHE_SLOTS; e++)
        if (e->hash && (!old || e->used < old->used))
            old = e;
    return old;
}

/* Moves an array of the caller's, if there is one, to *room, which moves on. */
static void own_lengths(const int64_t **n, int64_t **room, int size)
{
    if (!*n)
        return;
    memcpy(*room, *n, (size_t)size * sizeof **n);
    *n = *room;
    *room += size;
}

struct tt_entry *tt_cache_put(struct tt_cache *cache, const struct tt_key *key, const struct tt_choice *choice,
                              struct tt_plan *plan)
{
    const int nlengths = key->shape.size * (!!key->shape.counts + !!key->shape.sends);
    int64_t *lengths = nlengths ? malloc((size_t)nlengths * sizeof *lengths) : NULL;
    struct tt_entry *e;

    if (!cache->entries)
        cache->entries = calloc(TT_CACHE_SLOTS, sizeof *cache->entries);
    if (!cache->entries || (nlengths && !lengths)) {
        tt_plan_free(plan);
        free(lengths);
        return NULL;
    }
    e = oldest(set_of(cache, hash_of(key)));
    entry_clear(cache, e);
    *e = (struct tt_entry){
        .hash = hash_of(key), .used = ++cache->clock, .key = *key, .choice = *choice, .plan = plan, .lengths = lengths};
    own_lengths(&e->key.shape.counts, &lengths, key->shape.size);
    own_lengths(&e->key.shape.sends, &lengths, key->shape.size);
    cache->n++;
    cache->bytes += bytes_of(e);
    while (cache->bytes > TT_CACHE_BYTES && cache->n > 1) /* this one was used last, so it stays */
        entry_clear(cache, oldest_of_all(cache));
    return e;
}

void tt_cache_free(struct tt_cache *cache)
{
    for (int i = 0; cache->entries && i < TT_CACHE_SLOTS; i++)
        entry_clear(cache, &cache->entries[i]);
    free(cache->entries);
    cache->entries = NULL;
}
