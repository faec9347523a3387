/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level reduce, the mirror of bcast_two_level.c: of each segment of the vector, the j-th rank of every node adds up
 * what its node has of the j-th slice (rail j); of each rail the ranks but the one on the root's node add theirs up,
 * each a piece of it, and send the pieces to that one; it adds its own, and hands the slice to the root. The root's own
 * slice, if it has one, is added up on its node by all others there, a piece by each, who send the pieces to the root.
 * So each byte leaves a node once and enters the root's node once, on all rails at once, and the root itself little
 * more than once; and segments follow each other closely (levels.h), so that all of this goes on at the same time. The
 * choice for long vectors on several nodes. Where operands must stay in order, the root and its rail take part like all
 * others, and receive twice as much. With N nodes of L ranks, R rails and m segments: 2 alpha within + 2 alpha across
 * + max(n/R beta across, n beta within) + (1/m) of the lesser and of the second way across
 * + ((L-1)/R + 2/R) n gamma. Best when a segment takes about as long as a message's alpha, but no fewer than 4 of them.
 */
#include "algos/levels.h"

enum { WITHIN_IN, ACROSS_IN, GO_HOME, TO_ROOT, STAGES };

struct work {
    int64_t n;
    struct tt_levels at;
    struct tt_pipeline pipe;
    int root, home, place; /* its node, and its place there */
    bool ordered;
    struct tt_loc sums[STAGES]; /* a slice each, for as many segments as are under way */
    struct tt_loc arrived_within, arrived_across;
    struct tt_operands within, across;
    struct tt_loc piece[2], arrived_pieces; /* of the root's own slice */
    struct tt_operands pieces;
};

/* A segment, and this rank's slice of it: what its node has for it after stage WITHIN_IN, which is in SEND where it is
 * alone on its node; where sums go; and where the slice goes in the end. */
struct segment {
    int64_t at, n, length;
    struct tt_loc have, sum, result;
};

static int64_t slice_at(const struct work *w, const struct segment *g, int rail)
{
    return g->at + tt_part_at(g->n, w->at.rails, rail);
}

static struct segment segment_of(const struct work *w, const struct tt_segment *parts)
{
    const int64_t at = tt_cut(w->n, w->pipe.parts, parts->from);
    struct segment g = {.at = at, .n = tt_cut(w->n, w->pipe.parts, parts->to) - at};
    const int64_t first = slice_at(w, &g, w->at.local);

    g.length = tt_on_rail(&w->at) ? slice_at(w, &g, w->at.local + 1) - first : 0;
    g.sum = w->sums[parts->number % STAGES];
    g.have = w->at.here > 1 ? g.sum : tt_at(SEND, first);
    g.result = w->at.local == w->place && w->at.node == w->home ? tt_at(RECV, first) : g.sum;
    return g;
}

/* Those who share in adding up a rail's slice, and where this rank's piece begins in it. */
static int sharers(const struct work *w)
{
    return w->at.nodes->n - !w->ordered;
}

static int64_t piece_at(const struct work *w, const struct segment *g, int i)
{
    return tt_part_at(g->length, sharers(w), i);
}

static int my_piece(const struct work *w)
{
    return w->ordered ? w->at.node : tt_mod(w->at.node - w->home - 1, w->at.nodes->n);
}

static void across_in(struct tt_plan *p, struct work *w, const struct segment *g)
{
    if (!(w->ordered ? tt_enter_rail(p, &w->at) : tt_enter_rail_without(p, &w->at, w->home)))
        return;
    w->across = tt_hand_in(p, g->have, g->length, tt_size(p), -1, w->arrived_across);
    tt_leave(p);
}

/* The sums of pieces to the root's node: to be added to what that has; or, in order, as they are. */
static void go_home(struct tt_plan *p, struct work *w, const struct segment *g)
{
    const struct tt_loc dst = w->ordered ? g->result : w->arrived_across;
    const int mine = my_piece(w);

    if (w->at.node != w->home) {
        const struct tt_loc sum = sharers(w) > 1 ? g->sum : g->have;

        tt_send(p, w->at.rail[w->home], tt_plus(sum, piece_at(w, g, mine)),
                piece_at(w, g, mine + 1) - piece_at(w, g, mine));
        return;
    }
    for (int i = 0; i < sharers(w); i++)
        if (!w->ordered || i != mine)
            tt_recv(p, w->at.rail[w->ordered ? i : w->home + 1 + i], tt_plus(dst, piece_at(w, g, i)),
                    piece_at(w, g, i + 1) - piece_at(w, g, i));
}

