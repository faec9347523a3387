/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pipeline loses by filling and emptying: m microbatches through p stages take m + (p - 1) / v of their times,
 * where each rank has v pieces of the model, which are filled one after another (Narayanan et al., SC'21, section 2.2).
 */
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "planner/layout.h"
#include "tools/cost.h"
#include "tools/tools.h"

struct arguments {
    int stages, microbatches, pieces;
    bool json;
};

enum { STAGES = 256, MICROBATCHES, PIECES, JSON };

static const struct argp_option options[] = {
    {"stages", STAGES, "P", 0, "so many stages", 1},
    {"microbatches", MICROBATCHES, "M", 0, "in a step", 1},
    {"pieces", PIECES, "V", 0, "of the model on each rank, interleaved [2]", 1},
    {"json", JSON, NULL, 0, "for machines", 2},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case STAGES:
        a->stages = tool_positive(state, "--stages", arg);
        return 0;
    case MICROBATCHES:
        a->microbatches = tool_positive(state, "--microbatches", arg);
        return 0;
    case PIECES:
        a->pieces = tool_positive(state, "--pieces", arg);
        return 0;
    case JSON:
        a->json = true;
        return 0;
    case ARGP_KEY_ARG:
        tool_die(state, TOOL_USAGE, "pipeline takes options only; \"%s\" is one too many", arg);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Work out how much of a pipeline works, and how much of it waits: m microbatches through p stages.\v"
    "Example:\n  tutti cost pipeline --stages 4 --microbatches 8\n",
    NULL,
    NULL,
    NULL};

static double bubble(const struct arguments *a, int pieces)
{
    return (a->stages - 1.0) / pieces;
}

static double efficiency(const struct arguments *a, int pieces)
{
    return a->microbatches / (a->microbatches + bubble(a, pieces));
}

static void print_row(const struct arguments *a, enum tt_schedule schedule, int pieces, double kept)
{
    char name[32];

    snprintf(name, sizeof name, schedule == TT_SCHEDULE_interleaved ? "%s, %d pieces" : "%s",
             tt_schedule_names[schedule], pieces);
    printf("  %-24s %8.3g %10.1f %% %12.3g\n", name, bubble(a, pieces), 100 * efficiency(a, pieces), kept);
}

static void print_text(const struct arguments *a)
{
    const int m = a->microbatches, p = a->stages;
    const double waits = p - 1, kept = p < m ? p : m;

    printf("%d microbatch%s through %d stage%s: m / (m + p - 1) of each stage's time is work\n\n", m,
           m == 1 ? "" : "es", p, p == 1 ? "" : "s");
    printf("  %-24s %8d microbatches\n", "work", m);
    printf("  %-24s %8.0f of the same, %d - 1\n", "bubble", waits, p);
    printf("  %-24s %8.1f %%, %d / %d\n\n", "efficiency", 100 * efficiency(a, 1), m, m + p - 1);
    printf("  %-24s %8s %12s %12s\n", "", "", "", "kept by the");
    printf("  %-24s %8s %12s %12s\n", "schedule", "bubble", "efficiency", "first stage");
    print_row(a, TT_SCHEDULE_gpipe, 1, m);
    print_row(a, TT_SCHEDULE_1f1b, 1, kept);
    if (a->pieces > 1 && m % p == 0)
        print_row(a, TT_SCHEDULE_interleaved, a->pieces, fmin(m, kept * (1 + (p - 1.0) / ((double)p * a->pieces))));
    printf("\nKept: microbatches whose activations are in memory. 90 %% take %.0f microbatches, 95 %% take %.0f.\n",
           ceil(9 * waits), ceil(19 * waits));
}

static void print_json(const struct arguments *a)
{
    json_t *all = json_pack("{s:i, s:i, s:f, s:f}", "stages", a->stages, "microbatches", a->microbatches,
                            "bubble_microbatches", bubble(a, 1), "efficiency", efficiency(a, 1));

    if (a->pieces > 1 && a->microbatches % a->stages == 0)
        json_object_set_new(all, "interleaved",
                            json_pack("{s:i, s:f}", "pieces", a->pieces, "efficiency", efficiency(a, a->pieces)));
    json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    putchar('\n');
    json_decref(all);
}

int tool_cost_pipeline(int argc, char **argv)
{
    struct arguments a = {.pieces = 2};
    const struct argp_state state = {.name = "tutti cost pipeline"};
    char name[] = "tutti cost pipeline";

    argv[0] = name;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    if (!a.stages || !a.microbatches)
        tool_die(&state, TOOL_USAGE, "wants --stages P and --microbatches M");
    (a.json ? print_json : print_text)(&a);
    return TOOL_OK;
}
