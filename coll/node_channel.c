/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel carries flights. */
#include "coll/node_channel.h"

#include <stdlib.h>
#include <string.h>

#include "coll/node_gpu.h"
#include "coll/node_offer.h"
#include "coll/node_onward.h"
#include "coll/ticks.h"
#include "cuda/dev.h"
#include "cuda/stream.h"

enum { LEAST_CHUNK = 32 << 10, MOST_CHUNK = 128 << 10, CHUNKS = 4, LONG_PIECE = 4 << 10 };

/* A message that nobody has asked for yet: as much of it as is here, or the name under which it was offered. */
struct tt_stray {
    struct tt_stray *next;
    uint64_t context;
    int32_t tag;
    bool spoilt;
    uint32_t offer;     /* 0: it was not offered */
    const char *theirs; /* see wire.h */
    size_t total, moved;
    char data[];
};

void tt_flights_clear(struct tt_flights *l)
{
    l->first = NULL;
    l->last = &l->first;
}

void tt_flights_append(struct tt_flights *l, struct tt_flight *f)
{
    f->next = NULL;
    *l->last = f;
    l->last = &f->next;
}

struct tt_flight *tt_flights_take(struct tt_flights *l, struct tt_flight **at)
{
    struct tt_flight *f = *at;

    *at = f->next;
    if (!*at)
        l->last = at;
    return f;
}

int tt_channel_open(struct tt_channel *c, void *out, void *in, size_t size)
{
    *c = (struct tt_channel){.broken = false};
    tt_flights_clear(&c->sends);
    tt_flights_clear(&c->receives);
    tt_flights_clear(&c->offered);
    tt_flights_clear(&c->fetching);
    tt_flights_clear(&c->wanting);
    tt_flights_clear(&c->confirming);
    if (!tt_ring_open(&c->out, out, size) || !tt_ring_open(&c->in, in, size))
        return -1;
    c->parking = &tt_parking_of_nobody;
    c->put.reading = c->out.pace;
    c->put.lap = c->out.nbytes;
    c->out.ends = calloc(c->out.nrecords, sizeof *c->out.ends);
    c->leaving = calloc(c->out.nrecords, sizeof *c->leaving);
    c->landing = calloc(c->in.nrecords, sizeof *c->landing);
    return c->out.ends && c->leaving && c->landing ? 0 : -1;
}

void tt_channel_close(struct tt_channel *c)
{
    struct tt_stray *next;

    for (struct tt_stray *s = c->strays; s; s = next) {
        next = s->next;
        free(s);
    }
    free(c->out.ends);
    free(c->leaving);
    free(c->landing);
    free(c->scratch);
}

void tt_channel_unpark_at(struct tt_channel *c, struct tt_parking *parking)
{
    c->parking = parking;
}

void tt_channel_see(struct tt_channel *c, int pid, bool is_read)
{
    c->scratch = pid ? malloc(TT_READ_SCRATCH) : NULL;
    c->pid = c->scratch ? pid : 0;
    c->is_read = is_read;
}

/* Is the copy over, and with it the piece? */
static bool is_over(const struct tt_piece *p, enum tt_flow flow)
{
    const int state = p->flight ? tt_gpu_reached(p->flight, flow, p->mark) : 1;

    if (state < 0)
        p->flight->failed = true;
    return state != 0;
}

/* ---- sending ---- */

/* Long messages are cut, so that the other reads one part while the next is written; and so that the parts stay in the
 * cache: they are written over again after a few of them. One that goes at once is cut for the latter only. */
static size_t chunk_of(const struct tt_channel *c, size_t total, bool at_once)
{
    const size_t room = tt_ring_room(&c->out, CHUNKS), most = room < MOST_CHUNK ? room : MOST_CHUNK;
    const size_t fair = at_once ? total : total / CHUNKS / TT_LINE * TT_LINE;
    const size_t least = most < LEAST_CHUNK ? most : LEAST_CHUNK;

    return fair < least ? least : fair > most ? most : fair;
}