static void to_root(struct tt_plan *p, const struct work *w, const struct segment *g)
{
    const struct tt_levels *at = &w->at;

    if (tt_rank(p) != w->root) {
        tt_send(p, w->root, g->result, g->length);
        return;
    }
    for (int j = 0; j < at->rails; j++)
        if (j != w->place)
            tt_recv(p, tt_rank_at(at, at->node, j), tt_at(RECV, slice_at(w, g, j)),
                    slice_at(w, g, j + 1) - slice_at(w, g, j));
}

/* Is the root's own slice added up in pieces, and this rank on its node? */
static bool in_pieces(const struct work *w)
{
    return w->at.node == w->home && w->place < w->at.rails && !w->ordered && w->at.here > 1;
}

static void within_in(struct tt_plan *p, struct work *w, const struct segment *g, int without)
{
    const int64_t of_root = slice_at(w, g, w->place);

    tt_enter_node(p, &w->at);
    w->within = tt_hand_in(p, tt_at(SEND, g->at), g->n, w->at.rails, without, w->arrived_within);
    if (without >= 0 && tt_enter_others(p, without)) {
        w->pieces = tt_hand_in(p, tt_at(SEND, of_root), slice_at(w, g, w->place + 1) - of_root, tt_size(p), -1,
                               w->arrived_pieces);
        tt_leave(p);
    }
    tt_leave(p);
}

/* The i-th piece is that of the i-th rank behind the root. */
static void pieces_to_root(struct tt_plan *p, const struct work *w, const struct segment *g, struct tt_loc piece)
{
    const struct tt_levels *at = &w->at;
    const int64_t n = slice_at(w, g, w->place + 1) - slice_at(w, g, w->place);
    const int others = at->here - 1;

    for (int i = 0; i < others; i++) {
        const int place = tt_mod(w->place + 1 + i, at->here);
        const int64_t first = tt_part_at(n, others, i), length = tt_part_at(n, others, i + 1) - first;

        if (at->local == w->place)
            tt_recv(p, tt_rank_at(at, at->node, place), tt_plus(w->arrived_pieces, first), length);
        else if (at->local == place)
            tt_send(p, w->root, others > 1 ? piece : tt_at(SEND, slice_at(w, g, w->place)), length);
    }
}

static void post(struct tt_plan *p, void *with, int stage, const struct tt_segment *parts)
{
    struct work *w = with;
    const struct segment g = segment_of(w, parts);

    if (stage == WITHIN_IN)
        within_in(p, w, &g, in_pieces(w) ? w->place : -1);
    if (stage == ACROSS_IN && in_pieces(w))
        pieces_to_root(p, w, &g, w->piece[parts->number % 2]);
    if (stage == ACROSS_IN)
        across_in(p, w, &g);
    if (stage == GO_HOME && tt_on_rail(&w->at))
        go_home(p, w, &g);
    if (stage == TO_ROOT && w->at.node == w->home)
        to_root(p, w, &g);
}

/* On the root's node, of its own slice: the pieces, then the whole. */
static void settle_pieces(struct tt_plan *p, const struct work *w, int stage, const struct segment *g,
                          struct tt_loc piece)
{
    if (stage == WITHIN_IN && tt_rank(p) != w->root)
        tt_fold_operands(p, &w->pieces, piece);
    else if (stage == ACROSS_IN && tt_rank(p) == w->root)
        tt_reduce(p, g->sum, tt_at(SEND, g->result.at), w->arrived_pieces, g->length);
}

