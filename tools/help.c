/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti help: a command's own help, or a collective taught: what goes in, what comes out, who can do it and how. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "tools/tools.h"

struct lesson {
    const char *does, *before, *after; /* the buffers of rank r of p, in the words of MPI */
};

static const struct lesson lessons[TT_NCOLLS] = {
    [TT_COLL_allreduce] = {"combines the vectors of all ranks, element by element, and gives everyone the result",
                           "every rank has a vector", "every rank has the combined vector"},
    [TT_COLL_reduce] = {"combines the vectors of all ranks, element by element, and gives the root the result",
                        "every rank has a vector", "the root has the combined vector"},
    [TT_COLL_bcast] = {"gives everyone what the root has", "the root has a vector", "every rank has that vector"},
    [TT_COLL_allgather] = {"gives everyone everyone's block", "rank r has block r", "every rank has blocks 0 to p-1"},
    [TT_COLL_reduce_scatter] = {"combines the vectors of all ranks and leaves each rank one block of the result; blocks "
                                "may differ in length",
                                "every rank has blocks 0 to p-1", "rank r has combined block r"},
    [TT_COLL_reduce_scatter_block] = {"is reduce_scatter with blocks of equal length", "every rank has blocks 0 to p-1",
                                      "rank r has combined block r"},
    [TT_COLL_alltoall] = {"gives each rank its block of everyone's", "rank r has a block for each rank",
                          "rank r has the block for r of each rank"},
    [TT_COLL_gather] = {"gives the root everyone's block", "rank r has block r", "the root has blocks 0 to p-1"},
    [TT_COLL_scatter] = {"gives each rank its block of the root's", "the root has blocks 0 to p-1", "rank r has block r"},
    [TT_COLL_scan] = {"combines, for each rank, the vectors of the ranks up to it", "every rank has a vector",
                      "rank r has the combined vectors of ranks 0 to r"},
    [TT_COLL_exscan] = {"combines, for each rank, the vectors of the ranks before it", "every rank has a vector",
                        "rank r has the combined vectors of ranks 0 to r-1, rank 0 nothing"},
    [TT_COLL_allgatherv] = {"is allgather with blocks that may differ in length", "rank r has block r",
                            "every rank has blocks 0 to p-1"},
    [TT_COLL_gatherv] = {"is gather with blocks that may differ in length", "rank r has block r",
                         "the root has blocks 0 to p-1"},
    [TT_COLL_scatterv] = {"is scatter with blocks that may differ in length", "the root has blocks 0 to p-1",
                          "rank r has block r"},
    [TT_COLL_alltoallv] = {"is alltoall with blocks that may differ in length", "rank r has a block for each rank",
                           "rank r has the block for r of each rank"},
    [TT_COLL_alltoallw] = {"is alltoallv with a datatype for each block", "rank r has a block for each rank",
                           "rank r has the block for r of each rank"},
    [TT_COLL_neighbor_allgather] = {"gives everyone the blocks of its neighbours in the communicator's topology",
                                    "rank r has block r", "rank r has a block from each neighbour"},
    [TT_COLL_neighbor_allgatherv] = {"is neighbor_allgather with blocks that may differ in length", "rank r has block r",
                                     "rank r has a block from each neighbour"},
    [TT_COLL_neighbor_alltoall] = {"gives each rank its block of each neighbour's in the communicator's topology",
                                   "rank r has a block for each neighbour", "rank r has a block from each neighbour"},
    [TT_COLL_neighbor_alltoallv] = {"is neighbor_alltoall with blocks that may differ in length",
                                    "rank r has a block for each neighbour", "rank r has a block from each neighbour"},
    [TT_COLL_neighbor_alltoallw] = {"is neighbor_alltoallv with a datatype for each block",
                                    "rank r has a block for each neighbour", "rank r has a block from each neighbour"},
    [TT_COLL_barrier] = {"lets no rank go on before all have arrived", "nothing", "nothing"},
};

static const struct argp argp = {NULL, NULL, "[COMMAND|COLLECTIVE]...",
                                 "Teach a command or a collective.\vExamples:\n  tutti help draw\n  tutti help allreduce\n",
                                 NULL, NULL, NULL};

/* An algorithm of its own to show, rather than the MPI's; NULL if there is none. */
static const struct tt_alg *example(enum tt_coll coll)
{
    for (int i = 0; tt_algs[i]; i++)
        if (tt_algs[i]->build && tt_alg_serves(tt_algs[i], coll))
            return tt_algs[i];
    return NULL;
}

static void teach(enum tt_coll coll)
{
    const struct lesson *lesson = &lessons[coll];
    const struct tt_alg *shown = example(coll);
    const char *name = tt_coll_name(coll);
    char pin[64];

    printf("%s %s.\n\n  before  %s\n  after   %s\n\nalgorithms (p ranks, n bytes, alpha a message's latency, beta a byte's "
           "time)\n",
           name, lesson->does, lesson->before, lesson->after);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll))
            printf("  %-18s %s\n", tt_algs[i]->name, tt_algs[i]->summary);
    puts("\ntry");
    if (shown)
        printf("  tutti draw %s %s -n 4\n", name, shown->name);
    printf("  tutti explain %s -n 8%s\n", name, coll == TT_COLL_barrier ? "" : " --bytes 64K");
    if (coll != TT_COLL_barrier && !tt_coll_lengths_local(coll))
        printf("  tutti explain %s --topo h100x8 --plot -\n", name);
    if (shown)
        printf("  %s=%s tutti run --explain -- mpiexec -n 4 ./app\n", tt_config_pin_name(coll, pin, sizeof pin), shown->name);
}

static int help_one(const char *topic)
{
    const struct tool_command *command = tool_command_find(topic);
    const enum tt_coll coll = tt_coll_find(topic, strlen(topic));

    if (command)
        return tool_command_run(command, 2, (char *[]){NULL, (char[]){"--help"}, NULL});
    if (coll < TT_NCOLLS) {
        teach(coll);
        return TOOL_OK;
    }
    fprintf(stderr, "tutti help: \"%s\" is neither a command nor a collective; commands are:\n", topic);
    tool_print_commands(stderr);
    fputs("collectives are: ", stderr);
    tool_print_colls(stderr);
    fputc('\n', stderr);
    return TOOL_USAGE;
}

int tool_help(int argc, char **argv)
{
    int status = TOOL_OK, first;

    argp_parse(&argp, argc, argv, ARGP_NO_ARGS, &first, NULL);
    if (first == argc) {
        tool_print_help(stdout);
        return TOOL_OK;
    }
    for (; first < argc && status == TOOL_OK; first++) {
        status = help_one(argv[first]);
        if (status == TOOL_OK && first + 1 < argc)
            putchar('\n');
    }
    return status;
}
