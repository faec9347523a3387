/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level allreduce: */
#include "algos/levels.h"

enum { WITHIN_IN, ACROSS_IN, ACROSS_OUT, WITHIN_OUT, STAGES };

/* One lane's. */
struct work {
    struct tt_levels at;
    struct tt_loc arrived[2]; /* within, across */
    struct tt_operands operands[2];
};

/* What this rank's node has for its rail of a segment, after stage WITHIN_IN: in SEND where it is alone on its node. */
struct rail {
    struct tt_loc loc, sum;
    int64_t n;
};

static struct rail rail_of(const struct work *w, int64_t at, int64_t n)
{
    const int rails = w->at.rails;
    const int64_t first = at + tt_cut(n, rails, w->at.local);

    return (struct rail){tt_at(w->at.here > 1 ? RECV : SEND, first), tt_at(RECV, first),
                         at + tt_cut(n, rails, w->at.local + 1) - first};
}

static void post(struct tt_plan *p, void *with, int stage, int64_t at, int64_t n)
{
    struct work *w = with;
    const struct rail r = rail_of(w, at, n);

    if (stage == WITHIN_IN || stage == WITHIN_OUT) {
        tt_enter_node(p, &w->at, tt_at(SEND, 0), tt_at(RECV, 0));
        if (stage == WITHIN_IN)
            w->operands[0] = tt_hand_in(p, tt_at(SEND, at), n, w->at.rails, w->arrived[0]);
        else
            tt_hand_out(p, tt_at(RECV, at), n, w->at.rails);
        tt_leave(p);
    } else if (tt_enter_rail(p, &w->at, tt_at(SEND, 0), tt_at(RECV, 0))) {
        if (stage == ACROSS_IN)
            w->operands[1] = tt_hand_in(p, r.loc, r.n, tt_size(p), w->arrived[1]);
        else
            tt_hand_out(p, r.sum, r.n, tt_size(p));
        tt_leave(p);
    }
}

static void settle(struct tt_plan *p, void *with, int stage, int64_t at, int64_t n)
{
    const struct work *w = with;
    const struct rail r = rail_of(w, at, n);

    if (w->at.local >= w->at.rails)
        return;
    if (stage == WITHIN_IN)
        tt_fold_operands(p, &w->operands[0], r.sum);
    else if (stage == ACROSS_IN)
        tt_fold_operands(p, &w->operands[1], tt_plus(r.sum, tt_cut(r.n, w->at.nodes->n, w->at.node)));
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_pipeline pipe = tt_pipeline_plan(s, s->count);
    struct work w;
    const int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    for (int lane = 0; lane < pipe.lanes; lane++) {
        if (lane > 0)
            tt_lane(p);
        w.arrived[0] = tt_tmp(p, (w.at.here - 1) * (pipe.longest / w.at.rails + 1));
        w.arrived[1] = tt_tmp(p, pipe.longest / w.at.rails + 1 + w.at.nodes->n);
        tt_pipeline_run(p, &pipe, lane, STAGES, post, settle, &w);
    }
    tt_levels_end(&w.at);
    return 0;
}

TT_ALGORITHM(allreduce, two_level,
             .summary = "slices within nodes, across on every rail at once, within; pipelined",
             .needs = TT_TWO_LEVELS,
             .build = build);
