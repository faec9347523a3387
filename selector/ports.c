/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of a topology, numbered node by node: who shares one finds its number in a table by GPU or NIC. O(p). */
#include "selector/ports.h"

#include <errno.h>
#include <stdlib.h>

/* What a rank's port at a level is known by within its node: 0 or more; -1: the rank has it for itself. */
static int shared_by(const struct tt_topo *t, enum tt_level level, int rank)
{
    const struct tt_seat *seat = &t->seats[rank];

    switch (level) {
    case TT_LEVEL_GPU:
        return seat->gpu;
    case TT_LEVEL_HOST:
        return t->host_shared ? 0 : -1;
    case TT_LEVEL_NIC:
        return seat->nic + 1; /* all of whom it is not known are taken to share one */
    default:
        return -1;
    }
}

static int most_shared(const struct tt_topo *t)
{
    int most = 0;

    for (int r = 0; r < t->size; r++)
        for (int level = 0; level < TT_NLEVELS; level++)
            most = shared_by(t, level, r) > most ? shared_by(t, level, r) : most;
    return most;
}

static struct tt_way add(struct tt_ports *p, double beta, bool bus)
{
    const struct tt_way way = {p->n, p->n + !bus};

    p->beta[way.out] = p->beta[way.in] = beta;
    p->n = way.in + 1;
    return way;
}

/* known: room for a way per GPU or NIC of a node, of no port. */
static void number(struct tt_ports *p, const struct tt_topo *t, enum tt_level level, int node, struct tt_way *known)
{
    const struct tt_nodes *nodes = &t->nodes;
    const bool bus = level == TT_LEVEL_HOST && t->host_shared;
    struct tt_way *ways = p->way + (size_t)level * (size_t)t->size;

    for (int i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
        const int rank = nodes->ranks[i], by = shared_by(t, level, rank);

        ways[rank] = by >= 0 && known[by].out >= 0 ? known[by] : add(p, t->speed[level].beta, bus);
        if (by >= 0)
            known[by] = ways[rank];
    }
    for (int i = nodes->first[node]; i < nodes->first[node + 1]; i++) {
        const int by = shared_by(t, level, nodes->ranks[i]);

        if (by >= 0)
            known[by] = (struct tt_way){-1, -1};
    }
}

int tt_ports_make(struct tt_ports *p, const struct tt_topo *t)
{
    const size_t all = (size_t)t->size * TT_NLEVELS, room = (size_t)most_shared(t) + 1;
    struct tt_way *known = malloc(room * sizeof *known);

    *p = (struct tt_ports){
        .size = t->size, .beta = malloc(2 * all * sizeof *p->beta), .way = malloc(all * sizeof *p->way)};
    if (!known || !p->beta || !p->way) {
        free(known);
        tt_ports_free(p);
        return ENOMEM;
    }
    for (size_t i = 0; i < room; i++)
        known[i] = (struct tt_way){-1, -1};
    for (int level = 0; level < TT_NLEVELS; level++) {
        p->across = p->n; /* NICs come last */
        for (int node = 0; node < t->nodes.n; node++)
            number(p, t, level, node, known);
    }
    free(known);
    return 0;
}

void tt_ports_free(struct tt_ports *p)
{
    free(p->beta);
    free(p->way);
    *p = (struct tt_ports){0};
}
