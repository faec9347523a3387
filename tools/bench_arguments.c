/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of tutti bench, which `tutti` reads and the MPI program of the same command reads again. Letters are
 * those of nccl-tests where it has them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/sizes.h"
#include "tools/bench.h"
#include "tools/bench_data.h"
#include "tools/paths.h"

enum {
    ALGORITHMS = 256,
    IN_PLACE,
    TIME,
    NONBLOCKING,
    OVERLAP,
    PERSISTENT_FORM,
    SKEW,
    FORMAT,
    JSON,
    PLOT,
    PROGRESS,
    PLAIN,
    COMPARE,
    FROM,
    BARE
};

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What is called:", 1},
    {"min", 'b', "SIZE", 0,
     "the smallest size, of the vector, or of a block where the collective is stated in blocks [8]", 1},
    {"max", 'e', "SIZE", 0, "the largest [4M]", 1},
    {"factor", 'f', "F", 0, "from each size to the next [2]", 1},
    {"type", 't', "TYPE", 0, "of the elements: float, double, int, half, ... [float]", 1},
    {"op", 'o', "OP", 0, "of a reduction: sum, max, ... [sum]", 1},
    {"root", 'r', "R", 0, "the root, where there is one [0]", 1},
    {"memory", 'm', "WHERE", 0, "buffers in \"host\", \"device\" or \"managed\" memory [device where there is a GPU]",
     1},
    {"in-place", IN_PLACE, NULL, 0, "with MPI_IN_PLACE", 1},
    {"nonblocking", NONBLOCKING, NULL, 0,
     "the nonblocking calls, and how much of their time work hides (as OSU defines it)", 1},
    {"overlap", OVERLAP, NULL, 0,
     "the same of native, of what is chosen, and of that with Tutti's progress thread (TUTTI_PROGRESS=thread), once "
     "with the work on the rank's core, and once with the core free, as beside a GPU",
     1},
    {"persistent", PERSISTENT_FORM, NULL, 0, "the persistent calls of MPI-4", 1},
    {"algorithms", ALGORITHMS, "LIST", 0,
     "only these: native, chosen, nccl, or names such as ring,halving [all that can]", 1},
    {0, 0, 0, 0, "How it is measured:", 2},
    {"time", TIME, "TIME", 0, "for each path and size; three times that for those that may be the fastest [100ms]", 2},
    {"iterations", 'n', "N", 0, "and at least so many calls, 3 or more [10]", 2},
    {"warmup", 'w', "N", 0, "after so many that do not count [2]", 2},
    {"skew", SKEW, "TIME[@R]", 0, "each rank comes late by a random part of TIME; @R: rank R alone does, by TIME", 2},
    {"bare", BARE, NULL, 0,
     "also what the node's cores do without any MPI, in the same turns: a flag from each rank to each, and the bound "
     "that memory sets an allreduce",
     2},
    {"plain", PLAIN, NULL, 0, "without Tutti in the process: the MPI alone, as a program of its own has it", 2},
    {0, 0, 0, 0, "What is told:", 3},
    {"format", FORMAT, "F", 0, "\"table\", \"osu\" or \"nccl-tests\" columns [table]", 3},
    {"json", JSON, "FILE", 0, "all figures, for machines; -: instead of a table", 3},
    {"plot", PLOT, "FILE", 0, "time and bus bandwidth against size, an SVG picture made by gnuplot; -: as text", 3},
    {"progress", PROGRESS, NULL, 0, "a line on standard error of what is left, even if that is no terminal", 3},
    {"from", FROM, "JSON", 0, "measure nothing: tell the results of an earlier --json in another form", 3},
    {"compare", COMPARE, NULL, 0, "measure nothing: compare two files of --json, A before B", 3},
    {0}};

const char *const tool_where_names[TOOL_NWHERES] = {"host", "device", "managed"};
const char *const tool_form_names[TOOL_NFORMS] = {"blocking", "nonblocking", "persistent"};
static const char *const form_options[TOOL_NFORMS] = {"", "--nonblocking", "--persistent"};
static const char *const format_names[TOOL_NFORMATS] = {"table", "osu", "nccl-tests"};

