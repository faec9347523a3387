/* SPDX-License-Identifier: BSD-3-Clause */
/* What messages go through: each goes out of a port and into another, or over one bus, and shares it with all others
 * that are there at the time. Who shares what is said in topo.h. */
#ifndef TT_PORTS_H
#define TT_PORTS_H

#include "selector/topo.h"

/* Ports are numbered from 0. A bus is the out-port and the in-port of all who use it. */
struct tt_way {
    int out, in;
};

struct tt_ports {
    int n, size;        /* ports, ranks */
    int across;         /* the first that is a NIC's; all from there on are */
    double *beta;       /* seconds per byte, of each port */
    struct tt_way *way; /* of each rank at each level: way[level * size + rank] */
};

/* Of a settled topology. 0 or ENOMEM. */
int tt_ports_make(struct tt_ports *p, const struct tt_topo *t);
void tt_ports_free(struct tt_ports *p);

/* The ports that a message goes through from a to b at that level. */
static inline struct tt_way tt_ports_between(const struct tt_ports *p, enum tt_level level, int a, int b)
{
    const struct tt_way *ways = p->way + (size_t)level * (size_t)p->size;

    return (struct tt_way){ways[a].out, ways[b].in};
}

#endif
