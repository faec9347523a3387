/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti topo of a file, which needs no MPI. Without a file the command is an MPI program, and goes on as such: alone,
 * it is one rank. */
#include <string.h>

#include "config.h"
#include "tools/hand_over.h"
#include "tools/site.h"
#include "tools/tools.h"

static int tell_file(const struct argp_state *state, const struct tool_topo_arguments *a)
{
    char why[1024], from[512];
    struct tool_site site = {.from = from, .open_mpi = strcmp(TT_MPI_NAME, "Open MPI") == 0};
    int status;

    if (tt_topo_read(a->seats.file, a->seats.ranks, a->seats.nodes, a->seats.place, &site.topo, why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    snprintf(from, sizeof from, "as %.480s says", a->seats.file);
    status = tool_topo_tell(a, &site);
    tt_topo_free(site.topo);
    return status;
}

int tool_topo(int argc, char **argv)
{
    const struct argp_state state = {.name = argv[0]};
    struct tool_topo_arguments a;

    tool_hush_others();
    tool_topo_parse(argc, argv, &a);
    if (a.seats.file)
        return tell_file(&state, &a);
    tool_hand_over(&state, "tutti-mpi", "topo", argv);
}
