/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the pieces that `tutti` puts together lie. */
#ifndef TT_TOOLS_PATHS_H
#define TT_TOOLS_PATHS_H

#include <stdbool.h>
#include <stddef.h>

enum { TOOL_PATH_MAX = 4096 };

/* libtutti.so; tutti-mpi or tutti-mpi-plain; the directory of the simulated device's libcuda.so.1. Looked for beside
 * this command (where it was installed, or in the tree it was built in), then where configure said. False if nowhere.
 */
bool tool_library_path(char *path, size_t size);
bool tool_mpi_program_path(const char *program, char *path, size_t size);
bool tool_simulator_path(char *path, size_t size);

/* Where they were looked for, as words for an error. */
const char *tool_library_places(void);
const char *tool_mpi_program_places(void);
const char *tool_simulator_places(void);

/* The file that the shell would run for command; false if there is none. */
bool tool_find_command(const char *command, char *path, size_t size);

#endif