void tt_channel_send_off(struct tt_channel *c, struct tt_piece piece)
{
    if (!piece.flight && c->out.next + 1 == c->out.ahead)
        tt_channel_publish(c);
    else
        c->leaving[tt_ring_slot(&c->out, c->out.ahead - 1)] = piece;
}

/* Bytes that cannot be had are sent all the same, as what they are: the other waits for them. */
static struct tt_piece copy_down(struct tt_channel *c, struct tt_flight *f, struct tt_record *r, char *bytes, size_t n)
{
    struct tt_piece piece = {.flight = NULL};

    r->stores = TT_STORES_PAST;
    r->is_timed = false;
    tt_gpu_pin(f, &c->out);
    f->failed = f->failed || tt_gpu_copy(f, TT_DOWN, bytes, (const char *)f->buf + f->moved, n, &piece.mark);
    r->spoilt = f->failed;
    if (!f->failed) {
        piece.flight = f;
        f->undone++;
    }
    return piece;
}

static struct tt_piece put(struct tt_channel *c, struct tt_flight *f, struct tt_record *r, char *bytes, size_t n)
{
    const struct tt_piece no_copy = {.flight = NULL};

    if (n == 0)
        return no_copy; /* and perhaps no buffer: a rank that has failed sends so */
    if (f->place)
        return copy_down(c, f, r, bytes, n);
    if (bytes == r->data)
        memcpy(bytes, f->buf, n);
    else
        r->stores = (uint16_t)tt_put(&c->put, bytes, (const char *)f->buf + f->moved, n, &r->is_timed);
    return no_copy;
}

struct tt_record *tt_channel_begin_record(struct tt_channel *c, const struct tt_flight *f, size_t n, char **bytes)
{
    const bool is_inline = f->bytes <= TT_INLINE && !f->is_wanted;
    struct tt_record *r = tt_ring_claim(&c->out, is_inline ? 0 : n, bytes);

    if (!r)
        return NULL;
    r->length = (uint32_t)n;
    r->context = f->is_wanted ? f->number : f->context;
    r->tag = f->tag;
    r->kind = f->moved ? TT_CONTINUES : f->is_wanted ? TT_BRINGS : TT_BEGINS;
    r->is_inline = is_inline;
    r->spoilt = false;
    if (is_inline) {
        *bytes = r->data;
    } else {
        r->total = f->bytes;
        r->at = tt_ring_offset(&c->out, *bytes);
    }
    return r;
}

/* What is a part already; and what crosses a message of the other's, who so has something to do meanwhile. A copy from
 * a GPU is to go on while the one before is sent, in any case. */
static bool goes_at_once(const struct tt_channel *c, const struct tt_flight *f)
{
    return f->is_segment || (c->expected > 0 && !f->place);
}

/* One record more of the message. False if there is no room. */
static bool write_record(struct tt_channel *c, struct tt_flight *f)
{
    const size_t chunk = chunk_of(c, f->bytes, goes_at_once(c, f)), left = f->bytes - f->moved;
    const size_t n = left < chunk ? left : chunk;
    struct tt_piece piece;
    char *bytes;
    struct tt_record *r = tt_channel_begin_record(c, f, n, &bytes);

    if (!r)
        return false;
    piece = put(c, f, r, bytes, n);
    f->moved += n;
    tt_channel_send_off(c, piece);
    return true;
}

/* One piece of it, so that the two sides write and read in turn, and find in the cache what was written. False: it is
 * not the last. */
static bool write_message(struct tt_channel *c, struct tt_flight *f)
{
    if (!write_record(c, f) || f->moved < f->bytes)
        return false;
    f->over = !f->undone;
    return true;
}

/* Some are offered, unless that was to no avail. False if it is to be gone on with. */
static bool begin_send(struct tt_channel *c, struct tt_flight *f)
{
    const bool may = (f->place || (c->is_read && f->bytes >= TT_READ_LEAST)) && !f->is_wanted && f->moved == 0;
    const enum tt_offer made = may ? tt_offer_make(c, f) : TT_OFFER_NONE;

    return made == TT_OFFER_NONE ? write_message(c, f) : made == TT_OFFER_MADE;
}

