/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that say which ranks sit where, which several commands take: children of their own parsers (argp). */
#ifndef TT_TOOLS_SEATS_H
#define TT_TOOLS_SEATS_H

#include <argp.h>

struct tool_seats {
    const char *file, *place; /* NULL where nothing was said */
    int ranks, nodes;         /* 0: likewise */
};

/* -n, --nodes, --place; and the same with --topo. The input of both is a struct tool_seats, which the parent puts into
 * state->child_inputs[0] at ARGP_KEY_INIT. */
extern const struct argp tool_seats_argp, tool_topo_argp;

/* "--nodes" or "--place", whichever was given; NULL: neither. */
const char *tool_seats_given(const struct tool_seats *seats);

#endif
