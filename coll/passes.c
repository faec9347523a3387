/* SPDX-License-Identifier: BSD-3-Clause */
/* Passes: plans rewritten, so that no algorithm knows of it. Fuse, which comes first, is in pass_fuse.c.
 *
 * Split cuts messages into parts of at most a chunk. Every rank does it, whatever its memory, so that a rank
 * with host memory and one that stages agree on the wire.
 *
 * Stage moves messages between device memory and the wire through pinned memory. One round of the plan
 * becomes a pipeline: in sub-round j, part j is copied down, part j-1 is on the wire, part j-2 is copied up, and part
 * j-3, if its receive reduces, is reduced there; two slots of pinned memory per message suffice. It cannot deadlock
 * where the plan did not: a part j is on the wire in sub-round j+1 on both sides (or earlier, on a side that does not
 * stage), so whatever a rank waits for lies in an earlier sub-round of the same round of its peer, or in an earlier
 * round. In steady state a sub-round takes as long as the slowest of the three ways, however many slots there are: more
 * would only even out ways that are now slower, now faster. */
#include "coll/plan.h"

#include <errno.h>
#include <stdlib.h>

/* A growing plan that copies all but the steps of another. */
struct writer {
    struct tt_plan *p;
    int capacity;
    bool failed;
    int lane;
    int64_t lane_pin; /* where this lane's pinned memory begins: lanes run together and share none */
};

static void put(struct writer *w, struct tt_step step)
{
    w->failed |= !tt_plan_append(w->p, &w->capacity, step);
}

/* Sub-rounds can be empty (nothing is in flight between two parts of another message): no fence after a fence. */
static void put_fence(struct writer *w)
{
    const int first = w->p->lanes[w->lane].first;

    if (w->p->nsteps > first && w->p->steps[w->p->nsteps - 1].verb != TT_FENCE)
        put(w, (struct tt_step){.verb = TT_FENCE});
}

static struct tt_plan *writer_close(struct writer *w)
{
    if (w->failed) {
        tt_plan_free(w->p);
        errno = ENOMEM;
        return NULL;
    }
    tt_plan_measure(w->p);
    return w->p;
}

/* Part k of a message, of max elements each. n is 0 when there is no such part. */
static struct tt_step part_of(struct tt_step s, int64_t k, int64_t max)
{
    const int64_t left = s.n - k * max;

    s.part = (int)k;
    s.a.at += s.verb != TT_RECV ? k * max : 0;
    s.b.at += s.verb == TT_RECV_REDUCE ? k * max : 0;
    s.dst.at += s.verb != TT_SEND ? k * max : 0;
    s.n = left <= 0 ? 0 : left < max ? left : max;
    return s;
}

/* Rewrites each round of each lane by emit, with a fence between. */
static struct tt_plan *rewrite(const struct tt_plan *p,
                               void (*emit)(struct writer *, const struct tt_step *, int, void *), void *with)
{
    struct writer w = {.p = tt_plan_like(p, false)};

    if (!w.p)
        return NULL;
    for (int l = 0; l < p->nlanes; l++) {
        const int end = p->lanes[l].first + p->lanes[l].count;

        w.p->lanes[l].first = w.p->nsteps;
        w.lane = l;
        w.lane_pin = w.p->pin;
        for (int i = p->lanes[l].first, stop; i < end; i = stop + 1) {
            stop = tt_round_end(p, i, end);
            emit(&w, &p->steps[i], stop - i, with);
            if (stop < end)
                put_fence(&w);
        }
        w.p->lanes[l].count = w.p->nsteps - w.p->lanes[l].first;
    }
    return writer_close(&w);
}

static bool is_near(const struct tt_plan *p, const struct tt_step *s)
{
    return p->near && p->near[s->peer];
}

/* The longest part of a message: all of it, where the wire has parts of its own. */
static int64_t longest(const struct tt_plan *p, const struct tt_step *s, int64_t max)
{
    return is_near(p, s) && s->n > max ? s->n : max;
}

static int64_t parts(const struct tt_plan *p, const struct tt_step *s, int64_t max)
{
    return tt_step_is_message(s) ? (s->n + longest(p, s, max) - 1) / longest(p, s, max) : 0;
}

/* Part k of every message before part k+1 of any: so the first parts, which others wait for, go first. What is lent is
 * given back when all of a round has arrived: a sender that stages would wait for that before it sends second parts. */
static void split_round(struct writer *w, const struct tt_step *s, int n, void *with)
{
    const int64_t max = *(const int64_t *)with;
    int64_t most = 1;

    for (int i = 0; i < n; i++)
        most = parts(w->p, &s[i], max) > most ? parts(w->p, &s[i], max) : most;
    for (int64_t k = 0; k < most; k++)
        for (int i = 0; i < n; i++) {
            struct tt_step part = tt_step_is_message(&s[i]) ? part_of(s[i], k, longest(w->p, &s[i], max)) : s[i];

            part.lends &= most == 1;
            if (tt_step_is_message(&s[i]) ? part.n > 0 : k == 0)
                put(w, part);
        }
}

struct tt_plan *tt_pass_split(const struct tt_plan *p, int64_t max)
{
    return rewrite(p, split_round, &max);
}

static bool staged(const struct tt_plan *p, const struct tt_step *s, unsigned device_bufs)
{
    return tt_step_is_message(s) && !is_near(p, s) &&
           (device_bufs & 1u << (s->verb == TT_SEND ? s->a : tt_step_landing(s)).buf);
}

