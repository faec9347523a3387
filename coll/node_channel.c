/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel carries flights. */
#include "coll/node_channel.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_CHUNK = 8 << 10, MOST_CHUNK = 128 << 10, CHUNKS = 4 };

/* A message that nobody has asked for yet: as much of it as is here. */
struct tt_stray {
    struct tt_stray *next;
    uint64_t context;
    int32_t tag;
    size_t total, moved;
    char data[];
};

static void clear(struct tt_flights *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void append(struct tt_flights *l, struct tt_flight *f)
{
    f->next = NULL;
    *l->last = f;
    l->last = &f->next;
}

static struct tt_flight *take(struct tt_flights *l, struct tt_flight **at)
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
    clear(&c->sends);
    clear(&c->receives);
    if (!tt_ring_open(&c->out, out, size) || !tt_ring_open(&c->in, in, size))
        return -1;
    c->out.ends = calloc(c->out.nrecords, sizeof *c->out.ends);
    return c->out.ends ? 0 : -1;
}

void tt_channel_close(struct tt_channel *c)
{
    struct tt_stray *next;

    for (struct tt_stray *s = c->strays; s; s = next) {
        next = s->next;
        free(s);
    }
    free(c->out.ends);
}

/* ---- sending ---- */

/* Long messages are cut, so that the other reads one part while the next is written; and so that the parts stay in the
 * cache: they are written over again after a few of them. */
static size_t chunk_of(const struct tt_channel *c, size_t total)
{
    const size_t most = c->out.nbytes / CHUNKS < MOST_CHUNK ? c->out.nbytes / CHUNKS : MOST_CHUNK;
    const size_t fair = total / CHUNKS / TT_LINE * TT_LINE, least = most < LEAST_CHUNK ? most : LEAST_CHUNK;

    return fair < least ? least : fair > most ? most : fair;
}

/* One record more of the message. False if there is no room. */
static bool write_record(struct tt_channel *c, struct tt_flight *f)
{
    const bool is_inline = f->bytes <= TT_INLINE;
    const size_t chunk = chunk_of(c, f->bytes), left = f->bytes - f->moved;
    const size_t n = left < chunk ? left : chunk;
    char *bytes;
    struct tt_record *r = tt_ring_claim(&c->out, is_inline ? 0 : n, &bytes);

    if (!r)
        return false;
    r->length = (uint32_t)n;
    r->context = f->context;
    r->tag = f->tag;
    r->kind = f->moved ? TT_CONTINUES : TT_BEGINS;
    r->is_inline = is_inline;
    if (is_inline)
        bytes = r->data;
    else
        r->total = f->bytes;
    if (n > 0)
        memcpy(bytes, (const char *)f->buf + f->moved, n);
    f->moved += n;
    tt_ring_publish(&c->out, r);
    return true;
}

static bool write_message(struct tt_channel *c, struct tt_flight *f)
{
    do
        if (!write_record(c, f))
            return false;
    while (f->moved < f->bytes);
    f->over = true;
    return true;
}

static void send_on(struct tt_channel *c)
{
    while (c->sends.first && write_message(c, c->sends.first))
        take(&c->sends, &c->sends.first);
}

/* ---- receiving ---- */

static void end_receive(struct tt_channel *c, struct tt_flight *f)
{
    c->expected--;
    f->over = true;
}

/* n bytes more of a message have come for f. What is longer than was expected is not kept. */
static void land(struct tt_flight *f, const char *bytes, size_t n)
{
    const size_t room = f->moved < f->bytes ? f->bytes - f->moved : 0;

    if (n > 0 && room > 0)
        memcpy((char *)f->buf + f->moved, bytes, n < room ? n : room);
    f->moved += n;
}

/* The flight that waits for such a message, waiting no more; or NULL. */
static struct tt_flight *find_receive(struct tt_channel *c, const struct tt_record *r)
{
    for (struct tt_flight **at = &c->receives.first; *at; at = &(*at)->next)
        if ((*at)->tag == r->tag && (*at)->context == r->context)
            return take(&c->receives, at);
    return NULL;
}

/* NULL if there is no memory. */
static struct tt_stray *add_stray(struct tt_channel *c, const struct tt_record *r, size_t total)
{
    struct tt_stray **at = &c->strays, *s = malloc(sizeof *s + total);

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
    c->inbound = find_receive(c, r);
    if (c->inbound)
        c->inbound->arrived = total;
    else
        c->stray = add_stray(c, r, total);
    return c->inbound || c->stray;
}

/* False: the record stays where it is. */
static bool read_record(struct tt_channel *c, const struct tt_record *r)
{
    const char *bytes = r->is_inline ? r->data : c->in.bytes + r->at;

    if (r->kind == TT_BEGINS && !begin_message(c, r))
        return false;
    if (c->inbound) {
        land(c->inbound, bytes, r->length);
        if (c->inbound->moved == c->inbound->arrived) {
            end_receive(c, c->inbound);
            c->inbound = NULL;
        }
    } else {
        memcpy(c->stray->data + c->stray->moved, bytes, r->length);
        c->stray->moved += r->length;
    }
    tt_ring_pass(&c->in);
    return true;
}

/* What nobody waits for is left in the ring. */
static void receive_on(struct tt_channel *c)
{
    const struct tt_record *r;

    while (c->expected > 0 && (r = tt_ring_look(&c->in)) && read_record(c, r))
        ;
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
    f->arrived = s->total;
    land(f, s->data, s->moved);
    if (f->moved == f->arrived) {
        end_receive(c, f);
    } else {
        c->inbound = f;
        c->stray = NULL;
    }
    free(s);
    return true;
}

/* ---- both ---- */

/* What has not come will not come. */
static void abandon(struct tt_flight *f)
{
    f->arrived = 0;
    f->over = true;
}

void tt_channel_post(struct tt_channel *c, struct tt_flight *f)
{
    f->moved = f->arrived = 0;
    f->over = false;
    if (f->incoming) {
        c->expected++;
        if (!c->strays || !take_stray(c, f))
            append(&c->receives, f);
    } else if (c->sends.first || !write_message(c, f)) {
        append(&c->sends, f);
    }
    if (c->broken)
        tt_channel_break(c);
}

void tt_channel_poll(struct tt_channel *c)
{
    if (c->sends.first)
        send_on(c);
    receive_on(c);
}

void tt_channel_break(struct tt_channel *c)
{
    const struct tt_record *r;

    c->broken = true;
    while ((r = tt_ring_look(&c->in)) && read_record(c, r))
        ;
    while (c->sends.first)
        abandon(take(&c->sends, &c->sends.first));
    while (c->receives.first)
        abandon(take(&c->receives, &c->receives.first));
    if (c->inbound)
        abandon(c->inbound);
    c->inbound = NULL;
    c->expected = 0;
}
