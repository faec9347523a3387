/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level reduce_scatter, the mirror of allgather_two_level.c: each rank adds up what its node has for the blocks of
 * its counterparts on all nodes, and sends them the sums; each adds up the sums it gets. Each block crosses the network
 * once per node, over as many NICs as there are ranks on a node; blocks are cut into segments that follow each other
 * closely (levels.h), so that both levels work at the same time. The choice for long blocks on several nodes. With N
 * nodes of L ranks, n all blocks together and m segments: alpha within + alpha across
 * + max((N-1)/N n/L beta across, (L-1)/L n beta within) + (1/m) of the lesser + ((L-1)/L + (N-1)/NL) n gamma + n/L
 * copied. Best when a segment takes about as long as a message's alpha, but no fewer than 4 of them. */
#include "algos/levels.h"

enum { WITHIN, ACROSS, STAGES };

struct work {
    const struct tt_shape *s;
    struct tt_levels at;
    struct tt_pipeline pipe;
    struct tt_loc sums[2], arrived_within, arrived_across, result;
    struct tt_operands within, across;
};

/* While one segment's sums are sent, the next one's are made. */
static struct tt_loc sums_of(const struct work *w, const struct tt_segment *g)
{
    return w->sums[g->number % 2];
}

/* A block that a rank of this node collects: of the segment, where it begins in SEND; and of the sums, one behind the
 * other. */
struct piece {
    int rank;
    int64_t at, n, position;
    int k, i; /* the i-th of the k-th node from this one */
};

/* Turns to the next block that the rank in place `holder` of this node collects, its own being the first. Begins at
 * {.i = -1}. False after the last. */
static bool next_piece(const struct work *w, int holder, const struct tt_segment *g, struct piece *x)
{
    const int nodes = w->at.nodes->n;
    int64_t block;

    x->position += x->n;
    x->i++;
    while ((x->rank = tt_counted_on(&w->at, tt_mod(w->at.node + x->k, nodes), holder, x->i)) < 0 && ++x->k < nodes)
        x->i = 0;
    if (x->rank < 0)
        return false;
    block = tt_block(w->s, x->rank);
    x->at = tt_cut(block, w->pipe.parts, g->from);
    x->n = tt_cut(block, w->pipe.parts, g->to) - x->at;
    x->at += tt_offset(w->s, x->rank);
    return true;
}

/* What this node's ranks have for the blocks that each of them collects, to it. */
static void post_within(struct tt_plan *p, struct work *w, const struct tt_segment *g)
{
    const struct tt_levels *at = &w->at;

    w->within = (struct tt_operands){at->local, at->here, sums_of(w, g), w->arrived_within, 0};
    for (struct piece x = {.i = -1}; at->here > 1 && next_piece(w, at->local, g, &x);) {
        tt_copy(p, tt_plus(sums_of(w, g), x.position), tt_at(SEND, x.at), x.n);
        w->within.n += x.n;
    }
    for (int k = 1; k < at->here; k++) {
        const int to = tt_mod(at->local + k, at->here), from = tt_mod(at->local - k, at->here);
        const struct tt_loc operand = tt_operand_of(&w->within, from);

        for (struct piece x = {.i = -1}; next_piece(w, to, g, &x);)
            tt_send(p, tt_rank_at(at, at->node, to), tt_at(SEND, x.at), x.n);
        for (struct piece x = {.i = -1}; next_piece(w, at->local, g, &x);)
            tt_recv(p, tt_rank_at(at, at->node, from), tt_plus(operand, x.position), x.n);
    }
}

/* This node's sums to the ranks whose blocks they are; who is alone on its node has them in SEND. */
static void post_across(struct tt_plan *p, struct work *w, const struct tt_segment *g)
{
    const struct tt_levels *at = &w->at;
    const int nodes = at->nodes->n;
    struct piece x = {.i = -1};

    while (next_piece(w, at->local, g, &x)) {
        const struct tt_loc sum = at->here > 1 ? tt_plus(sums_of(w, g), x.position) : tt_at(SEND, x.at);

        if (x.k == 0)
            w->across = (struct tt_operands){at->node, nodes, sum, w->arrived_across, x.n};
        else
            tt_send(p, x.rank, sum, x.n);
    }
    for (int k = 1; k < nodes; k++) {
        const int source = tt_mod(at->node - k, nodes);

        tt_recv(p, at->rail[source], tt_operand_of(&w->across, source), w->across.n);
    }
}

static void post(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    (stage == WITHIN ? post_within : post_across)(p, with, g);
}

