/* SPDX-License-Identifier: BSD-3-Clause */
/* Fares are found by sending each pattern's messages through the ports once and counting. If all have n bytes and start
 * together, the fullest port decides: those who go through it share it equally until they are over, and nobody is
 * slower. So beta is that port's times how many go through it, exactly what the priced plans say of such a round. O(p)
 * per pattern, of which there are O(log p); everybody to everybody is not sent but counted, by how many ranks there are
 * at each level from each. */
#include "selector/net.h"

#include <stdlib.h>
#include <string.h>

#include "algos/pieces.h"
#include "selector/ports.h"

enum { SAMPLES = 64 }; /* of the steps that an average is taken over */

/* Scopes of equal size that do the same at the same time, and what is on the way. */
struct traffic {
    const struct tt_topo *t;
    struct tt_ports ports;
    int scopes, size;
    const int *ranks; /* of the topology, scope by scope */
    int *load;        /* messages through each port */
    int64_t messages, across; /* added so far, all and those across the network */
    struct tt_fares fares;    /* their alpha */
    int *members, *with_gpu; /* of the scope that is looked at: by node */
    int *sharing;            /* likewise, by port at TT_LEVEL_GPU */
};

/* ---- counting ---- */

static void clear(struct traffic *w)
{
    memset(w->load, 0, (size_t)w->ports.n * sizeof *w->load);
    w->messages = w->across = 0;
    w->fares = (struct tt_fares){0};
}

/* n messages out of rank's port, into rank's port, or both ways. */
static void add(struct traffic *w, enum tt_level level, int out, int in, int n)
{
    struct tt_fare *fare = level == TT_LEVEL_NIC ? &w->fares.far : &w->fares.near;
    const double alpha = w->t->speed[level].alpha;

    if (n == 0)
        return;
    w->messages += n;
    w->across += level == TT_LEVEL_NIC ? n : 0;
    w->load[out] += n;
    w->load[in] += in == out ? 0 : n;
    fare->alpha = alpha > fare->alpha ? alpha : fare->alpha;
}

static struct tt_fares sum_up(struct traffic *w)
{
    for (int i = 0; i < w->ports.n; i++) {
        struct tt_fare *fare = i < w->ports.across ? &w->fares.near : &w->fares.far;
        const double beta = w->load[i] * w->ports.beta[i];

        fare->beta = beta > fare->beta ? beta : fare->beta;
    }
    w->fares.any = w->messages > 0;
    w->fares.crossing = w->messages ? (double)w->across / (double)w->messages : 0;
    return w->fares;
}

/* ---- patterns: to which rank of the scope does a send in step k? -1: to none ---- */

typedef int pattern(int a, int size, int k);

static int shifted(int a, int size, int k)
{
    return 1 << k < size ? tt_mod(a + (1 << k), size) : -1;
}

static int before(int a, int size, int k)
{
    (void)k;
    return tt_mod(a - 1, size);
}

static int climbs(int a, int size, int k)
{
    const int bit = 1 << k, peer = a ^ bit;

    return peer < size && (!(a & bit) || a + bit < size) ? peer : -1;
}

static int folds(int a, int size, int k)
{
    (void)k;
    return a < 2 * (size - tt_pow2_below(size)) && a % 2 == 0 ? a + 1 : -1;
}

/* Of those that stay, the one of that number. */
static int rank_at(int number, int size)
{
    const int pairs = size - tt_pow2_below(size);

    return number < pairs ? 2 * number + 1 : number + pairs;
}

static int swapped_folded(int a, int size, int k)
{
    const int peer = tt_folded_rank(a, size) ^ 1 << k;

    return folds(a, size, 0) < 0 && peer < tt_pow2_below(size) ? rank_at(peer, size) : -1;
}

static int halves(int a, int size, int k)
{
    const int i = tt_folded_rank(a, size);

    return folds(a, size, 0) < 0 && i >> k == 1 ? (i == 1 << k ? 0 : rank_at(i - (1 << k), size)) : -1;
}

/* The other way about: who has the block of a, the number of its part being reversed. */
static int reversed(int a, int size, int k)
{
    int i = tt_folded_rank(a, size), r = 0;

    (void)k;
    for (int bit = 1; bit < tt_pow2_below(size); bit *= 2)
        r = 2 * r + !!(i & bit);
    return rank_at(r, size);
}

static int down_tree(int a, int size, int k)
{
    return a % (2 << k) == 0 && a + (1 << k) < size ? a + (1 << k) : -1;
}

