/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/node_onward.h"

#include <string.h>

#include "coll/node_offer.h"
#include "cuda/dev.h"
#include "cuda/stream.h"

/* So many bytes at a time are still in the first cache when they are written for the second time; of 4 KiB, whose
 * places in it are the same as those of what is read, they are not: 4 to 15 % slower (doc/node.md). */
enum { PORTION = 2 << 10 };

/* n bytes more of what f makes: where they are. Room is used if they are to be reduced first. */
static const char *make(const struct tt_flight *f, const char *bytes, size_t at, size_t n, char *room)
{
    const struct tt_fold *fold = &f->fold;
    const void *const sources[] = {fold->left ? bytes + at : fold->other + at,
                                   fold->left ? fold->other + at : bytes + at};

    if (!fold->cell)
        return bytes + at;
    tt_host_reduce_part(fold->cell, room, sources, n / fold->cell->size, false);
    return room;
}

static void store(char *to, const char *from, size_t n, bool past)
{
    if (past)
        tt_stream(to, from, n);
    else
        memcpy(to, from, n);
}

/* To where f keeps it, and to the other place. */
static void store_twice(const struct tt_flight *f, const char *bytes, char *other, bool other_past)
{
    char *const kept = f->fold.cell ? f->fold.dst : f->buf;
    _Alignas(TT_LINE) char room[PORTION];

    for (size_t at = 0, n; at < f->bytes; at += n) {
        const char *made;

        n = tt_stream_piece(kept + at, PORTION, f->bytes - at);
        made = make(f, bytes, at, n, room);
        store(other + at, made, n, other_past);
        store(kept + at, made, n, f->past);
    }
    tt_stream_end(f->past || other_past);
}

static bool is_whole(const struct tt_flight *f, size_t n)
{
    return n == f->bytes && f->moved == 0 && f->had == 0 && !f->place && (!f->fold.cell || tt_channel_folds(f));
}

static bool is_free(const struct tt_channel *c)
{
    return !c->broken && !c->sends.first && tt_ring_is_level(&c->out);
}

bool tt_onward_keep(struct tt_flight *f, const char *bytes, size_t n)
{
    struct tt_flight *onward = f->onward;
    struct tt_channel *c = onward->channel;
    struct tt_record *r;
    char *to;

    if (!is_whole(f, n) || onward->place || !is_free(c))
        return false;
    onward->context = f->context;
    r = tt_channel_begin_record(c, onward, n, &to);
    if (!r)
        return false;
    r->stores = TT_NSTORES; /* who is timed is who only copies */
    store_twice(f, bytes, to, !tt_put_is_near(&c->put));
    f->moved = onward->moved = n;
    f->folded = f->fold.cell;
    onward->over = true;
    tt_channel_send_off(c, (struct tt_piece){.flight = NULL});
    return true;
}
