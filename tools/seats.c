/* SPDX-License-Identifier: BSD-3-Clause */
/* What is said by these options is for tt_topo_read to judge, which knows what there is. */
#include "tools/seats.h"

#include "tools/tools.h"

enum { TOPO = 0x5ea70, NODES, PLACE };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool_seats *seats = state->input;

    switch (key) {
    case 'n':
        seats->ranks = tool_positive(state, "-n", arg);
        return 0;
    case TOPO:
        seats->file = arg;
        return 0;
    case NODES:
        seats->nodes = tool_positive(state, "--nodes", arg);
        return 0;
    case PLACE:
        seats->place = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"ranks", 'n', "P", 0, "so many ranks, filling nodes in turn [as many as the topology says, or 4]", 0},
    {"nodes", NODES, "N", 0, "of the topology's nodes, so many", 0},
    {"place", PLACE, "HOW", 0, "ranks go to nodes \"block\" after block, or \"round-robin\"", 0},
    {0}};
const struct argp tool_seats_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

static const struct argp_option topo_options[] = {
    {"topo", TOPO, "FILE", 0, "where ranks sit and what lies between them: a file, or a shipped one's name: h100x8", 0},
    {0}};
static const struct argp_child seats_child[] = {{&tool_seats_argp, 0, NULL, 0}, {0}};

static error_t parse_topo(int key, char *arg, struct argp_state *state)
{
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = state->input;
        return 0;
    }
    return parse(key, arg, state);
}

const struct argp tool_topo_argp = {topo_options, parse_topo, NULL, NULL, seats_child, NULL, NULL};

const char *tool_seats_given(const struct tool_seats *seats)
{
    return seats->nodes ? "--nodes" : seats->place ? "--place" : NULL;
}