static void settle(struct tt_plan *p, void *with, int stage, const struct tt_segment *parts)
{
    const struct work *w = with;
    const struct segment g = segment_of(w, parts);
    const bool at_home = w->at.node == w->home;

    if (in_pieces(w))
        settle_pieces(p, w, stage, &g, w->piece[parts->number % 2]);
    if (!tt_on_rail(&w->at))
        return;
    if (stage == WITHIN_IN && !(in_pieces(w) && tt_rank(p) == w->root))
        tt_fold_operands(p, &w->within, g.sum);
    else if (stage == ACROSS_IN && (w->ordered || !at_home))
        tt_fold_operands(p, &w->across, tt_plus(at_home ? g.result : g.sum, piece_at(w, &g, my_piece(w))));
    else if (stage == GO_HOME && at_home && !w->ordered)
        tt_reduce(p, g.result, g.have, w->arrived_across, g.length);
}

/* Scratch of one lane, whose slices are no longer than that. */
static void find_room(struct tt_plan *p, struct work *w, int64_t slice)
{
    const int64_t pieces = in_pieces(w) ? slice + w->at.here : 0;

    for (int i = 0; i < STAGES; i++)
        w->sums[i] = tt_tmp(p, i < w->pipe.segments ? slice : 0);
    for (int i = 0; i < 2; i++)
        w->piece[i] = tt_tmp(p, in_pieces(w) ? tt_part_most(slice, w->at.here - 1) : 0);
    w->arrived_within = tt_tmp(p, (w->at.here - 1) * slice);
    w->arrived_across = tt_tmp(p, slice + w->at.nodes->n);
    w->arrived_pieces = tt_tmp(p, pieces);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct work w = {
        .n = s->count, .pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES), .root = s->root, .ordered = !s->commutes};
    const int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    w.home = s->nodes->of[s->root];
    w.place = tt_level_place(&w.at, s->root);
    for (int lane = 0; lane < w.pipe.lanes; lane++) {
        if (lane > 0)
            tt_lane(p);
        find_room(p, &w, tt_part_most(tt_pipeline_most(&w.pipe, s->count), w.at.rails));
        tt_pipeline_run(p, &w.pipe, lane, STAGES, post, settle, &w);
    }
    tt_levels_end(&w.at);
    return 0;
}

enum { AT_HOME, AWAY, ROOT, ROLES };

/* The root's node: slices to its rails, and pieces of the root's own; these to the root, and then the slices. Through
 * ports of their own, and the root's; or over one bus. In all, or through one rank's port, so many slices' worth. */
static void set_home_sends(struct tt_stage *first, const struct tt_net *net, int others, double slice, double pieces,
                           double elements)
{
    const bool bus = tt_one_bus(net), split = pieces > 0;
    const double time = slice * net->within->alone.near.beta, rails = net->rails - split;
    const double in = bus ? others * rails : net->rails > 1 ? others : 0;
    const enum tt_port port = bus ? TT_PORT_ROOT : TT_PORT_HOME;
    struct tt_stage *stage = first + 1;
    struct tt_sends slices = tt_within_sends(net, in * time, tt_smaller(net->rails - 1, elements));
    struct tt_sends cut =
        tt_within_sends(net, (bus ? 1 : 1.0 / others) * split * (others - 1) * time, tt_larger(0, pieces - 1));
    struct tt_sends to_root = tt_within_sends(net, split * time, pieces);
    struct tt_sends last = tt_within_sends(net, rails * time, tt_smaller(rails, elements));

    slices.messages = in;
    cut.messages *= bus ? others : 1;
    to_root.posts = last.posts = 1;
    stage[WITHIN_IN].sends[1] = tt_sends_of(slices, AT_HOME, port, 1 << ROOT);
    first->sends[0] = tt_sends_of(cut, AT_HOME, port, 0);
    stage[ACROSS_IN].sends[1] = tt_sends_of(to_root, AT_HOME, TT_PORT_ROOT, 1 << ROOT);
    stage[TO_ROOT].sends[0] = tt_sends_of(last, AT_HOME, TT_PORT_ROOT, 1 << ROOT);
}

static struct tt_work adds(const struct tt_net *net, int role, int operands, double n)
{
    return (struct tt_work){.role = role, .operands = operands, .start = net->launch, .add = n * net->gamma};
}

/* Its ranks add up a piece of the root's slice each, if there are enough of them, and a slice; at last what comes home.
 * Where there is but one rail, the root's, they add up pieces only. The root adds its own to all pieces. */
