/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti explain: the whole book for one call, read offline: who could serve it, what each would cost, who would, and
 * what would change that. Here the question is understood; it is answered and told in the other files of this name. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/sizes.h"
#include "cuda/nccl.h"
#include "selector/nccl.h"
#include "tools/explain.h"
#include "tools/types.h"

enum { RANKS = 4, MAX_RANKS = 65536 };
static const int64_t largest = INT64_C(16) << 30; /* bytes up to which another winner is looked for */

enum { BYTES = 256, TYPE, OP, MEMORY, ROOT, IN_PLACE, NONCOMMUTATIVE, JSON, PLOT, LEAST, MOST };

static const struct argp_option options[] = {
    {"bytes", BYTES, "SIZE", 0, "of the vector, or of one block where the collective is stated in blocks [1M]", 1},
    {"type", TYPE, "TYPE", 0, "of the elements of a reduction: float, double, int, half, ... [float]", 1},
    {"op", OP, "OP", 0, "of a reduction: sum, max, ... [sum]", 1},
    {"non-commutative", NONCOMMUTATIVE, NULL, 0, "the op's operands must stay in rank order", 1},
    {"memory", MEMORY, "WHERE", 0, "device: all ranks have their buffers on GPUs, and agree on it [any]", 1},
    {"root", ROOT, "R", 0, "the root, where there is one [0]", 1},
    {"in-place", IN_PLACE, NULL, 0, "with MPI_IN_PLACE", 1},
    {"json", JSON, NULL, 0, "for machines: all figures in bytes and seconds", 3},
    {"plot", PLOT, "FILE", 0, "predicted time against size: an SVG picture, made by gnuplot; -: as text", 3},
    {"min", LEAST, "SIZE", 0, "a plot begins there [8]", 3},
    {"max", MOST, "SIZE", 0, "a plot ends there [1G]", 3},
    {0}};

static bool memory_find(const struct argp_state *state, const char *name)
{
    if (strcmp(name, "device") != 0 && strcmp(name, "any") != 0)
        tool_die(state, TOOL_USAGE, "--memory %s: it may be any, since ranks need not know it of each other, or device",
                 name);
    return strcmp(name, "device") == 0;
}

