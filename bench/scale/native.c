/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers: SMPI's own collectives, which choose algorithms as MPICH, Open MPI, MVAPICH2 or Intel MPI do. */
#include <simgrid/actor.h>
#include <simgrid/host.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/scale/play.h"

static void call(const struct play *p, char *send, char *recv)
{
    const int n = (int)p->count;

    switch (p->coll) {
    case TT_COLL_allreduce:
        MPI_Allreduce(send, recv, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case TT_COLL_reduce_scatter:
        MPI_Reduce_scatter_block(send, recv, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        break;
    case TT_COLL_allgather:
        MPI_Allgather(send, n, MPI_FLOAT, recv, n, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    case TT_COLL_bcast:
        MPI_Bcast(send, n, MPI_FLOAT, 0, MPI_COMM_WORLD);
        break;
    case TT_COLL_reduce:
        MPI_Reduce(send, recv, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
        break;
    case TT_COLL_alltoall:
        MPI_Alltoall(send, n, MPI_FLOAT, recv, n, MPI_FLOAT, MPI_COMM_WORLD);
        break;
    default:
        fprintf(stderr, "play: nobody calls MPI for %s here\n", tt_coll_name(p->coll));
        exit(EXIT_FAILURE);
    }
}

void play_native(const struct play *p)
{
    call(p, p->memory, p->memory + p->total);
}

/* SMPI takes ranks on one host to share a node. Each of ours has a host, so that it has ports of its own; so for the
 * time of the first calls all ranks of a node move in with the first of them. Without this none of the peers' two-level
 * algorithms would run. Two sizes, since the choice, and with it what is prepared, goes by size. */
void play_meet(const struct play *p)
{
    const struct tt_nodes *nodes = &p->topo->nodes;
    sg_host_t home = sg_host_self();
    char name[32];

    snprintf(name, sizeof name, "r%d", nodes->ranks[nodes->first[nodes->of[p->rank]]]);
    sg_actor_set_host(sg_actor_self(), sg_host_by_name(name));
    for (int64_t bytes = 1024; bytes <= 1 << 20; bytes <<= 5) {
        struct play small = *p;
        char *buffers = malloc((size_t)bytes * 2);

        small.memory = buffers;
        small.total = bytes;
#define C(id, blocks)                                                                                                  \
    small.coll = TT_COLL_##id;                                                                                         \
    small.count = bytes / 4 / (blocks ? p->topo->size : 1);                                                            \
    play_native(&small);
        PLAY_COLLECTIVES(C)
#undef C
        free(buffers);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sg_actor_set_host(sg_actor_self(), home);
    MPI_Barrier(MPI_COMM_WORLD);
}
