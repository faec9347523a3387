/* SPDX-License-Identifier: BSD-3-Clause */
/* `tutti`: one command with several inside, found in one table. */
#include "tools/tools.h"

#include <stdlib.h>
#include <string.h>

#include "config.h"

const struct tool_command tool_commands[] = {
#define TT_COMMAND(name, summary) {#name, summary, tool_##name},
#include "tools/commands.def"
#undef TT_COMMAND
    {NULL, NULL, NULL}};

const struct tool_command *tool_command_find(const char *name)
{
    for (const struct tool_command *c = tool_commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

int tool_command_run(const struct tool_command *command, int argc, char **argv)
{
    char name[64];

    snprintf(name, sizeof name, "tutti %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

void tool_print_commands(FILE *out)
{
    for (const struct tool_command *c = tool_commands; c->name; c++)
        fprintf(out, "  %-9s %s\n", c->name, c->summary);
}

void tool_print_help(FILE *out)
{
    fputs("Usage: tutti COMMAND [ARGUMENT...]\n"
          "Tutti makes MPI collectives work on CUDA buffers, makes them fast, and says why.\n\n",
          out);
    tool_print_commands(out);
    fputs("\nA first session:\n"
          "  tutti draw allreduce ring -n 4              see how it works\n"
          "  tutti explain allreduce -n 8 --bytes 64M    see what it costs, and what else there is\n"
          "  mpiexec -n 4 tutti topo                     see where ranks sit, and what is wrong with it\n"
          "  tutti cost allreduce ring -n 8 --bytes 1GB --alpha 5us --bandwidth 50GB/s\n"
          "                                              the arithmetic of it, line by line\n"
          "  tutti run -- mpiexec -n 4 ./app             run your program with it\n"
          "  tutti run --sim-gpus 4 --explain -- mpiexec -n 4 ./app\n"
          "                                              the same without a GPU, saying which algorithm ran and why\n\n"
          "tutti COMMAND --help, or tutti help COLLECTIVE, tell more; tutti --version the version.\n",
          out);
}

static int unknown_command(const char *name)
{
    fprintf(stderr, "tutti: there is no command \"%s\"; there are:\n", name);
    tool_print_commands(stderr);
    return TOOL_USAGE;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    const struct tool_command *command = name ? tool_command_find(name) : NULL;

    argp_err_exit_status = TOOL_USAGE;
    if (command)
        return tool_command_run(command, argc - 1, argv + 1);
    if (!name) {
        tool_print_help(stderr);
        return TOOL_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "-?") == 0) {
        tool_print_help(stdout);
        return TOOL_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        puts("tutti " PACKAGE_VERSION);
        return TOOL_OK;
    }
    return unknown_command(name);
}
