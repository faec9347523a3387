/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti bench measures in an MPI program: here are its command line, so that help and errors are said once, and what
 * needs no MPI: telling and comparing the results of earlier runs. */
#include "tools/bench.h"

#include <dlfcn.h>

#include "tools/hand_over.h"

static int tell_again(const struct argp_state *state, const struct tool_bench_arguments *a)
{
    struct tool_results r;
    char why[512];
    int status;

    if (tool_bench_read(a->from, &r, why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    status = tool_bench_tell_all(state, a, &r);
    tool_results_free(&r);
    return status;
}

int tool_bench(int argc, char **argv)
{
    const struct argp_state state = {.name = argv[0]};
    struct tool_bench_arguments a;

    tool_hush_others();
    tool_bench_parse(argc, argv, &a);
    if (a.compare)
        return tool_bench_compare(&state, &a);
    if (a.from)
        return tell_again(&state, &a);
    if (a.plain && dlsym(RTLD_DEFAULT, "tutti_set"))
        tool_die(&state, TOOL_USAGE, "--plain: Tutti is preloaded into this process: start mpiexec without tutti run");
    tool_hand_over(&state, a.plain ? "tutti-mpi-plain" : "tutti-mpi", "bench", argv);
}
