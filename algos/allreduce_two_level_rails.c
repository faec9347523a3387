/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level allreduce in three rounds: as allreduce_two_level.c, but across the network each rail's ranks send each
 * other their whole slices, and each adds them all up by itself: one message's time instead of two, for N/2 times the
 * bytes. The choice for short vectors, of which the network sees only one slice per rail.
 * With N nodes of L ranks and R rails: 2 alpha within + alpha across + 2(L-1)/R n beta within + (N-1) n/R beta across
 * + (L-1 + N-1) n/R gamma. */
#include "algos/levels.h"

static void add_across(struct tt_plan *p, const struct tt_levels *at, struct tt_loc have, struct tt_loc sum, int64_t n)
{
    struct tt_operands o;

    if (!tt_enter_rail(p, at))
        return;
    o = tt_show_all(p, have, n, tt_tmp(p, (tt_size(p) - 1) * n));
    tt_leave(p);
    tt_fence(p);
    tt_fold_operands(p, &o, sum);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct tt_levels at;
    struct tt_operands o;
    struct tt_loc sum;
    const int error = tt_levels_find(&at, p, s);

    if (error)
        return error;
    tt_enter_node(p, &at);
    o = tt_hand_in(p, tt_at(SEND, 0), s->count, at.rails, -1, tt_tmp(p, (at.here - 1) * tt_part_most(s->count, at.rails)));
    tt_leave(p);
    tt_fence(p);
    sum = tt_at(RECV, o.own.at);
    tt_fold_operands(p, &o, sum);
    add_across(p, &at, at.here > 1 ? sum : o.own, sum, o.n);
    tt_enter_node(p, &at);
    tt_hand_out(p, tt_at(RECV, 0), s->count, at.rails, -1);
    tt_leave(p);
    tt_levels_end(&at);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int here = net->within->size, others = net->across->size - 1;
    const double slice = tt_bytes(s, tt_cut(s->count, net->rails, 1));
    const double owners = tt_smaller(net->rails, (double)s->count), within = tt_within_busy(net, here, slice, net->rails);
    double across = 0;

    for (int i = 0; i < net->classes; i++)
        across = tt_larger(across, tt_nics_busy(net, &net->class[i], others * owners * slice, net->rails));
    return tt_within_cost(net, within, owners) + tt_across_cost(net, across, others) +
           tt_within_cost(net, within, here - 1) + (here - 1 + others) * tt_adds(net, slice);
}

TT_ALGORITHM(allreduce, two_level_rails,
             .summary = "slices within nodes, each shown to all of its rail, within: 2 alpha within + alpha across "
                        "+ (N-1) n/R beta across + 2 n beta within",
             .needs = TT_TWO_LEVELS,
             .build = build,
             .cost = cost);
