/* SPDX-License-Identifier: BSD-3-Clause */
/* The speeds of a topology, measured. */
#ifndef TT_TOOLS_MPI_LINKS_H
#define TT_TOOLS_MPI_LINKS_H

#include "tools/mpi_crew.h"

/* Rank 0's: replaces the speeds in t of what there is by what is measured, and notes in t->about what was not. false:
 * the user wants an end. A second or so. */
bool tool_measure_links(struct tool_crew *b, struct tt_topo *t, const char *where);

#endif
