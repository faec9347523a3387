/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages whose bytes the other may fetch from where they are: for node_channel.c alone. */
#ifndef TT_NODE_OFFER_H
#define TT_NODE_OFFER_H

#include "coll/node_channel.h"

/* Messages of the host from here on are offered: what is shorter costs less through the ring than the answer does. And
 * of what is to be reduced, so much is read at a time: it stays in the cache. */
enum { TT_READ_LEAST = 16 << 10, TT_READ_SCRATCH = 64 << 10 };

enum tt_offer { TT_OFFER_NONE, TT_OFFER_LATER, TT_OFFER_MADE }; /* NONE: it cannot be; LATER: no room */

/* ---- for who sends ---- */
enum tt_offer tt_offer_make(struct tt_channel *c, struct tt_flight *f);
void tt_offer_await(struct tt_channel *c, struct tt_flight *f); /* if it was made; f is in no list */
void tt_offer_answered(struct tt_channel *c, uint32_t number, bool wanted);

/* ---- for who receives ---- */

/* What f waits for, so many bytes, is offered under that number and this name, or as f's theirs. */
void tt_offer_meet(struct tt_channel *c, struct tt_flight *f, uint32_t number, const void *name, size_t total);

/* That which declined the offer, and does not wait for its bytes any more. */
struct tt_flight *tt_offer_wanting(struct tt_channel *c, uint32_t number);

/* What was fetched under that number stood there until then, or did not. */
void tt_offer_confirmed(struct tt_channel *c, uint32_t number, bool spoilt);

/* f has a copy under way that no record waits for. */
void tt_offer_await_copy(struct tt_channel *c, struct tt_flight *f, uint64_t mark);

void tt_offer_fetch_on(struct tt_channel *c);

/* The other has died: none of these will come, nor go; and no offer that is under way will be taken. */
void tt_offer_abandon_all(struct tt_flights *l);
void tt_offer_break(struct tt_channel *c);

/* ---- of node_channel.c ---- */

/* One record more of what f sends, for n bytes, and *bytes where they are to be. NULL if there is no room. */
struct tt_record *tt_channel_begin_record(struct tt_channel *c, const struct tt_flight *f, size_t n, char **bytes);

/* What was claimed last is there, or will be when the piece is over. */
void tt_channel_send_off(struct tt_channel *c, struct tt_piece piece);
void tt_channel_end_receive(struct tt_channel *c, struct tt_flight *f);
void tt_channel_abandon(struct tt_flight *f);

/* Is what f receives, on the host, reduced on its way? And the next n bytes of it are these. */
bool tt_channel_folds(const struct tt_flight *f);
void tt_channel_keep(struct tt_flight *f, const char *bytes, size_t n);

/* Does that go past the caches? */
bool tt_channel_keeps_past(const struct tt_flight *f);

#endif
