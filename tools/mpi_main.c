/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti-mpi: the commands of `tutti` that are MPI programs. It is linked with the MPI and, before it, with libtutti, so
 * that it meets both as a program of the user's does. Started by `tutti`, whose process it takes over. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "tools/mpi_tools.h"
#include "tools/tools.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
#define TT_MPI_COMMAND(name) {#name, tool_mpi_##name},
#include "tools/mpi_commands.def"
#undef TT_MPI_COMMAND
};

/* Ranks that another MPI's mpiexec started are each alone for this one: all would do everything. */
static void check_launcher(const char *name)
{
    static const char *const sizes[] = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && size == 1; i++)
        if (getenv(sizes[i]) && atoi(getenv(sizes[i])) > 1) {
            fprintf(stderr, "%s: one of %s ranks, but alone to %s, which this Tutti was built with: start them by %s\n",
                    name, getenv(sizes[i]), TT_MPI_NAME, TT_MPIEXEC);
            MPI_Finalize();
            exit(TOOL_FAILED);
        }
}

/* Threads of Tutti's call MPI as well; that costs locks, so only who wants them has them. */
static void init(int argc, char **argv)
{
    int level = MPI_THREAD_SINGLE, provided;

    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "--ov", 4) == 0)
            level = MPI_THREAD_MULTIPLE;
    if (level == MPI_THREAD_SINGLE)
        MPI_Init(&argc, &argv);
    else
        MPI_Init_thread(&argc, &argv, level, &provided);
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    char name[64];
    int status = TOOL_USAGE;

    snprintf(name, sizeof name, "tutti %s", command);
    init(argc, argv);
    check_launcher(name);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, command) == 0) {
            argv[1] = name;
            status = commands[i].run(argc - 1, argv + 1);
        }
    MPI_Finalize();
    return status;
}
