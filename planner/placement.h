/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the groups of a layout sit, and what their collectives take there: the selector's own choice, by its own model,
 * on the part of the topology that a group has. All groups of a kind do the same at the same time, so those that share
 * a NIC, or a node's memory, take from each other. Each group and each call is worked out once. */
#ifndef TT_PLACEMENT_H
#define TT_PLACEMENT_H

#include "selector/topo.h"

struct tt_placement;

/* Of a settled topology, which must last as long, one rank a GPU. NULL if out of memory. */
struct tt_placement *tt_placement_make(const struct tt_topo *t);
void tt_placement_free(struct tt_placement *p);

const struct tt_topo *tt_placement_topo(const struct tt_placement *p);

/* Ranks that are `stride` apart, so many: there are as many such groups as it takes for all ranks, and the one that is
 * spread over most nodes counts. */
struct tt_span_of {
    int size, stride;
};

/* What is known of a group. */
struct tt_group_about {
    int level;      /* the slowest that it crosses, an enum tt_level; -1: of one rank */
    int nodes;      /* that it is on */
    double sharing; /* so many groups share each of its NICs, this one included; 1 where it crosses none */
};

/* What one collective takes. */
struct tt_group_price {
    double seconds; /* negative: out of memory */
    const char *algorithm;
};

struct tt_group_about tt_placement_about(struct tt_placement *p, struct tt_span_of of);

/* bytes: of the vector, or of a block, as collectives are stated; unit: bytes of an element. */
struct tt_group_price tt_placement_price(struct tt_placement *p, struct tt_span_of of, enum tt_coll coll, double bytes,
                                         int unit);

/* How many different calls were worked out. */
int tt_placement_asked(const struct tt_placement *p);

/* Every rank sends to the one that is so far away: which level, and how many share a NIC. */
struct tt_group_about tt_placement_hop(struct tt_placement *p, int distance);
double tt_placement_hop_seconds(struct tt_placement *p, int distance, double bytes);

#endif
