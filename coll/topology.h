/* SPDX-License-Identifier: BSD-3-Clause */
/* The topology of a communicator: what each rank finds, gathered; or what TUTTI_TOPO says. */
#ifndef TT_TOPOLOGY_H
#define TT_TOPOLOGY_H

#include <mpi.h>

#include "selector/topo.h"

/* At MPI_Init, after the settings are known to be equal: which ranks share a node, and the files of TUTTI_TOPO and
 * TUTTI_PROFILE read. 0, or -1 with why (of size bytes) filled. Collective over MPI_COMM_WORLD. */
int tt_topology_open(char *why, size_t size);
void tt_topology_close(void);

/* Ranks that the MPI says are of one node are of several, as containers are: this one's begins with rank `leader`. */
void tt_topology_lead(int leader);

/* Ranks of MPI_COMM_WORLD on this node; do they outnumber the cores that they may run on? After tt_topology_open. */
bool tt_node_is_crowded(void);

/* The topology of the ranks of comm, all of them of this MPI_COMM_WORLD. Collective over comm: blocks. NULL if this rank,
 * but perhaps not another, is out of memory. */
struct tt_topo *tt_topology_of(MPI_Comm comm);

#endif
