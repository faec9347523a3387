/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of short messages. A round's messages are sent first, and copies and reductions made that wait for nothing;
 * what arrives is taken in the plan's order, which is as good as any other, since steps of a round touch disjoint
 * memory. A receive that reduces does so from the ring. */
#include "coll/brief.h"

#include <string.h>

#include "coll/node.h"
#include "coll/node_channel.h"
#include "coll/ticks.h"

enum { MOST_STEPS = 64 };

static size_t bytes_of(const struct tt_plan *plan, const struct tt_step *s)
{
    return (size_t)s->n * plan->unit;
}

static struct tt_channel *channel_of(const struct tt_routes *routes, const struct tt_step *s)
{
    return routes->channels[s->peer];
}

bool tt_brief_suits(const struct tt_plan *plan, const struct tt_routes *routes)
{
    bool suits = routes->channels && !tt_node_locks() && plan->nlanes == 1 && plan->nsteps <= MOST_STEPS &&
                 tt_req_is_small(plan) && plan->pin == 0 && (size_t)plan->tmp * plan->unit <= TT_BRIEF_ROOM;

    for (int i = 0; suits && i < plan->nsteps; i++) {
        const struct tt_step *s = &plan->steps[i];

        if (tt_step_is_message(s))
            suits = channel_of(routes, s) && tt_channel_is_short(channel_of(routes, s), bytes_of(plan, s));
    }
    return suits;
}

static char *at(const struct tt_brief *b, struct tt_loc loc)
{
    return tt_bound_at(&b->with, b->plan, loc);
}

static bool is_local(const struct tt_step *s)
{
    return s->verb == TT_COPY || s->verb == TT_REDUCE;
}

/* *works: there is also something to copy or reduce. */
static bool send_all(struct tt_brief *b, int to, bool *works)
{
    *works = false;
    for (int i = b->from; i < to; i++) {
        const struct tt_step *s = &b->plan->steps[i];

        *works |= is_local(s);
        if (s->verb != TT_SEND)
            continue;
        if (!tt_channel_send_now(channel_of(b->with.routes, s), b->with.routes->context,
                                 tt_bound_tag(&b->with, 0, s->message), at(b, s->a), bytes_of(b->plan, s)))
            return false;
        b->done.sends++;
    }
    return true;
}

static void reduce(const struct tt_brief *b, const struct tt_step *s)
{
    const void *from[TT_MAX_SOURCES] = {at(b, s->a), at(b, s->b)};
    struct tt_place *host = b->with.host;

    for (int i = 0; i < s->more; i++)
        from[2 + i] = at(b, b->plan->rest[s->rest + i]);
    host->dev->reduce(host, 0, b->with.cell, at(b, s->dst), from, 2 + s->more, s->order, (size_t)s->n);
}

/* Copies and reductions: those that wait for the round's receives, or those that do not. */
static void work_all(struct tt_brief *b, int to, bool after)
{
    for (int i = b->from; i < to; i++) {
        const struct tt_step *s = &b->plan->steps[i];

        if (!is_local(s) || s->after != after)
            continue;
        if (s->verb == TT_COPY)
            memmove(at(b, s->dst), at(b, s->a), bytes_of(b->plan, s));
        else
            reduce(b, s);
    }
}

/* NULL: not in time. */
static const char *await(struct tt_brief *b, struct tt_channel *c, const struct tt_step *s)
{
    const uint64_t context = b->with.routes->context;
    const int tag = tt_bound_tag(&b->with, 0, s->message);
    const size_t n = bytes_of(b->plan, s);
    const char *bytes = tt_channel_look(c, context, tag, n, 1);

    if (bytes)
        return bytes;
    bytes = tt_channel_look(c, context, tag, n, b->glances);
    if (b->waits++ == 0 && b->moved)
        b->moved = tt_ticks();
    return bytes;
}

static void take(const struct tt_brief *b, const struct tt_step *s, const char *bytes)
{
    const void *const sources[] = {s->lands ? at(b, s->a) : bytes, s->lands ? bytes : at(b, s->b)};

    if (s->verb == TT_RECV)
        memcpy(at(b, s->dst), bytes, bytes_of(b->plan, s));
    else
        b->with.cell->host(at(b, s->dst), sources, 2, (size_t)s->n);
}

static bool receive_all(struct tt_brief *b, int to)
{
    for (int i = b->from; i < to; i++) {
        const struct tt_step *s = &b->plan->steps[i];
        struct tt_channel *c;
        const char *bytes;

        if (!tt_step_receives(s))
            continue;
        c = channel_of(b->with.routes, s);
        bytes = await(b, c, s);
        if (!bytes)
            return false;
        take(b, s, bytes);
        tt_channel_pass(c);
        b->done.receives++;
    }
    return true;
}

static bool run_round(struct tt_brief *b, int to)
{
    bool works;

    b->done = (struct tt_headway){0};
    if (!send_all(b, to, &works))
        return false;
    if (works)
        work_all(b, to, false);
    b->done.locals = true;
    if (!receive_all(b, to))
        return false;
    if (works)
        work_all(b, to, true);
    return true;
}

bool tt_brief_run(struct tt_brief *b)
{
    const int end = b->plan->lanes[0].first + b->plan->lanes[0].count;
    int to;

    b->waits = 0;
    for (b->from = b->plan->lanes[0].first; b->from < end; b->from = to + 1) {
        to = tt_round_end(b->plan, b->from, end);
        if (!run_round(b, to))
            return false;
    }
    return true;
}
