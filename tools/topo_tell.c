/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of tutti topo, which `tutti` reads and the MPI program of the same command reads again; and the form
 * that it asks for. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/site.h"
#include "tools/tools.h"

enum { SVG = 256, JSON };

static const struct argp_option options[] = {
    {"svg", SVG, "FILE", 0, "a picture, to FILE (- is standard output)", 2},
    {"json", JSON, NULL, 0, "for machines: seconds, and bytes per second", 2},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool_topo_arguments *a = state->input;

    switch (key) {
    case SVG:
        a->svg = arg;
        return 0;
    case JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->seats;
        return 0;
    case ARGP_KEY_ARG:
        if (a->seats.file)
            tool_die(state, TOOL_USAGE, "wants one file; \"%s\" is one too many", arg);
        a->seats.file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->seats.file && (a->seats.ranks || tool_seats_given(&a->seats)))
            tool_die(state, TOOL_USAGE,
                     "-n, --nodes and --place are for a FILE; without one it is mpiexec that starts ranks");
        if (a->svg && a->json)
            tool_die(state, TOOL_USAGE, "--svg and --json are two forms: ask for one");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tool_seats_argp, 0, "Of a FILE:", 1}, {0}};
static const struct argp argp = {
    options,
    parse,
    "[FILE]",
    "Show where ranks sit and what lies between them, and warn of what costs people most: a rank bound to cores far "
    "from "
    "its GPU or NIC, ranks that share a GPU while others are idle, GPUs that cannot reach each other. Of a FILE (see "
    "doc/topology.md; a bare name is one that came with Tutti), or, started by mpiexec, of what is found here.\v"
    "Examples:\n"
    "  tutti topo h100x8\n"
    "  tutti topo h100x8 -n 20 --svg h100x8.svg\n"
    "  mpiexec -n 4 tutti topo\n\n"
    "Start it as you start your program, with the same options of mpiexec: it is those that it looks at. "
    "Each rank is taken to use the GPU of its number among the ranks of its node.\n",
    children,
    NULL,
    NULL};

void tool_topo_parse(int argc, char **argv, struct tool_topo_arguments *a)
{
    *a = (struct tool_topo_arguments){0};
    argp_parse(&argp, argc, argv, 0, NULL, a);
}

int tool_topo_tell(const struct tool_topo_arguments *a, const struct tool_site *site)
{
    FILE *out = a->svg && strcmp(a->svg, "-") ? fopen(a->svg, "w") : stdout;

    if (!out) {
        fprintf(stderr, "tutti topo: cannot write %s: %s\n", a->svg, strerror(errno));
        return TOOL_FAILED;
    }
    (a->svg ? tool_topo_svg : a->json ? tool_topo_json : tool_topo_text)(out, site);
    if (fflush(out) || ferror(out)) {
        fprintf(stderr, "tutti topo: cannot write %s: %s\n", a->svg ? a->svg : "standard output", strerror(errno));
        return TOOL_FAILED;
    }
    if (out != stdout)
        fclose(out);
    return TOOL_OK;
}
