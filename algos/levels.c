/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of levels.h. */
#include "algos/levels.h"

#include <errno.h>
#include <stdlib.h>

/* ---- where this rank is ---- */

/* Of who has a place of node `from`, on another. */
static int counterpart(const struct tt_levels *at, int place, int from, int node)
{
    const int ranks = tt_on_node(at, node);

    return tt_rank_at(at, node, (place + place / ranks * from) % ranks);
}

int tt_levels_find(struct tt_levels *at, const struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_nodes *nodes = s->nodes;

    *at = (struct tt_levels){.nodes = nodes, .node = nodes->of[tt_rank(p)], .rails = s->size};
    at->rail = malloc(2 * (size_t)nodes->n * sizeof *at->rail);
    if (!at->rail)
        return ENOMEM;
    at->here = tt_on_node(at, at->node);
    at->local = tt_level_place(at, tt_rank(p));
    for (int i = 0; i < nodes->n; i++) {
        at->rails = tt_on_node(at, i) < at->rails ? tt_on_node(at, i) : at->rails;
        at->rail[i] = at->rail[i + nodes->n] = counterpart(at, at->local, at->node, i);
    }
    return 0;
}

void tt_levels_end(struct tt_levels *at)
{
    free(at->rail);
}

int tt_on_node(const struct tt_levels *at, int node)
{
    return at->nodes->first[node + 1] - at->nodes->first[node];
}

int tt_rank_at(const struct tt_levels *at, int node, int place)
{
    return at->nodes->ranks[at->nodes->first[node] + place];
}

int tt_level_place(const struct tt_levels *at, int rank)
{
    int place = 0;

    while (tt_rank_at(at, at->nodes->of[rank], place) != rank)
        place++;
    return place;
}

int tt_counterpart_of(const struct tt_levels *at, int rank, int node)
{
    return counterpart(at, tt_level_place(at, rank), at->nodes->of[rank], node);
}

int tt_counted_on(const struct tt_levels *at, int node, int place, int i)
{
    const int theirs = i * at->here + tt_mod(place - i * node, at->here);

    return theirs < tt_on_node(at, node) ? tt_rank_at(at, node, theirs) : -1;
}

void tt_enter_node(struct tt_plan *p, const struct tt_levels *at)
{
    tt_enter(
        p, &(struct tt_scope){at->nodes->ranks + at->nodes->first[at->node], at->here, tt_at(SEND, 0), tt_at(RECV, 0)});
}

bool tt_enter_rail(struct tt_plan *p, const struct tt_levels *at)
{
    return tt_on_rail(at) && tt_enter(p, &(struct tt_scope){at->rail, at->nodes->n, tt_at(SEND, 0), tt_at(RECV, 0)});
}

bool tt_enter_rail_without(struct tt_plan *p, const struct tt_levels *at, int node)
{
    return tt_on_rail(at) &&
           tt_enter(p, &(struct tt_scope){at->rail + node + 1, at->nodes->n - 1, tt_at(SEND, 0), tt_at(RECV, 0)});
}

/* ---- everybody meets everybody ---- */

static int64_t length(int64_t n, int owners, int i)
{
    return tt_part_at(n, owners, i + 1) - tt_part_at(n, owners, i);
}

struct tt_operands tt_hand_in(struct tt_plan *p, struct tt_loc src, int64_t n, int owners, int without,
                              struct tt_loc arrived)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_operands o = {rank, size, tt_plus(src, tt_part_at(n, owners, rank)), arrived,
                                  length(n, owners, rank)};

    for (int k = 1; k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);

        if (to != without)
            tt_send(p, to, tt_plus(src, tt_part_at(n, owners, to)), length(n, owners, to));
        if (rank != without)
            tt_recv(p, from, tt_operand_of(&o, from), o.n);
    }
    return o;
}

void tt_hand_out(struct tt_plan *p, struct tt_loc base, int64_t n, int owners, int aside)
{
    const int size = tt_size(p), rank = tt_rank(p);

    for (int k = 1; rank != aside && k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);

        if (to != aside)
            tt_send(p, to, tt_plus(base, tt_part_at(n, owners, rank)), length(n, owners, rank));
        if (from != aside)
            tt_recv(p, from, tt_plus(base, tt_part_at(n, owners, from)), length(n, owners, from));
    }
}

struct tt_operands tt_show_all(struct tt_plan *p, struct tt_loc src, int64_t n, struct tt_loc arrived)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_operands o = {rank, size, src, arrived, n};

    for (int k = 1; k < size; k++) {
        const int from = tt_mod(rank - k, size);

        tt_send(p, tt_mod(rank + k, size), src, n);
        tt_recv(p, from, tt_operand_of(&o, from), n);
    }
    return o;
}

