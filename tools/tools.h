/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands of `tutti` share. */
#ifndef TT_TOOLS_H
#define TT_TOOLS_H

#include <argp.h>
#include <stdio.h>

#include "coll/plan.h"

/* Exit statuses of our own; `run` otherwise passes on the program's. */
enum { TOOL_OK = 0, TOOL_FAILED = 1, TOOL_USAGE = 2, TOOL_CANNOT_RUN = 126, TOOL_NOT_FOUND = 127 };

/* argv[0] is "tutti <name>". Each returns an exit status, or exits. */
#define TT_COMMAND(name, summary) int tool_##name(int argc, char **argv);
#include "tools/commands.def"
#undef TT_COMMAND

struct tool_command {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
};
extern const struct tool_command tool_commands[]; /* ends with a NULL name */
const struct tool_command *tool_command_find(const char *name);

/* Runs a command as if it had been typed after "tutti". */
int tool_command_run(const struct tool_command *command, int argc, char **argv);

void tool_print_help(FILE *out);
void tool_print_commands(FILE *out);

/* "tutti draw: ..." on standard error, and exit with status. */
void tool_die(const struct argp_state *state, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4), noreturn));

/* Arguments as values; each exits naming what was wrong and what is known. */
enum tt_coll tool_coll(const struct argp_state *state, const char *name);
const struct tt_alg *tool_alg(const struct argp_state *state, enum tt_coll coll, const char *name);
int tool_positive(const struct argp_state *state, const char *option, const char *text);
int tool_natural(const struct argp_state *state, const char *option, const char *text);
int64_t tool_size(const struct argp_state *state, const char *option, const char *text);

/* What holds for every rank of a valid call, or exit. */
void tool_check_root(const struct argp_state *state, const struct tt_shape *s);

bool tool_reduces(enum tt_coll coll); /* it has an op */
bool tool_rooted(enum tt_coll coll);
bool tool_in_blocks(enum tt_coll coll); /* its count is that of a block, not of the vector */

void tool_print_colls(FILE *out);                    /* "allreduce, reduce, ..." */
void tool_print_algs(FILE *out, enum tt_coll coll);  /* "ring, ..., native" */

#endif
