/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor. Each lane is a program counter over its steps. To post a round is to hand its receives and sends to
 * the wire and its copies and reductions to the memory's place; a round is over when the wire has finished all of
 * its messages and the device all of its work. Host work is done at once. */
#include "coll/exec.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ERRORS = 100000 }; /* of one lane, polls in a row or not */

unsigned tt_slots_below(int tag)
{
    return (unsigned)tag / (TT_MAX_LANES * TT_TAG_MESSAGES);
}

int tt_tag_beyond(unsigned slots)
{
    return (int)slots * TT_MAX_LANES * TT_TAG_MESSAGES;
}

void tt_req_fail(struct tt_req *req, const char *why)
{
    if (!req->failed)
        snprintf(req->why, sizeof req->why, "%s", why);
    req->failed = true;
}

static __attribute__((format(printf, 2, 3))) void fail(struct tt_req *req, const char *format, ...)
{
    va_list args;

    if (req->failed)
        return;
    req->failed = true;
    va_start(args, format);
    vsnprintf(req->why, sizeof req->why, format, args);
    va_end(args);
}

static char *address(const struct tt_req *req, struct tt_loc loc)
{
    return req->with.base[loc.buf] + loc.at * (int64_t)req->plan->unit;
}

static bool on_device(const struct tt_req *req, struct tt_loc loc)
{
    return req->with.on_device & 1u << loc.buf;
}

/* ---- local steps ---- */

/* Where copies and reductions of this step are done, and in which queue. */
static struct tt_place *place_of(const struct tt_req *req, const struct tt_step *s, enum tt_flow *flow)
{
    const bool from = on_device(req, s->a), to = on_device(req, s->dst);

    *flow = from == to ? TT_WITHIN : from ? TT_DOWN : TT_UP;
    return from || to ? req->with.home : req->with.host;
}

static void apply_local(struct tt_req *req, const struct tt_step *s)
{
    const int error = tt_apply(req->with.apply, address(req, s->dst), address(req, s->a), address(req, s->b), s->n);

    if (error != MPI_SUCCESS)
        fail(req, "the MPI below could not apply the op (error %d)", error);
}

/* Where what has landed there is: there, or where its sender has it and lends it. */
static const void *where(const struct tt_lane_state *l, const void *landing)
{
    for (int i = 0; l->lent && i < l->batch.n; i++)
        if (l->batch.flights[i].at && l->batch.flights[i].buf == landing)
            return l->batch.flights[i].at;
    return landing;
}

/* How many operands. What a receive that reduces has brought has landed. */
static int operands(const struct tt_req *req, int lane, const struct tt_step *s, const void **at)
{
    at[0] = where(&req->lanes[lane], address(req, s->a));
    at[1] = where(&req->lanes[lane], address(req, s->b));
    for (int i = 0; i < s->more; i++)
        at[2 + i] = where(&req->lanes[lane], address(req, req->plan->rest[s->rest + i]));
    return 2 + s->more;
}

static void post_local(struct tt_req *req, int lane, const struct tt_step *s)
{
    enum tt_flow flow;
    struct tt_place *place = place_of(req, s, &flow);
    const int queue = lane * TT_NFLOWS + (int)flow;
    const void *sources[TT_MAX_SOURCES];
    const int k = operands(req, lane, s, sources);
    int error;

    if (s->verb != TT_COPY && req->with.apply) {
        apply_local(req, s);
        return;
    }
    if (s->verb == TT_COPY)
        error = place->dev->copy(place, queue, address(req, s->dst), sources[0], (size_t)s->n * req->plan->unit);
    else
        error =
            place->dev->reduce(place, queue, req->with.cell, address(req, s->dst), sources, k, s->order, (size_t)s->n);
    if (error)
        fail(req, "%s", tt_fault());
    else if (place != req->with.host)
        req->lanes[lane].busy |= 1u << flow;
}

/* ---- messages ---- */

/* Room for what a failed rank receives: as much as one round can bring. Without it (no memory even for that) messages
 * are received into nothing, which MPI reports as truncation and which changes nothing for a rank that has failed. */
static char *waste(struct tt_req *req, size_t *room)
{
    size_t longest = 0;

    for (int i = 0; i < req->plan->nsteps; i++)
        if (tt_step_receives(&req->plan->steps[i]) && (size_t)req->plan->steps[i].n > longest)
            longest = (size_t)req->plan->steps[i].n;
    *room = longest * req->plan->unit;
    if (!req->waste)
        req->waste = malloc(*room * (size_t)req->plan->max_round * (size_t)req->plan->nlanes + 1);
    if (!req->waste)
        *room = 0;
    return req->waste;
}

