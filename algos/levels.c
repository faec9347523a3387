/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of levels.h. */
#include "algos/levels.h"

#include <errno.h>
#include <stdlib.h>

/* ---- where this rank is ---- */

/* Of who has a place of node `from`, on another. */
static int counterpart(const struct tt_levels *at, int place, int from, int node)
{
    const int ranks = tt_on_node(at, node);

    return tt_rank_at(at, node, (place + place / ranks * from) % ranks);
}

int tt_levels_find(struct tt_levels *at, const struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_nodes *nodes = s->nodes;

    *at = (struct tt_levels){.nodes = nodes, .node = nodes->of[tt_rank(p)], .rails = s->size};
    at->rail = malloc(2 * (size_t)nodes->n * sizeof *at->rail);
    if (!at->rail)
        return ENOMEM;
    at->here = tt_on_node(at, at->node);
    at->local = tt_level_place(at, tt_rank(p));
    for (int i = 0; i < nodes->n; i++) {
        at->rails = tt_on_node(at, i) < at->rails ? tt_on_node(at, i) : at->rails;
        at->rail[i] = at->rail[i + nodes->n] = counterpart(at, at->local, at->node, i);
    }
    return 0;
}

void tt_levels_end(struct tt_levels *at)
{
    free(at->rail);
}

int tt_on_node(const struct tt_levels *at, int node)
{
    return at->nodes->first[node + 1] - at->nodes->first[node];
}

int tt_rank_at(const struct tt_levels *at, int node, int place)
{
    return at->nodes->ranks[at->nodes->first[node] + place];
}

int tt_level_place(const struct tt_levels *at, int rank)
{
    int place = 0;

    while (tt_rank_at(at, at->nodes->of[rank], place) != rank)
        place++;
    return place;
}

int tt_counterpart_of(const struct tt_levels *at, int rank, int node)
{
    return counterpart(at, tt_level_place(at, rank), at->nodes->of[rank], node);
}

int tt_counted_on(const struct tt_levels *at, int node, int place, int i)
{
    const int theirs = i * at->here + tt_mod(place - i * node, at->here);

    return theirs < tt_on_node(at, node) ? tt_rank_at(at, node, theirs) : -1;
}

void tt_enter_node(struct tt_plan *p, const struct tt_levels *at)
{
    tt_enter(p, &(struct tt_scope){at->nodes->ranks + at->nodes->first[at->node], at->here, tt_at(SEND, 0),
                                   tt_at(RECV, 0)});
}

bool tt_enter_rail(struct tt_plan *p, const struct tt_levels *at)
{
    return tt_on_rail(at) && tt_enter(p, &(struct tt_scope){at->rail, at->nodes->n, tt_at(SEND, 0), tt_at(RECV, 0)});
}

bool tt_enter_rail_without(struct tt_plan *p, const struct tt_levels *at, int node)
{
    return tt_on_rail(at) && tt_enter(p, &(struct tt_scope){at->rail + node + 1, at->nodes->n - 1, tt_at(SEND, 0),
                                                            tt_at(RECV, 0)});
}

/* ---- everybody meets everybody ---- */

static int64_t length(int64_t n, int owners, int i)
{
    return i < owners ? tt_cut(n, owners, i + 1) - tt_cut(n, owners, i) : 0;
}

struct tt_operands tt_hand_in(struct tt_plan *p, struct tt_loc src, int64_t n, int owners, int without,
                              struct tt_loc arrived)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_operands o = {rank, size, tt_plus(src, tt_cut(n, owners, rank)), arrived, length(n, owners, rank)};

    for (int k = 1; k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);

        if (to != without)
            tt_send(p, to, tt_plus(src, tt_cut(n, owners, to)), length(n, owners, to));
        if (rank != without)
            tt_recv(p, from, tt_operand_of(&o, from), o.n);
    }
    return o;
}

void tt_hand_out(struct tt_plan *p, struct tt_loc base, int64_t n, int owners, int aside)
{
    const int size = tt_size(p), rank = tt_rank(p);

    for (int k = 1; rank != aside && k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);

        if (to != aside)
            tt_send(p, to, tt_plus(base, tt_cut(n, owners, rank)), length(n, owners, rank));
        if (from != aside)
            tt_recv(p, from, tt_plus(base, tt_cut(n, owners, from)), length(n, owners, from));
    }
}

