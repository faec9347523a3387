/* SPDX-License-Identifier: BSD-3-Clause */
/* To one other rank of the node and from it: flights, carried by two rings. Messages leave in the order in which they
 * were posted, in records of at most a chunk, whether or not anybody waits for them, as far as there is room; and are
 * told apart at the other end by communicator and tag. One that comes before it is asked for stays in the ring if it
 * can; if something else is waited for that must be behind it, it makes way, into the heap.
 *
 * So a message needs no question and no answer, and nobody's sending waits for anything but the other's polling of this
 * channel, which he does as long as he waits for anything from here.
 *
 * Bytes on a GPU, and with TUTTI_NODE=read long messages, are offered first, for the other to fetch (node_offer.c). If
 * he cannot, they are copied to the ring, or from it, by their place, and records are published, or passed, in order as
 * copies end. */
#ifndef TT_NODE_CHANNEL_H
#define TT_NODE_CHANNEL_H

#include <string.h>

#include "coll/node_park.h"
#include "coll/node_put.h"
#include "coll/node_ring.h"
#include "coll/relax.h"
#include "coll/wire.h"

struct tt_flights {
    struct tt_flight *first, **last;
};

void tt_flights_clear(struct tt_flights *l);
void tt_flights_append(struct tt_flights *l, struct tt_flight *f);
struct tt_flight *tt_flights_take(struct tt_flights *l, struct tt_flight **at); /* that which *at is */

/* A copy between a record and a GPU; without a flight, the record only waits for those before it. */
struct tt_piece {
    struct tt_flight *flight;
    uint64_t mark;
};

/* With offers of one kind of memory. */
struct tt_patience {
    unsigned declined, spared; /* of them, in a row; and sends since then that might have been offers */
};

struct tt_channel {
    struct tt_ring out, in;
    struct tt_parking *parking; /* the other's: he is told of what is published, and passed */
    struct tt_put put;          /* into out */
    /* a message with bytes, that was found and is being taken without a flight; or NULL; and when, if it is timed */
    const struct tt_record *looked_at;
    uint64_t looked;            /* tt_ticks() */
    struct tt_flights sends;    /* that are not over */
    struct tt_flights receives; /* that no message has been found for */
    unsigned expected;          /* receives that are not over, and offers that have no answer */
    /* the message that is being received: by a flight, or as a stray */
    struct tt_flight *inbound;
    struct tt_stray *stray;
    struct tt_stray *strays; /* messages that nobody has asked for yet, the first one first */
    bool broken;             /* the other has died */
    unsigned passed_on;      /* messages, whose reading might have been timed instead */
    /* for GPUs, and what is offered */
    struct tt_piece *leaving, *landing; /* a piece for each record of out, and of in */
    struct tt_flights offered;          /* sends that the other may fetch */
    struct tt_flights fetching;         /* receives that do, until the other has been told, */
    struct tt_flights wanting;          /* or that cannot, until the bytes begin to come; */
    struct tt_flights confirming;   /* that have, until the other says that it stood there; and sends of which that is
                                       to be said are among those that fetch */
    uint32_t offers;                /* so far */
    struct tt_patience patience[2]; /* of the host's memory, of a GPU's */
    /* for long messages of the host */
    int pid;       /* the other, whose memory may be read; or 0 */
    bool is_read;  /* the other may read this process's */
    bool is_lost;  /* he has died, as a read has told */
    char *scratch; /* where what is read is reduced from */
};

/* Gives a channel its rings: memory of that size for each. -1: it is too small, or there is no memory. */
int tt_channel_open(struct tt_channel *c, void *out, void *in, size_t size);
void tt_channel_close(struct tt_channel *c);

/* The other may sleep there. */
void tt_channel_unpark_at(struct tt_channel *c, struct tt_parking *parking);

/* Between two that are to read each other's memory, as far as they may. If there is no memory for that they do not. */
void tt_channel_see(struct tt_channel *c, int pid, bool is_read);

/* A flight begins, whose context is set; it must stay where it is until it is over. */
void tt_channel_post(struct tt_channel *c, struct tt_flight *f);

/* ---- short messages of the host that need no flight, as they can leave, or are here, at once ----
 * To the other side they are like any other. */

/* Would so many bytes leave as one record? */
bool tt_channel_is_short(const struct tt_channel *c, size_t n);

/* False, and nothing is done: something is in the way. */
static inline bool tt_channel_send_now(struct tt_channel *c, uint64_t context, int tag, const void *buf, size_t n);

/* Looks for the message, and so many times more, of which *more are left: where its n bytes are, until tt_channel_pass.
 * NULL: it is not there, or something is in the way. */
