/* SPDX-License-Identifier: BSD-3-Clause */
/* The picture itself: made, cut to the ranks of a communicator, asked. Memory: about 40 bytes a rank. */
#include "selector/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *words;
} levels[] = {
#define L(id, name, words) {name, words},
    TT_LEVELS(L)
#undef L
};

const char *tt_level_name(enum tt_level level)
{
    return levels[level].name;
}

const char *tt_level_words(enum tt_level level)
{
    return levels[level].words;
}

struct tt_topo *tt_topo_new(int size, int nnodes)
{
    struct tt_topo *t = calloc(1, sizeof *t);

    if (!t)
        return NULL;
    t->size = size;
    t->seats = calloc((size_t)size, sizeof *t->seats);
    t->kinds = calloc((size_t)nnodes, sizeof *t->kinds);
    if (!t->seats || !t->kinds) {
        tt_topo_free(t);
        return NULL;
    }
    t->nodes.n = nnodes;
    for (int r = 0; r < size; r++)
        t->seats[r] = (struct tt_seat){0, -1, -1, -1};
    return t;
}

void tt_topo_free(struct tt_topo *t)
{
    if (!t)
        return;
    free((void *)t->nodes.of); /* one block: of, ranks, first and nics */
    free(t->seats);
    free(t->kinds);
    free(t);
}

/* Numbers nodes by their lowest ranks, leaving out those without ranks; kinds follow. */
static void renumber(struct tt_topo *t, int *number, int *of)
{
    struct tt_node_kind *kinds = t->kinds;
    int n = 0;

    for (int i = 0; i < t->nodes.n; i++)
        number[i] = -1;
    for (int r = 0; r < t->size; r++) {
        int *node = &t->seats[r].node;

        if (number[*node] < 0)
            number[*node] = n++;
        *node = of[r] = number[*node];
    }
    for (int i = 0; i < t->nodes.n; i++) /* a cycle at a time, in place */
        while (number[i] >= 0 && number[i] != i) {
            const int to = number[i];
            const struct tt_node_kind kind = kinds[to];

            kinds[to] = kinds[i];
            kinds[i] = kind;
            number[i] = number[to];
            number[to] = to;
        }
    t->nodes.n = n;
}

/* Ranks by node, in rank order within each: a counting sort. next: room for a number per node. */
static void sort_by_node(const int *of, int size, int nodes, int *ranks, int *first, int *next)
{
    for (int r = 0; r < size; r++)
        first[of[r] + 1]++;
    for (int i = 0; i < nodes; i++) {
        first[i + 1] += first[i];
        next[i] = first[i];
    }
    for (int r = 0; r < size; r++)
        ranks[next[of[r]]++] = r;
}

static int most_nics(const struct tt_topo *t)
{
    int most = 0;

    for (int r = 0; r < t->size; r++)
        most = t->seats[r].nic + 1 > most ? t->seats[r].nic + 1 : most;
    return most;
}

/* NICs that ranks of each node use; all of whom it is not known are taken to share one. last: by NIC, the node by which
 * it was counted last, at first none; room for all and one more. */
static void count_nics(const struct tt_topo *t, const int *ranks, const int *first, int *nics, int *last)
{
    for (int node = 0; node < t->nodes.n; node++)
        for (int i = first[node]; i < first[node + 1]; i++) {
            int *counted = &last[t->seats[ranks[i]].nic + 1];

            nics[node] += *counted != node;
            *counted = node;
        }
}

int tt_topo_settle(struct tt_topo *t)
{
    const size_t size = (size_t)t->size, nodes = (size_t)t->nodes.n;
    int *of = calloc(2 * size + 2 * nodes + 1, sizeof *of), *ranks = of + size, *first = ranks + size;
    const size_t known = (size_t)most_nics(t) + 1;
    int *nics = first + nodes + 1, *number = malloc((nodes + known) * sizeof *number), *last = number + nodes;

    if (!of || !number) {
        free(of);
        free(number);
        return ENOMEM;
    }
    renumber(t, number, of);
    sort_by_node(of, t->size, t->nodes.n, ranks, first, number);
    for (size_t i = 0; i < known; i++)
        last[i] = -1;
    count_nics(t, ranks, first, nics, last);
    free(number);
    free((void *)t->nodes.of);
    t->nodes = (struct tt_nodes){t->nodes.n, of, ranks, first, nics};
    return 0;
}

struct tt_topo *tt_topo_part(const struct tt_topo *t, const int *ranks, int size)
{
    struct tt_topo *part = tt_topo_new(size, t->nodes.n);
    struct tt_seat *seats;
    struct tt_node_kind *kinds;

    if (!part)
        return NULL;
    seats = part->seats;
    kinds = part->kinds;
    *part = *t;
    part->size = size;
    part->seats = seats;
    part->kinds = kinds;
    part->nodes = (struct tt_nodes){.n = t->nodes.n};
    memcpy(kinds, t->kinds, (size_t)t->nodes.n * sizeof *kinds);
    for (int i = 0; i < size; i++)
        seats[i] = t->seats[ranks[i]];
    if (tt_topo_settle(part)) {
        tt_topo_free(part);
        return NULL;
    }
    return part;
}

void tt_topo_take_speeds(struct tt_topo *t, const struct tt_topo *from)
{
    memcpy(t->speed, from->speed, sizeof t->speed);
    t->host_shared = from->host_shared;
    t->gamma = from->gamma;
    t->copy = from->copy;
    t->launch = from->launch;
    t->overhead = from->overhead;
    t->nccl = from->nccl;
    t->measured = from->measured;
}

enum tt_level tt_topo_level(const struct tt_topo *t, int a, int b)
{
    const struct tt_seat *x = &t->seats[a], *y = &t->seats[b];

    if (x->node != y->node)
        return TT_LEVEL_NIC;
    if (x->gpu < 0 || y->gpu < 0)
        return TT_LEVEL_HOST;
    if (x->gpu == y->gpu)
        return TT_LEVEL_GPU;
    return t->kinds[x->node].linked ? TT_LEVEL_LINK : TT_LEVEL_HOST;
}

/* Within a node every pair is like every other, but for those that share a GPU: so rank 0's pairs show the worst. */
int tt_topo_slowest(const struct tt_topo *t)
{
    int slowest = -1;

    if (t && t->nodes.n > 1)
        return TT_LEVEL_NIC;
    for (int r = 1; t && r < t->size; r++) {
        const int level = (int)tt_topo_level(t, 0, r);

        slowest = level > slowest ? level : slowest;
    }
    return slowest;
}
