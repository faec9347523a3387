/* SPDX-License-Identifier: BSD-3-Clause */
/* A group becomes a topology of its own, in which what it shares with others is as much slower as there are others; a
 * net is made of it, and the selector asked. There are few different groups, sizes and strides being divisors of the
 * number of GPUs, and few different calls of each, so both are remembered. O(p log p) for a group; a call takes what a
 * choice takes, some tens of microseconds, and then nothing. */
#include "planner/placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/plan.h"
#include "selector/model.h"
#include "selector/nccl.h"
#include "selector/net.h"
#include "selector/select.h"

struct group {
    struct tt_span_of of;
    struct tt_group_about about;
    struct tt_topo *topo;
    struct tt_net *net;
};

struct call {
    int group;
    enum tt_coll coll;
    int64_t count;
    int unit;
    struct tt_group_price price;
};

struct tt_placement {
    const struct tt_topo *t;
    int ngroups, nhops;
    struct group *groups;
    struct hop {
        int distance;
        struct tt_group_about about;
    } * hops;
    int *on_node, *on_nic; /* scratch: which group was seen last on a node; ranks on each NIC */
    int nics;              /* of a node, at most */
    int ncalls, room;      /* a power of two, of which at most half are taken */
    struct call *calls;    /* unit is 0: free */
};

struct tt_placement *tt_placement_make(const struct tt_topo *t)
{
    struct tt_placement *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->t = t;
    p->nics = 1;
    for (int r = 0; r < t->size; r++)
        p->nics = t->seats[r].nic + 1 > p->nics ? t->seats[r].nic + 1 : p->nics;
    p->room = 1 << 10;
    p->calls = calloc((size_t)p->room, sizeof *p->calls);
    p->on_node = calloc((size_t)t->nodes.n, sizeof *p->on_node);
    p->on_nic = calloc((size_t)t->nodes.n * (size_t)p->nics, sizeof *p->on_nic);
    if (p->calls && p->on_node && p->on_nic)
        return p;
    tt_placement_free(p);
    return NULL;
}

void tt_placement_free(struct tt_placement *p)
{
    if (!p)
        return;
    for (int i = 0; i < p->ngroups; i++) {
        tt_net_free(p->groups[i].net);
        tt_topo_free(p->groups[i].topo);
    }
    free(p->groups);
    free(p->hops);
    free(p->on_node);
    free(p->on_nic);
    free(p->calls);
    free(p);
}

const struct tt_topo *tt_placement_topo(const struct tt_placement *p)
{
    return p->t;
}

/* ---- who is in which group, and where ---- */

/* The i-th rank of the g-th group. */
static int member(struct tt_span_of of, int g, int i)
{
    return g / of.stride * of.stride * of.size + g % of.stride + i * of.stride;
}

/* Nodes that a group is on. mark: not used before. */
static int nodes_of(struct tt_placement *p, struct tt_span_of of, int g, int mark)
{
    int nodes = 0;

    for (int i = 0; i < of.size; i++) {
        int *seen = &p->on_node[p->t->seats[member(of, g, i)].node];

        nodes += *seen != mark;
        *seen = mark;
    }
    return nodes;
}

static int *nic_of(struct tt_placement *p, int rank)
{
    const struct tt_seat *seat = &p->t->seats[rank];

    return &p->on_nic[seat->node * p->nics + (seat->nic < 0 ? 0 : seat->nic)];
}

enum { SAMPLES = 64 }; /* of a large group's NICs, which are alike */

/* Ranks on the busiest of group g's NICs, of all groups that cross the network, to those of this group on it. */
static double sharing(struct tt_placement *p, struct tt_span_of of, int g)
{
    double most = 1;

    for (int i = 0; i < of.size; i += 1 + of.size / SAMPLES) {
        const int all = *nic_of(p, member(of, g, i));
        int own = 0;

        for (int j = 0; j < of.size; j++)
            own += nic_of(p, member(of, g, j)) == nic_of(p, member(of, g, i));
        most = (double)all / own > most ? (double)all / own : most;
    }
    return most;
}