static void send_on(struct tt_channel *c)
{
    while (c->sends.first && begin_send(c, c->sends.first))
        tt_offer_await(c, tt_flights_take(&c->sends, &c->sends.first));
}

/* What copies have filled, and what stands behind it. */
static void publish_on(struct tt_channel *c)
{
    const struct tt_piece *piece;
    struct tt_flight *f;

    while (!tt_ring_is_level(&c->out) && is_over(piece = &c->leaving[tt_ring_slot(&c->out, c->out.next)], TT_DOWN)) {
        f = piece->flight;
        if (f) {
            tt_ring_first(&c->out)->spoilt |= f->failed;
            f->over = --f->undone == 0 && f->moved == f->bytes;
        }
        tt_channel_publish(c);
    }
}

/* ---- receiving ---- */

/* If all of its message is there. What is not as it should be is none. */
void tt_channel_end_receive(struct tt_channel *c, struct tt_flight *f)
{
    if (f->moved < f->arrived || f->undone || f->is_copying)
        return;
    c->expected--;
    f->arrived = f->spoilt ? 0 : f->arrived;
    f->over = true;
}

/* The record that was looked at is no longer needed, or not once the piece is over. */
static void let_go(struct tt_channel *c, struct tt_piece piece)
{
    if (!piece.flight && tt_ring_is_level(&c->in)) {
        tt_channel_drop(c);
        return;
    }
    c->landing[tt_ring_slot(&c->in, c->in.ahead)] = piece;
    tt_ring_hold(&c->in);
}

/* Not into one of its sources, whose lines are in the cache. */
bool tt_channel_keeps_past(const struct tt_flight *f)
{
    return f->past && !(f->fold.cell && f->fold.dst == f->fold.other);
}

/* Bytes come cut at multiples of a line, so of elements. */
bool tt_channel_folds(const struct tt_flight *f)
{
    return f->fold.cell && TT_LINE % f->fold.cell->size == 0;
}

void tt_channel_keep(struct tt_flight *f, const char *bytes, size_t n)
{
    const struct tt_fold *fold = &f->fold;
    const void *const sources[] = {fold->left ? bytes : fold->other + f->moved,
                                   fold->left ? fold->other + f->moved : bytes};

    f->folded = tt_channel_folds(f);
    if (f->folded)
        tt_host_reduce_part(fold->cell, fold->dst + f->moved, sources, n / fold->cell->size, tt_channel_keeps_past(f));
    else
        tt_copy_bytes((char *)f->buf + f->moved, bytes, n, f->past);
}

/* Of these, what it has not had by another way. */
static void keep_more(struct tt_flight *f, const char *bytes, size_t n)
{
    const size_t over = f->had > f->moved ? f->had - f->moved : 0, had = over < n ? over : n;

    f->moved += had;
    if (had < n)
        tt_channel_keep(f, bytes + had, n - had);
    f->moved -= had;
}

/* n bytes more of a message have come for f. What is longer than was expected is not kept. A copy to a GPU is what is
 * returned. */
static struct tt_piece land(struct tt_flight *f, const char *bytes, size_t n)
{
    const size_t room = f->moved < f->bytes ? f->bytes - f->moved : 0, kept = n < room ? n : room;
    struct tt_piece piece = {.flight = NULL};
    char *to = (char *)f->buf + f->moved;

    if (kept > 0 && !f->place)
        keep_more(f, bytes, kept);
    f->moved += n;
    if (kept == 0 || !f->place || f->failed)
        return piece;
    f->failed = tt_gpu_copy(f, TT_UP, to, bytes, kept, &piece.mark);
    piece.flight = f->failed ? NULL : f;
    return piece;
}

/* Portion by portion, the lines of each being taken while they are in the first cache. What goes past the caches is not
 * cut: each portion would have to wait until it is there. */
