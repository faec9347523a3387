/* SPDX-License-Identifier: BSD-3-Clause */
/* A topology from what the ranks found. Speeds are what such levels commonly have when messages go through an MPI: only
 * their ratios matter to a choice, and `tutti tune` measures them. */
#include "selector/topo.h"

#include <stdlib.h>

/* Whole numbers for people: microseconds, and GB/s. */
static const struct {
    double alpha_us, gb_per_s;
} assumed[TT_NLEVELS] = {
    [TT_LEVEL_GPU] = {2, 400},
    [TT_LEVEL_LINK] = {3, 100},
    [TT_LEVEL_HOST] = {1, 8},
    [TT_LEVEL_NIC] = {3, 12.5},
};
enum { ASSUMED_REDUCE_GB = 8, ASSUMED_GPU_REDUCE_GB = 500, ASSUMED_COPY_GB = 10, ASSUMED_LAUNCH_US = 5 };
static const double assumed_overhead_us = 0.3;

static double per_byte(double gb_per_s)
{
    return 1e-9 / gb_per_s;
}

static void assume_speeds(struct tt_topo *t, bool gpus)
{
    for (int l = 0; l < TT_NLEVELS; l++)
        t->speed[l] = (struct tt_speed){assumed[l].alpha_us * 1e-6, per_byte(assumed[l].gb_per_s)};
    t->gamma = per_byte(gpus ? ASSUMED_GPU_REDUCE_GB : ASSUMED_REDUCE_GB);
    t->copy = per_byte(gpus ? ASSUMED_GPU_REDUCE_GB : ASSUMED_COPY_GB);
    t->launch = gpus ? ASSUMED_LAUNCH_US * 1e-6 : 0;
    t->overhead = assumed_overhead_us * 1e-6;
}

/* Nodes by their names, which are any numbers: at most size of them. */
static int number_nodes(struct tt_topo *t, const struct tt_found *found)
{
    int n = 0;

    for (int r = 0; r < t->size; r++) {
        int first = 0;

        while (found[first].node != found[r].node)
            first++;
        t->seats[r].node = first == r ? n++ : t->seats[first].node;
    }
    return n;
}

/* GPUs are numbered in the order of the ranks of the node that use them. */
static void number_gpu(struct tt_topo *t, const struct tt_found *found, int rank)
{
    const int node = t->seats[rank].node, first = t->nodes.first[node];
    struct tt_node_kind *kind = &t->kinds[node];

    for (int i = first; t->nodes.ranks[i] < rank && t->seats[rank].gpu < 0; i++)
        if (found[t->nodes.ranks[i]].gpu == found[rank].gpu)
            t->seats[rank].gpu = t->seats[t->nodes.ranks[i]].gpu;
    if (t->seats[rank].gpu < 0)
        t->seats[rank].gpu = kind->gpus++;
    kind->linked = found[rank].linked && (kind->gpus == 1 || kind->linked);
}

static void fill(struct tt_topo *t, const struct tt_found *found)
{
    for (int r = 0; r < t->size; r++) {
        struct tt_node_kind *kind = &t->kinds[t->seats[r].node];

        t->seats[r].socket = found[r].socket;
        kind->sockets = found[r].sockets;
        kind->cores = found[r].cores;
        kind->nics = found[r].nics;
        if (found[r].gpu)
            number_gpu(t, found, r);
    }
}

struct tt_topo *tt_topo_found(const struct tt_found *found, int size)
{
    struct tt_topo *t = tt_topo_new(size, size);
    bool gpus = true;

    if (!t)
        return NULL;
    t->nodes.n = number_nodes(t, found);
    for (int r = 0; r < size; r++)
        t->seats[r].nic = found[r].nic;
    if (tt_topo_settle(t)) {
        tt_topo_free(t);
        return NULL;
    }
    for (int r = 0; r < size; r++)
        gpus &= found[r].gpu != 0;
    fill(t, found);
    assume_speeds(t, gpus);
    return t;
}

struct tt_topo *tt_topo_assumed(int size)
{
    struct tt_found *found = calloc((size_t)size, sizeof *found);
    struct tt_topo *t;

    for (int r = 0; found && r < size; r++)
        found[r].socket = found[r].nic = -1;
    t = found ? tt_topo_found(found, size) : NULL;
    free(found);
    return t;
}