struct tt_operands tt_show_all(struct tt_plan *p, struct tt_loc src, int64_t n, struct tt_loc arrived)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_operands o = {rank, size, src, arrived, n};

    for (int k = 1; k < size; k++) {
        const int from = tt_mod(rank - k, size);

        tt_send(p, tt_mod(rank + k, size), src, n);
        tt_recv(p, from, tt_operand_of(&o, from), n);
    }
    return o;
}

/* ---- a node meets all others ---- */

struct tt_operands tt_show_nodes(struct tt_plan *p, const struct tt_levels *at, struct tt_loc src, int64_t n,
                                 struct tt_loc arrived)
{
    const int nodes = at->nodes->n;
    const struct tt_operands o = {at->node, nodes, src, arrived, n};

    for (int k = 1; k < nodes; k++) {
        const int to = tt_mod(at->node + k, nodes), from = tt_mod(at->node - k, nodes);

        for (int i = 0, rank; (rank = tt_counted_on(at, to, at->local, i)) >= 0; i++)
            tt_send(p, rank, src, n);
        tt_recv(p, at->rail[from], tt_operand_of(&o, from), n);
    }
    return o;
}

/* ---- the pipeline ----
 * Lanes that began alike would stay in step: all within nodes, then all across. So the first segments of the lanes are
 * one part long, two parts, and so on up to as many parts as there are lanes, which is how long all others are. */

enum { MOST_SEGMENTS = 64 };

struct tt_pipeline tt_pipeline_plan(const struct tt_shape *s, int64_t n, int most_lanes)
{
    const int64_t wanted = n / s->segment + (n % s->segment > 0);
    const int segments = wanted < 1 ? 1 : wanted > MOST_SEGMENTS ? MOST_SEGMENTS : (int)wanted;
    const int lanes = segments < most_lanes ? segments : most_lanes, more = (segments - 1) / lanes;

    return (struct tt_pipeline){lanes, more + 1, lanes * lanes * more + lanes * (lanes + 1) / 2};
}

int64_t tt_pipeline_most(const struct tt_pipeline *pipe, int64_t n)
{
    const int64_t most = pipe->lanes * (n / pipe->parts + 1);

    return most < n ? most : n;
}

/* The first part of segment k of a lane. */
static int segment_at(const struct tt_pipeline *pipe, int lane, int k)
{
    const int before = lane * pipe->lanes * (pipe->segments - 1) + lane * (lane + 1) / 2;

    return before + (k > 0 ? lane + 1 + (k - 1) * pipe->lanes : 0);
}

/* Half of round t: what each stage has to do in it. */
static void do_stages(struct tt_plan *p, const struct tt_pipeline *pipe, int lane, int stages, int t, tt_stage_fn *work,
                      void *with)
{
    for (int stage = 0; work && stage < stages; stage++) {
        const int k = t - stage;
        const struct tt_segment g = {k, segment_at(pipe, lane, k), segment_at(pipe, lane, k + 1)};

        if (k >= 0 && k < pipe->segments)
            work(p, with, stage, &g);
    }
    tt_fence(p);
}

void tt_pipeline_run(struct tt_plan *p, const struct tt_pipeline *pipe, int lane, int stages, tt_stage_fn *post,
                     tt_stage_fn *settle, void *with)
{
    for (int t = 0; t < pipe->segments + stages - 1; t++) {
        do_stages(p, pipe, lane, stages, t, post, with);
        do_stages(p, pipe, lane, stages, t, settle, with);
    }
}

/* ---- what it costs ---- */

/* A port that all of a node share is as busy as all messages make it; one that each rank has, as those of who is handed
 * most. */
static double busy_within(const struct tt_net *net, double n, int owners)
{
    const struct tt_net *node = net->within;
    const double each = (node->size - 1) * node->alone.near.beta, shared = node->all.near.beta * owners / node->size;

    return n * tt_larger(each, shared);
}

static double busy_across(const struct tt_net *net, double n)
{
    return n * net->across->all.far.beta;
}