static int word(const struct argp_state *state, const char *option, const char *const *words, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(words[i], text) == 0)
            return i;
    fprintf(stderr, "%s: %s may be ", state->name, option);
    for (int i = 0; i < n; i++)
        fprintf(stderr, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    fprintf(stderr, ", not \"%s\"\n", text);
    exit(TOOL_USAGE);
}

static double duration(const struct argp_state *state, const char *option, const char *text)
{
    double seconds;

    if (tt_time_parse(text, &seconds) || !(seconds > 0))
        tool_die(state, TOOL_USAGE, "%s wants a time such as 100ms or 2s, not \"%s\"", option, text);
    return seconds;
}

static void set_skew(const struct argp_state *state, struct tool_bench_arguments *a, const char *text)
{
    const char *at = strchr(text, '@');
    char time[32];

    snprintf(time, sizeof time, "%.*s", at ? (int)(at - text) : (int)strlen(text), text);
    a->skew = duration(state, "--skew", time);
    a->late = at ? tool_natural(state, "--skew TIME@R", at + 1) : -1;
}

static void set_form(const struct argp_state *state, struct tool_bench_arguments *a, enum tool_form form)
{
    if (a->form != TOOL_BLOCKING && a->form != form)
        tool_die(state, TOOL_USAGE, "%s and %s are two runs", form_options[a->form], form_options[form]);
    a->form = form;
}

static void add_word(const struct argp_state *state, struct tool_bench_arguments *a, const char *text)
{
    enum tt_coll coll;

    if (a->compare) {
        if (a->nfiles == 2)
            tool_die(state, TOOL_USAGE, "--compare wants two files; \"%s\" is one too many", text);
        a->files[a->nfiles++] = text;
        return;
    }
    coll = tool_coll(state, text);
    if (tt_coll_traits(coll) & TT_NEIGHBOURS)
        tool_die(state, TOOL_USAGE,
                 "%s is not measured: it needs a communicator with a topology, which only a program has", text);
    a->colls |= UINT64_C(1) << coll;
}

/* ---- what is only known once all is read ---- */

static void settle_reduction(const struct argp_state *state, const struct tool_bench_arguments *a)
{
    if (!tt_cell_find(a->type, a->op))
        tool_die(state, TOOL_USAGE, "%s has no meaning for %s", a->op_name, a->type_name);
}

static void settle_type(const struct argp_state *state, struct tool_bench_arguments *a)
{
    a->type = tool_type_find(a->type_name);
    a->op = tool_op_find(a->op_name);
    if (a->type == TT_NTYPES || a->op == TT_NOPS) {
        fprintf(stderr, "%s: there is no %s \"%s\"; there are: ", state->name, a->type == TT_NTYPES ? "type" : "op",
                a->type == TT_NTYPES ? a->type_name : a->op_name);
        (a->type == TT_NTYPES ? tool_print_types : tool_print_ops)(stderr);
        fputc('\n', stderr);
        exit(TOOL_USAGE);
    }
    for (int c = 0; c < TT_NCOLLS; c++)
        if (a->colls >> c & 1 && tool_reduces((enum tt_coll)c))
            settle_reduction(state, a);
        else if (a->colls >> c & 1 && tool_type_padded(a->type))
            tool_die(state, TOOL_USAGE, "%s: elements of %s have padding, which is not moved; take another type",
                     tt_coll_name((enum tt_coll)c), a->type_name);
}

static void settle_sizes(const struct argp_state *state, struct tool_bench_arguments *a)
{
    const int64_t unit = (int64_t)tt_type_size(a->type);

    if (a->most < a->least)
        tool_die(state, TOOL_USAGE, "-b %lld and -e %lld: the smallest size is no larger than the largest",
                 (long long)a->least, (long long)a->most);
    if (a->factor < 2)
        tool_die(state, TOOL_USAGE, "-f wants a whole number from 2 up");
    if (a->least_given && (a->least == 0 || a->least % unit))
        tool_die(state, TOOL_USAGE, "-b %lld: %lld bytes are no whole number, from 1 up, of %s, of %lld bytes each",
                 (long long)a->least, (long long)a->least, a->type_name, (long long)unit);
    a->least = a->least < unit ? unit : a->least;
    if (a->most_given && a->most < a->least)
        tool_die(state, TOOL_USAGE, "-e %lld is less than the smallest size, %lld bytes", (long long)a->most,
                 (long long)a->least);
    a->most = a->most < a->least ? a->least : a->most;
}

