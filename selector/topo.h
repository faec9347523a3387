/* SPDX-License-Identifier: BSD-3-Clause */
/* Where ranks are and what lies between them: the one picture from which the selector's formulas, the priced plans, the
 * drawings and the platform of the scale simulation are made. Read from a file, or found on the machine; the same on all
 * ranks of a communicator. */
#ifndef TT_TOPO_H
#define TT_TOPO_H

#include "algos/algos.h"

/* What two ranks have between them, the nearest first: one row each. */
#define TT_LEVELS(L)                                                                                                 \
    L(GPU, "gpu", "the same GPU")                                                                                    \
    L(LINK, "link", "NVLink or NVSwitch, GPU to GPU")                                                                \
    L(HOST, "host", "PCIe, or memory of the host")                                                                   \
    L(NIC, "nic", "the network")

enum tt_level {
#define L(id, name, words) TT_LEVEL_##id,
    TT_LEVELS(L)
#undef L
    TT_NLEVELS
};

/* One level: a message of n bytes alone takes alpha + n beta. Each rank has a port of that bandwidth at each level, both
 * ways at once, but for what is shared: at TT_LEVEL_NIC all ranks that use a NIC share it; at TT_LEVEL_HOST all ranks of
 * a node share the node's memory if `shared` says so. */
struct tt_speed {
    double alpha; /* seconds */
    double beta;  /* seconds per byte */
};

/* Where a rank sits. Numbers count within the node; -1: it has none, or nobody knows. */
struct tt_seat {
    int node, socket, gpu, nic;
};

/* One kind of node, as a file states it and a drawing shows it. */
struct tt_node_kind {
    int sockets, cores, gpus, nics;
    bool linked; /* its GPUs by NVLink or NVSwitch; else by PCIe */
};

struct tt_topo {
    char about[128];
    char gpu[16]; /* what its GPUs are, for planning (planner/gpus.def); empty: not said */
    int size; /* ranks */
    struct tt_seat *seats;
    struct tt_nodes nodes;
    struct tt_node_kind *kinds; /* of each node */
    struct tt_speed speed[TT_NLEVELS];
    bool host_shared;  /* one memory bus per node, instead of a port per rank */
    double gamma;      /* seconds per byte reduced, two operands into one */
    double copy;       /* seconds per byte copied */
    double launch;     /* seconds to start a reduction or copy on a GPU */
    double overhead;   /* seconds that a rank takes for each message it sends */
    struct tt_speed nccl; /* of NCCL, where it was measured: of a call apart from its bytes, and of a ring through all ranks of
                             a node; beta 0: what the links between GPUs let expect */
    bool measured;     /* by `tutti tune`, not assumed */
};

/* A topology of size ranks with no seats taken, nor speeds: all zero, every rank on a node of its own kind to be filled.
 * NULL if out of memory. Freed by tt_topo_free. */
struct tt_topo *tt_topo_new(int size, int nnodes);
void tt_topo_free(struct tt_topo *t);

/* Once seats have their nodes and NICs: works nodes out of them. 0 or ENOMEM. */
int tt_topo_settle(struct tt_topo *t);

/* The topology of some of the ranks, ranks[i] becoming rank i; nodes are numbered anew. NULL if out of memory. */
struct tt_topo *tt_topo_part(const struct tt_topo *t, const int *ranks, int size);

/* Speeds, and whether they were measured, as they are in another topology. */
void tt_topo_take_speeds(struct tt_topo *t, const struct tt_topo *from);

/* What lies between two different ranks. */
enum tt_level tt_topo_level(const struct tt_topo *t, int a, int b);

/* The slowest level that its ranks cross, an enum tt_level; -1 where there is no other rank, or t is NULL. */
int tt_topo_slowest(const struct tt_topo *t);
const char *tt_level_name(enum tt_level level);  /* "nic" */
const char *tt_level_words(enum tt_level level); /* "the network" */

/* What one rank found of where it sits: gathered from all, a topology. Of the same layout on all ranks. */
struct tt_found {
    uint64_t gpu; /* tells GPUs apart; 0: none */
    int32_t node; /* equal on the ranks of a node, and on no other */
    int32_t socket, nic;
    int32_t sockets, cores, nics;
    int32_t linked; /* its GPU to the others, by NVLink */
};

/* The topology of size ranks that found so much, with the speeds that are assumed where nothing was measured. NULL if out
 * of memory. */
struct tt_topo *tt_topo_found(const struct tt_found *found, int size);

/* So many ranks on one node, with no GPUs and the speeds that are assumed: what to think where nothing is known. NULL if
 * out of memory. */
struct tt_topo *tt_topo_assumed(int size);

/* Reads a file (see doc/topology.md); 0, or -1 with why (of size bytes) filled: file, line where known, what is wrong,
 * what may be there. Ranks are placed as the file says unless place ("block", "round-robin") overrules it; n > 0
 * overrules how many there are, filling nodes in turn, and nodes > 0 how many nodes. */
int tt_topo_read(const char *file, int n, int nodes, const char *place, struct tt_topo **t, char *why, size_t size);

#endif
