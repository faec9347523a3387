/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows in the order in which they were measured: by collective, then by size. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"

const char *const tool_path_names[TOOL_NPATHS] = {"native", "own", "nccl", "chosen", "thread", "free", "bare"};

struct tool_row *tool_results_add(struct tool_results *r, const struct tool_row *row)
{
    if (r->n == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->rows = realloc(r->rows, (size_t)r->room * sizeof *r->rows);
        if (!r->rows)
            abort();
    }
    r->rows[r->n] = *row;
    return &r->rows[r->n++];
}

void tool_results_free(struct tool_results *r)
{
    free(r->rows);
    *r = (struct tool_results){0};
}

int tool_end_of_coll(const struct tool_results *r, int i)
{
    const enum tt_coll coll = r->rows[i].coll;

    while (i < r->n && r->rows[i].coll == coll)
        i++;
    return i;
}

int tool_end_of_size(const struct tool_results *r, int i)
{
    const struct tool_row *of = &r->rows[i];

    while (i < r->n && r->rows[i].coll == of->coll && r->rows[i].bytes == of->bytes)
        i++;
    return i;
}

int tool_bench_tell_all(const struct argp_state *state, const struct tool_bench_arguments *a,
                        const struct tool_results *r)
{
    const bool quiet = a->json && strcmp(a->json, "-") == 0;

    for (int i = 0; i < r->n && !quiet; i = tool_end_of_coll(r, i))
        tool_bench_tell(stdout, a->format, r, i, tool_end_of_coll(r, i), true);
    return tool_bench_files(state, a, r);
}

static int write_json(const struct argp_state *state, const char *file, const struct tool_results *r)
{
    const bool to_file = strcmp(file, "-") != 0;
    FILE *out = to_file ? fopen(file, "w") : stdout;
    int error = out ? tool_bench_write(r, out) : -1;

    if (out && to_file)
        error |= fclose(out);
    if (error)
        fprintf(stderr, "%s: %s: %s\n", state->name, file, strerror(errno));
    return error ? TOOL_FAILED : TOOL_OK;
}

int tool_bench_files(const struct argp_state *state, const struct tool_bench_arguments *a, const struct tool_results *r)
{
    int status = a->json ? write_json(state, a->json, r) : TOOL_OK;

    fflush(stdout);
    if (a->plot && r->n > 0 && tool_bench_plot(state, a->plot, r))
        status = TOOL_FAILED;
    return status;
}