static void settle_in_place(const struct argp_state *state, const struct tool_bench_arguments *a)
{
    for (int c = 0; c < TT_NCOLLS && a->inplace; c++)
        if (a->colls >> c & 1 && !tool_has_in_place((enum tt_coll)c))
            tool_die(state, TOOL_USAGE, "%s has no MPI_IN_PLACE", tt_coll_name((enum tt_coll)c));
}

static bool is_path(const char *name, size_t length)
{
    static const char *const others[] = {"native", "chosen", "nccl"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strlen(others[i]) == length && strncmp(others[i], name, length) == 0)
            return true;
    return false;
}

/* Each name must be known to one of the collectives. */
static void settle_algorithms(const struct argp_state *state, const struct tool_bench_arguments *a)
{
    size_t length;

    for (const char *name = a->algorithms; name && *name; name += length + (name[length] == ',')) {
        bool known;

        length = strcspn(name, ",");
        known = is_path(name, length);
        for (int c = 0; c < TT_NCOLLS; c++)
            known |= a->colls >> c & 1 && tt_alg_find((enum tt_coll)c, name, length);
        if (known)
            continue;
        fprintf(stderr, "%s: --algorithms: there is no \"%.*s\"; there are: chosen", state->name, (int)length, name);
        for (int c = 0; c < TT_NCOLLS; c++)
            if (a->colls >> c & 1) {
                fprintf(stderr, "; of %s ", tt_coll_name((enum tt_coll)c));
                tool_print_algs(stderr, (enum tt_coll)c);
            }
        fputc('\n', stderr);
        exit(TOOL_USAGE);
    }
}

bool tool_bench_wants(const struct tool_bench_arguments *a, const char *name)
{
    size_t length;

    for (const char *at = a->algorithms; at && *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (strlen(name) == length && strncmp(at, name, length) == 0)
            return true;
    }
    return !a->algorithms;
}

static void settle_files(const struct argp_state *state, const struct tool_bench_arguments *a)
{
    if (a->compare && a->nfiles < 2)
        tool_die(state, TOOL_USAGE,
                 "--compare wants two files that --json wrote: tutti bench --compare before.json after.json");
    if (a->json && a->plot && strcmp(a->json, "-") == 0 && strcmp(a->plot, "-") == 0)
        tool_die(state, TOOL_USAGE, "--json - and --plot - would be mixed up: give one of them a file");
}

/* Not only when all has been measured. */
static void settle_written(const struct argp_state *state, const char *file)
{
    char directory[TOOL_PATH_MAX];
    const char *end = file ? strrchr(file, '/') : NULL;

    if (!file || strcmp(file, "-") == 0)
        return;
    snprintf(directory, sizeof directory, "%.*s", end == file ? 1 : end ? (int)(end - file) : 1, end ? file : ".");
    if (access(access(file, F_OK) == 0 ? file : directory, W_OK))
        tool_die(state, TOOL_FAILED, "cannot write %s: %s", file, strerror(errno));
}

static void settle(const struct argp_state *state, struct tool_bench_arguments *a)
{
    if (!a->colls)
        a->colls = UINT64_C(1) << TT_COLL_allreduce;
    settle_files(state, a);
    settle_written(state, a->json);
    settle_written(state, a->plot);
    settle_type(state, a);
    settle_sizes(state, a);
    settle_in_place(state, a);
    settle_algorithms(state, a);
}