/* A message's step on the wire, from or to its slot of pinned memory. */
static struct tt_step through(struct tt_step s, struct tt_loc slot)
{
    s.verb = s.verb == TT_SEND ? TT_SEND : TT_RECV;
    s.a = s.verb == TT_SEND ? slot : tt_at(SEND, 0);
    s.b = tt_at(SEND, 0);
    s.dst = s.verb == TT_RECV ? slot : tt_at(SEND, 0);
    s.lends = false;
    return s;
}

/* What part s of a staged message does in sub-round j of its round: down, wire (both), up, and its reduction there. */
static void put_staged(struct writer *w, const struct tt_step *s, int j, struct tt_loc slot)
{
    const struct tt_loc landing = tt_step_landing(s);

    if (s->verb == TT_SEND && j == s->part)
        put(w, (struct tt_step){.verb = TT_COPY, .dst = slot, .a = s->a, .n = s->n});
    if (j == s->part + 1)
        put(w, through(*s, slot));
    if (tt_step_receives(s) && j == s->part + 2)
        put(w, (struct tt_step){.verb = TT_COPY, .dst = landing, .a = slot, .n = s->n});
    if (s->verb == TT_RECV_REDUCE && j == s->part + 3)
        put(w, (struct tt_step){.verb = TT_REDUCE, .dst = s->dst, .a = s->a, .b = s->b, .n = s->n, .order = s->order});
}

/* Where the steps of a round that are the same message as s begin to have their slots: two, of the length of its
 * first part, which is its longest. Parts of one message are told by verb, peer and message number. */
struct slots {
    int64_t base, length;
};

static bool same_message(const struct tt_step *a, const struct tt_step *b)
{
    return a->verb == b->verb && a->peer == b->peer && a->message == b->message;
}

/* Gives each staged message of the round its slots and returns the pinned elements used. The first parts all stand
 * before any second part (split_round), so a message's slots are known before its later parts come. */
static int64_t assign_slots(const struct tt_plan *p, const struct tt_step *s, int n, unsigned device_bufs,
                            struct slots *slots)
{
    int64_t used = 0;
    int firsts = 0;

    while (firsts < n && s[firsts].part == 0)
        firsts++;
    for (int i = 0; i < n; i++) {
        if (!staged(p, &s[i], device_bufs))
            continue;
        if (s[i].part == 0) {
            slots[i] = (struct slots){used, s[i].n};
            used += 2 * s[i].n;
            continue;
        }
        for (int f = 0; f < firsts; f++)
            if (same_message(&s[f], &s[i]))
                slots[i] = slots[f];
    }
    return used;
}

/* How many sub-rounds a round becomes, but for what waits for all its receives: where nothing is staged, none is needed
 * and 0 is returned. */
static int sub_rounds(const struct tt_plan *p, const struct tt_step *s, int n, unsigned device_bufs)
{
    int most = 0;
    bool any = false;

    for (int i = 0; i < n; i++) {
        const int after = s[i].verb == TT_SEND ? 0 : s[i].verb == TT_RECV ? 1 : 2; /* the wire */
        const int last = !tt_step_is_message(&s[i]) ? 1 : s[i].part + 2 + (staged(p, &s[i], device_bufs) ? after : 0);

        any |= staged(p, &s[i], device_bufs);
        most = last > most ? last : most;
    }
    return any ? most : 0;
}

/* A message that is not staged goes with the parts that are: were it posted (and waited for) in sub-round 0, two ranks
 * that each stage the other direction would wait for each other. */
static int sub_round_of(const struct tt_step *s)
{
    return tt_step_is_message(s) ? s->part + 1 : 0;
}

/* Sub-rounds that follow take the place of waiting within a round. */
static struct tt_step in_sub_round(struct tt_step s)
{
    s.after = s.lends = false;
    return s;
}

static void put_sub_round(struct writer *w, const struct tt_step *s, int n, int j, unsigned device_bufs,
                          const struct slots *slots)
{
    for (int i = 0; i < n; i++)
        if (staged(w->p, &s[i], device_bufs))
            put_staged(w, &s[i], j, tt_at(PIN, w->lane_pin + slots[i].base + s[i].part % 2 * slots[i].length));
        else if (!s[i].after && sub_round_of(&s[i]) == j)
            put(w, in_sub_round(s[i]));
}

/* In a sub-round of its own, when everything has arrived and is where it should be. */
static void put_after(struct writer *w, const struct tt_step *s, int n)
{
    for (int i = 0; i < n; i++)
        if (s[i].after) {
            put_fence(w);
            break;
        }
    for (int i = 0; i < n; i++)
        if (s[i].after)
            put(w, in_sub_round(s[i]));
}

static void stage_round(struct writer *w, const struct tt_step *s, int n, void *with)
{
    const unsigned device_bufs = *(const unsigned *)with;
    struct slots *slots = calloc((size_t)n + 1, sizeof *slots);
    const int last = sub_rounds(w->p, s, n, device_bufs);
    int64_t used;

    if (!slots) {
        w->failed = true;
        return;
    }
    for (int i = 0; last == 0 && i < n; i++)
        put(w, s[i]);
    used = w->lane_pin + assign_slots(w->p, s, n, device_bufs, slots);
    w->p->pin = used > w->p->pin ? used : w->p->pin;
    for (int j = 0; j < last; j++) {
        put_sub_round(w, s, n, j, device_bufs, slots);
        if (j + 1 < last)
            put_fence(w);
    }
    if (last > 0)
        put_after(w, s, n);
    free(slots);
}

struct tt_plan *tt_pass_stage(const struct tt_plan *p, unsigned device_bufs)
{
    return rewrite(p, stage_round, &device_bufs);
}