/* The group that is on most nodes. */
static int widest(struct tt_placement *p, struct tt_span_of of, int *nodes)
{
    int found = 0;

    *nodes = 0;
    memset(p->on_node, 0, (size_t)p->t->nodes.n * sizeof *p->on_node);
    memset(p->on_nic, 0, (size_t)p->t->nodes.n * (size_t)p->nics * sizeof *p->on_nic);
    for (int g = 0; g < p->t->size / of.size; g++) {
        const int n = nodes_of(p, of, g, g + 1);

        for (int i = 0; i < of.size && n > 1; i++)
            ++*nic_of(p, member(of, g, i));
        if (n > *nodes) {
            *nodes = n;
            found = g;
        }
    }
    return found;
}

/* How many ranks of other groups use the memory of a node, for each of this one's. */
static double memory_sharing(const struct tt_placement *p, const struct group *g)
{
    const double own = (double)g->of.size / g->about.nodes, all = (double)p->t->size / p->t->nodes.n;

    return all > own ? all / own : 1;
}

static int fill_group(struct tt_placement *p, struct group *g)
{
    const int which = widest(p, g->of, &g->about.nodes);
    int *ranks = malloc((size_t)g->of.size * sizeof *ranks);

    for (int i = 0; ranks && i < g->of.size; i++)
        ranks[i] = member(g->of, which, i);
    g->topo = ranks ? tt_topo_part(p->t, ranks, g->of.size) : NULL;
    free(ranks);
    if (!g->topo)
        return -1;
    g->about.level = tt_topo_slowest(g->topo);
    g->about.sharing = g->about.nodes > 1 ? sharing(p, g->of, which) : 1;
    g->topo->speed[TT_LEVEL_NIC].beta *= g->about.sharing;
    if (g->topo->host_shared)
        g->topo->speed[TT_LEVEL_HOST].beta *= memory_sharing(p, g);
    g->net = tt_net_make(g->topo);
    return g->net ? 0 : -1;
}

/* Its number; -1: out of memory. */
static int group_of(struct tt_placement *p, struct tt_span_of of)
{
    struct group *more, g = {.of = of};

    for (int i = 0; i < p->ngroups; i++)
        if (p->groups[i].of.size == of.size && p->groups[i].of.stride == of.stride)
            return i;
    more = realloc(p->groups, (size_t)(p->ngroups + 1) * sizeof *more);
    if (!more)
        return -1;
    p->groups = more;
    if (fill_group(p, &g)) {
        tt_net_free(g.net);
        tt_topo_free(g.topo);
        return -1;
    }
    more[p->ngroups] = g;
    return p->ngroups++;
}

struct tt_group_about tt_placement_about(struct tt_placement *p, struct tt_span_of of)
{
    const int g = of.size > 1 ? group_of(p, of) : -1;

    return g < 0 ? (struct tt_group_about){-1, 1, 1} : p->groups[g].about;
}

/* ---- what a call takes ---- */

static struct tt_group_price ask(const struct group *g, const struct call *call)
{
    const struct tt_orders orders = {.pin = tt_config.pin[call->coll],
                                     .rules = tt_config.read,
                                     .net = g->net,
                                     .level = g->about.level,
                                     .on_gpus = true,
                                     .topo = g->topo};
    struct tt_shape s = {.coll = call->coll,
                         .size = g->of.size,
                         .commutes = true,
                         .count = call->count,
                         .unit = (size_t)call->unit,
                         .nodes = &g->topo->nodes};
    const struct tt_choice choice = tt_select(call->coll, &s, &orders, NULL, false);

    struct tt_estimate best, next;