static error_t parse_measuring(int key, char *arg, struct argp_state *state)
{
    struct tool_bench_arguments *a = state->input;

    switch (key) {
    case TIME:
        a->time = duration(state, "--time", arg);
        return 0;
    case 'n':
        a->calls = tool_positive(state, "-n", arg);
        if (a->calls < TOOL_FEWEST_CALLS)
            tool_die(state, TOOL_USAGE, "-n %d: the median of so few calls says nothing: %d or more", a->calls,
                     TOOL_FEWEST_CALLS);
        return 0;
    case 'w':
        a->warmup = tool_natural(state, "-w", arg);
        return 0;
    case SKEW:
        set_skew(state, a, arg);
        return 0;
    case PLAIN:
        a->plain = true;
        return 0;
    case BARE:
        a->bare = true;
        return 0;
    case FORMAT:
        a->format = (enum tool_format)word(state, "--format", format_names, TOOL_NFORMATS, arg);
        return 0;
    case JSON:
        a->json = arg;
        return 0;
    case PLOT:
        a->plot = arg;
        return 0;
    case PROGRESS:
        a->progress = true;
        return 0;
    case FROM:
        a->from = arg;
        return 0;
    case COMPARE:
        a->compare = true;
        return 0;
    case ARGP_KEY_ARG:
        add_word(state, a, arg);
        return 0;
    case ARGP_KEY_END:
        settle(state, a);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool_bench_arguments *a = state->input;

    switch (key) {
    case 'b':
        a->least = tool_size(state, "-b", arg);
        a->least_given = true;
        return 0;
    case 'e':
        a->most = tool_size(state, "-e", arg);
        a->most_given = true;
        return 0;
    case 'f':
        a->factor = tool_positive(state, "-f", arg);
        return 0;
    case 't':
        a->type_name = arg;
        return 0;
    case 'o':
        a->op_name = arg;
        return 0;
    case 'r':
        a->root = tool_natural(state, "-r", arg);
        return 0;
    case 'm':
        a->where = (enum tool_where)word(state, "-m", tool_where_names, TOOL_NWHERES, arg);
        a->where_given = true;
        return 0;
    case IN_PLACE:
        a->inplace = true;
        return 0;
    case NONBLOCKING:
        set_form(state, a, TOOL_NONBLOCKING);
        return 0;
    case OVERLAP:
        set_form(state, a, TOOL_NONBLOCKING);
        a->overlap = true;
        return 0;
    case PERSISTENT_FORM:
        set_form(state, a, TOOL_PERSISTENT);
        return 0;
    case ALGORITHMS:
        a->algorithms = arg;
        return 0;
    default:
        return parse_measuring(key, arg, state);
    }
}

static const struct argp argp = {
    options,
    parse,
    "[COLLECTIVE...]\n--compare A.json B.json\n--from A.json",
    "Measure, with the ranks that mpiexec starts, what a collective takes by each path: \"native\", the MPI below; "
    "each "
    "algorithm of Tutti's own; \"nccl\"; and \"chosen\", what a program gets. All use the same buffers, and take "
    "turns, so that "
    "what disturbs the machine disturbs them alike. Every result is checked. Without a COLLECTIVE: allreduce.\v"
    "Examples:\n"
    "  mpiexec -n 4 tutti bench allreduce\n"
    "  tutti run --sim-gpus 4 -- mpiexec -n 4 tutti bench allreduce --plot allreduce.svg\n"
    "  mpiexec -n 8 tutti bench bcast alltoall -b 1K -e 1M -f 4 -m host --json before.json\n"
    "  mpiexec -n 8 tutti bench allreduce --algorithms native,ring --format nccl-tests\n"
    "  mpiexec -n 8 tutti bench allreduce --nonblocking --format osu\n"
    "  mpiexec -n 8 tutti bench allreduce --plain -m host\n"
    "  tutti bench --compare before.json after.json\n\n"
    "A call begins behind a barrier and counts with the time of the rank that takes longest; min, median and p99 (the "
    "99th "
    "percentile) are over the calls. \"first call\" stands apart: it has the setting up of connections, CUDA, NCCL and "
    "plans "
    "in it. algbw is bytes over the median, busbw what nccl-tests makes of it. ^C prints what has been measured. Exit "
    "status: 1 "
    "if a result was wrong.\n",
    NULL,
    NULL,
    NULL};

void tool_bench_parse(int argc, char **argv, struct tool_bench_arguments *a)
{
    *a = (struct tool_bench_arguments){.least = 8,
                                       .most = 4 << 20,
                                       .factor = 2,
                                       .type_name = "float",
                                       .op_name = "sum",
                                       .time = 0.1,
                                       .calls = 10,
                                       .warmup = 2};
    argp_parse(&argp, argc, argv, 0, NULL, a);
}
