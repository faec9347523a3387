/* SPDX-License-Identifier: BSD-3-Clause */
/* Alpha is what a message of 8 bytes takes, one way of a ping-pong, less what its bytes take; beta is the slope between
 * two long messages that are exchanged, both ways at once, because that is how collectives use links, and a port in the
 * model has its bandwidth each way. Of several pairs of ranks at a level the median counts. Reductions and copies are
 * measured on all ranks at once, which share their node's memory then as they do in a collective. Of NCCL, whose steps
 * no message shows, an allreduce is measured. */
#include "tools/mpi_links.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "coll/plan.h"
#include "selector/nccl.h"
#include "selector/net.h"

enum { SMALL = 8, LONG = 256 << 10, LONGER = 2 << 20, PAIRS = 4, SHORT_CALLS = 51, LONG_CALLS = 11 };

/* No time at all cannot be, and a rate of it cannot be written down. */
static const double least_time = 1e-9, least_per_byte = 1e-13;

/* Up to PAIRS pairs of ranks that have this level between them, of different ranks where there are such. */
static int find_pairs(const struct tt_topo *t, enum tt_level level, int pairs[PAIRS][2])
{
    int n = 0;

    for (int a = 0; a < t->size && n < PAIRS; a++)
        for (int b = a + 1; b < t->size; b++)
            if (tt_topo_level(t, a, b) == level) {
                pairs[n][0] = a;
                pairs[n++][1] = b;
                break;
            }
    return n;
}

/* Of all pairs, the median; negative: the user wants an end. */
static double over_pairs(struct tool_crew *b, int pairs[PAIRS][2], int n, struct tool_order order)
{
    double times[PAIRS];

    for (int i = 0; i < n; i++) {
        order.a = pairs[i][0];
        order.b = pairs[i][1];
        times[i] = tool_crew_do(b, order);
        if (times[i] < 0)
            return -1;
    }
    return tt_figure_of(times, n).seconds;
}

static double slope(double shorter, double longer)
{
    return fmax(least_per_byte, (longer - shorter) / (LONGER - LONG));
}

static bool measure_level(struct tool_crew *b, struct tt_topo *t, enum tt_level level, int pairs[PAIRS][2], int n)
{
    const double alone = over_pairs(b, pairs, n,
                                    (struct tool_order){.what = TOOL_PING_PONG, .calls = SHORT_CALLS, .bytes = SMALL}),
                 shorter = over_pairs(b, pairs, n,
                                      (struct tool_order){.what = TOOL_EXCHANGE, .calls = LONG_CALLS, .bytes = LONG}),
                 longer = over_pairs(b, pairs, n,
                                     (struct tool_order){.what = TOOL_EXCHANGE, .calls = LONG_CALLS, .bytes = LONGER});

    if (alone < 0 || shorter < 0 || longer < 0)
        return false;
    t->speed[level].beta = slope(shorter, longer);
    t->speed[level].alpha = fmax(least_time, alone - SMALL * t->speed[level].beta);
    return true;
}

/* On a GPU the short one is the time of a launch; on the host there is no such. */
static bool measure_rate(struct tool_crew *b, enum tool_what what, double *per_byte, double *launch)
{
    const double small = tool_crew_do(b, (struct tool_order){.what = what, .calls = SHORT_CALLS, .bytes = SMALL}),
                 shorter = tool_crew_do(b, (struct tool_order){.what = what, .calls = LONG_CALLS, .bytes = LONG}),
                 longer = tool_crew_do(b, (struct tool_order){.what = what, .calls = LONG_CALLS, .bytes = LONGER});

    if (small < 0 || shorter < 0 || longer < 0)
        return false;
    *per_byte = slope(shorter, longer);
    *launch = b->memory.device ? small : 0;
    return true;
}

static bool measure_ranks(struct tool_crew *b, struct tt_topo *t)
{
    const double post =
        tool_crew_do(b, (struct tool_order){.what = TOOL_POST, .calls = SHORT_CALLS, .bytes = SMALL, .a = 0, .b = 1});
    double copy_launch;

    t->overhead = fmax(0, post);
    return post >= 0 && measure_rate(b, TOOL_COPY, &t->copy, &copy_launch) &&
           measure_rate(b, TOOL_REDUCE, &t->gamma, &t->launch);
}

/* Seconds of an allreduce by NCCL; INFINITY: there is none, or it cannot. */
static double time_nccl(struct tool_crew *b, int64_t bytes, int calls)
{
    const struct tt_point point = {.coll = TT_COLL_allreduce, .bytes = bytes};
    const struct tt_candidate nccl = {.alg = tt_alg_find(TT_COLL_allreduce, "nccl", strlen("nccl"))};

    return b->is.measure(&b->is, &point, &nccl, calls);
}

/* A call is preceded by the vote, which the model counts apart. */
static bool measure_nccl(struct tool_crew *b, struct tt_topo *t)
{
    const double small = time_nccl(b, SMALL, SHORT_CALLS);
    double shorter, longer, vote;
    struct tt_net *net;

    if (small < 0 || isinf(small))
        return small > 0;
    shorter = time_nccl(b, LONG, LONG_CALLS);
    longer = time_nccl(b, LONGER, LONG_CALLS);
    if (shorter < 0 || longer < 0)
        return false;
    net = tt_net_make(t);
    vote = tt_vote_seconds(net);
    tt_net_free(net);
    tt_nccl_learn(t, fmax(small - vote, small / 2), slope(shorter, longer));
    return true;
}

bool tool_measure_links(struct tool_crew *b, struct tt_topo *t, const char *where)
{
    int pairs[PAIRS][2];
    char assumed[64] = "";

    for (int l = 0; l < TT_NLEVELS; l++) {
        const int n = find_pairs(t, (enum tt_level)l, pairs);

        if (n > 0 && !measure_level(b, t, (enum tt_level)l, pairs, n))
            return false;
        if (n == 0)
            snprintf(assumed + strlen(assumed), sizeof assumed - strlen(assumed), "%s%s",
                     *assumed ? ", " : "; assumed: ", tt_level_name((enum tt_level)l));
    }
    t->measured = measure_ranks(b, t) && (!b->memory.device || measure_nccl(b, t));
    snprintf(t->about, sizeof t->about, "%.60s, by tutti tune%s", where, assumed);
    return t->measured;
}
