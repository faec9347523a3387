/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL by closed forms, as it describes itself: rings, or trees where latency counts, in one launch. Bytes go from GPU
 * to GPU by NVLink or PCIe, and between nodes through all NICs of a node at once, since it lays a ring through each.
 * Its steps are flags in memory, not messages of an MPI, so a step within a node takes a part of alpha; between nodes
 * it takes alpha. Where an allreduce of it has been measured, what that took beside its steps stands for the launch,
 * and its bytes for those of a link. O(p). */
#include "selector/nccl.h"

#include "algos/costs.h"
#include "coll/plan.h"

static const double step_part = 0.3; /* of alpha within a node: flags, against messages of an MPI */

/* What a ring through all ranks meets. */
struct ring {
    int size, nodes;
    double within;       /* ranks of a node, on average */
    double near, far;    /* seconds of a step within a node, and to the next */
    double link, across; /* seconds per byte between two GPUs of a node, and through all NICs of one */
    double beta;         /* the larger of the two: all bytes go through every place of a ring */
    double launch;
};

/* Does every rank have a GPU of its own? Ranks of a node are few, so pairs of them are. */
static bool have_own_gpus(const struct tt_topo *t)
{
    const struct tt_nodes *nodes = &t->nodes;

    for (int n = 0; n < nodes->n; n++)
        for (int i = nodes->first[n]; i < nodes->first[n + 1]; i++) {
            if (t->seats[nodes->ranks[i]].gpu < 0)
                return false;
            for (int j = nodes->first[n]; j < i; j++)
                if (t->seats[nodes->ranks[j]].gpu == t->seats[nodes->ranks[i]].gpu)
                    return false;
        }
    return true;
}

/* False: not every rank has a GPU of its own. */
static bool ring_of(struct ring *ring, const struct tt_topo *t)
{
    *ring = (struct ring){.size = t->size, .nodes = t->nodes.n, .launch = t->launch};
    ring->within = (double)t->size / t->nodes.n;
    for (int n = 0; n < t->nodes.n; n++) {
        const struct tt_speed *speed = &t->speed[t->kinds[n].linked ? TT_LEVEL_LINK : TT_LEVEL_HOST];

        if (t->nodes.first[n + 1] - t->nodes.first[n] > 1) {
            ring->near = tt_larger(ring->near, speed->alpha * step_part);
            ring->link = tt_larger(ring->link, speed->beta);
        }
        if (t->nodes.n > 1) {
            ring->far = t->speed[TT_LEVEL_NIC].alpha;
            ring->across = tt_larger(ring->across, t->speed[TT_LEVEL_NIC].beta / t->nodes.nics[n]);
        }
    }
    if (t->nccl.beta > 0) {
        ring->link = t->nccl.beta;
        ring->launch = t->nccl.alpha / 2;
    }
    ring->beta = tt_larger(ring->link, ring->across);
    return have_own_gpus(t);
}

/* Steps around the ring: p - 1 of them once, of which nodes - 1 go to another node. */
static double around(const struct ring *ring, double times)
{
    return times * ((ring->size - ring->nodes) * ring->near + (ring->nodes - 1) * ring->far);
}

static int log2_up(int n)
{
    int k = 0;

    while (1 << k < n)
        k++;
    return k;
}

/* Down or up a tree of the nodes, a chain within each. */
static double tree(const struct ring *ring, double times)
{
    const int within = (ring->size + ring->nodes - 1) / ring->nodes;

    return times * (log2_up(within) * ring->near + log2_up(ring->nodes) * ring->far);
}

/* So many ranks of a node exchange blocks with all others: those that cross the network share the node's NICs. */
static double exchange(const struct ring *ring, double block, double ranks)
{
    return tree(ring, 1) +
           tt_larger((ring->size - 1) * block * ring->link, ranks * (ring->size - ring->within) * block * ring->across);
}

static double seconds(const struct tt_shape *s, const struct ring *ring)
{
    const double p = s->size, n = (double)tt_shape_bytes(s), part = (p - 1) / p;

    switch (s->coll) {
    case TT_COLL_allreduce:
        return tt_smaller(around(ring, 2) + 2 * part * n * ring->beta, tree(ring, 2) + 2 * n * ring->beta);
    case TT_COLL_reduce:
    case TT_COLL_bcast:
        return around(ring, 1) + n * ring->beta;
    case TT_COLL_allgather:
    case TT_COLL_reduce_scatter:
        return around(ring, 1) + (p - 1) * n * ring->beta;
    case TT_COLL_allgatherv: /* a broadcast of each block */
        return around(ring, 1) + p * (n * ring->beta + ring->near);
    case TT_COLL_alltoall:
        return exchange(ring, n, ring->within);
    case TT_COLL_gather:
    case TT_COLL_scatter:
        return exchange(ring, n, 1);
    default:
        return -1;
    }
}

double tt_nccl_seconds(const struct tt_shape *s, const struct tt_topo *t)
{
    struct ring ring;
    double time;

    if (tt_coll_lengths_local(s->coll) || t->size != s->size || s->size < 2 || !ring_of(&ring, t))
        return -1;
    time = seconds(s, &ring);
    return time < 0 ? time : 2 * ring.launch + time;
}

void tt_nccl_learn(struct tt_topo *t, double least, double per_byte)
{
    struct ring ring;
    double steps;

    if (t->size < 2 || !ring_of(&ring, t))
        return;
    steps = tt_smaller(around(&ring, 2), tree(&ring, 2));
    t->nccl.alpha = tt_larger(least - steps, least / 2);
    t->nccl.beta = per_byte * t->size / (2.0 * (t->size - 1));
}

/* By doubling, from host memory: as many steps as there are bits, in each of which the slowest pair decides. */
double tt_vote_seconds(const struct tt_net *net)
{
    double time = 0;

    for (int k = 0; net && 1 << k < net->size && k < TT_MAX_BITS; k++)
        time += net->overhead + tt_larger(net->shift[k].near.alpha, net->shift[k].far.alpha);
    return time;
}
