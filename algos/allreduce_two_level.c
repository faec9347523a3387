/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level allreduce: of each segment of the vector, each rank of a node adds up what its node has of a slice; of
 * every slice, pieces are owned by ranks of all nodes, who add up what all nodes have of them and hand them out again;
 * at last each node's ranks hand their slices to each other. Nodes with more NICs own more (levels.h), so that all NICs
 * are at work to the end, however uneven nodes are. All exchanges are direct, everybody with everybody at once, so a
 * segment takes four messages' time; every byte crosses the network as seldom as can be, through all NICs at once; and
 * segments follow each other closely, so that the two levels work at the same time. With N nodes of L ranks and m
 * segments: 2 alpha within + 2 alpha across
 * + max(2(N-1)/N n/L beta across, 2(L-1)/L n beta within), + (1/m) of the lesser; + ((L-1)/L + (N-1)/NL) n gamma. Where
 * nodes are uneven: max(2(N-1) n / all NICs, n / those of the smallest node) beta across.
 * Best when a segment takes about as long as a message's alpha, but no fewer than 4 of them. */
#include "algos/levels.h"

enum { WITHIN_IN, ACROSS_IN, ACROSS_OUT, WITHIN_OUT, STAGES };

/* One lane's. */
struct work {
    struct tt_levels at;
    struct tt_owners owners;
    struct tt_pipeline pipe;
    int64_t n; /* of the vector */
    struct tt_loc arrived_within, arrived_across;
    struct tt_operands within;
};

/* A segment; and where this node's sums of it are after stage WITHIN_IN: in SEND, if this rank is alone here. */
struct segment {
    int64_t at, n;
    enum tt_buf have;
};

static struct segment segment_of(const struct work *w, const struct tt_segment *g)
{
    const int64_t at = tt_cut(w->n, w->pipe.parts, g->from);

    return (struct segment){at, tt_cut(w->n, w->pipe.parts, g->to) - at, w->at.here > 1 ? RECV : SEND};
}

static int64_t length(const struct segment *g, const struct tt_piece *x)
{
    return tt_unit_at(g->n, x->to) - tt_unit_at(g->n, x->from);
}

static void post_within(struct tt_plan *p, struct work *w, int stage, const struct segment *g)
{
    tt_enter_node(p, &w->at);
    if (stage == WITHIN_IN)
        w->within = tt_hand_in(p, tt_at(SEND, g->at), g->n, w->at.here, -1, w->arrived_within);
    else
        tt_hand_out(p, tt_at(RECV, g->at), g->n, w->at.here, -1);
    tt_leave(p);
}

/* What nodes have of a piece that this rank owns: what arrives lies behind that for the pieces before. */
static struct tt_operands operands_of(const struct work *w, const struct segment *g, int own)
{
    const struct tt_piece *x = &w->owners.own.of[own];
    struct tt_operands o = {w->at.node, w->at.nodes->n, tt_at(g->have, g->at + tt_unit_at(g->n, x->from)),
                            w->arrived_across, length(g, x)};

    for (int i = 0; i < own; i++)
        o.arrived = tt_plus(o.arrived, (o.size - 1) * length(g, &w->owners.own.of[i]));
    return o;
}

/* Pieces to those who own them, or from these. */
static void post_mine(struct tt_plan *p, const struct work *w, int stage, const struct segment *g)
{
    for (int i = 0; i < w->owners.mine.n; i++) {
        const struct tt_piece *x = &w->owners.mine.of[i];
        const int64_t at = g->at + tt_unit_at(g->n, x->from);

        if (stage == ACROSS_IN)
            tt_send(p, x->rank, tt_at(g->have, at), length(g, x));
        else
            tt_recv(p, x->rank, tt_at(RECV, at), length(g, x));
    }
}

/* What others have of this rank's own pieces, from them; or the sums to them. */
static void post_theirs(struct tt_plan *p, const struct work *w, int stage, const struct segment *g)
{
    for (int i = 0; i < w->owners.theirs.n; i++) {
        const struct tt_piece *x = &w->owners.theirs.of[i];
        const struct tt_operands o = operands_of(w, g, x->own);
        const int64_t at = g->at + tt_unit_at(g->n, x->from);

        if (stage == ACROSS_IN)
            tt_recv(p, x->rank, tt_plus(tt_operand_of(&o, x->node), at - o.own.at), length(g, x));
        else
            tt_send(p, x->rank, tt_at(RECV, at), length(g, x));
    }
}