/* Where a message that a failed rank is sent goes: nowhere that matters. */
static void receive_in_vain(struct tt_req *req, int lane, struct tt_flight *f)
{
    size_t room;
    char *bin = waste(req, &room);

    f->buf = bin ? bin + (size_t)(lane * req->plan->max_round + req->lanes[lane].batch.n) * room : NULL;
    f->bytes = f->bytes < room ? f->bytes : room;
}

/* What a receive that reduces may have done to what it brings on its way, if it is all the host's. */
static void fold_on_the_way(const struct tt_req *req, const struct tt_step *s, struct tt_flight *f)
{
    if (f->place || on_device(req, s->dst) || on_device(req, s->lands ? s->a : s->b) || req->with.apply)
        return;
    f->fold = (struct tt_fold){.cell = req->with.cell,
                               .dst = address(req, s->dst),
                               .other = address(req, s->lands ? s->a : s->b),
                               .left = !s->lands};
}

/* Where a message that is meant to be comes from or goes to. */
static void at_home(const struct tt_req *req, int lane, const struct tt_step *s, struct tt_flight *f)
{
    const struct tt_loc loc = f->incoming ? tt_step_landing(s) : s->a;

    f->buf = address(req, loc);
    f->place = on_device(req, loc) ? req->with.home : NULL;
    f->queue = lane * TT_NFLOWS;
    f->lends = s->lends || s->verb == TT_RECV_REDUCE;
    if (f->channel && s->verb == TT_RECV_REDUCE)
        fold_on_the_way(req, s, f);
}

/* Flights are made in their place: they are the most of what a small call writes. */
static void make_flight(struct tt_req *req, int lane, const struct tt_step *s, struct tt_flight *f)
{
    const struct tt_routes *routes = req->with.routes;

    memset(f, 0, sizeof *f);
    f->incoming = tt_step_receives(s);
    f->step = (int)(s - req->plan->steps);
    f->peer = s->peer;
    f->tag = tt_slot_tag(req->with.slot, lane, s->message);
    f->bytes = (size_t)s->n * req->plan->unit;
    f->touched = (size_t)req->plan->touched * req->plan->unit;
    f->is_segment = req->plan->in_segments;
    f->channel = routes->channels ? routes->channels[s->peer] : NULL;
    if (!req->failed)
        at_home(req, lane, s, f);
    else if (f->incoming)
        receive_in_vain(req, lane, f);
    else
        f->bytes = 0;
}

/* What comes may leave again at once, before the round that sends it, whose first send it is: so there is one at most.
 * Its flight stands behind those of the round that receives it. */
static void let_pass_on(struct tt_req *req, int lane, const struct tt_step *s, struct tt_flight *f)
{
    struct tt_lane_state *l = &req->lanes[lane];
    struct tt_flight *onward = &l->batch.flights[req->plan->max_round];

    if (!f->channel || f->place || req->failed || (s->verb == TT_RECV_REDUCE && !f->fold.cell))
        return; /* the wire does not make what is to be sent */
    make_flight(req, lane, &req->plan->steps[s->onward], onward);
    if (onward->channel && !onward->place)
        f->onward = l->onward = onward;
}

static void post_message(struct tt_req *req, int lane, const struct tt_step *s)
{
    struct tt_batch *batch = &req->lanes[lane].batch;
    struct tt_flight *f = &batch->flights[batch->n];
    enum tt_distance distance;
    int error;

    make_flight(req, lane, s, f);
    if (s->onward)
        let_pass_on(req, lane, s, f);
    distance = f->channel ? TT_NEAR : TT_FAR;
    error = batch->routes->wire[distance]->post(batch, f);
    if (error != MPI_SUCCESS) {
        fail(req, "the MPI below refused a message %s rank %d (error %d)", f->incoming ? "from" : "to", s->peer, error);
        return;
    }
    batch->n++;
    batch->carried[distance]++;
    batch->eager |= s->verb == TT_RECV_REDUCE;
    req->lanes[lane].arriving += f->incoming;
}

/* A message that has not brought what it should. */
static void fail_short(struct tt_req *req, const struct tt_flight *f)
{
    if (f->lost)
        fail(req, "rank %d is gone: its process has ended", f->peer);
    else
        fail(req,
             "rank %d sent %zu bytes where %zu were due: it failed, or passed on that another did, or gave a "
             "different count",
             f->peer, f->arrived, f->bytes);
}