    s.segment = choice.segment ? choice.segment : s.segment;
    if (choice.alg->cost)
        return (struct tt_group_price){tt_estimate(choice.alg, &s, g->net).seconds, choice.alg->name};
    if (choice.alg->delegate == TT_TO_NCCL && tt_nccl_seconds(&s, g->topo) >= 0)
        return (struct tt_group_price){tt_nccl_seconds(&s, g->topo), choice.alg->name};
    tt_model_choose(call->coll, &s, g->net, &best, &next); /* the MPI below was pinned: nobody knows what it takes */
    return (struct tt_group_price){best.seconds, best.alg->name};
}

static struct call *place_of(struct call *calls, int room, const struct call *call)
{
    uint64_t hash = (uint64_t)call->group * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)call->coll;

    hash = (hash ^ (uint64_t)call->count) * UINT64_C(0xff51afd7ed558ccd) + (uint64_t)call->unit;
    for (hash ^= hash >> 32;; hash++) {
        struct call *at = &calls[hash & (uint64_t)(room - 1)];

        if (!at->unit ||
            (at->group == call->group && at->coll == call->coll && at->count == call->count && at->unit == call->unit))
            return at;
    }
}

static int grow(struct tt_placement *p)
{
    struct call *calls = calloc((size_t)p->room * 2, sizeof *calls);

    if (!calls)
        return -1;
    for (int i = 0; i < p->room; i++)
        if (p->calls[i].unit)
            *place_of(calls, p->room * 2, &p->calls[i]) = p->calls[i];
    free(p->calls);
    p->calls = calls;
    p->room *= 2;
    return 0;
}

struct tt_group_price tt_placement_price(struct tt_placement *p, struct tt_span_of of, enum tt_coll coll, double bytes,
                                         int unit)
{
    struct call call = {.coll = coll, .count = (int64_t)ceil(bytes / unit), .unit = unit}, *at;

    if (of.size < 2 || bytes <= 0)
        return (struct tt_group_price){0, ""};
    call.group = group_of(p, of);
    if (call.group < 0 || (2 * p->ncalls >= p->room && grow(p)))
        return (struct tt_group_price){-1, ""};
    at = place_of(p->calls, p->room, &call);
    if (!at->unit) {
        *at = call;
        at->price = ask(&p->groups[call.group], &call);
        p->ncalls++;
    }
    return at->price;
}

int tt_placement_asked(const struct tt_placement *p)
{
    return p->ncalls;
}

/* ---- from each rank to the one so far away ---- */

static struct tt_group_about look(struct tt_placement *p, int distance)
{
    struct tt_group_about about = {.level = 0, .nodes = 1, .sharing = 1};

    memset(p->on_nic, 0, (size_t)p->t->nodes.n * (size_t)p->nics * sizeof *p->on_nic);
    for (int r = 0; r + distance < p->t->size; r++) {
        const int level = (int)tt_topo_level(p->t, r, r + distance);

        about.level = level > about.level ? level : about.level;
        if (level != TT_LEVEL_NIC)
            continue;
        about.nodes = 2;
        if (++*nic_of(p, r) > about.sharing)
            about.sharing = *nic_of(p, r);
    }
    return about;
}

struct tt_group_about tt_placement_hop(struct tt_placement *p, int distance)
{
    struct hop *more;

    for (int i = 0; i < p->nhops; i++)
        if (p->hops[i].distance == distance)
            return p->hops[i].about;
    more = realloc(p->hops, (size_t)(p->nhops + 1) * sizeof *more);
    if (!more)
        return look(p, distance);
    p->hops = more;
    more[p->nhops] = (struct hop){distance, look(p, distance)};
    return more[p->nhops++].about;
}

double tt_placement_hop_seconds(struct tt_placement *p, int distance, double bytes)
{
    const struct tt_group_about about = tt_placement_hop(p, distance);
    const struct tt_speed *speed = &p->t->speed[about.level];

    return speed->alpha + about.sharing * bytes * speed->beta + p->t->overhead;
}