static void land_taking(struct tt_flight *f, char *bytes, size_t n)
{
    const size_t most = tt_channel_keeps_past(f) ? n : TT_PORTION;

    for (size_t at = 0; at < n; at += most) {
        const size_t portion = n - at < most ? n - at : most;

        land(f, bytes + at, portion);
        tt_ring_take_lines(bytes + at, portion);
    }
}

/* The bytes of a record have come for f. */
static struct tt_piece land_record(struct tt_channel *c, struct tt_flight *f, const struct tt_record *r, char *bytes)
{
    const bool tells = tt_record_is_timed(r) && !f->place;
    struct tt_piece piece = {.flight = NULL};
    uint64_t start;

    if (f->onward && tt_onward_keep(c, f, r, bytes))
        return piece;
    start = tells ? tt_ticks() : 0;
    if (tt_record_lines_pay(r) && !f->place)
        land_taking(f, bytes, r->length);
    else
        piece = land(f, bytes, r->length);
    if (tells)
        tt_pace_see(c->in.pace, r->stores, tt_ticks_after() - start, r->length);
    return piece;
}

/* The flight that waits for such a message, waiting no more; or NULL. */
static struct tt_flight *find_receive(struct tt_channel *c, const struct tt_record *r)
{
    for (struct tt_flight **at = &c->receives.first; *at; at = &(*at)->next)
        if ((*at)->tag == r->tag && (*at)->context == r->context)
            return tt_flights_take(&c->receives, at);
    return NULL;
}

/* NULL if there is no memory. */
static struct tt_stray *add_stray(struct tt_channel *c, const struct tt_record *r, size_t total, size_t room)
{
    struct tt_stray **at = &c->strays, *s = malloc(sizeof *s + room);

    if (!s)
        return NULL;
    *s = (struct tt_stray){.context = r->context, .tag = r->tag, .total = total};
    while (*at)
        at = &(*at)->next;
    return *at = s;
}

/* A message begins: for a flight that waits for it, or as a stray. False if there is no memory. */
static bool begin_message(struct tt_channel *c, const struct tt_record *r)
{
    const size_t total = r->is_inline ? r->length : r->total;

    c->stray = NULL;
    c->inbound = r->kind == TT_BRINGS ? tt_offer_wanting(c, (uint32_t)r->context) : find_receive(c, r);
    if (c->inbound)
        c->inbound->arrived = total;
    else
        c->stray = add_stray(c, r, total, total);
    return c->inbound || c->stray;
}

/* False if there is no memory. */
static bool read_offer(struct tt_channel *c, const struct tt_record *r, const char *bytes)
{
    struct tt_flight *f = find_receive(c, r);
    struct tt_stray *s = f ? NULL : add_stray(c, r, r->total, r->length);
    const char *theirs = r->kind == TT_SHOWS ? (const char *)(uintptr_t)r->at : NULL;

    if (f) {
        f->theirs = theirs;
        tt_offer_meet(c, f, r->number, bytes, r->total);
    } else if (s) {
        s->offer = r->number;
        s->theirs = theirs;
        memcpy(s->data, bytes, r->length);
    }
    if (f || s)
        let_go(c, (struct tt_piece){.flight = NULL});
    return f || s;
}

/* False: the record stays where it is. */
static bool read_bytes(struct tt_channel *c, const struct tt_record *r, char *bytes)
{
    struct tt_piece piece = {.flight = NULL};
    struct tt_flight *f;

    if (r->kind != TT_CONTINUES && !begin_message(c, r))
        return false;
    f = c->inbound;
    if (f) {
        f->spoilt |= r->spoilt;
        if (f->place)
            tt_gpu_pin(f, &c->in);
        piece = land_record(c, f, r, bytes);
        f->undone += piece.flight != NULL;
        if (f->moved == f->arrived)
            c->inbound = NULL;
        tt_channel_end_receive(c, f);
    } else {
        memcpy(c->stray->data + c->stray->moved, bytes, r->length);
        c->stray->moved += r->length;
        c->stray->spoilt |= r->spoilt;
    }
    if (!r->is_inline && r->length > 0)
        tt_ring_told(&c->in, r);
    let_go(c, piece);
    return true;
}

