/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti explain: the whole book for one shape, read offline. The figures come from the plans that would run, not from
 * formulas. Up to ALL_RANKS ranks every rank's plan is built and set in time; beyond, that would take gigabytes, so
 * a few ranks stand for all and that is said. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/sizes.h"
#include "selector/model.h"
#include "selector/net.h"
#include "selector/select.h"
#include "tools/score.h"
#include "tools/tools.h"
#include "tools/types.h"

enum { ALL_RANKS = 128, MAX_RANKS = 65536 };

struct arguments {
    const char *coll_name, *type_name, *op;
    enum tt_coll coll;
    struct tt_shape shape;
    int64_t bytes;
    bool json;
    struct tt_topo *topo;
    struct tt_net *net; /* of topo */
};

/* What one algorithm costs. */
struct figures {
    const struct tt_alg *alg;
    const char *why_not; /* NULL: it is feasible */
    bool planned;        /* there is a plan to count */
    int rounds;
    struct tt_totals most; /* of one rank */
};

enum { BYTES = 256, TYPE, OP, ROOT, IN_PLACE, NONCOMMUTATIVE, JSON };

static const struct argp_option options[] = {
    {"ranks", 'n', "P", 0, "on so many ranks [4]", 1},
    {"bytes", BYTES, "SIZE", 0, "of the vector, or of one block where the collective is stated in blocks [1M]", 1},
    {"type", TYPE, "TYPE", 0, "of the elements of a reduction: float, double, int, half, ... [float]", 1},
    {"op", OP, "OP", 0, "of a reduction: sum, max, ... [sum]", 1},
    {"non-commutative", NONCOMMUTATIVE, NULL, 0, "the op's operands must stay in rank order", 1},
    {"root", ROOT, "R", 0, "the root, where there is one [0]", 1},
    {"in-place", IN_PLACE, NULL, 0, "with MPI_IN_PLACE", 1},
    {"json", JSON, NULL, 0, "for machines: all figures in bytes", 2},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case 'n':
        a->shape.size = tool_positive(state, "-n", arg);
        return 0;
    case BYTES:
        a->bytes = tool_size(state, "--bytes", arg);
        return 0;
    case TYPE:
        a->type_name = arg;
        return 0;
    case OP:
        a->op = arg;
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
    case JSON:
        a->json = true;
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

static const struct argp argp = {options,
                                 parse,
                                 "COLLECTIVE",
                                 "Tell, without running anything, which algorithms can serve a collective of a given "
                                 "size, what each costs, and which "
                                 "one would be chosen. TUTTI_ variables count as they would in a run.\v"
                                 "Sizes: K, M, G (or KiB ...) are powers of 1024, KB, MB, GB of 1000.\n\n"
                                 "Examples:\n"
                                 "  tutti explain allreduce -n 8 --bytes 64M\n"
                                 "  tutti explain allreduce -n 6 --bytes 1K --type double --non-commutative\n"
                                 "  tutti explain alltoall -n 64 --bytes 4K --json\n",
                                 NULL,
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

static void settle_reduction(const struct argp_state *state, struct arguments *a)
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
}

static void settle(const struct argp_state *state, struct arguments *a)
{
    char why[1024];

    a->coll = tool_coll(state, a->coll_name ? a->coll_name : "");
    a->shape.coll = tt_coll_family(a->coll);
    if (a->shape.size > MAX_RANKS)
        tool_die(state, TOOL_USAGE, "counts up to %d ranks, not %d", MAX_RANKS, a->shape.size);
    tool_check_root(state, &a->shape);
    tt_config_point_out_unknown();
    if (tt_config_load(why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    if (a->shape.coll == TT_COLL_barrier)
        a->bytes = 0;
    if (tool_reduces(a->coll))
        settle_reduction(state, a);
    a->shape.count = a->bytes / (int64_t)a->shape.unit;
    a->shape.segment = tt_config.segment / (int64_t)a->shape.unit;
    if (tt_config.segment && a->shape.segment == 0)
        a->shape.segment = 1;
    a->shape.reproducible = tt_config.reproducible && tool_reduces(a->coll);
}

/* ---- counting ---- */

static bool count_all(struct figures *f, const struct tt_shape *s)
{
    struct tt_score *score = tt_score_make(f->alg, s);

    if (!score)
        return false;
    f->rounds = score->rounds;
    f->most = score->most;
    tt_score_free(score);
    return true;
}

/* Ranks at the root, beside it, opposite to it, and at the ends: the extremes of every tree, ring and chain. */
static bool count_some(struct figures *f, const struct tt_shape *s)
{
    const int p = s->size, r = s->root;
    const int ranks[] = {0, 1, p / 2, p - 1, r, tt_mod(r + 1, p), tt_mod(r - 1, p), tt_mod(r + tt_pow2_below(p), p)};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct tt_plan *plan = tt_whole_plan(f->alg, s, ranks[i]);
        int rounds;

        if (!plan)
            return false;
        rounds = tt_score_own_rounds(plan);
        f->rounds = rounds > f->rounds ? rounds : f->rounds;
        tt_score_raise(&f->most, plan);
        tt_plan_free(plan);
    }
    return true;
}

/* With the segment that was chosen for it, if it was. */
static struct figures count(const struct argp_state *state, const struct tt_alg *alg, const struct arguments *a,
                            const struct tt_choice *choice)
{
    struct figures f = {.alg = alg, .why_not = tt_infeasible(alg, &a->shape)};
    struct tt_shape s = a->shape;

    if (alg->segmented && alg->cost && !f.why_not)
        s.segment = choice->alg == alg ? choice->segment : tt_estimate(alg, &a->shape, a->net).segment;
    f.planned = alg->build && !f.why_not;
    if (f.planned && !(s.size <= ALL_RANKS ? count_all(&f, &s) : count_some(&f, &s)))
        tool_die(state, TOOL_FAILED, "cannot set out %s %s: %s", tt_coll_name(s.coll), alg->name, strerror(errno));
    return f;
}

/* ---- telling ---- */

static void print_shape(const struct arguments *a)
{
    char size[32];

    printf("%s", tt_coll_name(a->coll));
    if (a->shape.coll != TT_COLL_barrier)
        printf(" of %s%s", tt_size_print(size, sizeof size, a->bytes), tool_in_blocks(a->shape.coll) ? " a block" : "");
    if (tool_reduces(a->coll))
        printf(" (%" PRId64 " %s, %s%s)", a->shape.count, a->type_name, a->op,
               a->shape.commutes ? "" : ", not commutative");
    printf(" on %d rank%s", a->shape.size, a->shape.size == 1 ? "" : "s");
    if (tool_rooted(a->coll))
        printf(", root %d", a->shape.root);
    printf("%s%s\n\n", a->shape.inplace ? ", in place" : "", a->shape.reproducible ? ", reproducible" : "");
    printf("  %-18s %6s %8s %10s %11s\n", "", "", "messages", "bytes", "bytes");
    printf("  %-18s %6s %8s %10s %11s\n", "algorithm", "rounds", "per rank", "sent", "reduced");
}

static void print_figures(const struct figures *f, const struct arguments *a, bool chosen)
{
    const int64_t unit = (int64_t)a->shape.unit;
    char sent[32], reduced[32];

    printf("%c %-18s ", chosen ? '*' : ' ', f->alg->name);
    if (f->why_not)
        printf("cannot serve this: %s\n", f->why_not);
    else if (!f->planned)
        printf("%6s %8s %10s %11s  %s\n", "-", "-", "-", "-", f->alg->summary);
    else
        printf("%6d %8d %10s %11s  %s\n", f->rounds, f->most.messages,
               tt_size_print(sent, sizeof sent, f->most.sent * unit),
               tool_reduces(a->coll) ? tt_size_print(reduced, sizeof reduced, f->most.reduced * unit) : "-",
               f->alg->summary);
}

static void print_close(const struct arguments *a, const struct tt_choice *choice)
{
    char name[64];

    printf("\n* would run (%s); %s=NAME pins another.\n", choice->why, tt_config_pin_name(a->coll, name, sizeof name));
    puts("Figures are those of the busiest rank.");
    if (a->shape.size > ALL_RANKS)
        puts("With so many ranks, a few stand for all: rounds are those of the longest part among them.");
}

static void print_text(const struct argp_state *state, const struct arguments *a, const struct tt_choice *choice)
{
    print_shape(a);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], a->coll)) {
            const struct figures f = count(state, tt_algs[i], a, choice);

            print_figures(&f, a, f.alg == choice->alg);
        }
    print_close(a, choice);
}