static void set_home_work(struct tt_stage *first, const struct tt_net *net, int others, double slice, double pieces,
                          double elements, bool commutes)
{
    const bool alone = others == 0, pieces_only = net->rails == 1 && pieces > 0;
    const bool both = pieces > 0 && others > 1 && (int)(elements / net->rails) > others + 1 - net->rails;
    struct tt_stage *stage = first + 1;

    if (commutes && !pieces_only)
        stage[GO_HOME].work[AT_HOME] = adds(net, AT_HOME, 2, slice);
    if (pieces > 0) {
        stage[ACROSS_IN].work[ROOT] = adds(net, ROOT, 2, slice);
        stage[GO_HOME].work[ROOT] = adds(net, ROOT, 2, slice);
    }
    if (both || pieces_only)
        first->work[AT_HOME] = adds(net, AT_HOME, others, slice / pieces);
    if (!alone && !pieces_only)
        stage[WITHIN_IN].work[AT_HOME] = adds(net, AT_HOME, others + 1, slice);
}

/* The first stage is of pieces of the root's slice, in the same round as WITHIN_IN. */
static double cost_by(const struct tt_shape *s, const struct tt_net *net, tt_pipeline_cost_fn *how)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES);
    const struct tt_node_class *home = &net->class[net->class_of[net->node[s->root]]];
    const int sharing = net->across->size - s->commutes, others = home->ranks - 1;
    const double n = tt_bytes(s, s->count), slice = n / net->rails, elements = tt_segment_elements(&pipe, s->count);
    const double of_slice = elements / net->rails, parts = tt_smaller(sharing, tt_larger(1, of_slice));
    const double pieces = others > 0 && s->commutes && of_slice >= 1 ? tt_smaller(others, of_slice) : 0;
    const struct tt_away away = tt_away_busy(net, home, n);
    const struct tt_sends within = tt_within_sends(net, away.within, tt_smaller(net->rails, elements));
    const struct tt_sends across =
        tt_across_sends(net, away.nics * (sharing - 1) / sharing, (parts > 1 ? parts : sharing) - 1);
    const struct tt_sends leave = tt_across_sends(net, away.nics / sharing, 1);
    const struct tt_sends arrive = tt_comes_in(tt_across_sends(net, away.nics, parts));
    struct tt_stages stages = {
        1 + STAGES, ROLES, {{.lag = 0}, {.lag = WITHIN_IN}, {.lag = ACROSS_IN}, {.lag = GO_HOME}, {.lag = TO_ROOT}}};
    struct tt_stage *stage = stages.of + 1;

    if (others > 0)
        set_home_sends(stages.of, net, others, slice, pieces, elements);
    set_home_work(stages.of, net, others, slice, pieces, elements, s->commutes);
    stage[WITHIN_IN].sends[0] = tt_sends_of(within, AWAY, TT_PORT_NEAR, 0);
    stage[WITHIN_IN].work[AWAY] = adds(net, AWAY, away.largest, slice);
    stage[ACROSS_IN].sends[0] = tt_sends_of(across, AWAY, TT_PORT_FAR_OUT, 0);
    stage[ACROSS_IN].work[AWAY] = adds(net, AWAY, sharing, slice / parts);
    if (!s->commutes) /* to the root's node, too */
        stage[ACROSS_IN].sends[2] = tt_sends_of(tt_comes_in(across), AWAY, TT_PORT_FAR_IN, 0);
    stage[GO_HOME].sends[0] = tt_sends_of(arrive, AT_HOME, TT_PORT_FAR_IN, 1 << AWAY | 1 << ROOT);
    stage[GO_HOME].sends[1] = tt_sends_of(leave, AWAY, TT_PORT_FAR_OUT, 1 << AT_HOME | 1 << ROOT);
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

TT_ALGORITHM(reduce, two_level,
             .summary =
                 "slices within nodes, pieces of them across, to the root's node, to the root, pipelined: 2 alpha "
                 "within + 2 alpha across + max(n/R beta across, 2 n beta within)",
             .needs = TT_TWO_LEVELS, .segmented = true, .build = build, .cost = cost, .rough = rough);