static bool read_record(struct tt_channel *c, struct tt_record *r)
{
    char *bytes = r->is_inline ? r->data : c->in.bytes + (r->length ? r->at : 0);

    switch (r->kind) {
    case TT_OFFERS:
    case TT_SHOWS:
        return read_offer(c, r, bytes);
    case TT_STOOD:
        tt_offer_confirmed(c, r->number, r->spoilt);
        let_go(c, (struct tt_piece){.flight = NULL});
        return true;
    case TT_HAS:
    case TT_WANTS:
        tt_offer_answered(c, r->number, r->kind == TT_WANTS);
        let_go(c, (struct tt_piece){.flight = NULL});
        return true;
    default:
        return read_bytes(c, r, bytes);
    }
}

/* What nobody waits for is left in the ring. Up to one long piece: see write_message. */
static void receive_on(struct tt_channel *c)
{
    struct tt_record *r;
    bool is_long = false;

    while (!is_long && c->expected > 0 && (r = tt_ring_look(&c->in))) {
        is_long = !r->is_inline && r->length > LONG_PIECE;
        if (!read_record(c, r))
            return;
    }
}

/* What copies have read, and what stands behind it. */
static void pass_on(struct tt_channel *c)
{
    const struct tt_piece *piece;
    struct tt_flight *f;

    while (!tt_ring_is_level(&c->in) && is_over(piece = &c->landing[tt_ring_slot(&c->in, c->in.next)], TT_UP)) {
        f = piece->flight;
        tt_channel_drop(c);
        if (f) {
            f->undone--;
            tt_channel_end_receive(c, f);
        }
    }
}

/* What has come of it so far. A copy to a GPU from memory that is not pinned reads it before it returns. */
static void take_bytes(struct tt_channel *c, struct tt_flight *f, const struct tt_stray *s)
{
    struct tt_piece piece;

    f->arrived = s->total;
    f->spoilt = s->spoilt;
    piece = land(f, s->data, s->moved);
    if (f->moved < f->arrived) {
        c->inbound = f;
        c->stray = NULL;
    }
    if (piece.flight)
        tt_offer_await_copy(c, f, piece.mark);
    tt_channel_end_receive(c, f);
}

/* If the message is here already, or has begun. */
static bool take_stray(struct tt_channel *c, struct tt_flight *f)
{
    struct tt_stray **at = &c->strays, *s;

    while (*at && ((*at)->tag != f->tag || (*at)->context != f->context))
        at = &(*at)->next;
    s = *at;
    if (!s)
        return false;
    *at = s->next;
    f->theirs = s->theirs;
    if (s->offer)
        tt_offer_meet(c, f, s->offer, s->data, s->total);
    else
        take_bytes(c, f, s);
    free(s);
    return true;
}

/* ---- both ---- */

/* Is what f keeps to go past the caches, since the call touches more than they hold for it? Ranks between which plain
 * stores are the better ones share the last one. */
static bool goes_past(const struct tt_channel *c, const struct tt_flight *f)
{
    const size_t sharers = tt_put_is_near(&c->put) ? 2 : 1;

    return f->touched * sharers >= TT_STREAM_CALL && f->bytes >= TT_PUT_WHOLE;
}

static void begin_receive(struct tt_channel *c, struct tt_flight *f)
{
    c->expected++;
    f->past = goes_past(c, f);
    if (!c->strays || !take_stray(c, f))
        tt_flights_append(&c->receives, f);
}

void tt_channel_post(struct tt_channel *c, struct tt_flight *f)
{
    f->moved = f->arrived = 0;
    f->over = f->lost = false;
    if (f->incoming)
        begin_receive(c, f);
    else if (c->sends.first || !begin_send(c, f))
        tt_flights_append(&c->sends, f);
    else
        tt_offer_await(c, f);
    if (c->broken)
        tt_channel_break(c);
}