/* ---- a node meets all others ---- */

struct tt_operands tt_show_nodes(struct tt_plan *p, const struct tt_levels *at, struct tt_loc src, int64_t n,
                                 struct tt_loc arrived)
{
    const int nodes = at->nodes->n;
    const struct tt_operands o = {at->node, nodes, src, arrived, n};

    for (int k = 1; k < nodes; k++) {
        const int to = tt_mod(at->node + k, nodes), from = tt_mod(at->node - k, nodes);

        for (int i = 0, rank; (rank = tt_counted_on(at, to, at->local, i)) >= 0; i++)
            tt_send(p, rank, src, n);
        tt_recv(p, at->rail[from], tt_operand_of(&o, from), n);
    }
    return o;
}

/* ---- who adds up what across ---- */

/* A node while pieces are dealt, from the vector's first unit to the last: the slice where that is, of which its rank
 * has so much left to get. A node owns share / all of the vector. */
struct dealt {
    int64_t share;
    int place, end, left;
};

/* Of a vector of length 1 a node sends and receives 1 + (N-2) w if it owns w. That takes all nodes as long, with c NICs
 * each, if w = (c (N-2+m)/C - 1) / (N-2), where m nodes have C NICs together; a node for which that is not positive
 * owns nothing, and is none of the m. In whole numbers, so that all ranks say the same. Returns what shares are parts
 * of. */
static int64_t set_shares(const struct tt_nodes *nodes, struct dealt *d)
{
    const int N = nodes->n;
    int64_t all = 0, last = 0;
    int m = 0;

    for (int i = 0; i < N; i++)
        d[i].share = 1;
    do {
        const int64_t before = all, members = m;

        last = m;
        all = m = 0;
        for (int i = 0; i < N; i++) {
            if (before > 0 && N > 2 && nodes->nics[i] * (N - 2 + members) <= before)
                d[i].share = 0;
            all += d[i].share ? nodes->nics[i] : 0;
            m += d[i].share > 0;
        }
    } while (m != last);
    for (int i = 0; i < N; i++)
        d[i].share = d[i].share == 0 ? 0 : N > 2 ? nodes->nics[i] * (int64_t)(N - 2 + m) - all : nodes->nics[i];
    return N > 2 ? all * (N - 2) : all;
}

static int slice_at(int ranks, int place)
{
    return (int)tt_cut(TT_UNITS, ranks, place);
}

/* Turns to the slice where unit `at` is. */
static void turn_to(struct dealt *d, int ranks, int at, int64_t all)
{
    if (at < d->end)
        return;
    d->place += at > 0;
    d->end = slice_at(ranks, d->place + 1);
    d->left = (int)(((d->end - at) * d->share + all - 1) / all);
}

/* Who has to be dealt something first is whose slice ends first, or, if slices end together, who was last. */
static bool sooner(const struct dealt *a, const struct dealt *b, bool was_last)
{
    if ((a->left > 0) != (b->left > 0))
        return a->left > 0;
    return a->end < b->end || (a->end == b->end && was_last);
}

/* Deals the next piece: to that node, up to *end. */
static int deal(const struct tt_levels *at, struct dealt *d, int64_t all, int from, int last, int *end)
{
    int next = -1, until = TT_UNITS;

    for (int i = 0; i < at->nodes->n; i++) {
        if (d[i].share == 0)
            continue;
        turn_to(&d[i], tt_on_node(at, i), from, all);
        until = d[i].end < until ? d[i].end : until;
        if (next < 0 || sooner(&d[i], &d[next], i == last))
            next = i;
    }
    if (d[next].left > 0 && d[next].left < until - from)
        until = from + d[next].left;
    d[next].left -= until - from;
    *end = until;
    return next;
}

static bool add_piece(struct tt_pieces *list, struct tt_piece piece)
{
    struct tt_piece *last = list->n > 0 ? &list->of[list->n - 1] : NULL;

    if (last && last->rank == piece.rank && last->to == piece.from && last->own == piece.own) {
        last->to = piece.to;
        return true;
    }
    if (list->n == list->room) {
        const int room = 2 * list->room + 16;
        struct tt_piece *of = realloc(list->of, (size_t)room * sizeof *of);

        if (!of)
            return false;
        list->of = of;
        list->room = room;
    }
    list->of[list->n++] = piece;
    return true;
}

