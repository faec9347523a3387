/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/bench.h"

int tool_bench_plot(const struct argp_state *state, const char *file, const struct tool_results *r)
{
    (void)r;
    fprintf(stderr, "%s: %s: not drawn\n", state->name, file);
    return TOOL_FAILED;
}
