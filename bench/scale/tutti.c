/* SPDX-License-Identifier: BSD-3-Clause */
/* Our side: the plan that the selector would have, carried out by the executor as it is, over MPI point-to-point.
 * Memory is not there: a place that moves and reduces nothing, but takes the time that the topology says, which for the
 * scale platforms is none.
 *
 * Two things differ from a run in earnest, both in how a rank waits. Virtual time passes only while a rank is inside
 * the simulator, so one that has nothing to do waits for a message there instead of polling. And SMPI's MPI_Testall
 * completes some requests of an array without the others, keeping no statuses, so each is waited for alone. */
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/scale/play.h"
#include "coll/exec.h"
#include "selector/model.h"
#include "selector/select.h"

/* ---- a place without memory ---- */

/* Variables are this rank's own, as SMPI has it. */
static const struct tt_topo *paying;
static double launch;                  /* of this rank's */
static double busy_until;              /* copies and reductions are done one at a time */
static double finished[TT_MAX_QUEUES]; /* when the last one of each queue is */
static const double moment = 2e-9;     /* that the simulator cannot tell apart */

static int work(int queue, double seconds)
{
    const double now = simgrid_get_clock();

    if (seconds > 0)
        busy_until = (busy_until > now ? busy_until : now) + seconds;
    finished[queue] = busy_until;
    return 0;
}

static int no_copy(struct tt_place *place, int queue, void *dst, const void *src, size_t bytes)
{
    (void)place, (void)dst, (void)src;
    return work(queue, launch + (double)bytes * paying->copy);
}

static int no_reduce(struct tt_place *place, int queue, const struct tt_cell *cell, void *dst, const void *const *src,
                     int k, unsigned order, size_t n)
{
    (void)place, (void)cell, (void)dst, (void)src, (void)order;
    return work(queue, launch + (double)n * 4 * (k - 1) * paying->gamma);
}

static int no_poll(struct tt_place *place, int queue)
{
    (void)place;
    return simgrid_get_clock() >= finished[queue] - moment;
}

static const struct tt_dev nothing = {.name = "nothing", .copy = no_copy, .reduce = no_reduce, .poll = no_poll};
static struct tt_place nowhere = {&nothing}, no_host = {&nothing};

/* What the executor asks the memory's room for, and what folds with ops of the user's, of which there are none. */
const char *tt_fault(void)
{
    return "no memory, no faults";
}

int tt_apply(const struct tt_apply *a, void *dst, const void *left, const void *right, int64_t n)
{
    (void)a, (void)dst, (void)left, (void)right, (void)n;
    return -1;
}

/* ---- waiting inside the simulator ---- */

static int post_later(struct tt_batch *batch, struct tt_flight *f)
{
    if (!f->incoming && paying->overhead > 0)
        sg_actor_sleep_for(paying->overhead);
    return tt_wire_p2p.post(batch, f);
}

/* Requests that have been waited for are gone, and their flights over. None is tested: SMPI keeps a list of what a rank
 * has not waited for, and walks through it for each message. */
static int poll_none(struct tt_batch *batch, bool *done)
{
    *done = true;
    for (int i = 0; i < batch->n && *done; i++)
        *done = batch->flights[i].over;
    if (*done)
        batch->nrequests = 0;
    return MPI_SUCCESS;
}

static void land(struct tt_flight *f, const MPI_Status *status)
{
    int bytes = 0;

    f->over = true;
    if (f->incoming)
        MPI_Get_count(status, MPI_BYTE, &bytes);
    f->arrived = (size_t)bytes;
}

/* Waits until some lane gets on. A lane waits for all of its messages, so for the first that is not over. */
static void wait_for_a_lane(struct tt_req *req)
{
    MPI_Request first[TT_MAX_LANES];
    struct tt_flight *whose[TT_MAX_LANES];
    MPI_Status status;
    int n = 0, which;

    for (int lane = 0; lane < req->plan->nlanes; lane++) {
        const struct tt_batch *batch = &req->lanes[lane].batch;
        int i = 0;

        while (i < batch->n && batch->flights[i].over)
            i++;
        if (i == batch->n)
            continue;
        whose[n] = &batch->flights[i];
        first[n++] = batch->requests[i];
    }
    if (n == 0)
        return;
    MPI_Waitany(n, first, &which, &status);
    land(whose[which], &status);
}

