/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level bcast: of each segment of the vector, the root hands the slices to the ranks of its node that are on a
 * rail, and pieces of its own slice, if it has one, to all ranks of its node. Each rank on a rail sends its slice to
 * the others on it, a piece of it to each, and keeps none; they pass the pieces on to each other; and each node's ranks
 * hand their slices to each other, which on the root's node need not wait for the network. So each byte enters a node
 * once, leaves the root's node once, on all rails at once, and the root itself little more than once; and segments
 * follow each other closely (levels.h), so that all of this goes on at the same time. The choice for long vectors on
 * several nodes. With N nodes of L ranks, R rails and m segments: 2 alpha within + 2 alpha across
 * + max(n/R beta across, n beta within) + (1/m) of the lesser and of the second way across.
 * Best when a segment takes about as long as a message's alpha, but no fewer than 4 of them. */
#include "algos/levels.h"

enum { TO_RAILS, LEAVE, PASS_ON, WITHIN_OUT, STAGES };

struct work {
    int64_t n;
    struct tt_levels at;
    struct tt_pipeline pipe;
    int root, home, place; /* its node, and its place there */
};

/* A segment, and this rank's slice of it. */
struct segment {
    struct tt_loc at, slice;
    int64_t n, length;
};

static int64_t slice_at(const struct work *w, const struct segment *g, int rail)
{
    return g->at.at + tt_part_at(g->n, w->at.rails, rail);
}

static struct segment segment_of(const struct work *w, const struct tt_segment *parts)
{
    const int64_t at = tt_cut(w->n, w->pipe.parts, parts->from);
    struct segment g = {.at = tt_at(RECV, at), .n = tt_cut(w->n, w->pipe.parts, parts->to) - at};

    g.slice = tt_at(RECV, slice_at(w, &g, w->at.local));
    g.length = tt_on_rail(&w->at) ? slice_at(w, &g, w->at.local + 1) - g.slice.at : 0;
    return g;
}

/* The root's own slice; none if it is on no rail. */
static struct tt_loc root_slice(const struct work *w, const struct segment *g, int64_t *n)
{
    const int64_t at = slice_at(w, g, w->place);

    *n = w->place < w->at.rails ? slice_at(w, g, w->place + 1) - at : 0;
    return tt_at(RECV, at);
}

/* On the root's node. Piece i of its own slice is for the i-th rank behind it. */
static void to_rails(struct tt_plan *p, const struct work *w, const struct segment *g)
{
    const struct tt_levels *at = &w->at;
    const int others = at->here - 1;
    int64_t n;
    const struct tt_loc own = root_slice(w, g, &n);

    for (int i = 0; i < others; i++) {
        const int place = tt_mod(w->place + 1 + i, at->here);
        const struct tt_loc piece = tt_plus(own, tt_part_at(n, others, i)), slice = tt_at(RECV, slice_at(w, g, place));
        const int64_t of_piece = tt_part_at(n, others, i + 1) - tt_part_at(n, others, i);
        const int64_t of_slice = place < at->rails ? slice_at(w, g, place + 1) - slice.at : 0;

        if (at->local == w->place) {
            tt_send(p, tt_rank_at(at, at->node, place), slice, of_slice);
            tt_send(p, tt_rank_at(at, at->node, place), piece, of_piece);
        } else if (at->local == place) {
            tt_recv(p, w->root, slice, of_slice);
            tt_recv(p, w->root, piece, of_piece);
        }
    }
}

/* Piece i of the slice is for the i-th node behind the root's. */
static void leave(struct tt_plan *p, const struct work *w, const struct segment *g)
{
    const int others = w->at.nodes->n - 1, mine = tt_mod(w->at.node - w->home - 1, others + 1);

    if (w->at.node != w->home)
        tt_recv(p, w->at.rail[w->home], tt_plus(g->slice, tt_part_at(g->length, others, mine)),
                tt_part_at(g->length, others, mine + 1) - tt_part_at(g->length, others, mine));
    for (int i = 0; w->at.node == w->home && i < others; i++)
        tt_send(p, w->at.rail[w->home + 1 + i], tt_plus(g->slice, tt_part_at(g->length, others, i)),
                tt_part_at(g->length, others, i + 1) - tt_part_at(g->length, others, i));
}

static void hand_out(struct tt_plan *p, const struct work *w, const struct segment *g)
{
    const bool at_home = w->at.node == w->home;
    int64_t n;
    const struct tt_loc of_root = root_slice(w, g, &n);

    tt_enter_node(p, &w->at);
    tt_hand_out(p, g->at, g->n, w->at.rails, at_home ? w->place : -1);
    if (at_home && tt_enter_others(p, w->place)) {
        tt_hand_out(p, of_root, n, tt_size(p), -1);
        tt_leave(p);
    }
    tt_leave(p);
}

