/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machines are made of. Figures are of the order of what is measured on such nodes. */
#include "tests/machines.h"

#include <stdio.h>
#include <stdlib.h>

const char *const machine_names[] = {"H100 NVSwitch", "A100 PCIe", "CPU"};
const char *const place_names[] = {"block", "round-robin"};

#define US *1e-6
#define GB_PER_S(x) (1e-9 / (x))

static const struct model {
    int ranks; /* of a node */
    struct tt_node_kind node;
    struct tt_speed speed[TT_NLEVELS];
    bool host_shared;
    double gamma, copy, launch, overhead;
} models[] = {
    [H100_NVSWITCH] = {8,
                       {2, 96, 8, 8, true},
                       {{2 US, GB_PER_S(1500)}, {3 US, GB_PER_S(450)}, {5 US, GB_PER_S(50)}, {6 US, GB_PER_S(50)}},
                       false,
                       GB_PER_S(1000),
                       GB_PER_S(1500),
                       4 US,
                       0.3 US},
    [A100_PCIE] = {4,
                   {2, 64, 4, 1, false},
                   {{2 US, GB_PER_S(700)}, {3 US, GB_PER_S(250)}, {5 US, GB_PER_S(25)}, {8 US, GB_PER_S(12.5)}},
                   false,
                   GB_PER_S(600),
                   GB_PER_S(700),
                   5 US,
                   0.5 US},
    [CPU_NODES] = {16,
                   {2, 64, 0, 1, false},
                   {{0}, {0}, {0.5 US, GB_PER_S(150)}, {1.5 US, GB_PER_S(25)}},
                   true,
                   GB_PER_S(12),
                   GB_PER_S(20),
                   0,
                   0.1 US},
};

static struct tt_topo *settled(struct tt_topo *t)
{
    if (!t || tt_topo_settle(t)) {
        fputs("no memory for a topology\n", stderr);
        exit(1);
    }
    return t;
}

struct tt_topo *machine(enum machine_kind kind, int size, enum machine_place place)
{
    const struct model *m = &models[kind];
    const int nodes = (size + m->ranks - 1) / m->ranks;
    struct tt_topo *t = tt_topo_new(size, nodes);

    for (int r = 0; t && r < size; r++) {
        const int local = place == BLOCK ? r % m->ranks : r / nodes;

        t->seats[r] = (struct tt_seat){place == BLOCK ? r / m->ranks : r % nodes, local * m->node.sockets / m->ranks,
                                       m->node.gpus ? local % m->node.gpus : -1, local * m->node.nics / m->ranks};
    }
    for (int i = 0; t && i < nodes; i++)
        t->kinds[i] = m->node;
    for (int level = 0; t && level < TT_NLEVELS; level++)
        t->speed[level] = m->speed[level];
    settled(t);
    t->host_shared = m->host_shared;
    t->gamma = m->gamma;
    t->copy = m->copy;
    t->launch = m->launch;
    t->overhead = m->overhead;
    return t;
}

struct tt_topo *plain_machine(int size)
{
    struct tt_topo *t = tt_topo_new(size, 1);

    for (int level = 0; t && level < TT_NLEVELS; level++)
        t->speed[level].beta = 1;
    return settled(t);
}
