/* SPDX-License-Identifier: BSD-3-Clause */
/* Rounds of short messages. Of a round, messages are sent first, and copies and reductions made that wait for nothing;
 * what arrives is taken in the plan's order, which is as good as any other, since steps of a round touch disjoint
 * memory. A receive that reduces does so from the ring. */
#include "coll/brief.h"

#include <stdlib.h>
#include <string.h>

#include "coll/node.h"
#include "coll/node_channel.h"
#include "coll/ticks.h"

enum { MOST_STEPS = 64 };

enum act { SENDS, COPIES, REDUCES, TAKES, FOLDS };

/* So many bytes from the beginning of a buffer. */
struct spot {
    enum tt_buf buf;
    size_t at; /* a short block may be behind one of many GiB */
};

struct move {
    enum act act;
    uint32_t bytes;
    struct tt_channel *channel; /* of messages; */
    int message;                /* what of their tag is not the slot's */
    bool lands;                 /* folds: what arrives stands to the right */
    struct spot from, to;       /* folds: from is the other operand */
    const struct tt_step *step; /* of the plan */
    int round;                  /* which begins there; */
    struct tt_headway done;     /* and so much of it is done when it comes to this */
};

struct tt_brief {
    const struct tt_plan *plan;
    const struct tt_routes *routes;
    int n;
    struct move moves[];
};

/* ---- making ---- */

static size_t bytes_of(const struct tt_plan *plan, const struct tt_step *s)
{
    return (size_t)s->n * plan->unit;
}

static bool suits(const struct tt_plan *plan, const struct tt_routes *routes)
{
    bool suits = routes->channels && !tt_node_locks() && plan->nlanes == 1 && plan->nsteps <= MOST_STEPS &&
                 tt_req_is_small(plan) && plan->pin == 0 && (size_t)plan->tmp * plan->unit <= TT_BRIEF_ROOM;

    for (int i = 0; suits && i < plan->nsteps; i++) {
        const struct tt_step *s = &plan->steps[i];

        if (tt_step_is_message(s))
            suits = routes->channels[s->peer] && tt_channel_is_short(routes->channels[s->peer], bytes_of(plan, s));
        else
            suits = bytes_of(plan, s) <= TT_BRIEF_ROOM;
    }
    return suits;
}

static struct spot spot_of(const struct tt_plan *plan, struct tt_loc loc)
{
    return (struct spot){loc.buf, (size_t)loc.at * plan->unit};
}

static enum act act_of(const struct tt_step *s)
{
    static const enum act acts[TT_NVERBS] = {
        [TT_SEND] = SENDS, [TT_RECV] = TAKES, [TT_RECV_REDUCE] = FOLDS, [TT_COPY] = COPIES, [TT_REDUCE] = REDUCES};

    return acts[s->verb];
}

/* What has to come before what, within a round: an act's turn. */
static int turn_of(const struct tt_step *s)
{
    return s->verb == TT_SEND ? 0 : tt_step_receives(s) ? 2 : s->after ? 3 : 1;
}

static void add(struct tt_brief *b, const struct tt_step *s, int round, struct tt_headway done)
{
    const bool folds = s->verb == TT_RECV_REDUCE, is_message = tt_step_is_message(s);

    b->moves[b->n++] = (struct move){.act = act_of(s),
                                     .bytes = (uint32_t)bytes_of(b->plan, s),
                                     .channel = is_message ? b->routes->channels[s->peer] : NULL,
                                     .message = s->message % TT_TAG_MESSAGES,
                                     .lands = s->lands,
                                     .from = spot_of(b->plan, folds && !s->lands ? s->b : s->a),
                                     .to = spot_of(b->plan, s->dst),
                                     .step = s,
                                     .round = round,
                                     .done = done};
}

static void add_round(struct tt_brief *b, int from, int to)
{
    enum { TURNS = 4 };
    struct tt_headway done = {0};

    for (int turn = 0; turn < TURNS; turn++)
        for (int i = from; i < to; i++) {
            const struct tt_step *s = &b->plan->steps[i];

            if (turn_of(s) != turn)
                continue;
            done.locals = turn > 1;
            add(b, s, from, done);
            done.sends += turn == 0;
            done.receives += turn == 2;
        }
}

struct tt_brief *tt_brief_make(const struct tt_plan *plan, const struct tt_routes *routes)
{
    struct tt_brief *b = suits(plan, routes) ? malloc(sizeof *b + (size_t)plan->nsteps * sizeof *b->moves) : NULL;
    int to;

    if (!b)
        return NULL;
    *b = (struct tt_brief){.plan = plan, .routes = routes};
    for (int from = 0; from < plan->nsteps; from = to + 1) {
        to = tt_round_end(plan, from, plan->nsteps);
        add_round(b, from, to);
    }
    return b;
}

/* ---- running ---- */

static char *at(const struct tt_breath *b, struct spot spot)
{
    return b->base[spot.buf] + spot.at;
}

static void reduce(const struct tt_breath *b, const struct tt_step *s)
{
    const struct tt_plan *plan = b->brief->plan;
    struct tt_place *host = tt_host_place();
    const void *from[TT_MAX_SOURCES] = {at(b, spot_of(plan, s->a)), at(b, spot_of(plan, s->b))};

    for (int i = 0; i < s->more; i++)
        from[2 + i] = at(b, spot_of(plan, plan->rest[s->rest + i]));
    host->dev->reduce(host, 0, b->cell, at(b, spot_of(plan, s->dst)), from, 2 + s->more, s->order, (size_t)s->n);
}

static void fold(const struct tt_breath *b, const struct move *m, const char *bytes)
{
    const char *const other = at(b, m->from);
    const void *const sources[] = {m->lands ? other : bytes, m->lands ? bytes : other};

    b->cell->host(at(b, m->to), sources, 2, (size_t)m->step->n);
}

/* False: not in time. */
static bool take(struct tt_breath *b, const struct move *m, uint64_t context, int tag)
{
    unsigned left = b->glances;
    const char *bytes = tt_channel_look(m->channel, context, tag, m->bytes, &left);

    if (b->is_timed && left < b->glances && !b->moved)
        b->moved = tt_ticks();
    if (!bytes)
        return false;
    if (m->act == FOLDS)
        fold(b, m, bytes);
    else if (m->bytes <= TT_INLINE)
        tt_copy_few(at(b, m->to), bytes, m->bytes);
    else
        memcpy(at(b, m->to), bytes, m->bytes);
    tt_channel_pass(m->channel);
    return true;
}

/* False: it cannot be done now. */
static bool act(struct tt_breath *b, const struct move *m, uint64_t context, int tag)
{
    switch (m->act) {
    case SENDS:
        return tt_channel_send_now(m->channel, context, tag + m->message, at(b, m->from), m->bytes);
    case COPIES:
        memmove(at(b, m->to), at(b, m->from), m->bytes);
        return true;
    case REDUCES:
        reduce(b, m->step);
        return true;
    default:
        return take(b, m, context, tag + m->message);
    }
}

bool tt_breath_take(struct tt_breath *b, int *from, struct tt_headway *done)
{
    const struct tt_brief *brief = b->brief;
    const int tag = tt_slot_tag(b->slot, 0, 0);
    const uint64_t context = brief->routes->context;

    b->moved = 0;
    for (const struct move *m = brief->moves; m < brief->moves + brief->n; m++)
        if (!act(b, m, context, tag)) {
            *from = m->round;
            *done = m->done;
            return false;
        }
    return true;
}