static json_t *json_of(const struct figures *f, const struct arguments *a)
{
    const json_int_t unit = (json_int_t)a->shape.unit;
    json_t *row =
        json_pack("{s:s, s:s, s:b}", "name", f->alg->name, "summary", f->alg->summary, "feasible", !f->why_not);

    if (f->why_not)
        json_object_set_new(row, "why_not", json_string(f->why_not));
    if (f->planned)
        json_object_update_new(row,
                               json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I}", "rounds", f->rounds,
                                         "messages_per_rank", f->most.messages, "reductions_per_rank",
                                         f->most.reductions, "bytes_sent_per_rank", f->most.sent * unit,
                                         "bytes_received_per_rank", f->most.received * unit, "bytes_copied_per_rank",
                                         f->most.copied * unit, "bytes_reduced_per_rank", f->most.reduced * unit));
    return row;
}

static void print_json(const struct argp_state *state, const struct arguments *a, const struct tt_choice *choice)
{
    json_t *rows = json_array();
    json_t *all = json_pack("{s:s, s:i, s:I, s:I, s:i, s:b, s:b, s:b, s:o, s:{s:s, s:s}}", "collective",
                            tt_coll_name(a->coll), "ranks", a->shape.size, "bytes", (json_int_t)a->bytes, "count",
                            (json_int_t)a->shape.count, "root", a->shape.root, "commutes", a->shape.commutes,
                            "reproducible", a->shape.reproducible, "all_ranks_counted", a->shape.size <= ALL_RANKS,
                            "algorithms", rows, "chosen", "name", choice->alg->name, "why", choice->why);

    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], a->coll)) {
            const struct figures f = count(state, tt_algs[i], a, choice);

            json_array_append_new(rows, json_of(&f, a));
        }
    if (tool_reduces(a->coll))
        json_object_update_new(all, json_pack("{s:s, s:s}", "type", a->type_name, "op", a->op));
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

int tool_explain(int argc, char **argv)
{
    struct arguments a = {.type_name = "float", .op = "sum", .bytes = 1 << 20};
    struct argp_state state = {.name = argv[0]};
    struct tt_orders orders;
    struct tt_choice choice;

    a.shape = (struct tt_shape){.size = 4, .commutes = true, .unit = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    settle(&state, &a);
    a.topo = tt_topo_assumed(a.shape.size);
    a.net = a.topo ? tt_net_make(a.topo) : NULL;
    if (!a.net)
        tool_die(&state, TOOL_FAILED, "out of memory");
    a.shape.nodes = &a.topo->nodes;
    orders = (struct tt_orders){
        .pin = tt_config.pin[a.coll], .rules = tt_config.read, .net = a.net, .level = tt_topo_slowest(a.topo)};
    choice = tt_select(a.coll, &a.shape, &orders, NULL, false);
    (a.json ? print_json : print_text)(&state, &a, &choice);
    tt_net_free(a.net);
    tt_topo_free(a.topo);
    return TOOL_OK;
}
