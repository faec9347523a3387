/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti plan: from a topology and a model to a ranked list of layouts, with the arithmetic. Here the question is
 * understood; it is answered in planner/, and told in the other files of this name. Nothing is run. */
#include "tools/plan.h"

#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/sizes.h"
#include "selector/names.h"

/* What products of matrices reach of a GPU's peak: with it the planner gives what was published for GPT-3 175B on 384,
 * 768 and 1536 A100 (doc/plan.md). */
static const double usual_efficiency = 0.58;
static const double usable = 0.9; /* of a GPU's memory: a context, NCCL's buffers and gaps take the rest */
enum { MAX_GPUS = 65536, TOP = 10 };

enum {
    GPUS = 256,
    GPU,
    MEMORY,
    EFFICIENCY,
    SKEW,
    NIC,
    BATCH,
    SEQUENCE,
    RECOMPUTE,
    NO_OVERLAP,
    ONLY,
    EXPLAIN,
    SWEEP,
    WEAK,
    TOPMOST,
    ALL,
    MEASURED,
    PLOT,
    JSON
};

static const struct argp_option options[] = {
    {"gpus", GPUS, "N", 0, "the same as -n: a rank has a GPU", 0},
    {"gpu", GPU, "KIND", 0, "what they are: v100, a100, h100, ... [as the topology says]", 2},
    {"memory", MEMORY, "SIZE", 0, "of a GPU that may be used [90 % of what it has]", 2},
    {"efficiency", EFFICIENCY, "SHARE", 0, "of its peak, that products of matrices reach [0.58]", 2},
    {"nic", NIC, "RATE", 0, "of each NIC [as the topology says]", 2},
    {"no-overlap", NO_OVERLAP, NULL, 0, "no communication is hidden behind computing", 2},
    {"batch", BATCH, "N", 0, "sequences of a step, on all GPUs together [the model's]", 3},
    {"sequence", SEQUENCE, "N", 0, "tokens of a sequence [the model's]", 3},
    {"recompute", RECOMPUTE, "HOW", 0, "none, selective or full [the model's]", 3},
    {"skew", SKEW, "F", 0, "the busiest expert gets so many times the tokens of the average one [1]", 3},
    {"only", ONLY, "LAYOUT", 0, "layouts with these parts, as in \"tp8,pp4\"", 4},
    {"explain", EXPLAIN, "LAYOUT", 0, "every line of the arithmetic of the best of these", 4},
    {"measured", MEASURED, "JSON", 0, "with --explain: beside it what tutti bench --json measured of these calls", 4},
    {"sweep", SWEEP, "WHAT=A..B", 0, "the best of each: gpus=8..1024, or batch, nic, memory, efficiency, skew", 4},
    {"weak", WEAK, NULL, 0, "with --sweep gpus: the batch grows with the GPUs", 4},
    {"top", TOPMOST, "N", 0, "so many layouts [10]", 5},
    {"all", ALL, NULL, 0, "all layouts, and all that cannot be", 5},
    {"plot", PLOT, "FILE", 0, "what steps, or a sweep, are made of: an SVG picture, made by gnuplot; -: as text", 5},
    {"json", JSON, NULL, 0, "for machines: bytes and seconds", 5},
    {0}};

static void set_knob(const struct argp_state *state, struct tool_plan *p, enum tool_knob knob, const char *text)
{
    if (tool_knob_parse(knob, text, &p->now.is[knob]))
        tool_die(state, TOOL_USAGE, "--%s wants %s, not \"%s\"", tool_knob_name(knob),
                 knob == TOOL_KNOB_nic      ? "a rate such as 25GB/s or 400Gbit/s"
                 : knob == TOOL_KNOB_memory ? "a size such as 72GB"
                 : tool_knob_counts(knob)   ? "a positive number"
                                            : "a number above 0, such as 0.58 or 58%",
                 text);
}

static void set_wish(const struct argp_state *state, struct tool_plan *p, const char *text)
{
    char why[512];

    if (tt_layout_parse(text, &p->wish, why, sizeof why))
        tool_die(state, TOOL_USAGE, "%s", why);
}