/* ---- without flights ---- */

bool tt_channel_is_short(const struct tt_channel *c, size_t n)
{
    return n <= TT_PUT_WHOLE && n <= chunk_of(c, n, false);
}

/* The line of a record comes here while its bytes are written. If they are few it would be taken back meanwhile, by
 * who looks for it. */
static void begin_line(struct tt_record *r, size_t n)
{
    if (n > TT_FETCHED_AHEAD)
        r->length = (uint32_t)n;
}

bool tt_channel_send_bytes(struct tt_channel *c, uint64_t context, int tag, const void *buf, size_t n)
{
    char *bytes;
    struct tt_record *r = tt_ring_claim(&c->out, n, &bytes);
    enum tt_stores stores;
    bool is_timed;

    if (!r)
        return false;
    begin_line(r, n);
    stores = tt_put(&c->put, bytes, buf, n, &is_timed);
    tt_record_begin(r, context, tag, n);
    r->total = n;
    r->at = tt_ring_offset(&c->out, bytes);
    r->stores = (uint16_t)stores;
    r->is_timed = is_timed;
    tt_channel_publish(c);
    return true;
}

/* All at once, which whoever reads them one after the other does not: copying 512 bytes between far cores so takes half
 * of the time. Of the rest the processor has seen by then where it goes. */
static void fetch(const char *bytes, size_t n)
{
    enum { AT_ONCE = 1 << 10 };

    tt_ring_fetch_lines(bytes, n < AT_ONCE ? n : AT_ONCE);
}

const char *tt_channel_look_at_bytes(struct tt_channel *c, const struct tt_record *r)
{
    if (r->total != r->length)
        return NULL;
    if (r->length > TT_FETCHED_AHEAD)
        fetch(c->in.bytes + r->at, r->length);
    c->looked_at = r;
    c->looked = tt_record_is_timed(r) ? tt_ticks() : 0;
    return c->in.bytes + r->at;
}

void tt_channel_have_read(struct tt_channel *c)
{
    const struct tt_record *r = c->looked_at;

    tt_ring_told(&c->in, r);
    if (tt_record_lines_pay(r))
        tt_ring_take_lines(c->in.bytes + r->at, r->length);
    if (c->looked)
        tt_pace_see(c->in.pace, r->stores, tt_ticks_after() - c->looked, r->length);
    c->looked_at = NULL;
}

void tt_channel_poll(struct tt_channel *c)
{
    if (!tt_ring_is_level(&c->out))
        publish_on(c);
    if (!tt_ring_is_level(&c->in))
        pass_on(c);
    if (c->fetching.first)
        tt_offer_fetch_on(c);
    if (c->sends.first)
        send_on(c);
    receive_on(c);
    if (c->is_lost && !c->broken)
        tt_channel_break(c);
}

/* A receive that has not all of its message has none. */
void tt_channel_abandon(struct tt_flight *f)
{
    f->arrived = 0;
    f->over = f->lost = true;
}

static void abandon_pieces(struct tt_ring *r, struct tt_piece *pieces)
{
    for (uint32_t i = r->next; i != r->ahead; i++) {
        struct tt_piece *piece = &pieces[tt_ring_slot(r, i)];

        if (piece->flight)
            tt_channel_abandon(piece->flight);
        piece->flight = NULL;
    }
}

void tt_channel_break(struct tt_channel *c)
{
    struct tt_record *r;

    c->broken = true;
    while ((r = tt_ring_look(&c->in)) && read_record(c, r))
        ; /* what it sent before is there */
    tt_offer_break(c);
    tt_offer_abandon_all(&c->sends);
    tt_offer_abandon_all(&c->receives);
    abandon_pieces(&c->out, c->leaving);
    abandon_pieces(&c->in, c->landing);
    if (c->inbound)
        tt_channel_abandon(c->inbound);
    c->inbound = NULL;
    c->expected = 0;
}
