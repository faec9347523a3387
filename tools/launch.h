/* SPDX-License-Identifier: BSD-3-Clause */
/* What `tutti run` must know of MPI launchers, programs and variables. */
#ifndef TT_TOOLS_LAUNCH_H
#define TT_TOOLS_LAUNCH_H

#include <stdbool.h>
#include <stdio.h>

enum tool_mpi { TOOL_NO_LAUNCHER, TOOL_OPEN_MPI, TOOL_OTHER_MPI };

/* Whose mpiexec path is, by its name and what it says to --version. */
enum tool_mpi tool_which_mpi(const char *path);

/* The command with -x NAME for each variable that must travel: Open MPI passes none to other nodes by itself. The
 * result is not freed: it is about to be executed. */
char **tool_forward_variables(char **command);

/* "NAME=VALUE" is one that run sets: ours, and the two of the loader. */
bool tool_variable_travels(const char *assignment);

/* Our variables, by name: configuration, pins, and those of the simulated device. */
void tool_print_variables(FILE *out);

/* The program has nvcc's default runtime inside. */
bool tool_has_static_cudart(const char *path);

#endif
