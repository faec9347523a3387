/* SPDX-License-Identifier: BSD-3-Clause */
/* From `tutti` to the commands that are MPI programs: they are in a program of their own, tutti-mpi, for `tutti` must
 * run where there is no MPI to start; and in tutti-mpi-plain, which is the same without the library. */
#ifndef TT_TOOLS_HAND_OVER_H
#define TT_TOOLS_HAND_OVER_H

#include <argp.h>

/* Where mpiexec started several of this command, only the first says what is wrong with the command line, or gives
 * help: the others are silent from here until tool_hand_over. */
void tool_hush_others(void);

/* Becomes that program's command of that name, with the arguments behind argv[0]; or exits, saying why not. */
void tool_hand_over(const struct argp_state *state, const char *program, const char *command, char **argv)
    __attribute__((noreturn));

#endif