static int merges(int a, int size, int k)
{
    const struct tt_merge m = tt_merge_at(tt_folded_rank(a, size), size, k);

    return a == m.middle && m.middle < m.end ? m.first : -1;
}

static int reflected(int a, int size, int k)
{
    return tt_mod(k - a, size);
}

/* The message of the i-th rank of all scopes' in a pattern, if there is one. */
static bool next_message(const struct traffic *w, pattern *to, int k, int i, enum tt_level *level, struct tt_way *way)
{
    const int a = i % w->size, b = to(a, w->size, k);

    if (b < 0 || b == a)
        return false;
    *level = tt_topo_level(w->t, w->ranks[i], w->ranks[i - a + b]);
    *way = tt_ports_between(&w->ports, *level, w->ranks[i], w->ranks[i - a + b]);
    return true;
}

static void send_all(struct traffic *w, pattern *to, int k)
{
    enum tt_level level;
    struct tt_way way;

    for (int i = 0; i < w->scopes * w->size; i++)
        if (next_message(w, to, k, i, &level, &way))
            add(w, level, way.out, way.in, 1);
}

static struct tt_fares fare_of(struct traffic *w, pattern *to, int k)
{
    clear(w);
    send_all(w, to, k);
    return sum_up(w);
}

static enum tt_fold_class class_of(int a, int b, int size)
{
    const int paired = 2 * (size - tt_pow2_below(size));

    return a < paired && b < paired ? TT_PAIRS : a < paired || b < paired ? TT_MIXED : TT_SINGLES;
}

/* A class's own slowest, all of the pattern being under way. */
static struct tt_fares fare_of_class(struct traffic *w, pattern *to, int k, enum tt_fold_class class)
{
    struct tt_fares fares = {0};
    enum tt_level level;
    struct tt_way way;
    int messages = 0, across = 0;

    for (int i = 0; i < w->scopes * w->size; i++) {
        const int a = i % w->size;
        struct tt_fare *fare;
        double out, in;

        if (!next_message(w, to, k, i, &level, &way) || class_of(a, to(a, w->size, k), w->size) != class)
            continue;
        fare = level == TT_LEVEL_NIC ? &fares.far : &fares.near;
        out = w->load[way.out] * w->ports.beta[way.out];
        in = w->load[way.in] * w->ports.beta[way.in];
        fare->alpha = w->t->speed[level].alpha > fare->alpha ? w->t->speed[level].alpha : fare->alpha;
        fare->beta = out > fare->beta ? out : fare->beta;
        fare->beta = in > fare->beta ? in : fare->beta;
        messages++;
        across += level == TT_LEVEL_NIC;
    }
    fares.any = messages > 0;
    fares.crossing = messages ? (double)across / messages : 0;
    return fares;
}

static void fares_by_class(struct traffic *w, pattern *to, int k, struct tt_fares fares[TT_FOLD_CLASSES])
{
    clear(w);
    send_all(w, to, k);
    for (int class = 0; class < TT_FOLD_CLASSES; class++)
        fares[class] = fare_of_class(w, to, k, class);
}

static void add_fare(struct tt_fare *sum, const struct tt_fare *fare, double weight)
{
    sum->alpha += weight * fare->alpha;
    sum->beta += weight * fare->beta;
}

/* The average over the steps of the reflected pattern, or, if there are very many, over some of them. */
static void average(struct traffic *w, struct tt_fares *mixed, struct tt_fares *pure)
{
    const int samples = w->size < SAMPLES ? w->size : SAMPLES;

    for (int i = 0; i < samples; i++) {
        const int k = w->size <= SAMPLES ? i : (int)((i * UINT64_C(2654435769) >> 8) % (unsigned)w->size);
        const struct tt_fares f = fare_of(w, reflected, k);
        struct tt_fares *sum = f.crossing > 0 && f.crossing < 1 ? mixed : pure;

        add_fare(&sum->near, &f.near, 1.0 / samples);
        add_fare(&sum->far, &f.far, 1.0 / samples);
        sum->crossing += f.crossing / samples;
        sum->any |= f.any;
    }
}

static struct tt_fares both_ways(struct traffic *w)
{
    clear(w);
    send_all(w, shifted, 0);
    send_all(w, before, 0);
    return sum_up(w);
}

/* ---- everybody to everybody, or to one ---- */