/* Of a piece that this rank owns, what each rank of that node has. */
static bool add_theirs(struct tt_owners *o, const struct tt_levels *at, int own, int node)
{
    const struct tt_piece *piece = &o->own.of[own];
    const int ranks = tt_on_node(at, node);
    int place = (int)((int64_t)piece->from * ranks / TT_UNITS);
    bool good = true;

    place -= place > 0;
    for (; good && place < ranks && slice_at(ranks, place) < piece->to; place++) {
        const int first = slice_at(ranks, place), end = slice_at(ranks, place + 1);
        const int from = first > piece->from ? first : piece->from, to = end < piece->to ? end : piece->to;

        if (from < to)
            good = add_piece(&o->theirs, (struct tt_piece){from, to, tt_rank_at(at, node, place), node, own});
    }
    return good;
}

/* Those pieces of this rank's slice, from wherever they are dealt. */
static bool add_dealt(struct tt_owners *o, const struct tt_levels *at, int from, int to, int node, int place)
{
    const struct tt_piece piece = {from > o->from ? from : o->from, to < o->to ? to : o->to,
                                   tt_rank_at(at, node, place), node, -1};
    const bool here = node == at->node, own = here && place == at->local;

    return piece.from >= piece.to || (here && !own) || add_piece(own ? &o->own : &o->mine, piece);
}

/* Nearest node first, so that not all begin with the same one. */
static int by_distance(const void *a, const void *b)
{
    const struct tt_piece *x = a, *y = b;

    return x->node != y->node ? (x->node > y->node) - (x->node < y->node) : (x->from > y->from) - (x->from < y->from);
}

static void sort_pieces(struct tt_pieces *list, const struct tt_levels *at)
{
    const int nodes = at->nodes->n;

    for (int i = 0; i < list->n; i++)
        list->of[i].node = tt_mod(list->of[i].node - at->node, nodes);
    if (list->n > 0)
        qsort(list->of, (size_t)list->n, sizeof *list->of, by_distance);
    for (int i = 0; i < list->n; i++)
        list->of[i].node = tt_mod(list->of[i].node + at->node, nodes);
}

static bool deal_all(struct tt_owners *o, const struct tt_levels *at, struct dealt *d)
{
    const int64_t all = set_shares(at->nodes, d);
    bool good = true;

    for (int from = 0, end, node = -1; good && from < o->to; from = end) {
        node = deal(at, d, all, from, node, &end);
        good = add_dealt(o, at, from, end, node, d[node].place);
    }
    for (int own = 0; good && own < o->own.n; own++)
        for (int k = 1; good && k < at->nodes->n; k++)
            good = add_theirs(o, at, own, tt_mod(at->node + k, at->nodes->n));
    return good;
}

int tt_owners_find(struct tt_owners *o, const struct tt_levels *at)
{
    struct dealt *d = calloc((size_t)at->nodes->n, sizeof *d);

    *o = (struct tt_owners){.from = slice_at(at->here, at->local), .to = slice_at(at->here, at->local + 1)};
    if (!d || !deal_all(o, at, d)) {
        free(d);
        tt_owners_end(o);
        return ENOMEM;
    }
    free(d);
    sort_pieces(&o->mine, at);
    sort_pieces(&o->theirs, at);
    return 0;
}

void tt_owners_end(struct tt_owners *o)
{
    free(o->own.of);
    free(o->mine.of);
    free(o->theirs.of);
}

/* ---- the pipeline ----
 * Lanes that began alike would stay in step: all within nodes, then all across. So the first segments of the lanes are
 * one part long, two parts, and so on up to as many parts as there are lanes, which is how long all others are. */

enum { MOST_SEGMENTS = 64 };

struct tt_pipeline tt_pipeline_plan(const struct tt_shape *s, int64_t n, int most_lanes)
{
    const int64_t wanted = n / s->segment + (n % s->segment > 0);
    const int segments = wanted < 1 ? 1 : wanted > MOST_SEGMENTS ? MOST_SEGMENTS : (int)wanted;
    const int lanes = segments < most_lanes ? segments : most_lanes, more = (segments - 1) / lanes;

    return (struct tt_pipeline){lanes, more + 1, lanes * lanes * more + lanes * (lanes + 1) / 2};
}

int64_t tt_pipeline_most(const struct tt_pipeline *pipe, int64_t n)
{
    const int64_t most = pipe->lanes * (n / pipe->parts + 1);

    return most < n ? most : n;
}

/* The first part of segment k of a lane. */
static int segment_at(const struct tt_pipeline *pipe, int lane, int k)
{
    const int before = lane * pipe->lanes * (pipe->segments - 1) + lane * (lane + 1) / 2;

    return before + (k > 0 ? lane + 1 + (k - 1) * pipe->lanes : 0);
}

/* Half of round t: what each stage has to do in it. */
static void do_stages(struct tt_plan *p, const struct tt_pipeline *pipe, int lane, int stages, int t, tt_stage_fn *work,
                      void *with)
{
    for (int stage = 0; work && stage < stages; stage++) {
        const int k = t - stage;
        const struct tt_segment g = {k, segment_at(pipe, lane, k), segment_at(pipe, lane, k + 1)};

        if (k >= 0 && k < pipe->segments)
            work(p, with, stage, &g);
    }
    tt_fence(p);
}

