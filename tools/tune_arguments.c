/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of tutti tune, which `tutti` reads and the MPI program of the same command reads again. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "coll/sizes.h"
#include "selector/tune.h"
#include "tools/tools.h"
#include "tools/tune.h"

enum { BUDGET = 256, LEAST, MOST, FRESH, REGRET, FACTOR };

static const struct argp_option options[] = {
    {"budget", BUDGET, "TIME", 0, "to be done within, such as 60s or 10min [60s]", 1},
    {"min", LEAST, "SIZE", 0, "the smallest size, of a vector or a block [8]", 1},
    {"max", MOST, "SIZE", 0, "the largest vector, all its blocks counted [16M]", 1},
    {"memory", 'm', "WHERE", 0, "buffers on the \"host\", or on each rank's \"device\" [device where there is a GPU]",
     1},
    {"factor", FACTOR, "F", 0, "of our own, measure those that the model expects to take up to F times the best [3]",
     1},
    {"output", 'o', "PATH", 0, "the rules file to write, or the directory to write tutti.rules in [tutti.rules]", 2},
    {"fresh", FRESH, NULL, 0, "measure all anew, even if an earlier run left its journal", 2},
    {"regret", REGRET, "RULES", 0, "write nothing, but measure what RULES choose beside native and all others", 3},
    {0}};

static double number(const struct argp_state *state, const char *option, const char *text)
{
    char *end;
    const double value = strtod(text, &end);

    if (end == text || *end || !(value >= 1 && value <= 1e6))
        tool_die(state, TOOL_USAGE, "%s wants a number from 1 up, not \"%s\"", option, text);
    return value;
}

static double duration(const struct argp_state *state, const char *option, const char *text)
{
    const size_t length = strlen(text);
    char plain[64];
    double seconds;

    snprintf(plain, sizeof plain, "%.*ss", (int)(length > 3 ? length - 3 : 0), text);
    if (length > 3 && length < sizeof plain && strcmp(text + length - 3, "min") == 0 &&
        tt_time_parse(plain, &seconds) == 0)
        return 60 * seconds;
    if (tt_time_parse(text, &seconds) || !(seconds > 0))
        tool_die(state, TOOL_USAGE, "%s wants a time such as 60s or 10min, not \"%s\"", option, text);
    return seconds;
}

static bool on_device(const struct argp_state *state, const char *where)
{
    if (strcmp(where, "host") && strcmp(where, "device"))
        tool_die(state, TOOL_USAGE, "--memory may be host or device, not \"%s\"", where);
    return strcmp(where, "device") == 0;
}

static uint64_t collective(const struct argp_state *state, const char *name)
{
    const enum tt_coll coll = tool_coll(state, name);

    if (!tt_tunable(coll))
        tool_die(state, TOOL_USAGE, "%s cannot be tuned: it has no size that all ranks know", name);
    return UINT64_C(1) << coll;
}

static uint64_t usual(void)
{
    static const enum tt_coll colls[] = {TT_COLL_allreduce, TT_COLL_bcast,          TT_COLL_reduce,
                                         TT_COLL_allgather, TT_COLL_reduce_scatter, TT_COLL_alltoall};
    uint64_t all = 0;

    for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
        all |= UINT64_C(1) << colls[i];
    return all;
}

/* Where things go: the profile and the journal are called after the rules. */
static void name_files(const struct argp_state *state, struct tool_tune_arguments *a)
{
    static const char usual_name[] = "tutti.rules", ending[] = ".rules";
    const char *path = a->output ? a->output : usual_name;
    struct stat s;
    size_t stem;
    int n = stat(path, &s) == 0 && S_ISDIR(s.st_mode) ? snprintf(a->rules, sizeof a->rules, "%s/%s", path, usual_name)
                                                      : snprintf(a->rules, sizeof a->rules, "%s", path);

    if (n < 0 || (size_t)n + 32 > sizeof a->rules)
        tool_die(state, TOOL_USAGE, "-o: the path is too long");
    stem = (size_t)n;
    if (stem > strlen(ending) && strcmp(a->rules + stem - strlen(ending), ending) == 0)
        stem -= strlen(ending);
    snprintf(a->profile, sizeof a->profile, "%.*s.profile.json", (int)stem, a->rules);
    snprintf(a->journal, sizeof a->journal, "%.*s.journal", (int)stem, a->rules);
}

static void finish(const struct argp_state *state, struct tool_tune_arguments *a)
{
    if (a->least < 1 || a->most < a->least || a->most > 1 << 30)
        tool_die(state, TOOL_USAGE, "--min and --max want sizes from 1 to 1G, the first no larger than the second");
    if (a->regret && (a->output || a->fresh))
        tool_die(state, TOOL_USAGE, "--regret writes nothing: -o and --fresh have no meaning with it");
    if (!a->colls)
        a->colls = usual();
    name_files(state, a);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool_tune_arguments *a = state->input;

    switch (key) {
    case BUDGET:
        a->budget = duration(state, "--budget", arg);
        return 0;
    case LEAST:
        a->least = tool_size(state, "--min", arg);
        return 0;
    case MOST:
        a->most = tool_size(state, "--max", arg);
        return 0;
    case 'm':
        a->device = on_device(state, arg);
        a->where_given = true;
        return 0;
    case FACTOR:
        a->factor = number(state, "--factor", arg);
        return 0;
    case 'o':
        a->output = arg;
        return 0;
    case FRESH:
        a->fresh = true;
        return 0;
    case REGRET:
        a->regret = arg;
        return 0;
    case ARGP_KEY_ARG:
        a->colls |= collective(state, arg);
        return 0;
    case ARGP_KEY_END:
        finish(state, a);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "[COLLECTIVE...]",
    "Measure on this machine, with the ranks that mpiexec starts, which algorithm is the best for which size, and "
    "write it "
    "down as rules, which programs then follow; and what the links are, as a cost profile, by which the model decides "
    "where "
    "no rule does. Without a COLLECTIVE: allreduce, bcast, reduce, allgather, reduce_scatter and alltoall.\v"
    "Examples:\n"
    "  mpiexec -n 8 tutti tune --budget 2min -o site.rules\n"
    "  TUTTI_RULES=site.rules TUTTI_PROFILE=site.profile.json tutti run -- mpiexec -n 8 ./app\n"
    "  mpiexec -n 8 tutti tune --regret site.rules\n"
    "  tutti run --sim-gpus 2 -- mpiexec -n 2 tutti tune allreduce\n\n"
    "What is chosen is never slower than the MPI below by more than the noise that was measured. ^C ends it and writes "
    "what "
    "there is; the same command goes on where it was ended, from the journal beside the rules. See doc/tuning.md.\n",
    NULL,
    NULL,
    NULL};

void tool_tune_parse(int argc, char **argv, struct tool_tune_arguments *a)
{
    *a = (struct tool_tune_arguments){.least = 8, .most = 16 << 20, .budget = 60, .factor = 3};
    argp_parse(&argp, argc, argv, 0, NULL, a);
}
