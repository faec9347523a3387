/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level allreduce: of each segment of the vector, the j-th rank of every node adds up what its node has of the j-th
 * slice (rail j); the j-th ranks of all nodes then add theirs up, each a piece of it, and hand the pieces to each other;
 * at last each node's ranks hand their slices to each other. All exchanges are direct, everybody with everybody at
 * once, so a segment takes four messages' time; every byte crosses the network as seldom as can be, on all rails at
 * once; and segments follow each other closely (levels.h), so that the two levels work at the same time. There are as
 * many rails as the smallest node has ranks; further ranks of larger nodes hand in and are handed out.
 * With N nodes of L ranks, R rails and m segments: 2 alpha within + 2 alpha across
 * + max(2(N-1)/N n/R beta across, 2(L-1)/R n beta within), + (1/m) of the lesser; + ((L-1)/R + (N-1)/NR) n gamma.
 * Best when a segment takes about as long as a message's alpha, but no fewer than 4 of them. */
#include "algos/levels.h"

enum { WITHIN_IN, ACROSS_IN, ACROSS_OUT, WITHIN_OUT, STAGES };

/* One lane's. */
struct work {
    struct tt_levels at;
    struct tt_pipeline pipe;
    int64_t n; /* of the vector */
    struct tt_loc arrived_within, arrived_across;
    struct tt_operands within, across;
};

/* A segment, and this rank's slice of it: what its node has for it after stage WITHIN_IN, which is in SEND where it is
 * alone on its node; and where the sum goes. */
struct segment {
    int64_t at, n, slice;
    struct tt_loc have, sum;
};

static struct segment segment_of(const struct work *w, const struct tt_segment *g)
{
    const int64_t at = tt_cut(w->n, w->pipe.parts, g->from), n = tt_cut(w->n, w->pipe.parts, g->to) - at;
    const int64_t first = tt_cut(n, w->at.rails, w->at.local);

    return (struct segment){at, n, tt_cut(n, w->at.rails, w->at.local + 1) - first,
                            tt_at(w->at.here > 1 ? RECV : SEND, at + first), tt_at(RECV, at + first)};
}

static void post_within(struct tt_plan *p, struct work *w, int stage, const struct segment *g)
{
    tt_enter_node(p, &w->at);
    if (stage == WITHIN_IN)
        w->within = tt_hand_in(p, tt_at(SEND, g->at), g->n, w->at.rails, -1, w->arrived_within);
    else
        tt_hand_out(p, tt_at(RECV, g->at), g->n, w->at.rails, -1);
    tt_leave(p);
}

static void post_across(struct tt_plan *p, struct work *w, int stage, const struct segment *g)
{
    if (!tt_enter_rail(p, &w->at))
        return;
    if (stage == ACROSS_IN)
        w->across = tt_hand_in(p, g->have, g->slice, tt_size(p), -1, w->arrived_across);
    else
        tt_hand_out(p, g->sum, g->slice, tt_size(p), -1);
    tt_leave(p);
}

static void post(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    struct work *w = with;
    const struct segment segment = segment_of(w, g);

    (stage == WITHIN_IN || stage == WITHIN_OUT ? post_within : post_across)(p, w, stage, &segment);
}

static void settle(struct tt_plan *p, void *with, int stage, const struct tt_segment *g)
{
    const struct work *w = with;
    const struct segment segment = segment_of(w, g);

    if (!tt_on_rail(&w->at))
        return;
    if (stage == WITHIN_IN)
        tt_fold_operands(p, &w->within, segment.sum);
    else if (stage == ACROSS_IN)
        tt_fold_operands(p, &w->across, tt_plus(segment.sum, tt_cut(segment.slice, w->at.nodes->n, w->at.node)));
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct work w = {.pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES), .n = s->count};
    const int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    for (int lane = 0; lane < w.pipe.lanes; lane++) {
        const int64_t slice = tt_pipeline_most(&w.pipe, s->count) / w.at.rails + 1;

        if (lane > 0)
            tt_lane(p);
        w.arrived_within = tt_tmp(p, (w.at.here - 1) * slice);
        w.arrived_across = tt_tmp(p, slice + w.at.nodes->n);
        tt_pipeline_run(p, &w.pipe, lane, STAGES, post, settle, &w);
    }
    tt_levels_end(&w.at);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, s->count, TT_MAX_LANES);
    const int here = net->within->size, nodes = net->across->size;
    const double slice = tt_bytes(s, s->count) / net->rails, piece = slice / nodes;
    struct tt_stages w = {.launches = here - 1 + nodes - 1,
                          .local = ((here - 1) * slice + (nodes - 1) * piece) * net->gamma};

    tt_add_within(&w, net, slice, net->rails, net->rails, 2);
    tt_add_across(&w, net, piece, 2);
    return s->count > 0 ? tt_pipeline_cost(net, &pipe, w) : 0;
}

TT_ALGORITHM(allreduce, two_level,
             .summary = "slices within nodes, each across on a rail of its own, pipelined: 2 alpha within + 2 alpha "
                        "across + max(2(N-1)/N n/R beta across, 2 n beta within)",
             .needs = TT_TWO_LEVELS,
             .segmented = true,
             .build = build,
             .cost = cost);
