/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes on a GPU need not pass through the host. A send of such is an offer: a record with their place's name. Whoever
 * can open that copies them himself, or lets a kernel read them where they are, and says so, which ends the send, and
 * the sender says that they stood there until then: else he has lost his context, and what was read is anything. Three
 * records, and no byte is written twice. Whoever cannot, because his own memory is the host's, or the GPUs do not reach
 * each other, or the driver refuses, says that he wants the bytes; then they come through the ring. So the sender need
 * not know what memory the other has, and nothing has to be agreed on beforehand: what is the same for both is that
 * there is a message, of this length.
 *
 * A long message of the host is offered as an address, if the other may read this process's memory (node_probe.c). He
 * reads it part by part, reducing it where that is what it is for, and says so; nothing has to be confirmed. What turns
 * out not to be readable (memory of a device that is mapped here, or the kernel has none) is wanted.
 *
 * An offer that is declined costs an answer and its way back, so a sender that has been declined several times in a row
 * sends the bytes at once, and only now and then asks again.
 *
 * An offer is data ready to be read: who posts a send has seen to it that whatever fills it is over. */
#include "coll/node_offer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/node_gpu.h"
#include "coll/node_read.h"

enum { PATIENCE = 8, AGAIN = 64, READ_AT_ONCE = 1 << 20 /* then other things move on */ };

static const struct tt_piece no_piece = {.flight = NULL};

/* ---- who sends ---- */

static struct tt_patience *patience_with(struct tt_channel *c, const struct tt_flight *f)
{
    return &c->patience[f->place != NULL];
}

static bool is_futile(struct tt_patience *p)
{
    return p->declined >= PATIENCE && ++p->spared % AGAIN != 0;
}

enum tt_offer tt_offer_make(struct tt_channel *c, struct tt_flight *f)
{
    struct tt_name name;
    struct tt_record *r;
    char *bytes;

    if (is_futile(patience_with(c, f)) || (f->place && !tt_gpu_name(f, &name)))
        return TT_OFFER_NONE;
    r = tt_ring_claim(&c->out, f->place ? sizeof name : 0, &bytes);
    if (!r)
        return TT_OFFER_LATER;
    c->offers += c->offers == UINT32_MAX ? 2 : 1; /* never 0 */
    f->number = c->offers;
    r->length = f->place ? sizeof name : 0;
    r->context = f->context;
    r->tag = f->tag;
    r->kind = f->place ? TT_OFFERS : TT_SHOWS;
    r->is_inline = r->spoilt = false;
    r->total = f->bytes;
    r->number = f->number;
    r->at = f->place ? tt_ring_offset(&c->out, bytes) : (uint64_t)(uintptr_t)f->buf;
    if (f->place)
        memcpy(bytes, &name, sizeof name);
    tt_channel_send_off(c, no_piece);
    return TT_OFFER_MADE;
}

void tt_offer_await(struct tt_channel *c, struct tt_flight *f)
{
    if (!f->number || f->is_wanted)
        return;
    c->expected++;
    tt_flights_append(&c->offered, f);
}

static struct tt_flight *take_numbered(struct tt_flights *l, uint32_t number)
{
    for (struct tt_flight **at = &l->first; *at; at = &(*at)->next)
        if ((*at)->number == number)
            return tt_flights_take(l, at);
    return NULL;
}

void tt_offer_answered(struct tt_channel *c, uint32_t number, bool wanted)
{
    struct tt_flight *f = take_numbered(&c->offered, number);

    if (!f)
        return;
    c->expected--;
    patience_with(c, f)->declined = wanted ? patience_with(c, f)->declined + 1 : 0;
    f->is_wanted = wanted;
    f->over = !wanted && !f->place;
    if (!f->over)
        tt_flights_append(wanted ? &c->sends : &c->fetching, f);
}

/* ---- who receives ---- */

struct tt_flight *tt_offer_wanting(struct tt_channel *c, uint32_t number)
{
    return take_numbered(&c->wanting, number);
}

static void close_name(struct tt_flight *f)
{
    if (!f->name)
        return;
    tt_gpu_release(f, f->name);
    free(f->name);
    f->name = NULL;
}

/* Where its own GPU reaches what is offered, the name being kept for as long; or NULL. */
static const void *open_name(struct tt_flight *f, const void *name)
{
    const void *at;

    f->name = f->place ? malloc(sizeof *f->name) : NULL;
    if (!f->name)
        return NULL;
    memcpy(f->name, name, sizeof *f->name);
    at = tt_gpu_import(f, f->name);
    if (!at) {
        free(f->name);
        f->name = NULL;
    }
    return at;
}

static void fetch(struct tt_flight *f, const void *from)
{
    f->is_fetched = true;
    f->failed = tt_gpu_copy(f, TT_WITHIN, f->buf, from, f->arrived, &f->mark);
    f->is_copying = !f->failed;
    if (f->failed)
        close_name(f);
}

/* More than there is room for is not fetched: that is somebody's mistake, and he who posted the receive will say so. A
 * rank that has failed has room for nothing. */