static void post(struct tt_plan *p, void *with, int stage, const struct tt_segment *parts)
{
    const struct work *w = with;
    const struct segment g = segment_of(w, parts);
    const bool at_home = w->at.node == w->home;

    if (stage == TO_RAILS && at_home)
        to_rails(p, w, &g);
    if (stage == LEAVE && tt_on_rail(&w->at))
        leave(p, w, &g);
    if (stage == PASS_ON && tt_enter_rail_without(p, &w->at, w->home)) {
        tt_hand_out(p, g.slice, g.length, tt_size(p), -1);
        tt_leave(p);
    }
    if (stage == (at_home ? LEAVE : WITHIN_OUT))
        hand_out(p, w, &g);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct work w = {.n = s->count, .pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES), .root = s->root};
    const int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    w.home = s->nodes->of[s->root];
    w.place = tt_level_place(&w.at, s->root);
    for (int lane = 0; lane < w.pipe.lanes; lane++) {
        if (lane > 0)
            tt_lane(p);
        tt_pipeline_run(p, &w.pipe, lane, STAGES, post, NULL, &w);
    }
    tt_levels_end(&w.at);
    return 0;
}

enum { AT_HOME, AWAY, ROLES };

/* On the root's node: from the root; and from the others to each other, by ports of their own, or the same bus, posted
 * while the root posts what is its own. */
static void set_home(struct tt_stage *stage, const struct tt_net *net, int ranks, double n, double elements)
{
    const bool bus = tt_one_bus(net);
    const double slice = elements / net->rails, pieces = slice < 1 ? 0 : tt_smaller(ranks - 1, slice);
    const double beta = net->within->alone.near.beta, from_root = tt_smaller(net->rails - 1, elements) + pieces;
    struct tt_sends others;

    if (ranks == 1)
        return;
    others = tt_within_sends(net, (ranks - 2) * (bus ? n : n / net->rails * ranks / (ranks - 1)) * beta,
                             ranks - 2 + tt_larger(0, pieces - 1));
    others.posts = tt_larger(0, others.posts - from_root);
    others.messages *= bus ? ranks - 1 : 1;
    stage[TO_RAILS].sends[0] = tt_sends_of(tt_within_sends(net, n * beta, from_root), AT_HOME, TT_PORT_ROOT, 0);
    if (bus || net->rails > 1)
        stage[LEAVE].sends[2] = tt_sends_of(others, AT_HOME, bus ? TT_PORT_ROOT : TT_PORT_HOME, 0);
}

static double cost_by(const struct tt_shape *s, const struct tt_net *net, tt_pipeline_cost_fn *how)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES);
    const struct tt_node_class *home = &net->class[net->class_of[net->node[s->root]]];
    const int sharing = net->across->size - 1;
    const double n = tt_bytes(s, s->count), elements = tt_segment_elements(&pipe, s->count);
    const double pieces = tt_smaller(sharing, tt_larger(1, elements / net->rails));
    const struct tt_away away = tt_away_busy(net, home, n);
    const struct tt_sends leave = tt_across_sends(net, away.nics, pieces);
    const struct tt_sends arrive = tt_comes_in(tt_across_sends(net, away.nics / sharing, 1));
    const struct tt_sends pass_on = tt_across_sends(net, away.nics * (sharing - 1) / sharing, sharing - 1);
    const struct tt_sends within = tt_within_sends(net, away.within, away.largest - 1);
    struct tt_stages stages = {
        STAGES, ROLES, {{.lag = TO_RAILS}, {.lag = LEAVE}, {.lag = PASS_ON}, {.lag = WITHIN_OUT}}};

    set_home(stages.of, net, home->ranks, n, elements);
    stages.of[LEAVE].sends[0] = tt_sends_of(leave, AT_HOME, TT_PORT_FAR_OUT, 1 << AWAY);
    stages.of[LEAVE].sends[1] = tt_sends_of(arrive, AT_HOME, TT_PORT_FAR_IN, 1 << AWAY);
    stages.of[PASS_ON].sends[0] = tt_sends_of(pass_on, AWAY, TT_PORT_FAR_IN, 0);
    stages.of[WITHIN_OUT].sends[0] = tt_sends_of(within, AWAY, TT_PORT_NEAR, 0);
    return s->count > 0 ? how(net, &pipe, &stages) : 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return cost_by(s, net, tt_pipeline_time);
}

static double rough(const struct tt_shape *s, const struct tt_net *net)
{
    return cost_by(s, net, tt_pipeline_rough);
}

TT_ALGORITHM(bcast, two_level,
             .summary = "slices to the node's rails, pieces across, passed on, within, pipelined: 2 alpha within + 2 "
                        "alpha across + max(n/R beta across, n beta within)",
             .needs = TT_TWO_LEVELS, .segmented = true, .build = build, .cost = cost, .rough = rough);
