/* SPDX-License-Identifier: BSD-3-Clause */
/* Two-level alltoall: each rank hands every other of its node, as one message, the blocks for all the ranks whose
 * counterpart that one is (levels.h): one on each node, where nodes are alike. Who has them sorts them, and sends each
 * of its counterparts, as one message, what the whole node has for it. So with N nodes of L ranks a rank sends L-1 +
 * N-1 messages where the direct one sends NL-1, and every block still crosses the network once, over all NICs of its
 * node: the choice for short blocks, where it is messages that cost. The price: each block crosses its node once as
 * well, and is copied twice, since neighbours in the first message, or else in the second, are not neighbours in
 * memory. alpha within + alpha across + (L-1)/L n beta within + (N-1)/N n beta across, where n is all blocks of a rank
 * together. */
#include "algos/levels.h"

#include <errno.h>
#include <stdlib.h>

struct work {
    const struct tt_shape *s;
    struct tt_levels at;
    int *first, *whom;    /* who has place i of this node sends to whom[first[i]] .. whom[first[i + 1] - 1] */
    int mine, own;        /* to how many this rank does, itself being among them; and after how many others */
    struct tt_loc aside;  /* what leaves first, or arrives last, where it does not lie together: of all ranks */
    struct tt_loc handed; /* by each of this node, its blocks for whom this rank sends to */
    struct tt_loc sorted; /* for each of these, the blocks of all of this node */
};

static const int *whom(const struct work *w, int place, int *n)
{
    *n = w->first[place + 1] - w->first[place];
    return w->whom + w->first[place];
}

