/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level allgather: each rank sends its block to its counterpart on every other node, and to all ranks of its own;
 * then hands on to the ranks of its node what came from the others. Each block crosses the network once per node, over
 * as many NICs as there are ranks on a node; blocks are cut into segments that follow each other closely (levels.h), so
 * that both levels work at the same time. The choice for long blocks on several nodes. With N nodes of L ranks, n all
 * blocks together and m segments: alpha across + alpha within + max((N-1)/N n/L beta across, (L-1)/L n beta within)
 * + (1/m) of the lesser. Best when a segment takes about as long as a message's alpha, but no fewer than 4 of them. */
#include "algos/levels.h"

enum { ACROSS, WITHIN, STAGES };

struct work {
    const struct tt_shape *s;
    struct tt_levels at;
    struct tt_pipeline pipe;
};

/* Those parts of a rank's block. */
struct piece {
    int64_t at, n;
};

static struct piece piece_of(const struct work *w, int rank, const struct tt_segment *g)
{
    const int64_t block = tt_block(w->s, rank), at = tt_cut(block, w->pipe.parts, g->from);

    return (struct piece){at, tt_cut(block, w->pipe.parts, g->to) - at};
}

static void send_piece(struct tt_plan *p, const struct work *w, int peer, int rank, const struct tt_segment *g)
{
    const struct piece x = piece_of(w, rank, g);

    tt_send(p, peer, tt_at(RECV, tt_offset(w->s, rank) + x.at), x.n);
}

static void recv_piece(struct tt_plan *p, const struct work *w, int peer, int rank, const struct tt_segment *g)
{
    const struct piece x = piece_of(w, rank, g);

    tt_recv(p, peer, tt_at(RECV, tt_offset(w->s, rank) + x.at), x.n);
}

/* This rank's own piece to one rank of each other node and all of its own, and from them theirs. */
static void show(struct tt_plan *p, const struct work *w, const struct tt_segment *g)
{
    const struct tt_levels *at = &w->at;
    const struct piece own = piece_of(w, tt_rank(p), g);
    const struct tt_loc src = tt_at(SEND, own.at);

    tt_copy(p, tt_at(RECV, tt_offset(w->s, tt_rank(p)) + own.at), src, own.n);
    for (int k = 1; k < at->nodes->n; k++) {
        const int source = tt_mod(at->node - k, at->nodes->n);

        tt_send(p, at->rail[tt_mod(at->node + k, at->nodes->n)], src, own.n);
        for (int i = 0, rank; (rank = tt_counted_on(at, source, at->local, i)) >= 0; i++)
            recv_piece(p, w, rank, rank, g);
    }
    for (int k = 1; k < at->here; k++) {
        const int source = tt_rank_at(at, at->node, tt_mod(at->local - k, at->here));

        tt_send(p, tt_rank_at(at, at->node, tt_mod(at->local + k, at->here)), src, own.n);
        recv_piece(p, w, source, source, g);
    }
}

/* What this rank had from other nodes to another of its node, or what that one had. */
static void hand_on(struct tt_plan *p, const struct work *w, int holder, int peer, const struct tt_segment *g)
{
    const struct tt_levels *at = &w->at;

    for (int k = 1; k < at->nodes->n; k++) {
        const int node = tt_mod(at->node + k, at->nodes->n);

        for (int i = 0, rank; (rank = tt_counted_on(at, node, holder, i)) >= 0; i++)
            (holder == at->local ? send_piece : recv_piece)(p, w, peer, rank, g);
    }
}

static void post(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    const struct work *w = with;
    const struct tt_levels *at = &w->at;

    if (stage == ACROSS) {
        show(p, w, g);
        return;
    }
    for (int k = 1; k < at->here; k++) {
        const int next = tt_mod(at->local + k, at->here), last = tt_mod(at->local - k, at->here);

        hand_on(p, w, at->local, tt_rank_at(at, at->node, next), g);
        hand_on(p, w, last, tt_rank_at(at, at->node, last), g);
    }
}

int tt_allgather_two_level(struct tt_plan *p, const struct tt_shape *s)
{
    struct work w = {.s = s, .pipe = tt_pipeline_plan(s, tt_longest(s), TT_MAX_LANES)};
    const int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    for (int lane = 0; lane < w.pipe.lanes; lane++) {
        if (lane > 0)
            tt_lane(p);
        tt_pipeline_run(p, &w.pipe, lane, STAGES, post, NULL, &w);
    }
    tt_levels_end(&w.at);
    return 0;
}

/* Of a class of nodes, whose own blocks go round in it while the others' come in. */
static struct tt_stages stages_of(const struct tt_net *net, const struct tt_node_class *class, double n)
{
    const int here = class->ranks, others = net->across->size - 1, most = tt_counterparts(net, class);
    const double average = (double)(net->size - here) / here;
    const double out = tt_nics_busy(net, class, n * here * others, here);
    const double in = tt_counterparts_by_nic(net, class) * n * net->alone.far.beta;
    const struct tt_sends across = tt_across_sends(net, tt_larger(out, in), others);
    const struct tt_sends own = tt_within_sends(net, tt_within_busy(net, here, n, here), here - 1);
    const struct tt_sends hand_on =
        tt_within_sends(net, tt_within_busy(net, here, average * n, here), most * (here - 1));
    const struct tt_work copy = {.begin = net->launch, .copy = n * net->copy};

    return (struct tt_stages){STAGES, 1, {{ACROSS, {across, own}, {copy}}, {WITHIN, {hand_on}, {{0}}}}};
}

static double cost_by(const struct tt_shape *s, const struct tt_net *net, tt_pipeline_cost_fn *how)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, tt_longest(s), TT_MAX_LANES);
    const double n = tt_block_bytes(s);
    struct tt_stages stages = {0};

    for (int i = 0; i < net->classes; i++) {
        const struct tt_stages of = stages_of(net, &net->class[i], n);

        tt_stages_raise(&stages, &of, &pipe);
    }
    return n > 0 ? how(net, &pipe, &stages) : 0;
}

double tt_allgather_two_level_cost(const struct tt_shape *s, const struct tt_net *net)
{
    return cost_by(s, net, tt_pipeline_time);
}

double tt_allgather_two_level_rough(const struct tt_shape *s, const struct tt_net *net)
{
    return cost_by(s, net, tt_pipeline_rough);
}

TT_ALGORITHM(allgather, two_level,
             .summary = "blocks across on every rail, then within, pipelined: alpha across + alpha within "
                        "+ max((N-1)/N n/L beta across, n beta within)",
             .needs = TT_TWO_LEVELS, .segmented = true, .build = tt_allgather_two_level,
             .cost = tt_allgather_two_level_cost, .rough = tt_allgather_two_level_rough);