/* The first moment at which some lane's work is over that is under way now; 0 if there is none. */
static double next_finish(const struct tt_req *req)
{
    double next = 0;

    for (int lane = 0; lane < req->plan->nlanes; lane++) {
        const double end = finished[lane * TT_NFLOWS + TT_WITHIN];

        if (req->lanes[lane].busy && end > simgrid_get_clock() && (next == 0 || end < next))
            next = end;
    }
    return next;
}

/* Where there are several lanes, a message that comes while another lane works is noticed when that is over: a little
 * late, in a machine where work takes time. */
static void carry_out(struct tt_req *req)
{
    while (!tt_req_progress(req)) {
        const double finish = next_finish(req);

        if (finish > 0)
            sg_actor_sleep_until(finish);
        else
            wait_for_a_lane(req);
    }
}

/* ---- plans ---- */

struct tt_shape play_shape(const struct play *p)
{
    return (struct tt_shape){.coll = tt_coll_family(p->coll),
                             .size = p->topo->size,
                             .commutes = true,
                             .count = p->count,
                             .unit = 4,
                             .nodes = &p->topo->nodes};
}

/* As the library does it: the selector is asked, with no rules. */
static void choose(const struct play *p, struct part *part)
{
    const struct tt_orders orders = {.net = p->net, .level = -1};
    const struct tt_choice choice = tt_select(p->coll, &part->shape, &orders, NULL, false);

    part->alg = choice.alg;
    if (choice.segment)
        part->shape.segment = choice.segment;
}

struct part play_part(const struct play *p, const struct tt_alg *alg, int64_t segment)
{
    struct part part = {.alg = alg, .shape = play_shape(p)};
    struct tt_estimate estimate;

    part.shape.segment = segment / 4;
    if (!alg)
        choose(p, &part);
    if (!part.alg || part.alg->delegate != TT_OWN || tt_infeasible(part.alg, &part.shape)) {
        fprintf(stderr, "play: none of our algorithms for %s of %lld bytes\n", tt_coll_name(p->coll),
                (long long)p->bytes);
        exit(EXIT_FAILURE);
    }
    if (part.alg->cost) {
        estimate = tt_estimate(part.alg, &part.shape, p->net);
        part.expected = estimate.seconds;
        part.shape.segment = estimate.segment;
    } else if (part.shape.segment == 0) {
        part.shape.segment = (128 << 10) / 4; /* what the selector takes where it knows no better */
    }
    part.plan = tt_plan_build(part.alg, &part.shape, p->rank);
    if (!part.plan) {
        perror("play: a plan");
        exit(EXIT_FAILURE);
    }
    return part;
}

static void give_up(const struct tt_req *req)
{
    fprintf(stderr, "play: %s\n", req->why);
    exit(EXIT_FAILURE);
}

void play_tutti(const struct play *p, const struct tt_plan *plan)
{
    const struct tt_wire wire = {.name = "simulated", .post = post_later, .poll = poll_none};
    const struct tt_routes routes = {.comm = MPI_COMM_WORLD, .wire = {[TT_FAR] = &wire}};
    struct tt_binding with = {.routes = &routes,
                              .home = &nowhere,
                              .host = &no_host,
                              .on_device = ~0u}; /* work is asynchronous, as on a GPU */
    struct tt_req req;

    paying = p->topo;
    launch = p->topo->seats[p->rank].gpu >= 0 ? p->topo->launch : 0;
    for (int buf = 0; buf < TT_NBUFS; buf++)
        with.base[buf] = p->memory;
    if (tt_req_start(&req, plan, &with, NULL)) {
        fprintf(stderr, "play: out of memory\n");
        exit(EXIT_FAILURE);
    }
    carry_out(&req);
    if (req.failed)
        give_up(&req);
    tt_req_end(&req);
}