void tt_offer_meet(struct tt_channel *c, struct tt_flight *f, uint32_t number, const void *name, size_t total)
{
    const bool fits = f->buf && total <= f->bytes;
    const void *from = fits && !f->theirs ? open_name(f, name) : NULL;

    f->number = number;
    f->arrived = total;
    f->is_copying = fits && f->theirs && !f->place && c->pid;
    f->is_fetched = !fits || f->is_copying;
    if (from && f->lends) {
        f->at = from;
        f->over = true;
        c->expected--;
        return;
    }
    if (from)
        fetch(f, from);
    tt_flights_append(&c->fetching, f);
}

void tt_channel_release(struct tt_channel *c, struct tt_flight *f)
{
    close_name(f);
    f->at = NULL;
    f->over = c->broken;
    if (f->over)
        return;
    f->is_fetched = true;
    c->expected++;
    tt_flights_append(&c->fetching, f);
    tt_offer_fetch_on(c);
}

void tt_offer_await_copy(struct tt_channel *c, struct tt_flight *f, uint64_t mark)
{
    f->is_copying = true;
    f->mark = mark;
    tt_flights_append(&c->fetching, f);
}

static enum tt_record_kind answer_of(const struct tt_flight *f)
{
    return !f->incoming ? TT_STOOD : f->is_fetched ? TT_HAS : TT_WANTS;
}

static bool write_answer(struct tt_channel *c, const struct tt_flight *f)
{
    char *bytes;
    struct tt_record *r = tt_ring_claim(&c->out, 0, &bytes);

    if (!r)
        return false;
    r->length = 0;
    r->kind = answer_of(f);
    r->is_inline = false;
    r->spoilt = !f->incoming && !tt_place_lives(f->place);
    r->number = f->number;
    tt_channel_send_off(c, no_piece);
    return true;
}

/* What cannot be read comes through the ring, with what was read before it, which is not kept twice. */
static void stop_reading(struct tt_channel *c, struct tt_flight *f, int error)
{
    c->is_lost |= error == ESRCH;
    f->is_copying = c->is_lost;
    f->is_fetched = false;
    f->had = f->moved;
    f->moved = 0;
}

static int read_part(struct tt_channel *c, struct tt_flight *f, size_t n)
{
    const bool folds = tt_channel_folds(f);
    const size_t part = folds && n > TT_READ_SCRATCH ? TT_READ_SCRATCH : n;
    const int error =
        tt_memory_read(c->pid, folds ? c->scratch : (char *)f->buf + f->moved, f->theirs + f->moved, part);

    if (error)
        return error;
    if (folds)
        tt_channel_keep(f, c->scratch, part);
    f->moved += part;
    return 0;
}

static bool read_on(struct tt_channel *c, struct tt_flight *f)
{
    const size_t left = f->arrived - f->moved, end = f->moved + (left < READ_AT_ONCE ? left : READ_AT_ONCE);
    int error = 0;

    while (f->moved < end && !error)
        error = read_part(c, f, end - f->moved);
    if (error)
        stop_reading(c, f, error);
    else
        f->is_copying = f->moved < f->arrived;
    return !f->is_copying;
}

/* Has the copy ended, if there is one? */
static bool is_copied(struct tt_flight *f)
{
    const int state = f->is_copying ? tt_gpu_reached(f, f->name ? TT_WITHIN : TT_UP, f->mark) : 1;

    if (state == 0)
        return false;
    f->failed |= state < 0;
    f->is_copying = false;
    close_name(f);
    return true;
}

static bool is_fetched(struct tt_channel *c, struct tt_flight *f)
{
    return f->theirs && f->is_copying && !f->place ? read_on(c, f) : is_copied(f);
}

/* The other has been told. */
static void answered(struct tt_channel *c, struct tt_flight *f)
{
    if (!f->is_fetched) {
        tt_flights_append(&c->wanting, f);
    } else if (!f->theirs) {
        tt_flights_append(&c->confirming, f);
    } else {
        f->moved = f->arrived;
        tt_channel_end_receive(c, f);
    }
}

/* False: it is to be asked again. */
static bool fetch_one(struct tt_channel *c, struct tt_flight **at)
{
    struct tt_flight *f = *at;

    if (!is_fetched(c, f) || (f->number && !write_answer(c, f)))
        return false;
    tt_flights_take(&c->fetching, at);
    if (!f->incoming)
        f->over = true;
    else if (f->number)
        answered(c, f);
    else
        tt_channel_end_receive(c, f);
    return true;
}

void tt_offer_confirmed(struct tt_channel *c, uint32_t number, bool spoilt)
{
    struct tt_flight *f = take_numbered(&c->confirming, number);

    if (!f)
        return;
    f->spoilt |= spoilt;
    f->moved = f->arrived;
    tt_channel_end_receive(c, f);
}

void tt_offer_fetch_on(struct tt_channel *c)
{
    for (struct tt_flight **at = &c->fetching.first; *at;)
        if (!fetch_one(c, at))
            at = &(*at)->next;
}

/* ---- the other has died ---- */

void tt_offer_abandon_all(struct tt_flights *l)
{
    while (l->first) {
        struct tt_flight *f = tt_flights_take(l, &l->first);

        close_name(f);
        tt_channel_abandon(f);
    }
}

void tt_offer_break(struct tt_channel *c)
{
    tt_offer_abandon_all(&c->offered);
    tt_offer_abandon_all(&c->fetching);
    tt_offer_abandon_all(&c->wanting);
    tt_offer_abandon_all(&c->confirming);
}
