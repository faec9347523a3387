/* SPDX-License-Identifier: BSD-3-Clause */
/* Which tensors are in which bucket, and where their elements lie. All tensors have room in one block, one behind the
 * other, so that other bucket sizes are only other cuts of it. A bucket whose tensors lie like that in the program's
 * own memory needs no copy. For shards each bucket is sorted by rank: block r of all its tensors, then block r + 1;
 * that block of a tensor does not depend on how buckets are cut. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/buckets.h"
#include "coll/pause.h"

/* The fourth lane's: plans have that many rarely. */
enum { QUEUE = (TT_MAX_LANES - 1) * TT_NFLOWS + TT_WITHIN };

/* ---- where ---- */

static int look(struct tutti_buckets *b)
{
    b->place = tt_host_place();
    for (int i = 0; i < b->ntensors; i++) {
        struct tt_tensor *t = &b->tensors[i];

        if (tt_mem_where(t->at, &t->mem))
            return -1;
        if (tt_mem_on_device(&t->mem) && b->place == tt_host_place())
            b->place = tt_place_of(&t->mem);
        if (!b->place)
            return -1;
    }
    return 0;
}

/* Two allocations may touch by chance, which is nothing to rely on but in plain host memory. */
static bool follows(const struct tutti_buckets *b, int i)
{
    const struct tt_tensor *before = &b->tensors[i - 1], *t = &b->tensors[i];

    return before->at + (size_t)before->count * b->unit == t->at && before->mem.kind == t->mem.kind &&
           before->mem.buffer == t->mem.buffer && (t->mem.kind == TT_MEM_HOST || t->mem.buffer);
}

static bool are_direct(const struct tutti_buckets *b, int first, int n)
{
    for (int i = first + 1; i < first + n; i++)
        if (!follows(b, i))
            return false;
    return b->share == TUTTI_ALL;
}

/* ---- cutting ---- */

/* How many tensors the bucket that begins with `first` has. */
static int reach(const struct tutti_buckets *b, int first)
{
    int64_t count = 0;
    int i = first;

    do
        count += b->tensors[i++].count;
    while (i < b->ntensors && count * (int64_t)b->unit < b->wanted && count + b->tensors[i].count <= INT_MAX);
    return i - first;
}

static int count_buckets(const struct tutti_buckets *b)
{
    int n = 0;

    for (int first = 0; first < b->ntensors; first += reach(b, first))
        n++;
    return n;
}

static void count_blocks(const struct tutti_buckets *b, struct tt_bucket *k)
{
    for (int r = 0; r < b->size; r++) {
        k->counts[r] = 0;
        for (int i = k->first; i < k->first + k->n; i++)
            k->counts[r] +=
                (int)(tt_cut(b->tensors[i].count, b->size, r + 1) - tt_cut(b->tensors[i].count, b->size, r));
    }
}

static void make_bucket(const struct tutti_buckets *b, struct tt_bucket *k, int first, char *room)
{
    k->first = first;
    k->n = reach(b, first);
    for (int i = first; i < first + k->n; i++)
        k->count += b->tensors[i].count;
    k->is_direct = are_direct(b, first, k->n);
    k->at = k->is_direct ? b->tensors[first].at : room;
    k->request = MPI_REQUEST_NULL;
    if (k->counts)
        count_blocks(b, k);
}

void tt_buckets_cut(struct tutti_buckets *b)
{
    char *room = b->flat;
    int first = 0;

    b->nbuckets = 0;
    while (first < b->ntensors) {
        struct tt_bucket *k = &b->buckets[b->nbuckets];

        *k = (struct tt_bucket){.request = MPI_REQUEST_NULL};
        if (b->share == TUTTI_SHARDS)
            k->counts = b->counts + (size_t)b->nbuckets * (size_t)b->size;
        make_bucket(b, k, first, room);
        first += k->n;
        room = room ? room + (size_t)k->count * b->unit : NULL;
        b->nbuckets++;
    }
}