static void post(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    struct work *w = with;
    const struct segment segment = segment_of(w, g);

    if (stage == WITHIN_IN || stage == WITHIN_OUT) {
        post_within(p, w, stage, &segment);
    } else {
        post_mine(p, w, stage, &segment);
        post_theirs(p, w, stage, &segment);
    }
}

static void settle(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    const struct work *w = with;
    const struct segment segment = segment_of(w, g);

    if (stage == WITHIN_IN)
        tt_fold_operands(p, &w->within, tt_at(RECV, w->within.own.at));
    for (int i = 0; stage == ACROSS_IN && i < w->owners.own.n; i++) {
        const struct tt_operands o = operands_of(w, &segment, i);

        tt_fold_operands(p, &o, tt_at(RECV, o.own.at));
    }
}

/* Scratch of one lane, whose segments are no longer than that. */
static void find_room(struct tt_plan *p, struct work *w, int64_t most)
{
    const struct tt_pieces *own = &w->owners.own;
    int64_t n = 0;

    for (int i = 0; i < own->n; i++)
        n += tt_units_most(most, own->of[i].to - own->of[i].from);
    w->arrived_within = tt_tmp(p, (w->at.here - 1) * tt_part_most(most, w->at.here));
    w->arrived_across = tt_tmp(p, (w->at.nodes->n - 1) * n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct work w = {.pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES), .n = s->count};
    int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    error = tt_owners_find(&w.owners, &w.at);
    for (int lane = 0; !error && lane < w.pipe.lanes; lane++) {
        if (lane > 0)
            tt_lane(p);
        find_room(p, &w, tt_pipeline_most(&w.pipe, s->count));
        tt_pipeline_run(p, &w.pipe, lane, STAGES, post, settle, &w);
    }
    if (!error)
        tt_owners_end(&w.owners);
    tt_levels_end(&w.at);
    return error;
}

/* A longer slice's rank owns what those of shorter ones leave it, a piece in each of these; but the last two are one.
 */
static double owned_pieces(const struct tt_net *net, const struct tt_node_class *class)
{
    return (int)tt_larger(1, net->within->size * class->owned / class->ranks / class->left - 0.01);
}

/* Of a class of nodes; elements: of a segment. What nodes own differs if they do: then so does what leaves them, and
 * comes in. */
static struct tt_stages stages_of(const struct tt_net *net, const struct tt_node_class *class, double n,
                                  double elements)
{
    const double here = class->ranks, owned = class->owned, others = net->across->size - 1;
    const double pieces = owned > 0 ? tt_smaller(owned_pieces(net, class), 1 + elements * owned / here) : 0;
    const struct tt_sends within =
        tt_within_sends(net, tt_within_busy(net, here, n / here, here), tt_smaller(here - 1, elements));
    const struct tt_sends others_own = tt_across_sends(net, tt_nics_busy(net, class, n * (1 - owned), here), others);
    const struct tt_sends this_owns = tt_across_sends(net, tt_nics_busy(net, class, n * others * owned, here), others);
    struct tt_stages s = {STAGES,
                          1,
                          {{WITHIN_IN, {within}, {{0}}},
                           {ACROSS_IN, {others_own}, {{0}}},
                           {ACROSS_OUT, {this_owns}, {{0}}},
                           {WITHIN_OUT, {within}, {{0}}}}};

    if (net->classes > 1) {
        s.of[ACROSS_IN].sends[1] = tt_comes_in(this_owns);
        s.of[ACROSS_OUT].sends[1] = tt_comes_in(others_own);
    }
    s.of[WITHIN_IN].work[0] = (struct tt_work){.operands = here, .start = net->launch, .add = n / here * net->gamma};
    s.of[ACROSS_IN].work[0] =
        (struct tt_work){.operands = others + 1, .start = pieces * net->launch, .add = owned / here * n * net->gamma};
    return s;
}

static double cost_by(const struct tt_shape *s, const struct tt_net *net, tt_pipeline_cost_fn *how)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES);
    const double n = tt_bytes(s, s->count), elements = tt_segment_elements(&pipe, s->count);
    struct tt_stages stages = {0};

    for (int i = 0; i < net->classes; i++) {
        const struct tt_stages of = stages_of(net, &net->class[i], n, elements);

        tt_stages_raise(&stages, &of, &pipe);
    }
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

TT_ALGORITHM(allreduce, two_level,
             .summary = "slices within nodes, each across on a rail of its own, pipelined: 2 alpha within + 2 alpha "
                        "across + max(2(N-1)/N n/R beta across, 2 n beta within)",
             .needs = TT_TWO_LEVELS, .segmented = true, .build = build, .cost = cost, .rough = rough);