/* Posting messages goes on while the first ones are carried. */
static double posted(const struct tt_net *net, double alpha, double messages, double busy)
{
    return alpha + tt_larger(net->overhead + busy, messages * net->overhead);
}

double tt_within_cost(const struct tt_net *net, double n, int owners)
{
    const bool any = n > 0 && net->within->size > 1;

    return any ? posted(net, net->within->all.near.alpha, owners, busy_within(net, n, owners)) : 0;
}

double tt_across_cost(const struct tt_net *net, double n)
{
    return n > 0 ? posted(net, net->across->all.far.alpha, net->across->size - 1, busy_across(net, n)) : 0;
}

double tt_within_one(const struct tt_net *net, double n, int messages, int posted)
{
    return n > 0 && messages > 0 ? tt_posted(&net->within->alone.near, n, messages, posted * net->overhead) : 0;
}

double tt_across_one(const struct tt_net *net, double n, int messages, int posted)
{
    return n > 0 ? tt_posted(&net->alone.far, n, messages, posted * net->overhead) : 0;
}

static void add_stages(struct tt_stages *w, const struct tt_net *net, double alpha, double busy, double messages,
                       double stages)
{
    w->alphas += (stages < 1 ? 1 : stages) * (alpha + net->overhead);
    w->alpha = tt_larger(w->alpha, alpha + net->overhead);
    w->all += stages * tt_larger(busy, messages * net->overhead);
    w->messages += stages * messages;
}

void tt_add_within(struct tt_stages *w, const struct tt_net *net, double n, int owners, double messages, double stages)
{
    const double busy = busy_within(net, n, owners);

    if (net->within->size > 1 && stages > 0)
        add_stages(w, net, net->within->all.near.alpha, busy, messages, stages);
    w->within += stages * busy;
}

void tt_add_across(struct tt_stages *w, const struct tt_net *net, double n, double stages)
{
    const double busy = busy_across(net, n);

    if (stages > 0)
        add_stages(w, net, net->across->all.far.alpha, busy, net->across->size - 1, stages);
    w->across += stages * busy;
}

double tt_most_across(const struct tt_net *net)
{
    const int others = net->size - net->rails, nodes = net->across->size;
    const bool own_nic = net->across->all.far.beta < 1.5 * (nodes - 1) * net->alone.far.beta;

    return own_nic ? (others + net->rails - 1) / net->rails : (double)others / net->rails;
}

/* What is passed on comes late where lanes share the way out: all of them leave at about the same time. */
struct tt_stages tt_rooted_stages(const struct tt_net *net, const struct tt_pipeline *pipe, double n, int sharing)
{
    const double slice = n / net->rails, root = n * net->within->alone.near.beta;
    struct tt_stages w = {0};

    tt_add_within(&w, net, slice, net->rails, net->rails, 2);
    w.all += root - w.within / 2;
    w.messages += net->within->size;
    w.within = tt_larger(root, w.within / 2);
    tt_add_across(&w, net, slice / sharing, (sharing - 1.0) / sharing);
    w.all += pipe->lanes > 1 ? 0.75 * w.across : 0;
    w.across = 0;
    tt_add_across(&w, net, slice / sharing, 1);
    return w;
}

double tt_pipeline_cost(const struct tt_net *net, const struct tt_pipeline *pipe, struct tt_stages w)
{
    const int lanes = pipe->lanes, segments = pipe->segments;
    const double local = w.local + net->launch * w.launches * lanes * segments, segment = (double)lanes / pipe->parts;
    const double wire = tt_larger(w.within, w.across), busiest = tt_larger(wire, local), rest = w.all + local - busiest;
    const double exposed = segments == 1 ? segment : segment * lanes / 2;
    const double queues = segments == 1 ? 0 : 0.6 * tt_smaller(wire, local) / lanes;
    const double flow = busiest + tt_smaller(exposed, 1) * rest + queues;
    const double post = w.messages * net->overhead * lanes; /* one after the other, whatever the lane */
    const double round = w.alpha + tt_larger(2 * segment * wire, post) + segment * local;

    return w.alphas + tt_larger(tt_larger(flow, post * segments), (segments - 1) * round + segment * (w.all + local));
}