/* Adds the ranks of a scope to, or takes them from, the counts. */
static void tally(struct traffic *w, int scope, int one)
{
    for (int i = scope * w->size; i < (scope + 1) * w->size; i++) {
        const int rank = w->ranks[i];
        const struct tt_seat *seat = &w->t->seats[rank];

        w->members[seat->node] += one;
        if (seat->gpu < 0)
            continue;
        w->with_gpu[seat->node] += one;
        w->sharing[tt_ports_between(&w->ports, TT_LEVEL_GPU, rank, rank).out] += one;
    }
}

/* How many other ranks of the scope there are at each level from rank. */
static void count_levels(const struct traffic *w, int rank, int at[TT_NLEVELS])
{
    const struct tt_seat *seat = &w->t->seats[rank];
    const int members = w->members[seat->node], with_gpu = seat->gpu < 0 ? 0 : w->with_gpu[seat->node];
    const int sharing = seat->gpu < 0 ? 0 : w->sharing[tt_ports_between(&w->ports, TT_LEVEL_GPU, rank, rank).out];
    const bool linked = w->t->kinds[seat->node].linked;

    at[TT_LEVEL_GPU] = sharing - (sharing > 0);
    at[TT_LEVEL_LINK] = linked ? with_gpu - sharing : 0;
    at[TT_LEVEL_HOST] = members - 1 - at[TT_LEVEL_GPU] - at[TT_LEVEL_LINK];
    at[TT_LEVEL_NIC] = w->size - members;
}

static struct tt_fares everybody(struct traffic *w)
{
    clear(w);
    for (int scope = 0; scope < w->scopes; scope++) {
        tally(w, scope, 1);
        for (int i = scope * w->size; i < (scope + 1) * w->size; i++) {
            int at[TT_NLEVELS];

            count_levels(w, w->ranks[i], at);
            for (int level = 0; level < TT_NLEVELS; level++) {
                const struct tt_way way = tt_ports_between(&w->ports, level, w->ranks[i], w->ranks[i]);

                add(w, level, way.out, way.in, at[level]);
            }
        }
        tally(w, scope, -1);
    }
    return sum_up(w);
}

/* How many scopes have their i-th ranks behind the same NIC as the first scope. */
static int behind(const struct traffic *w, int i)
{
    const int nic = tt_ports_between(&w->ports, TT_LEVEL_NIC, w->ranks[i], w->ranks[i]).in;
    int n = 0;

    for (int scope = 0; scope < w->scopes; scope++) {
        const int rank = w->ranks[scope * w->size + i];

        n += tt_ports_between(&w->ports, TT_LEVEL_NIC, rank, rank).in == nic;
    }
    return n;
}

/* All of a scope to its i-th rank, the first scope being tallied: what is common to all of it is the port there. */
static struct tt_fares to_one(const struct traffic *w, int i)
{
    struct tt_fares fares = {0};
    int at[TT_NLEVELS];

    count_levels(w, w->ranks[i], at);
    at[TT_LEVEL_NIC] *= behind(w, i);
    for (int level = 0; level < TT_NLEVELS; level++) {
        struct tt_fare *fare = level == TT_LEVEL_NIC ? &fares.far : &fares.near;
        const struct tt_speed *speed = &w->t->speed[level];

        if (at[level] > 0 && speed->alpha > fare->alpha)
            fare->alpha = speed->alpha;
        if (at[level] * speed->beta > fare->beta)
            fare->beta = at[level] * speed->beta;
    }
    fares.any = w->size > 1;
    fares.crossing = w->size > 1 ? (double)(w->size - w->members[w->t->seats[w->ranks[i]].node]) / (w->size - 1) : 0;
    return fares;
}

/* One message at a time, at the slowest level within nodes that any two ranks have between them, or across. */
static struct tt_fares alone(const struct tt_topo *t, const struct tt_fares *all)
{
    struct tt_fares fares = {.any = all->any, .crossing = all->crossing};

    for (int level = 0; level < TT_NLEVELS; level++) {
        struct tt_fare *fare = level == TT_LEVEL_NIC ? &fares.far : &fares.near;
        const double alpha = level == TT_LEVEL_NIC ? all->far.alpha : all->near.alpha;

        if (alpha > 0 && t->speed[level].alpha == alpha)
            *fare = (struct tt_fare){alpha, t->speed[level].beta};
    }
    return fares;
}

/* ---- making ---- */

