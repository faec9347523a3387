/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor. Each lane is a program counter over its steps. To post a round is to hand its receives and sends to
 * the wire and its copies and reductions to the memory's place; a round is over when the wire has finished all of
 * its messages and the device all of its work. Host work is done at once. */
#include "coll/exec.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ERRORS = 100000, /* of one lane, polls in a row or not */
    TAG_MESSAGES = 64    /* of one lane and peer that can be told apart */
};

unsigned tt_slots_below(int tag)
{
    return (unsigned)tag / (TT_MAX_LANES * TAG_MESSAGES);
}

int tt_tag_beyond(unsigned slots)
{
    return (int)slots * TT_MAX_LANES * TAG_MESSAGES;
}

int tt_polls_before_yield = 1000;

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

static int tag_of(const struct tt_req *req, int lane, int message)
{
    return ((int)req->with.slot * TT_MAX_LANES + lane) * TAG_MESSAGES + message % TAG_MESSAGES;
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

static void post_local(struct tt_req *req, int lane, const struct tt_step *s)
{
    enum tt_flow flow;
    struct tt_place *place = place_of(req, s, &flow);
    const int queue = lane * TT_NFLOWS + (int)flow;
    const void *const sources[] = {address(req, s->a), address(req, s->b)};
    int error;

    if (s->verb == TT_REDUCE && req->with.apply) {
        apply_local(req, s);
        return;
    }
    if (s->verb == TT_COPY)
        error = place->dev->copy(place, queue, address(req, s->dst), sources[0], (size_t)s->n * req->plan->unit);
    else
        error = place->dev->reduce(place, queue, req->with.cell, address(req, s->dst), sources, 2, s->order, (size_t)s->n);
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
        if (req->plan->steps[i].verb == TT_RECV && (size_t)req->plan->steps[i].n > longest)
            longest = (size_t)req->plan->steps[i].n;
    *room = longest * req->plan->unit;
    if (!req->waste)
        req->waste = malloc(*room * (size_t)req->plan->max_round * (size_t)req->plan->nlanes + 1);
    if (!req->waste)
        *room = 0;
    return req->waste;
}

static void post_message(struct tt_req *req, int lane, const struct tt_step *s)
{
    struct tt_lane_state *l = &req->lanes[lane];
    const struct tt_wire *wire = req->with.wire;
    const int tag = tag_of(req, lane, s->message);
    const size_t bytes = (size_t)s->n * req->plan->unit;
    size_t room;
    char *bin;
    int error;

    if (s->verb == TT_SEND) {
        error = wire->send(req->with.comm, s->peer, tag, req->failed ? NULL : address(req, s->a),
                           req->failed ? 0 : bytes, &l->requests[l->inflight]);
    } else if (req->failed) {
        bin = waste(req, &room);
        bin = bin ? bin + (size_t)(lane * req->plan->max_round + l->inflight) * room : NULL;
        error = wire->recv(req->with.comm, s->peer, tag, bin, bytes < room ? bytes : room, &l->requests[l->inflight]);
    } else {
        error = wire->recv(req->with.comm, s->peer, tag, address(req, s->dst), bytes, &l->requests[l->inflight]);
    }
    if (error != MPI_SUCCESS) {
        fail(req, "the MPI below refused a message %s rank %d (error %d)", s->verb == TT_SEND ? "to" : "from", s->peer,
             error);
        return;
    }
    l->flights[l->inflight++] = (struct tt_flight){.bytes = bytes, .peer = s->peer, .incoming = s->verb == TT_RECV};
}

/* After a round's messages have ended: did every one bring what it should? */
static void check_arrivals(struct tt_req *req, struct tt_lane_state *l)
{
    req->moved = true;
    for (int i = 0; i < l->inflight; i++)
        if (l->flights[i].incoming && req->with.wire->length(&l->statuses[i]) != l->flights[i].bytes)
            fail(req,
                 "rank %d sent %zu bytes where %zu were due: it failed, or passed on that another did, or gave a "
                 "different count",
                 l->flights[i].peer, req->with.wire->length(&l->statuses[i]), l->flights[i].bytes);
    l->inflight = 0;
}

/* ---- rounds ---- */

static int lane_end(const struct tt_req *req, int lane)
{
    return req->plan->lanes[lane].first + req->plan->lanes[lane].count;
}

static void post_verb(struct tt_req *req, int lane, int from, int to, enum tt_verb verb)
{
    for (int i = from; i < to; i++)
        if (req->plan->steps[i].verb == verb)
            post_message(req, lane, &req->plan->steps[i]);
}

/* Receives first, so that what peers send finds its place; local work last, under the messages. */
static void post_round(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    const int end = lane_end(req, lane);
    const int from = l->next, to = tt_round_end(req->plan, from, end);

    post_verb(req, lane, from, to, TT_RECV);
    post_verb(req, lane, from, to, TT_SEND);
    for (int i = from; i < to && !req->failed; i++)
        if (req->plan->steps[i].verb == TT_COPY || req->plan->steps[i].verb == TT_REDUCE)
            post_local(req, lane, &req->plan->steps[i]);
    l->next = to + 1;
}

static bool messages_over(struct tt_req *req, struct tt_lane_state *l)
{
    bool done;
    int error;

    if (!l->inflight)
        return true;
    error = req->with.wire->test(l->inflight, l->requests, l->statuses, &done);
    if (error != MPI_SUCCESS) {
        /* Messages that ended with an error are gone now; the others are tested again. An MPI that only ever says no
         * has lost its ranks: then there is nothing to wait for. */
        fail(req, "the MPI below failed to complete a message (error %d)", error);
        done = ++l->errors > MAX_ERRORS;
    }
    if (done)
        check_arrivals(req, l);
    return done;
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

/* A round with messages is not looked at in the same breath in which it was posted: they cannot have arrived. */
static void lane_progress(struct tt_req *req, int lane)
{
    struct tt_lane_state *l = &req->lanes[lane];
    bool posted = false;

    while (!l->done && !posted && messages_over(req, l) && device_over(req, lane)) {
        if (l->next >= lane_end(req, lane)) {
            l->done = true;
            req->lanes_left--;
        } else {
            post_round(req, lane);
            posted = l->inflight > 0;
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

/* One block, the type of the strictest alignment first. */
static int make_arrays(struct tt_req *req)
{
    const size_t n = (size_t)req->plan->max_round, lanes = (size_t)req->plan->nlanes;
    const size_t each = sizeof(MPI_Request) + sizeof(MPI_Status) + sizeof(struct tt_flight);
    struct tt_flight *flights = malloc(lanes * n * each + 1);
    MPI_Status *statuses = (MPI_Status *)(flights + lanes * n);
    MPI_Request *requests = (MPI_Request *)(statuses + lanes * n);

    if (!flights)
        return ENOMEM;
    req->arrays = flights;
    for (size_t l = 0; l < lanes; l++) {
        req->lanes[l].flights = flights + l * n;
        req->lanes[l].statuses = statuses + l * n;
        req->lanes[l].requests = requests + l * n;
    }
    return 0;
}

int tt_req_start(struct tt_req *req, const struct tt_plan *plan, const struct tt_binding *binding, const char *why)
{
    *req = (struct tt_req){.plan = plan, .with = *binding, .lanes_left = plan->nlanes};
    if (make_arrays(req))
        return ENOMEM;
    if (why)
        fail(req, "%s", why);
    for (int lane = 0; lane < plan->nlanes; lane++)
        req->lanes[lane].next = plan->lanes[lane].first;
    tt_req_progress(req);
    return 0;
}

void tt_req_end(struct tt_req *req)
{
    free(req->waste);
    free(req->arrays);
}

void tt_wait(bool (*done)(void *), void *what)
{
    for (int polls = 0;; polls++) {
        if (polls >= tt_polls_before_yield)
            sched_yield();
        if (done(what))
            return;
    }
}