static error_t parse_call(int key, char *arg, struct argp_state *state)
{
    struct tool_ask *a = state->input;

    switch (key) {
    case BYTES:
        a->bytes = tool_size(state, "--bytes", arg);
        a->tens = tt_size_is_decimal(arg);
        return 0;
    case TYPE:
        a->type_name = arg;
        return 0;
    case OP:
        a->op = arg;
        return 0;
    case MEMORY:
        a->on_gpus = memory_find(state, arg);
        return 0;
    case ROOT:
        a->shape.root = tool_natural(state, "--root", arg);
        return 0;
    case IN_PLACE:
        a->shape.inplace = true;
        return 0;
    case NONCOMMUTATIVE:
        a->shape.commutes = false;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->seats;
        return 0;
    case ARGP_KEY_ARG:
        if (a->coll_name)
            tool_die(state, TOOL_USAGE, "wants one collective; \"%s\" is one too many", arg);
        a->coll_name = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool_ask *a = state->input;

    switch (key) {
    case JSON:
        a->json = true;
        return 0;
    case PLOT:
        a->plot = arg;
        return 0;
    case LEAST:
        a->least = tool_size(state, "--min", arg);
        return 0;
    case MOST:
        a->most = tool_size(state, "--max", arg);
        return 0;
    default:
        return parse_call(key, arg, state);
    }
}

static const struct argp_child children[] = {{&tool_topo_argp, 0, NULL, 2}, {0}};
static const struct argp argp = {options,
                                 parse,
                                 "COLLECTIVE",
                                 "Tell, without running anything, which algorithms can serve a collective of a given "
                                 "size, what each costs, which one would be chosen, and what would change that. "
                                 "TUTTI_ variables count as they would in a run.\v"
                                 "Sizes: K, M, G (or KiB ...) are powers of 1024, KB, MB, GB of 1000.\n\n"
                                 "Examples:\n"
                                 "  tutti explain allreduce -n 8 --bytes 64M\n"
                                 "  tutti explain allreduce -n 6 --bytes 1K --type double --non-commutative\n"
                                 "  tutti explain allreduce --topo h100x8 --nodes 4 -n 32 --plot allreduce.svg\n"
                                 "  tutti explain alltoall -n 64 --bytes 4K --json\n",
                                 children,
                                 NULL,
                                 NULL};

/* ---- arguments to a shape ---- */

static void unknown(const struct argp_state *state, const char *what, const char *name, void (*print)(FILE *out))
{
    fprintf(stderr, "%s: there is no %s \"%s\"; there are: ", state->name, what, name);
    print(stderr);
    fputc('\n', stderr);
    exit(TOOL_USAGE);
}

static void settle_reduction(const struct argp_state *state, struct tool_ask *a)
{
    const enum tt_type type = tool_type_find(a->type_name);
    const enum tt_op op = tool_op_find(a->op);
    const struct tt_cell *cell;

    if (type == TT_NTYPES)
        unknown(state, "type", a->type_name, tool_print_types);
    if (op == TT_NOPS)
        unknown(state, "op", a->op, tool_print_ops);
    cell = tt_cell_find(type, op);
    if (!cell)
        tool_die(state, TOOL_USAGE, "%s has no meaning for %s", a->op, a->type_name);
    if (a->bytes % (int64_t)cell->size)
        tool_die(state, TOOL_USAGE, "%" PRId64 " bytes are no whole number of %s, of %zu bytes each", a->bytes,
                 a->type_name, cell->size);
    a->shape.unit = cell->size;
    a->cell = cell;
}

const char *tool_ask_no_nccl(const struct tool_ask *a)
{
    struct tt_nccl_cell of;

    if (a->cell && tool_reduces(a->coll) && tt_nccl_cell_of(a->cell, &of))
        return tt_nccl_cell_of(a->cell, &of);
    return a->shape.commutes ? NULL : "NCCL can only reduce what MPI predefines";
}

double tool_ask_vote(const struct tool_ask *a)
{
    return tt_config.uniform ? 0 : tt_vote_seconds(a->net);
}

struct tt_topo *tool_ask_topology(const struct tool_ask *a, int ranks, int nodes, const char *place, char *why,
                                  size_t size)
{
    struct tt_topo *t = NULL;

    if (a->seats.file) {
        if (tt_topo_read(a->seats.file, ranks, nodes, place, &t, why, size))
            return NULL;
    } else {
        t = tt_topo_assumed(ranks ? ranks : RANKS);
        snprintf(why, size, "out of memory");
    }
    if (t && a->profile)
        tt_topo_take_speeds(t, a->profile);
    return t;
}

/* Where bytes take next to no time, what is left is latency. Not none, since formulas compare how busy links are. */
static const double next_to_none = 1e-9;

static bool settle_nets(struct tool_ask *a)
{
    a->instant = *a->topo;
    for (int level = 0; level < TT_NLEVELS; level++)
        a->instant.speed[level].beta *= next_to_none;
    a->instant.gamma *= next_to_none;
    a->instant.copy *= next_to_none;
    a->net = tt_net_make(a->topo);
    a->latencies = tt_net_make(&a->instant);
    return a->net && a->latencies;
}

/* TUTTI_TOPO and TUTTI_PROFILE count as in a run, where --topo does not say otherwise. */
static void settle_topology(const struct argp_state *state, struct tool_ask *a)
{
    char why[1024];

    if (a->seats.ranks > MAX_RANKS)
        tool_die(state, TOOL_USAGE, "counts up to %d ranks, not %d", MAX_RANKS, a->seats.ranks);
    if (!a->seats.file && tt_config.topo)
        a->seats.file = getenv("TUTTI_TOPO");
    if (!a->seats.file && tool_seats_given(&a->seats))
        tool_die(state, TOOL_USAGE, "%s is of a topology: say which one by --topo", tool_seats_given(&a->seats));
    if (tt_config.profile && tt_topo_read(getenv("TUTTI_PROFILE"), 1, 0, NULL, &a->profile, why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    a->topo = tool_ask_topology(a, a->seats.ranks, a->seats.nodes, a->seats.place, why, sizeof why);
    if (!a->topo)
        tool_die(state, TOOL_FAILED, "%s", why);
    if (!settle_nets(a))
        tool_die(state, TOOL_FAILED, "out of memory");
    a->shape.size = a->seats.ranks = a->topo->size;
    a->shape.nodes = &a->topo->nodes;
}

static void settle_plot(const struct argp_state *state, const struct tool_ask *a)
{
    if (!a->plot)
        return;
    if (!tool_ask_sized(a))
        tool_die(state, TOOL_USAGE, "--plot: the choice for %s does not depend on a size", tt_coll_name(a->coll));
    if (a->least < 1 || a->most < 2 * a->least || a->most > INT64_C(1) << 40)
        tool_die(state, TOOL_USAGE, "--min and --max want at least a factor of 2 between them, from 1 up to 1T");
    if (a->json && strcmp(a->plot, "-") == 0)
        tool_die(state, TOOL_USAGE, "--json and --plot - would be mixed up: give the plot a file");
}

static void settle(const struct argp_state *state, struct tool_ask *a)
{
    char why[1024];

    a->coll = tool_coll(state, a->coll_name);
    a->shape.coll = tt_coll_family(a->coll);
    tt_config_point_out_unknown();
    if (tt_config_load(why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    settle_topology(state, a);
    tool_check_root(state, &a->shape);
    if (a->shape.coll == TT_COLL_barrier)
        a->bytes = 0;
    if (tool_reduces(a->coll))
        settle_reduction(state, a);
    a->shape.count = a->bytes / (int64_t)a->shape.unit;
    a->shape.segment = tt_config.segment / (int64_t)a->shape.unit;
    if (tt_config.segment && a->shape.segment == 0)
        a->shape.segment = 1;
    a->shape.reproducible = tt_config.reproducible && tool_reduces(a->coll);
    settle_plot(state, a);
}

bool tool_ask_sized(const struct tool_ask *a)
{
    return a->shape.coll != TT_COLL_barrier && !tt_coll_lengths_local(a->shape.coll);
}

char *tool_ask_size(const struct tool_ask *a, char *text, size_t size, int64_t bytes)
{
    return a->tens ? tt_size_print_tens(text, size, bytes) : tt_size_print(text, size, bytes);
}

/* ---- the answer ---- */

static void work_out(const struct argp_state *state, const struct tool_ask *a, struct tool_answer *answer)
{
    answer->choice = tool_choose(a, a->shape.count);
    answer->nrows = tool_explain_rows(state, a, &answer->choice, answer->rows);
    answer->has_below = tool_change_below(a, a->bytes, &answer->below);
    answer->has_above = tool_change_above(a, a->bytes, largest, &answer->above);
    answer->ncases = tool_otherwise(a, &answer->choice, answer->cases);
}

int tool_explain(int argc, char **argv)
{
    struct tool_ask a = {.type_name = "float", .op = "sum", .bytes = 1 << 20, .least = 8, .most = 1 << 30};
    static struct tool_answer answer;
    struct argp_state state = {.name = argv[0]};
    int status = TOOL_OK;

    a.shape = (struct tt_shape){.commutes = true, .unit = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    settle(&state, &a);
    work_out(&state, &a, &answer);
    (a.json ? tool_explain_json : tool_explain_text)(&a, &answer);
    if (a.plot)
        status = tool_explain_plot(&state, &a);
    tt_net_free(a.net);
    tt_net_free(a.latencies);
    tt_topo_free(a.topo);
    tt_topo_free(a.profile);
    return status;
}
