/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands of tutti-mpi share. */
#ifndef TT_TOOLS_MPI_TOOLS_H
#define TT_TOOLS_MPI_TOOLS_H

/* argv[0] is "tutti <name>", and the command line has been found good. Called between MPI_Init and MPI_Finalize on all
 * ranks of MPI_COMM_WORLD. Each returns an exit status. */
#define TT_MPI_COMMAND(name) int tool_mpi_##name(int argc, char **argv);
#include "tools/mpi_commands.def"
#undef TT_MPI_COMMAND

#endif
