/* SPDX-License-Identifier: BSD-3-Clause */
/* Lower bounds: one latency of the network, and the bytes that have to enter or leave a node whatever the algorithm,
 * through all NICs of the node that its ranks use. Latencies of further rounds, and links within a node, are left out,
 * so a bound is not always within reach: for 8 bytes on 8 nodes nothing below three rounds is known. */
#include "bench/scale/play.h"

/* Bytes per second in or out of a node: of the NICs that its ranks use. */
static double node_bandwidth(const struct tt_topo *t, int node)
{
    const int *ranks = t->nodes.ranks + t->nodes.first[node];
    const int n = t->nodes.first[node + 1] - t->nodes.first[node];
    int nics = 0;

    for (int i = 0; i < n; i++) {
        bool seen = false;

        for (int j = 0; j < i; j++)
            seen |= t->seats[ranks[j]].nic == t->seats[ranks[i]].nic;
        nics += !seen;
    }
    return nics / t->speed[TT_LEVEL_NIC].beta;
}

/* Bytes that have to pass one way between this node and the others. n: of the whole vector. */
static double node_bytes(const struct play *p, int node)
{
    const struct tt_nodes *nodes = &p->topo->nodes;
    const double n = (double)p->total, share = (double)(nodes->first[node + 1] - nodes->first[node]) / p->topo->size;

    switch (p->coll) {
    case TT_COLL_reduce_scatter:
    case TT_COLL_allgather:
        return (1 - share) * n;
    case TT_COLL_alltoall:
        return share * p->topo->size * (1 - share) * n;
    default:
        return n;
    }
}

double play_bound(const struct play *p)
{
    const int nodes = p->topo->nodes.n;
    double worst = 0, together = 0;

    for (int i = 0; i < nodes; i++) {
        const double bandwidth = node_bandwidth(p->topo, i), time = node_bytes(p, i) / bandwidth;

        together += bandwidth;
        worst = time > worst ? time : worst;
    }
    if (p->coll == TT_COLL_allreduce && 2.0 * (nodes - 1) * (double)p->total / together > worst)
        worst = 2.0 * (nodes - 1) * (double)p->total / together;
    return p->topo->speed[TT_LEVEL_NIC].alpha + worst;
}

const char *play_bound_words(enum tt_coll coll)
{
    switch (coll) {
    case TT_COLL_allreduce:
        return "alpha + max(2 (N-1) n / all nodes' bandwidth, n / least node's bandwidth)";
    case TT_COLL_reduce_scatter:
    case TT_COLL_allgather:
        return "alpha + max over nodes of (1 - share of the ranks) n / node's bandwidth";
    case TT_COLL_alltoall:
        return "alpha + max over nodes of ranks of the node (1 - share of the ranks) n / node's bandwidth";
    default:
        return "alpha + n / least node's bandwidth";
    }
}