static void set_sweep(const struct argp_state *state, struct tool_plan *p, const char *text)
{
    const char *is = strchr(text, '='), *dots = is ? strstr(is, "..") : NULL;
    char from[64] = "";

    p->sweep = is ? tool_knob_find(text, (size_t)(is - text)) : TOOL_NKNOBS;
    if (p->sweep == TOOL_NKNOBS) {
        fprintf(stderr, "%s: --sweep wants WHAT=A..B, not \"%s\"; WHAT may be:", state->name, text);
        for (int k = 0; k < TOOL_NKNOBS; k++)
            fprintf(stderr, " %s", tool_knob_name((enum tool_knob)k));
        fputc('\n', stderr);
        exit(TOOL_USAGE);
    }
    if (dots)
        snprintf(from, sizeof from, "%.*s", (int)(dots - is - 1), is + 1);
    if (!dots || tool_knob_parse(p->sweep, from, &p->from) || tool_knob_parse(p->sweep, dots + 2, &p->to) ||
        p->from > p->to)
        tool_die(state, TOOL_USAGE, "--sweep %s wants two values, the smaller first, such as %s, not \"%s\"",
                 tool_knob_name(p->sweep),
                 p->sweep == TOOL_KNOB_nic      ? "12.5GB/s..100GB/s"
                 : p->sweep == TOOL_KNOB_memory ? "40GB..141GB"
                 : tool_knob_counts(p->sweep)   ? "8..1024"
                                                : "0.4..0.7",
                 is + 1);
}