static int by_rank(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int find_whom(struct work *w)
{
    const struct tt_levels *at = &w->at;
    int n = 0;

    w->first = malloc(((size_t)at->here + 1 + (size_t)w->s->size) * sizeof *w->first);
    if (!w->first)
        return ENOMEM;
    w->whom = w->first + at->here + 1;
    for (int place = 0; place < at->here; place++) {
        w->first[place] = n;
        for (int node = 0; node < at->nodes->n; node++)
            for (int i = 0, rank; (rank = tt_counted_on(at, node, place, i)) >= 0; i++)
                w->whom[n++] = rank;
        qsort(w->whom + w->first[place], (size_t)(n - w->first[place]), sizeof *w->whom, by_rank);
    }
    w->first[at->here] = n;
    whom(w, at->local, &w->mine);
    while (w->whom[w->first[at->local] + w->own] != tt_rank_at(at, at->node, at->local))
        w->own++;
    return 0;
}

/* How many ranks, from the first on, lie one behind the other. */
static int together(const int *ranks, int n)
{
    int run = 1;

    while (run < n && ranks[run] == ranks[run - 1] + 1)
        run++;
    return run;
}

/* The blocks for, or from, these ranks: in their places in buf where they lie there together, else aside, where the
 * first is number `at`. */
static struct tt_loc message_at(const struct work *w, enum tt_buf buf, const int *ranks, int n, int at)
{
    return together(ranks, n) == n ? tt_at(buf, *ranks * w->s->count) : tt_plus(w->aside, at * w->s->count);
}

/* Those that lie aside go there, or come from there. */
static void move(struct tt_plan *p, const struct work *w, enum tt_buf buf, const int *ranks, int n, int at)
{
    const int64_t block = w->s->count;

    for (int i = 0, run; i < n && together(ranks, n) < n; i += run) {
        const struct tt_loc place = tt_at(buf, ranks[i] * block), aside = tt_plus(w->aside, (at + i) * block);

        run = together(ranks + i, n - i);
        tt_copy(p, buf == SEND ? aside : place, buf == SEND ? place : aside, run * block);
    }
}

static void hand_out(struct tt_plan *p, const struct work *w)
{
    const struct tt_levels *at = &w->at;
    const int64_t handed = w->mine * w->s->count;

    for (int place = 0, n; place < at->here; place++) {
        const int *ranks = whom(w, place, &n);

        if (place != at->local)
            move(p, w, SEND, ranks, n, w->first[place]);
    }
    tt_fence(p);
    for (int k = 1, n; k < at->here; k++) {
        const int to = tt_mod(at->local + k, at->here), from = tt_mod(at->local - k, at->here);
        const int *ranks = whom(w, to, &n);

        tt_send(p, tt_rank_at(at, at->node, to), message_at(w, SEND, ranks, n, w->first[to]), n * w->s->count);
        tt_recv(p, tt_rank_at(at, at->node, from), tt_plus(w->handed, from * handed), handed);
    }
    tt_fence(p);
}

/* A rank that is alone sends from where its blocks are, unless others arrive there. */
static bool sorts(const struct work *w)
{
    return w->at.here > 1 || w->s->inplace;
}

/* From each of this node, its block for the k-th of whom this rank sends to; its own never left. */
static void sort(struct tt_plan *p, const struct work *w, int k)
{
    const struct tt_levels *at = &w->at;
    const int64_t block = w->s->count;
    const int to = w->whom[w->first[at->local] + k];

    for (int i = 0; i < at->here && (sorts(w) || k == w->own); i++)
        tt_copy(p,
                k == w->own ? tt_at(RECV, tt_rank_at(at, at->node, i) * block)
                            : tt_plus(w->sorted, (k * at->here + i) * block),
                i == at->local ? tt_at(SEND, to * block) : tt_plus(w->handed, (i * w->mine + k) * block), block);
}

static void send_across(struct tt_plan *p, const struct work *w)
{
    const struct tt_levels *at = &w->at;
    const int64_t block = w->s->count;

    for (int i = 1; i < w->mine; i++) {
        const int k = tt_mod(w->own + i, w->mine), to = w->whom[w->first[at->local] + k];

        tt_send(p, to, sorts(w) ? tt_plus(w->sorted, k * at->here * block) : tt_at(SEND, to * block), at->here * block);
    }
}

static const int *on_node(const struct work *w, int node, int *n)
{
    *n = tt_on_node(&w->at, node);
    return w->at.nodes->ranks + w->at.nodes->first[node];
}

static void recv_across(struct tt_plan *p, const struct work *w)
{
    const struct tt_levels *at = &w->at;

    for (int k = 1, n; k < at->nodes->n; k++) {
        const int node = tt_mod(at->node - k, at->nodes->n);
        const int *ranks = on_node(w, node, &n);

        tt_recv(p, at->rail[node], message_at(w, RECV, ranks, n, at->nodes->first[node]), n * w->s->count);
    }
    tt_fence(p);
    for (int node = 0, n; node < at->nodes->n; node++) {
        const int *ranks = on_node(w, node, &n);

        if (node != at->node)
            move(p, w, RECV, ranks, n, at->nodes->first[node]);
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct work w = {.s = s, .aside = tt_tmp(p, s->size * s->count)};
    int error = tt_levels_find(&w.at, p, s);

    if (error)
        return error;
    error = find_whom(&w);
    if (!error) {
        w.handed = tt_tmp(p, w.mine * w.at.here * s->count);
        w.sorted = tt_tmp(p, w.mine * w.at.here * s->count);
        hand_out(p, &w);
        for (int k = 0; k < w.mine; k++)
            sort(p, &w, k);
        tt_fence(p);
        send_across(p, &w);
        recv_across(p, &w);
    }
    free(w.first);
    tt_levels_end(&w.at);
    return error;
}

/* Runs of blocks that are copied because they do not lie together: where nodes have their ranks in a row, what leaves
 * first; where ranks are dealt to nodes in turn, what arrives last, and what leaves first if they are dealt unevenly.
 */
static double copied_apart(const struct tt_net *net)
{
    const int size = net->size, nodes = net->across->size, rails = net->rails;
    const double borders = net->shift[0].crossing * size;
    const int left_over = size - rails * nodes;

    if (borders < nodes + 0.5)
        return size - nodes;
    if (borders < size - 1.5)
        return 2 * size - nodes - rails;
    return size - rails + 2 * (left_over < rails ? left_over : rails);
}

/* So many messages, posted while the first ones are carried. */
static double round_of(const struct tt_net *net, double alpha, double busy, int messages)
{
    return alpha + tt_larger(net->overhead + busy, messages * net->overhead);
}

/* A rank's own port is as busy as that of who has counterparts everywhere, a port that a node shares as all make it.
 * Across it is as in the direct alltoall; but for who has more counterparts than others. */
static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const struct tt_net *node = net->within;
    const int size = net->size, here = node->size, nodes = net->across->size, rails = net->rails;
    const int most = (size - 1) / rails; /* others that a rank of the smallest node sends to */
    const double n = tt_bytes(s, s->count), sorted = tt_larger(here * nodes, rails * (1 + most));
    const double near = tt_larger(nodes * (here - 1) * node->alone.near.beta, node->all.near.beta * size / here);
    const double far =
        tt_larger(net->all.far.beta, net->across->all.far.beta * tt_most_across(net) * rails / (nodes - 1));

    return n > 0 ? (copied_apart(net) + sorted) * tt_copies(net, n) +
                       round_of(net, node->all.near.alpha, n * near, here - 1) +
                       round_of(net, net->all.far.alpha, n * far, most)
                 : 0;
}

TT_ALGORITHM(alltoall, two_level,
             .summary = "blocks within by rail, then across: L-1 + N-1 messages, n beta within + (N-1)/N n beta "
                        "across; for short blocks",
             .needs = TT_TWO_LEVELS, .build = build, .cost = cost);