void tt_pipeline_run(struct tt_plan *p, const struct tt_pipeline *pipe, int lane, int stages, tt_stage_fn *post,
                     tt_stage_fn *settle, void *with)
{
    for (int t = 0; t < pipe->segments + stages - 1; t++) {
        do_stages(p, pipe, lane, stages, t, post, with);
        do_stages(p, pipe, lane, stages, t, settle, with);
    }
}

/* ---- what it costs ---- */

/* Do all of a node share one port? */
bool tt_one_bus(const struct tt_net *net)
{
    return net->within->all.near.beta > 1.5 * (net->within->size - 1) * net->within->alone.near.beta;
}

/* A port that all of a node share, while a rank, or some of them together, hand n bytes to each of the others. */
double tt_bus_busy(const struct tt_net *net, int ranks, double n)
{
    const double most = net->within->size;

    return n * net->within->all.near.beta * (ranks - 1) / (most * (most - 1));
}

/* A port that each rank has is as busy as that of who is handed most. */
double tt_within_busy(const struct tt_net *net, int ranks, double n, int owners)
{
    const double each = (ranks - 1) * n * net->within->alone.near.beta;

    return ranks > 1 ? tt_larger(each, tt_bus_busy(net, ranks, owners * n)) : 0;
}

double tt_nics_busy(const struct tt_net *net, const struct tt_node_class *class, double n, int ranks)
{
    return n / tt_smaller(class->nics, ranks) * net->alone.far.beta;
}

/* Posting messages goes on while the first ones are carried. */
static double posted(const struct tt_net *net, double alpha, double busy, double messages)
{
    return alpha + tt_larger(net->overhead + busy, messages * net->overhead);
}

double tt_within_cost(const struct tt_net *net, double busy, double messages)
{
    return busy > 0 ? posted(net, net->within->all.near.alpha, busy, messages) : 0;
}

double tt_across_cost(const struct tt_net *net, double busy, double messages)
{
    return busy > 0 ? posted(net, net->alone.far.alpha, busy, messages) : 0;
}

double tt_within_one(const struct tt_net *net, double n, int messages, int posted)
{
    return n > 0 && messages > 0 ? tt_posted(&net->within->alone.near, n, messages, posted * net->overhead) : 0;
}

double tt_across_one(const struct tt_net *net, double n, int messages, int posted)
{
    return n > 0 ? tt_posted(&net->alone.far, n, messages, posted * net->overhead) : 0;
}

/* As set_shares() above: how long the nodes take that own anything, in terms of a vector through a NIC. */
static double owners_time(const struct tt_node_class *class, int classes, int nodes)
{
    double time = 1, last, nics;

    do {
        int owners = 0;

        last = time;
        nics = 0;
        for (int i = 0; i < classes; i++)
            if (class[i].nics * last > 1 || last >= 1) {
                owners += class[i].nodes;
                nics += (double)class[i].nodes * class[i].nics;
            }
        time = (nodes - 2 + owners) / nics;
    } while (time < last);
    return time;
}

void tt_share_out(struct tt_node_class *class, int classes, int nodes)
{
    const double time = owners_time(class, classes, nodes);
    double nics = 0;

    for (int i = 0; i < classes; i++)
        nics += (double)class[i].nodes * class[i].nics;
    for (int i = 0; i < classes; i++)
        class[i].owned = nodes == 2 ? class[i].nics / nics : tt_larger(class[i].nics * time - 1, 0) / (nodes - 2);
    for (int i = 0; i < classes; i++) {
        class[i].left = 1;
        for (int k = 0; k < classes; k++)
            class[i].left -= class[k].ranks > class[i].ranks ? class[k].nodes * class[k].owned : 0;
    }
}

int tt_counterparts(const struct tt_net *net, const struct tt_node_class *class)
{
    return (net->size - class->ranks + class->ranks - 1) / class->ranks;
}

double tt_counterparts_by_nic(const struct tt_net *net, const struct tt_node_class *class)
{
    return class->nics < class->ranks ? (double)(net->size - class->ranks) / class->nics : tt_counterparts(net, class);
}

double tt_most_across(const struct tt_net *net)
{
    const int others = net->size - net->rails, nodes = net->across->size;
    const bool own_nic = net->across->all.far.beta < 1.5 * (nodes - 1) * net->alone.far.beta;

    return own_nic ? (others + net->rails - 1) / net->rails : (double)others / net->rails;
}

double tt_segment_elements(const struct tt_pipeline *pipe, double n)
{
    return n * pipe->lanes / pipe->parts;
}
