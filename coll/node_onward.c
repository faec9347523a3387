/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll/node_onward.h"

#include <string.h>

#include "coll/node_offer.h"
#include "cuda/dev.h"
#include "cuda/stream.h"

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

/* Bytes of the next portion: the one after it begins with a line where lines go past the caches. Whole elements. */
static size_t portion_of(const struct tt_flight *f, const char *to, size_t left)
{
    const size_t n = tt_stream_piece(to, TT_PORTION, left);

    return f->fold.cell ? n - n % f->fold.cell->size : n;
}

/* To where f keeps it, which may be one of the sources and so in the cache; and to the other place. */
static void store_twice(const struct tt_flight *f, char *bytes, bool takes, char *other, bool other_past)
{
    const struct tt_fold *fold = &f->fold;
    char *const kept = fold->cell ? fold->dst : f->buf;
    const bool past = tt_channel_keeps_past(f);
    _Alignas(TT_LINE) char room[TT_PORTION];

    for (size_t at = 0, n; at < f->bytes; at += n) {
        const char *made;

        n = portion_of(f, past ? kept + at : other + at, f->bytes - at);
        made = make(f, bytes, at, n, room);
        store(other + at, made, n, other_past);
        store(kept + at, made, n, past);
        if (takes)
            tt_ring_take_lines(bytes + at, n);
    }
    tt_stream_end(past || other_past);
}

/* The whole message, and as it should be: what is not is for f alone to be told. */
static bool is_whole(const struct tt_flight *f, size_t n)
{
    return n == f->bytes && n == f->arrived && f->moved == 0 && f->had == 0 && !f->spoilt;
}

static bool is_free(const struct tt_channel *c)
{
    return !c->broken && !c->sends.first && tt_ring_is_level(&c->out);
}

static bool is_to_be_timed(struct tt_channel *c)
{
    enum { APART = 15 }; /* so that the writer's trials, one piece in 128 or 512, are among them before long */

    return c->passed_on++ % APART == 0;
}

bool tt_onward_keep(struct tt_channel *c, struct tt_flight *f, const struct tt_record *r, char *bytes)
{
    struct tt_flight *onward = f->onward;
    struct tt_channel *to = onward->channel;
    struct tt_record *leaving;
    char *there;

    if (!is_whole(f, r->length) || (f->fold.cell && !tt_channel_folds(f)) || !is_free(to) ||
        (tt_record_is_timed(r) && is_to_be_timed(c)))
        return false;
    onward->context = f->context;
    leaving = tt_channel_begin_record(to, onward, r->length, &there);
    if (!leaving)
        return false;
    leaving->stores = (uint16_t)tt_put_along(&to->put, r->length);
    leaving->is_timed = false;
    store_twice(f, bytes, tt_record_lines_pay(r), there, leaving->stores == TT_STORES_PAST);
    f->moved = onward->moved = r->length;
    f->folded = f->fold.cell;
    onward->over = true;
    tt_channel_send_off(to, (struct tt_piece){.flight = NULL});
    return true;
}