/* ---- room ---- */

static int take_flat(struct tutti_buckets *b)
{
    if (b->bytes == 0 || are_direct(b, 0, b->ntensors))
        return 0;
    if (b->place->dev->enter(b->place))
        return -1;
    b->flat = b->place->dev->take(b->place, (size_t)b->bytes);
    b->place->dev->leave(b->place);
    return b->flat ? 0 : -1;
}

int tt_buckets_place(struct tutti_buckets *b, char *why, size_t size)
{
    const size_t most = (size_t)count_buckets(b);

    b->buckets = calloc(most + 1, sizeof *b->buckets);
    b->counts = malloc(b->share == TUTTI_SHARDS ? most * (size_t)b->size * sizeof *b->counts + 1 : 1);
    if (!b->buckets || !b->counts)
        snprintf(why, size, "out of host memory");
    else if (look(b) || take_flat(b))
        snprintf(why, size, "no room for %lld bytes in buckets: %s", (long long)b->bytes, tt_fault());
    else
        return 0;
    return -1;
}

/* ---- copying ---- */

static int copy(struct tutti_buckets *b, void *to, const void *from, int64_t count)
{
    int error;

    if (count == 0)
        return 0;
    if (b->place->dev->enter(b->place))
        return -1;
    error = b->place->dev->copy(b->place, QUEUE, to, from, (size_t)count * b->unit);
    b->place->dev->leave(b->place);
    return error;
}

/* Block r of tensor t. */
static int64_t block(const struct tutti_buckets *b, int t, int r, int64_t *from)
{
    *from = tt_cut(b->tensors[t].count, b->size, r);
    return tt_cut(b->tensors[t].count, b->size, r + 1) - *from;
}

/* Of shards: behind the blocks of the ranks before r, and of the tensors before this one. */
static int fill_blocks(struct tutti_buckets *b, const struct tt_bucket *k, int tensor)
{
    char *room = k->at;
    int error = 0;

    for (int r = 0; r < b->size && !error; r++) {
        char *to = room;
        int64_t from, n;

        for (int t = k->first; t < tensor; t++)
            to += (size_t)block(b, t, r, &from) * b->unit;
        n = block(b, tensor, r, &from);
        error = copy(b, to, b->tensors[tensor].at + (size_t)from * b->unit, n);
        room += (size_t)k->counts[r] * b->unit;
    }
    return error;
}

int tt_bucket_fill(struct tutti_buckets *b, const struct tt_bucket *k, int tensor)
{
    char *room = k->at;

    if (k->is_direct)
        return 0;
    if (k->counts)
        return fill_blocks(b, k, tensor);
    for (int t = k->first; t < tensor; t++)
        room += (size_t)b->tensors[t].count * b->unit;
    return copy(b, room, b->tensors[tensor].at, b->tensors[tensor].count);
}

int tt_bucket_empty(struct tutti_buckets *b, const struct tt_bucket *k)
{
    const char *room = k->at;
    int error = 0;

    for (int t = k->first; t < k->first + k->n && !k->is_direct && !error; t++) {
        int64_t from = 0, n = k->counts ? block(b, t, b->rank, &from) : b->tensors[t].count;

        error = copy(b, b->tensors[t].at + (size_t)from * b->unit, room, n);
        room += (size_t)n * b->unit;
    }
    return error;
}

static bool is_settled(void *what)
{
    const struct tutti_buckets *b = what;

    return b->place->dev->poll(b->place, QUEUE) != 0;
}

int tt_buckets_settle(struct tutti_buckets *b)
{
    int failed;

    if (b->place == tt_host_place())
        return 0;
    if (b->place->dev->enter(b->place))
        return -1;
    tt_wait(is_settled, b);
    failed = b->place->dev->poll(b->place, QUEUE) < 0;
    b->place->dev->leave(b->place);
    return failed ? -1 : 0;
}