/* A message that has come: did it bring what it should? (What a failed rank expects is less.) Then it is reduced, if
 * that is its step. */
static void take(struct tt_req *req, int lane, struct tt_flight *f)
{
    const struct tt_step *s = &req->plan->steps[f->step];

    f->taken = true;
    req->moved = true;
    req->lanes[lane].arriving--;
    req->lanes[lane].lent += f->at != NULL;
    req->told |= !req->failed && f->arrived != f->bytes;
    if (f->arrived != f->bytes)
        fail_short(req, f);
    if (!req->failed && s->verb == TT_RECV_REDUCE && !f->folded)
        post_local(req, lane, s);
}

/* What waits for all receives of the round. */
static void post_after(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];

    for (int i = l->from; i < l->next - 1 && !req->failed; i++)
        if (req->plan->steps[i].after)
            post_local(req, lane, &req->plan->steps[i]);
    l->after = false;
}

static void take_arrivals(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];

    for (int i = 0; i < l->batch.n && l->arriving > 0; i++) {
        struct tt_flight *f = &l->batch.flights[i];

        if (f->incoming && f->over && !f->taken)
            take(req, lane, f);
    }
    if (l->after && l->arriving == 0)
        post_after(req, lane);
}

/* ---- rounds ---- */

static int lane_end(const struct tt_req *req, int lane)
{
    return req->plan->lanes[lane].first + req->plan->lanes[lane].count;
}

/* But for the first ones, which are done. */
static void post_messages(struct tt_req *req, int lane, int from, int to, bool incoming, int done)
{
    for (int i = from; i < to; i++) {
        const struct tt_step *s = &req->plan->steps[i];

        if ((incoming ? tt_step_receives(s) : s->verb == TT_SEND) && done-- <= 0)
            post_message(req, lane, s);
    }
}

/* What need not wait. */
static void post_locals(struct tt_req *req, int lane, int from, int to)
{
    struct tt_lane_state *l = &req->lanes[lane];

    for (int i = from; i < to && !req->failed; i++) {
        const struct tt_step *s = &req->plan->steps[i];

        l->after |= s->after;
        if (!s->after && !l->headway.locals && (s->verb == TT_COPY || s->verb == TT_REDUCE))
            post_local(req, lane, s);
    }
    l->batch.eager |= l->after;
}

/* Receives first, so that what peers send finds its place; local work last, under the messages. */
static void post_round(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    const int end = lane_end(req, lane);
    const int from = l->next, to = tt_round_end(req->plan, from, end);

    l->from = from;
    l->next = to + 1;
    l->batch.eager = false;
    post_messages(req, lane, from, to, true, l->headway.receives);
    post_messages(req, lane, from, to, false, l->headway.sends);
    post_locals(req, lane, from, to);
    l->headway = (struct tt_headway){0};
}

/* Messages that ended with an error are gone; the others are polled again. A wire that only ever says no has lost its
 * ranks: then there is nothing to wait for. */
static bool carried_over(struct tt_req *req, struct tt_lane_state *l, const struct tt_wire *wire)
{
    bool done;
    const int error = wire->poll(&l->batch, &done);

    if (error == MPI_SUCCESS)
        return done;
    req->told |= !req->failed;
    fail(req, "the MPI below failed to complete a message (error %d)", error);
    return ++l->errors > MAX_ERRORS;
}

static bool device_over(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    struct tt_place *home = req->with.home;

    for (int flow = 0; flow < TT_NFLOWS && l->busy; flow++) {
        const int now = l->busy & 1u << flow ? home->dev->poll(home, lane * TT_NFLOWS + flow) : 0;

        if (now < 0)
            fail(req, "%s", tt_fault());
        if (now)
            l->busy &= ~(1u << flow);
    }
    return !l->busy;
}

/* What was lent to this rank has been read, if the round's reductions are over: their senders wait for that. */
static void give_back(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    struct tt_batch *batch = &l->batch;

    if (l->arriving || l->after || !device_over(req, lane))
        return;
    for (int i = 0; i < batch->n; i++) {
        struct tt_flight *f = &batch->flights[i];

        if (!f->at)
            continue;
        batch->routes->wire[TT_NEAR]->release(f);
        batch->carried[TT_NEAR]++;
        l->lent--;
    }
}

static bool all_over(const struct tt_lane_state *l)
{
    return !l->batch.carried[TT_NEAR] && !l->batch.carried[TT_FAR] && !l->lent;
}

