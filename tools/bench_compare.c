/* SPDX-License-Identifier: BSD-3-Clause */
/* Two runs held against each other, row by row: the ratio of medians, and whether it is more than the noise of both.
 * Ratios are averaged geometrically, since twice as fast and half as fast are to cancel. */
#include <math.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/bench.h"

static const double us = 1e6;

struct tally {
    int n, faster, slower;
    double logs;
};

/* What a row is known by. What was chosen may have been another algorithm: it is the same path to the user. */
static const struct tool_row *same_in(const struct tool_results *r, const struct tool_row *row)
{
    for (int i = 0; i < r->n; i++) {
        const struct tool_row *other = &r->rows[i];

        if (other->coll == row->coll && other->bytes == row->bytes && other->path == row->path &&
            (row->path != TOOL_OWN || strcmp(other->algorithm, row->algorithm) == 0))
            return other;
    }
    return NULL;
}

static void count(struct tally *t, const struct tool_row *a, const struct tool_row *b)
{
    t->n++;
    t->logs += log(b->median / a->median);
    t->faster += b->median + b->noise < a->median - a->noise;
    t->slower += a->median + a->noise < b->median - b->noise;
}

static void print_pair(const struct tool_row *a, const struct tool_row *b)
{
    const double ratio = b->median / a->median, noise = 100 * (a->noise + b->noise) / a->median;
    const bool clear = fabs(b->median - a->median) > a->noise + b->noise;
    char bytes[32] = "-";

    if (a->bytes > 0)
        tt_size_print(bytes, sizeof bytes, a->bytes);
    printf("%-21s %10s  %-7s%-20s %10.2f %10.2f %7.3f  +-%5.1f %%  %s\n", tt_coll_name(a->coll), bytes,
           tool_path_names[a->path], b->algorithm, us * a->median, us * b->median, ratio, noise,
           !clear      ? ""
           : ratio < 1 ? "faster"
                       : "slower");
}

/* A comparison of what is not comparable is said to be one. */
static void warn(const struct argp_state *state, const struct tool_results *a, const struct tool_results *b)
{
    if (a->ranks != b->ranks)
        fprintf(stderr, "%s: warning: %d ranks before, %d after\n", state->name, a->ranks, b->ranks);
    if (a->where != b->where)
        fprintf(stderr, "%s: warning: %s memory before, %s after\n", state->name, tool_where_names[a->where],
                tool_where_names[b->where]);
    if (a->form != b->form || a->inplace != b->inplace || a->root != b->root || strcmp(a->skew, b->skew))
        fprintf(stderr, "%s: warning: the calls are not of the same form (nonblocking, in place, root, skew)\n",
                state->name);
    if (strcmp(a->type, b->type) || strcmp(a->op, b->op))
        fprintf(stderr, "%s: warning: %s %s before, %s %s after\n", state->name, a->type, a->op, b->type, b->op);
    if (strcmp(a->host, b->host))
        fprintf(stderr, "%s: warning: measured on %s before, on %s after\n", state->name, a->host, b->host);
}

static void print_tally(const char *name, const struct tally *t)
{
    if (t->n)
        printf("%-7s %4d rows, geometric mean of after/before %.3f; beyond noise %d faster, %d slower\n", name, t->n,
               exp(t->logs / t->n), t->faster, t->slower);
}

static int compare(const struct tool_results *a, const struct tool_results *b, const char *const *files)
{
    struct tally all = {0}, of[TOOL_NPATHS] = {{0}};

    printf(
        "# before: %s (%s), after: %s (%s); medians in us; noise: how far apart medians must be to differ at 95 %%%s\n",
        files[0], a->date, files[1], b->date, a->simulated || b->simulated ? "; SIMULATED GPUs: no GPU's times" : "");
    printf("%-21s %10s  %-7s%-20s %10s %10s %7s  %9s\n", "collective", "size", "path", "algorithm", "before", "after",
           "ratio", "noise");
    for (int i = 0; i < a->n; i++) {
        const struct tool_row *row = &a->rows[i], *other = same_in(b, row);

        if (!other)
            continue;
        print_pair(row, other);
        count(&all, row, other);
        count(&of[row->path], row, other);
    }
    putchar('\n');
    for (int p = 0; p < TOOL_NPATHS; p++)
        print_tally(tool_path_names[p], &of[p]);
    print_tally("all", &all);
    if (all.n < a->n || all.n < b->n)
        printf("in one file only: %d of %d rows before, %d of %d after\n", a->n - all.n, a->n, b->n - all.n, b->n);
    return all.n ? TOOL_OK : TOOL_FAILED;
}

int tool_bench_compare(const struct argp_state *state, const struct tool_bench_arguments *a)
{
    struct tool_results r[2];
    char why[512];
    int status;

    for (int i = 0; i < 2; i++)
        if (tool_bench_read(a->files[i], &r[i], why, sizeof why))
            tool_die(state, TOOL_FAILED, "%s", why);
    warn(state, &r[0], &r[1]);
    status = compare(&r[0], &r[1], a->files);
    tool_results_free(&r[0]);
    tool_results_free(&r[1]);
    return status;
}