static void fill_patterns(struct tt_net *net, struct traffic *w)
{
    for (int k = 0; 1 << k <= w->size && k < TT_MAX_BITS; k++) {
        net->shift[k] = fare_of(w, shifted, k);
        net->climb[k] = fare_of(w, climbs, k);
        fares_by_class(w, swapped_folded, k, net->folded[k]);
        net->halves[k] = fare_of(w, halves, k);
        net->tree[k] = fare_of(w, down_tree, k);
        if (1 << k <= tt_pow2_below(w->size))
            fares_by_class(w, merges, k, net->merge[k]);
    }
    net->both = both_ways(w);
    net->all = everybody(w);
    net->fold = fare_of(w, folds, 0);
    net->reverse = fare_of(w, reversed, 0);
    net->alone = alone(w->t, &net->all);
    average(w, &net->pair, &net->pair_pure);
}

/* The struct, and behind it the fares by node and the nodes of ranks. */
static struct tt_net *new_net(const struct tt_topo *t, int size)
{
    const size_t nodes = (size_t)t->nodes.n;
    struct tt_net *net = calloc(1, sizeof *net + nodes * sizeof *net->one + (size_t)size * sizeof *net->node);

    if (!net)
        return NULL;
    net->one = (struct tt_fares *)(net + 1);
    net->node = (int *)(net->one + nodes);
    net->size = size;
    net->gamma = t->gamma;
    net->copy = t->copy;
    net->overhead = t->overhead;
    for (int r = 0; r < t->size; r++)
        net->launch = t->seats[r].gpu >= 0 ? t->launch : net->launch;
    return net;
}

/* Of each node, the fare to its first rank in the scope. */
static void fill_roots(struct tt_net *net, struct traffic *w)
{
    struct tt_fares *one = (struct tt_fares *)net->one;
    int *node = (int *)net->node, *seen = w->load; /* by node: no messages are counted now */

    clear(w);
    tally(w, 0, 1);
    for (int i = 0; i < w->size; i++) {
        node[i] = w->t->seats[w->ranks[i]].node;
        if (!seen[node[i]]++)
            one[node[i]] = to_one(w, i);
    }
    tally(w, 0, -1);
}

/* The net of so many scopes. */
static struct tt_net *net_of(const struct tt_topo *t, int scopes, int size, const int *ranks)
{
    const size_t nodes = (size_t)t->nodes.n;
    struct traffic w = {.t = t, .scopes = scopes, .size = size, .ranks = ranks};
    struct tt_net *net = new_net(t, size);
    const int error = tt_ports_make(&w.ports, t);

    if (!error) {
        w.load = calloc((size_t)w.ports.n * 2 + 1, sizeof *w.load);
        w.members = calloc(nodes * 2, sizeof *w.members);
    }
    if (net && w.load && w.members) {
        w.sharing = w.load + w.ports.n;
        w.with_gpu = w.members + nodes;
        fill_patterns(net, &w);
        fill_roots(net, &w);
    } else {
        free(net);
        net = NULL;
    }
    free(w.load);
    free(w.members);
    tt_ports_free(&w.ports);
    return net;
}

/* The largest node, and one rank of each: as many of the latter as the smallest node has. */
static int add_levels(struct tt_net *net, const struct tt_topo *t)
{
    const struct tt_nodes *nodes = &t->nodes;
    int *ranks = malloc((size_t)t->size * sizeof *ranks);
    int smallest = t->size, largest = 0;

    if (!ranks)
        return -1;
    for (int i = 0; i < nodes->n; i++) {
        const int size = nodes->first[i + 1] - nodes->first[i];

        smallest = size < smallest ? size : smallest;
        largest = size > nodes->first[largest + 1] - nodes->first[largest] ? i : largest;
    }
    for (int j = 0; j < smallest; j++)
        for (int i = 0; i < nodes->n; i++)
            ranks[j * nodes->n + i] = nodes->ranks[nodes->first[i] + j];
    net->rails = smallest;
    net->across = net_of(t, smallest, nodes->n, ranks);
    net->within = net_of(t, 1, nodes->first[largest + 1] - nodes->first[largest], nodes->ranks + nodes->first[largest]);
    free(ranks);
    return net->across && net->within ? 0 : -1;
}

struct tt_net *tt_net_make(const struct tt_topo *t)
{
    int *ranks = malloc((size_t)t->size * sizeof *ranks);
    struct tt_net *net;

    if (!ranks)
        return NULL;
    for (int r = 0; r < t->size; r++)
        ranks[r] = r;
    net = net_of(t, 1, t->size, ranks);
    free(ranks);
    if (net && t->nodes.n > 1 && add_levels(net, t)) {
        tt_net_free(net);
        return NULL;
    }
    return net;
}

void tt_net_free(struct tt_net *net)
{
    if (!net)
        return;
    free((void *)net->within);
    free((void *)net->across);
    free(net);
}