/* All messages of the round have ended. */
static void end_batch(struct tt_req *req, struct tt_lane_state *l)
{
    for (int i = 0; i < l->batch.n; i++) {
        const struct tt_flight *f = &l->batch.flights[i];

        if (f->failed)
            fail(req, "%s", tt_fault());
        req->told |= f->spoilt && !req->failed;
        if (f->spoilt)
            fail(req, "rank %d lost its GPU memory while that was read", f->peer);
    }
    req->moved = true;
    l->batch.n = l->arriving = 0;
    l->headway.sends = l->onward && l->onward->over;
    l->onward = NULL;
}

static bool messages_over(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    struct tt_batch *batch = &l->batch;

    if (!batch->n)
        return true;
    for (int d = 0; d < TT_DISTANCES; d++)
        if (batch->carried[d] && carried_over(req, l, batch->routes->wire[d]))
            batch->carried[d] = 0;
    if (all_over(l) || batch->eager)
        take_arrivals(req, lane);
    if (l->lent)
        give_back(req, lane);
    if (!all_over(l))
        return false;
    end_batch(req, l);
    return true;
}

/* A round with messages is not looked at in the same breath in which it was posted: they cannot have arrived. */
static void lane_progress(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    bool posted = false;

    while (!l->done && !posted && messages_over(req, lane) && device_over(req, lane)) {
        if (l->next >= lane_end(req, lane)) {
            l->done = true;
            req->lanes_left--;
        } else {
            post_round(req, lane);
            posted = l->batch.n > 0;
        }
    }
}

bool tt_req_progress(struct tt_req *req)
{
    for (int lane = 0; lane < req->plan->nlanes; lane++)
        lane_progress(req, lane);
    return req->lanes_left == 0;
}

/* ---- beginning and end ---- */

/* Flights of one lane. */
static size_t flights_of(const struct tt_plan *plan)
{
    return (size_t)plan->max_round + plan->passes_on;
}

static size_t arrays_size(const struct tt_plan *plan)
{
    const size_t each = sizeof(MPI_Request) + sizeof(MPI_Status) + sizeof(int);

    return (size_t)plan->nlanes * ((size_t)plan->max_round * each + flights_of(plan) * sizeof(struct tt_flight));
}

bool tt_req_is_small(const struct tt_plan *plan)
{
    return arrays_size(plan) <= sizeof((struct tt_req *)NULL)->room;
}

/* One block, the type of the strictest alignment first. */
static int make_arrays(struct tt_req *req)
{
    const size_t n = (size_t)req->plan->max_round, lanes = (size_t)req->plan->nlanes;
    const bool small = tt_req_is_small(req->plan);
    struct tt_flight *flights = small ? (void *)req->room : malloc(arrays_size(req->plan));
    MPI_Status *statuses = (MPI_Status *)(flights + lanes * flights_of(req->plan));
    MPI_Request *requests = (MPI_Request *)(statuses + lanes * n);
    int *indices = (int *)(requests + lanes * n);

    if (!flights)
        return ENOMEM;
    req->arrays = small ? NULL : flights;
    for (size_t l = 0; l < lanes; l++)
        req->lanes[l] = (struct tt_lane_state){.next = req->plan->lanes[l].first,
                                               .batch = {.routes = req->with.routes,
                                                         .flights = flights + l * flights_of(req->plan),
                                                         .requests = requests + l * n,
                                                         .statuses = statuses + l * n,
                                                         .indices = indices + l * n}};
    return 0;
}

/* Room is left as it is: to clear it would take as long as all the rest of a small call. */
static int open_req(struct tt_req *req, const struct tt_plan *plan, const struct tt_binding *binding)
{
    req->plan = plan;
    req->with = *binding;
    req->lanes_left = plan->nlanes;
    req->arrays = req->waste = NULL;
    req->failed = req->moved = req->told = false;
    req->why[0] = '\0';
    return make_arrays(req);
}

int tt_req_start(struct tt_req *req, const struct tt_plan *plan, const struct tt_binding *binding, const char *why)
{
    if (open_req(req, plan, binding))
        return ENOMEM;
    if (why)
        fail(req, "%s", why);
    tt_req_progress(req);
    return 0;
}

void tt_req_resume(struct tt_req *req, const struct tt_plan *plan, const struct tt_binding *binding, int from,
                   const struct tt_headway *done)
{
    open_req(req, plan, binding);
    req->lanes[0].next = from;
    req->lanes[0].headway = *done;
    tt_req_progress(req);
}

void tt_req_end(struct tt_req *req)
{
    free(req->waste);
    free(req->arrays);
}
