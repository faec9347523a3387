/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands of tutti-mpi share. */
#ifndef TT_TOOLS_MPI_TOOLS_H
#define TT_TOOLS_MPI_TOOLS_H
#include "tools/site.h"

/* argv[0] is "tutti <name>", and the command line has been found good. Called between MPI_Init and MPI_Finalize on all
 * ranks of MPI_COMM_WORLD. Each returns an exit status. */
#define TT_MPI_COMMAND(name) int tool_mpi_##name(int argc, char **argv);
#include "tools/mpi_commands.def"
#undef TT_MPI_COMMAND

/* ---- mpi_site.c ---- */

/* The place of this rank among those of its node, and the lowest rank there, which names it. Collective. */
int tool_turn_on_node(int rank, int *leader);

/* The MPI below, in a line of words. */
void tool_name_mpi(char *text, size_t size);

/* What every rank saw, to be freed, and the topology of it, at rank 0, NULL if out of memory; NULL at the others.
 * Without gpus none is looked for. Collective over MPI_COMM_WORLD. */
struct tt_topo *tool_find(bool gpus, struct tool_seen **seen);

#endif