static void settle(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    const struct work *w = with;

    if (stage == WITHIN)
        tt_fold_operands(p, &w->within, sums_of(w, g));
    else
        tt_fold_operands(p, &w->across, tt_plus(w->result, tt_cut(tt_block(w->s, tt_rank(p)), w->pipe.parts, g->from)));
}

/* The most elements that this rank has of a segment's sums. */
static int64_t most_sums(const struct work *w)
{
    struct piece x = {.i = -1};
    int64_t most = 0;

    while (next_piece(w, w->at.local, &(struct tt_segment){0, 0, w->pipe.parts}, &x))
        most += tt_pipeline_most(&w->pipe, x.n);
    return most;
}

/* In place results lie in block 0. If all blocks are alike, a segment of it has been sent before its place is taken;
 * else no place is safe before all is over, which one lane knows of itself only. */
static bool alike(const struct tt_shape *s)
{
    bool same = true;

    for (int i = 1; i < s->size; i++)
        same &= tt_block(s, i) == tt_block(s, 0);
    return same;
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const bool aside = !alike(s);
    const int64_t own = tt_block(s, tt_rank(p));
    struct work w = {.s = s, .pipe = tt_pipeline_plan(s, tt_longest(s), aside ? 1 : TT_MAX_LANES)};
    const int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    w.result = aside && s->inplace ? tt_tmp(p, own) : tt_at(RECV, 0);
    for (int lane = 0; lane < w.pipe.lanes; lane++) {
        const int64_t most = most_sums(&w);

        if (lane > 0)
            tt_lane(p);
        w.sums[0] = tt_tmp(p, w.at.here > 1 ? most : 0);
        w.sums[1] = tt_tmp(p, w.at.here > 1 && w.pipe.segments > 1 ? most : 0);
        w.arrived_within = tt_tmp(p, (w.at.here - 1) * most);
        w.arrived_across = tt_tmp(p, (w.at.nodes->n - 1) * tt_pipeline_most(&w.pipe, own));
        tt_pipeline_run(p, &w.pipe, lane, STAGES, post, settle, &w);
    }
    tt_copy(p, tt_at(RECV, 0), w.result, own);
    tt_levels_end(&w.at);
    return 0;
}

/* Of a class of nodes. */
static struct tt_stages stages_of(const struct tt_net *net, const struct tt_node_class *class, double n)
{
    const int here = class->ranks, others = net->across->size - 1, most = 1 + tt_counterparts(net, class);
    const double average = (double)net->size / here;
    const double in = tt_nics_busy(net, class, n * here * others, here);
    const double out = tt_counterparts_by_nic(net, class) * n * net->alone.far.beta;
    const struct tt_sends within =
        tt_within_sends(net, tt_within_busy(net, here, average * n, here), average * (here - 1));
    const struct tt_sends across = tt_across_sends(net, tt_larger(out, in), most - 1);
    struct tt_stages s = {STAGES, 1, {{WITHIN, {within}, {{0}}}, {ACROSS, {across}, {{0}}}}};

    if (here > 1)
        s.of[WITHIN].work[0] = (struct tt_work){.begin = most * net->launch,
                                                .copy = most * n * net->copy,
                                                .operands = here,
                                                .start = net->launch,
                                                .add = most * n * net->gamma};
    s.of[ACROSS].work[0] = (struct tt_work){.operands = others + 1, .start = net->launch, .add = n * net->gamma};
    return s;
}

static double cost_by(const struct tt_shape *s, const struct tt_net *net, tt_pipeline_cost_fn *how)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, tt_longest(s), s->counts ? 1 : TT_MAX_LANES);
    const double n = tt_block_bytes(s);
    struct tt_stages stages = {0};

    for (int i = 0; i < net->classes; i++) {
        const struct tt_stages of = stages_of(net, &net->class[i], n);

        tt_stages_raise(&stages, &of, &pipe);
    }
    return n > 0 ? how(net, &pipe, &stages) : 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    return cost_by(s, net, tt_pipeline_time);
}

static double rough(const struct tt_shape *s, const struct tt_net *net)
{
    return cost_by(s, net, tt_pipeline_rough);
}

TT_ALGORITHM(reduce_scatter, two_level,
             .summary = "sums within nodes, then across on every rail, pipelined: alpha within + alpha across "
                        "+ max((N-1)/N n/L beta across, n beta within)",
             .needs = TT_TWO_LEVELS, .segmented = true, .build = build, .cost = cost, .rough = rough);
