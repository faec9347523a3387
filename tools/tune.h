/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `tutti tune` share that need no MPI: its command line, and the cost profile that it writes. */
#ifndef TT_TOOLS_TUNE_H
#define TT_TOOLS_TUNE_H

#include <stdbool.h>
#include <stdint.h>

#include "selector/topo.h"
#include "tools/paths.h"

struct tool_tune_arguments {
    uint64_t colls; /* bits 1 << enum tt_coll */
    int64_t least, most;
    double budget, factor;           /* seconds; see struct tt_tuning */
    bool where_given, device, fresh; /* device: buffers are on GPUs; if nobody said where, as it turns out */
    const char *output;              /* as given, or NULL */
    const char *regret;              /* the rules to judge, or NULL: to find some */
    char rules[TOOL_PATH_MAX], profile[TOOL_PATH_MAX], journal[TOOL_PATH_MAX];
};

/* Parses the command line of tutti tune, or exits. */
void tool_tune_parse(int argc, char **argv, struct tool_tune_arguments *a);

/* Writes a topology whose speeds were measured, as a file that TUTTI_PROFILE and TUTTI_TOPO may name. 0, or -1 with
 * errno set. */
int tool_write_profile(const char *file, const struct tt_topo *topo);

#endif