static inline const char *tt_channel_look(struct tt_channel *c, uint64_t context, int tag, size_t n, unsigned *more);
static inline void tt_channel_pass(struct tt_channel *c);

/* Moves on what can move. */
void tt_channel_poll(struct tt_channel *c);

/* What the flight has lent has been read. */
void tt_channel_release(struct tt_channel *c, struct tt_flight *f);

/* Nothing will come any more: all flights are over as they are, and so are all that are still to be posted. */
void tt_channel_break(struct tt_channel *c);

/* ---- what of short messages is in the way of each call: of those that fit in a record, all of it ---- */

/* A few bytes, TT_INLINE at most, without a call. */
static inline void tt_copy_few(char *to, const char *from, size_t n)
{
    enum { LONG = 16, MIDDLE = 8, SHORT = 4 };

    _Static_assert(TT_INLINE <= 3 * LONG, "three copies, which may overlap, are all of it");
    if (n >= LONG) {
        memcpy(to, from, LONG);
        if (n > 2 * (size_t)LONG)
            memcpy(to + LONG, from + LONG, LONG);
        memcpy(to + n - LONG, from + n - LONG, LONG);
    } else if (n >= MIDDLE) {
        memcpy(to, from, MIDDLE);
        memcpy(to + n - MIDDLE, from + n - MIDDLE, MIDDLE);
    } else if (n >= SHORT) {
        memcpy(to, from, SHORT);
        memcpy(to + n - SHORT, from + n - SHORT, SHORT);
    } else if (n > 0) {
        to[0] = from[0];
        to[n / 2] = from[n / 2];
        to[n - 1] = from[n - 1];
    }
}

/* What was claimed first is there for the other; what was looked at is his again. */
static inline void tt_channel_publish(struct tt_channel *c)
{
    tt_ring_publish(&c->out);
    tt_unpark(c->parking);
}

static inline void tt_channel_drop(struct tt_channel *c)
{
    tt_ring_pass(&c->in);
    tt_unpark(c->parking);
}

/* The whole of a message, in one record. */
static inline void tt_record_begin(struct tt_record *r, uint64_t context, int tag, size_t n)
{
    r->length = (uint32_t)n;
    r->context = context;
    r->tag = tag;
    r->kind = TT_BEGINS;
    r->is_inline = n <= TT_INLINE;
    r->spoilt = false;
}

bool tt_channel_send_bytes(struct tt_channel *c, uint64_t context, int tag, const void *buf, size_t n);
const char *tt_channel_look_at_bytes(struct tt_channel *c, const struct tt_record *r);
void tt_channel_have_read(struct tt_channel *c);

static inline bool tt_channel_send_now(struct tt_channel *c, uint64_t context, int tag, const void *buf, size_t n)
{
    struct tt_record *r;

    if (c->sends.first || c->broken || !tt_ring_is_level(&c->out))
        return false;
    if (n > TT_INLINE)
        return tt_channel_send_bytes(c, context, tag, buf, n);
    r = tt_ring_claim_line(&c->out);
    if (!r)
        return false;
    tt_record_begin(r, context, tag, n);
    tt_copy_few(r->data, buf, n);
    tt_channel_publish(c);
    return true;
}

/* The next record, or NULL; a message of n bytes is waited for. */
static inline const struct tt_record *tt_channel_await(struct tt_channel *c, size_t n, unsigned *more)
{
    const size_t ahead = n > TT_INLINE && n <= TT_FETCHED_AHEAD ? n : 0;
    const char *const bytes = ahead ? tt_ring_expect(&c->in, n) : NULL;
    const struct tt_record *r;

    while (!(r = tt_ring_look(&c->in)) && *more > 0) {
        tt_relax();
        tt_ring_fetch_lines(bytes, ahead);
        --*more;
    }
    return r;
}

static inline const char *tt_channel_look(struct tt_channel *c, uint64_t context, int tag, size_t n, unsigned *more)
{
    const struct tt_record *r;

    if (c->expected || c->strays || c->broken || !tt_ring_is_level(&c->in))
        return NULL;
    r = tt_channel_await(c, n, more);
    if (!r || r->tag != tag || r->context != context || r->length != n || r->kind != TT_BEGINS || r->spoilt)
        return NULL;
    return r->is_inline ? r->data : tt_channel_look_at_bytes(c, r);
}

static inline void tt_channel_pass(struct tt_channel *c)
{
    if (c->looked_at)
        tt_channel_have_read(c);
    tt_channel_drop(c);
}

#endif