static error_t parse_told(int key, char *arg, struct argp_state *state)
{
    struct tool_plan *p = state->input;

    switch (key) {
    case MEASURED:
        if (p->nmeasured == TOOL_MAX_MEASURED)
            tool_die(state, TOOL_USAGE, "--measured: at most %d files", TOOL_MAX_MEASURED);
        p->measured[p->nmeasured++] = arg;
        return 0;
    case SWEEP:
        set_sweep(state, p, arg);
        return 0;
    case WEAK:
        p->weak = true;
        return 0;
    case TOPMOST:
        p->top = tool_positive(state, "--top", arg);
        return 0;
    case ALL:
        p->all = true;
        return 0;
    case PLOT:
        p->plot = arg;
        return 0;
    case JSON:
        p->json = true;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &p->seats;
        return 0;
    case ARGP_KEY_ARG:
        if (p->model)
            tool_die(state, TOOL_USAGE, "wants one model; \"%s\" is one too many", arg);
        p->model = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct tool_plan *p = state->input;

    switch (key) {
    case GPUS:
        p->seats.ranks = tool_positive(state, "--gpus", arg);
        return 0;
    case GPU:
        p->gpu_name = arg;
        return 0;
    case MEMORY:
        set_knob(state, p, TOOL_KNOB_memory, arg);
        return 0;
    case EFFICIENCY:
        set_knob(state, p, TOOL_KNOB_efficiency, arg);
        return 0;
    case SKEW:
        set_knob(state, p, TOOL_KNOB_skew, arg);
        return 0;
    case NIC:
        set_knob(state, p, TOOL_KNOB_nic, arg);
        return 0;
    case BATCH:
        set_knob(state, p, TOOL_KNOB_batch, arg);
        return 0;
    case SEQUENCE:
        p->sequence = tool_positive(state, "--sequence", arg);
        return 0;
    case RECOMPUTE:
        p->recompute = arg;
        return 0;
    case NO_OVERLAP:
        p->no_overlap = true;
        return 0;
    case EXPLAIN:
        p->explain = true;
        set_wish(state, p, arg);
        return 0;
    case ONLY:
        set_wish(state, p, arg);
        return 0;
    default:
        return parse_told(key, arg, state);
    }
}

static const struct argp_child children[] = {{&tool_topo_argp, 0, NULL, 1}, {0}};
static const struct argp argp = {
    options,
    parse,
    "MODEL",
    "Rank the ways to cut a model for GPUs: data, tensor, pipeline, expert and context parallel, and what of the state "
    "is "
    "cut. Of each, what a step takes, what of it is computing, exposed communication and bubble, and whether it fits. "
    "Nothing is run. MODEL is a file (see doc/plan.md) or one that came with Tutti: gpt3-175b, llama2-70b, "
    "mixtral-8x7b.\v"
    "LAYOUT has any of tp8 (tensor), cp2 (context), pp4 (pipeline), dp16 (data), ep8 (experts), zero1 (0 to 3), mb1 "
    "(sequences in a microbatch), gpipe, 1f1b or interleaved, v2 (pieces of each stage), sp or nosp (sequence "
    "parallel).\n\n"
    "Examples:\n"
    "  tutti plan gpt3-175b --topo h100x8 -n 64\n"
    "  tutti plan gpt3-175b --topo a100x8 -n 384 --explain tp8,pp12,1f1b\n"
    "  tutti plan llama2-70b --topo h100x8 --sweep gpus=8..1024 --plot scaling.svg\n",
    children,
    NULL,
    NULL};

/* ---- what was asked, made whole ---- */

static void settle_model(const struct argp_state *state, struct tool_plan *p)
{
    struct tt_names names = {0};
    char why[1024];

    if (!p->model)
        tool_die(state, TOOL_USAGE, "wants a model: a file, or one that came with Tutti, such as gpt3-175b");
    if (tt_transformer_read(p->model, &p->m, why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    p->m.sequence = p->sequence ? p->sequence : p->m.sequence;
    for (int i = 0; p->recompute && i <= TT_NRECOMPUTES; i++) {
        if (i == TT_NRECOMPUTES) {
            tt_names_refuse(&names, p->recompute, strlen(p->recompute), "a way to recompute", why, sizeof why);
            tool_die(state, TOOL_USAGE, "--recompute: %s", why);
        }
        tt_names_add(&names, tt_recompute_names[i]);
        if (strcmp(p->recompute, tt_recompute_names[i]) == 0) {
            p->m.recompute = (enum tt_recompute)i;
            break;
        }
    }
}

/* NULL with why: not so many, as where the file says of each rank where it sits. */
static struct tt_topo *try_topo(const struct tool_plan *p, int gpus, char *why, size_t size)
{
    const int nodes = gpus == p->seats.ranks ? p->seats.nodes : 0;
    struct tt_topo *t;

    return tt_topo_read(p->seats.file, gpus, nodes, p->seats.place, &t, why, size) ? NULL : t;
}

bool tool_plan_has_room(const struct tool_plan *p, int gpus)
{
    char why[1024];
    struct tt_topo *t = try_topo(p, gpus, why, sizeof why);

    if (!t)
        return false;
    tt_topo_free(t);
    return true;
}

static struct tt_topo *read_topo(const struct argp_state *state, const struct tool_plan *p, int gpus)
{
    struct tt_topo *t;
    char why[1024];

    if (gpus > MAX_GPUS)
        tool_die(state, TOOL_USAGE, "counts up to %d GPUs, not %d", MAX_GPUS, gpus);
    t = try_topo(p, gpus, why, sizeof why);
    if (!t)
        tool_die(state, TOOL_FAILED, "%s", why);
    return t;
}

/* TUTTI_TOPO and TUTTI_PROFILE count where --topo does not say otherwise: the latter is what `tutti tune` found of this
 * machine. */
static void settle_file(const struct argp_state *state, struct tool_plan *p)
{
    char why[1024];

    tt_config_point_out_unknown();
    if (tt_config_load(why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    if (!p->seats.file && tt_config.topo)
        p->seats.file = getenv("TUTTI_TOPO");
    if (!p->seats.file && tt_config.profile)
        p->seats.file = getenv("TUTTI_PROFILE");
    if (!p->seats.file)
        tool_die(state, TOOL_USAGE,
                 "wants --topo FILE: h100x8, a100x8, ..., or what tutti tune wrote of this machine, NAME.profile.json");
}

static const struct tt_gpu_kind *find_gpu(const struct argp_state *state, const struct tool_plan *p,
                                          const struct tt_topo *t)
{
    const char *name = p->gpu_name ? p->gpu_name : t->gpu;
    const struct tt_gpu_kind *gpu;
    char why[512];

    if (!*name)
        tool_die(state, TOOL_USAGE, "%s does not say what its GPUs are: --gpu KIND", p->seats.file);
    gpu = tt_gpu_kind_find(name, why, sizeof why);
    if (!gpu)
        tool_die(state, TOOL_USAGE, "%s", why);
    return gpu;
}

static void fill(double *value, double otherwise)
{
    *value = *value > 0 ? *value : otherwise;
}

static void settle(const struct argp_state *state, struct tool_plan *p)
{
    double *is = p->now.is;
    struct tt_topo *t;

    settle_model(state, p);
    settle_file(state, p);
    t = read_topo(state, p, p->seats.ranks);
    p->seats.ranks = t->size;
    p->gpu = find_gpu(state, p, t);
    fill(&is[TOOL_KNOB_gpus], t->size);
    fill(&is[TOOL_KNOB_batch], p->m.batch);
    fill(&is[TOOL_KNOB_nic], t->speed[TT_LEVEL_NIC].beta > 0 ? 1 / t->speed[TT_LEVEL_NIC].beta : 1e12);
    fill(&is[TOOL_KNOB_memory], usable * p->gpu->memory);
    fill(&is[TOOL_KNOB_efficiency], usual_efficiency);
    fill(&is[TOOL_KNOB_skew], 1);
    tt_topo_free(t);
    if (is[TOOL_KNOB_efficiency] > 1)
        tool_die(state, TOOL_USAGE, "--efficiency %g: a GPU does not reach more than its peak",
                 is[TOOL_KNOB_efficiency]);
    if (is[TOOL_KNOB_skew] < 1)
        tool_die(state, TOOL_USAGE, "--skew %g: the busiest expert gets no less than the average one",
                 is[TOOL_KNOB_skew]);
    if (p->weak && p->sweep != TOOL_KNOB_gpus)
        tool_die(state, TOOL_USAGE, "--weak is for --sweep gpus=A..B");
    if (p->nmeasured && !p->explain)
        tool_die(state, TOOL_USAGE, "--measured is for --explain LAYOUT");
    if (p->json && p->plot && strcmp(p->plot, "-") == 0)
        tool_die(state, TOOL_USAGE, "--json and --plot - would be mixed up: give the plot a file");
}

/* ---- looking ---- */

void tool_plan_look(const struct argp_state *state, const struct tool_plan *p, const struct tool_circumstances *c,
                    struct tool_prospect *prospect)
{
    *prospect = (struct tool_prospect){.topo = read_topo(state, p, (int)c->is[TOOL_KNOB_gpus]), .m = p->m};
    prospect->topo->speed[TT_LEVEL_NIC].beta = 1 / c->is[TOOL_KNOB_nic];
    prospect->m.batch = (int)c->is[TOOL_KNOB_batch];
    prospect->with = (struct tt_setting){.m = &prospect->m,
                                         .gpu = p->gpu,
                                         .efficiency = c->is[TOOL_KNOB_efficiency],
                                         .memory = c->is[TOOL_KNOB_memory],
                                         .skew = c->is[TOOL_KNOB_skew],
                                         .overlap = !p->no_overlap,
                                         .place = tt_placement_make(prospect->topo)};
    if (!prospect->with.place || tt_search_run(&prospect->search, &p->wish, &prospect->with))
        tool_die(state, TOOL_FAILED, "out of memory");
}

void tool_plan_forget(struct tool_prospect *prospect)
{
    tt_search_free(&prospect->search);
    tt_placement_free(prospect->with.place);
    tt_topo_free(prospect->topo);
}

int tool_plan(int argc, char **argv)
{
    struct tool_plan p = {.wish = tt_any_layout, .sweep = TOOL_NKNOBS, .top = TOP};
    const struct argp_state state = {.name = argv[0]};
    struct tool_prospect prospect;
    int status = TOOL_OK;

    argp_parse(&argp, argc, argv, 0, NULL, &p);
    settle(&state, &p);
    if (p.sweep < TOOL_NKNOBS)
        return tool_plan_sweep(&state, &p);
    tool_plan_look(&state, &p, &p.now, &prospect);
    if (p.explain)
        status = tool_plan_explain(&state, &p, &prospect);
    else
        (p.json ? tool_plan_json : tool_plan_text)(&state, &p, &prospect);
    if (p.plot && status == TOOL_OK)
        status = tool_plan_plot(&state, &p, &prospect);
    tool_plan_forget(&prospect);
    return status;
}
