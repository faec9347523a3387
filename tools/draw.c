/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti draw: the plans of all ranks as a picture. Nothing here knows any algorithm: what is drawn is what would
 * run. */
#include "tools/draw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "selector/topo.h"
#include "tools/seats.h"
#include "tools/tools.h"

struct arguments {
    struct tt_shape shape;
    const char *coll, *alg, *file;
    int only; /* rank, or -1 */
    int count;
    struct tool_seats seats; /* nodes: 0: one, or two if the algorithm is of two levels */
    struct tt_topo *topo;
    int64_t lengths[TOOL_MAX_DRAWN * TOOL_MAX_DRAWN]; /* of blocks that differ */
};

enum { COUNT = 256, ROOT, IN_PLACE, NONCOMMUTATIVE, RANK, SVG, SEGMENT };

static const struct argp_option options[] = {
    {"count", COUNT, "N", 0, "elements: of the vector [P, one to a block], or of each block where the collective is "
                             "stated in blocks [1]; where blocks may differ, 1 to 3 times as many", 1},
    {"segment", SEGMENT, "N", 0, "elements to a segment of a pipelined algorithm [1]", 1},
    {"root", ROOT, "R", 0, "the root, where there is one [0]", 1},
    {"in-place", IN_PLACE, NULL, 0, "with MPI_IN_PLACE", 1},
    {"op-noncommutative", NONCOMMUTATIVE, NULL, 0, "with an op whose operands must stay in rank order", 1},
    {"rank", RANK, "R", 0, "only this rank's own part, step by step with its fences", 2},
    {"svg", SVG, "FILE", 0, "a picture, to FILE (- is standard output)", 2},
    {"output", 'o', "FILE", 0, "the same as --svg", 2},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct arguments *a = state->input;

    switch (key) {
    case COUNT:
        a->count = tool_natural(state, "--count", arg);
        return 0;
    case SEGMENT:
        a->shape.segment = tool_positive(state, "--segment", arg);
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
    case RANK:
        a->only = tool_natural(state, "--rank", arg);
        return 0;
    case SVG:
    case 'o':
        a->file = arg;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->seats;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 1)
            tool_die(state, TOOL_USAGE, "wants one collective and one algorithm; \"%s\" is one too many", arg);
        *(state->arg_num == 0 ? &a->coll : &a->alg) = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_child children[] = {{&tool_seats_argp, 0, NULL, 1}, {0}};
static const struct argp argp = {
    options, parse, "COLLECTIVE ALGORITHM",
    "Draw an algorithm: who sends what to whom in each round, what is copied and what is reduced.\v"
    "Examples:\n"
    "  tutti draw allreduce ring -n 4\n"
    "  tutti draw allreduce ring -n 4 --rank 0\n"
    "  tutti draw allreduce ring -n 4 --svg ring.svg\n"
    "  tutti draw allreduce two_level -n 6 --nodes 3 --segment 2\n",
    children, NULL, NULL};

/* The collective and algorithm that were named, or exit with the names there are. */
static const struct tt_alg *settle(const struct argp_state *state, struct arguments *a)
{
    const struct tt_alg *alg;

    a->shape.coll = tt_coll_family(tool_coll(state, a->coll));
    alg = tool_alg(state, a->shape.coll, a->alg ? a->alg : "");
    a->shape.size = a->seats.ranks;
    tool_check_root(state, &a->shape);
    if (a->shape.size > TOOL_MAX_DRAWN)
        tool_die(state, TOOL_USAGE, "draws up to %d ranks, not %d; tutti explain counts for any number", TOOL_MAX_DRAWN,
                 a->shape.size);
    if (a->only >= a->shape.size)
        tool_die(state, TOOL_USAGE, "rank %d is not among %d ranks, 0 to %d", a->only, a->shape.size, a->shape.size - 1);
    if (a->only >= 0 && a->file)
        tool_die(state, TOOL_USAGE, "--rank is for text, --svg draws all ranks: give one of them");
    return alg;
}

/* Examples of lengths that differ: 2, 1, 3, 2, ... times count, and in an alltoallv, whose lengths are the same both
 * ways so that it can be in place, 1, 2, 3, 1, ... to ranks 0, 1, 2, 3, ..., shifted by one from rank to rank. */
static void choose_lengths(struct arguments *a)
{
    struct tt_shape *s = &a->shape;

    if (!(tt_coll_traits(s->coll) & (TT_SEND_COUNTS | TT_RECV_COUNTS)))
        return;
    for (int i = 0; i < s->size * s->size; i++)
        a->lengths[i] = s->count * (1 + (tt_score_in_pairs(s) ? i / s->size + i % s->size : 2 * i + 1) % 3);
    s->counts = a->lengths;
}

/* Puts the ranks on nodes, as many on each as on any other, or one more. */
static void lay_out(const struct argp_state *state, struct arguments *a, const struct tt_alg *alg)
{
    const int size = a->shape.size, usual = alg->needs & TT_TWO_LEVELS && size > 1 ? 2 : 1;
    const int nodes = a->seats.nodes ? a->seats.nodes : usual;
    const bool in_turn = a->seats.place && strcmp(a->seats.place, "round-robin") == 0;

    if (a->seats.place && !in_turn && strcmp(a->seats.place, "block") != 0)
        tool_die(state, TOOL_USAGE, "--place wants block or round-robin, not \"%s\"", a->seats.place);
    if (nodes > size)
        tool_die(state, TOOL_USAGE, "%d ranks cannot be on %d nodes: none may be empty", size, nodes);
    a->topo = tt_topo_new(size, nodes);
    for (int i = 0, r = 0; a->topo && i < nodes; i++)
        for (; r < tt_cut(size, nodes, i + 1); r++)
            a->topo->seats[r].node = in_turn ? r % nodes : i;
    if (!a->topo || tt_topo_settle(a->topo))
        tool_die(state, TOOL_FAILED, "cannot lay out %d ranks: %s", size, strerror(ENOMEM));
    a->shape.nodes = &a->topo->nodes;
}

static struct tt_score *make(const struct argp_state *state, const struct arguments *a, const struct tt_alg *alg)
{
    const char *why = tt_infeasible(alg, &a->shape);
    struct tt_score *score;

    if (!alg->build)
        tool_die(state, TOOL_FAILED, "%s is not drawn: it is %s, whose plan is not ours to see", alg->name, alg->summary);
    if (why)
        tool_die(state, TOOL_FAILED, "%s %s cannot serve this call because %s; tutti explain %s says which can",
                 a->coll, a->alg, why, a->coll);
    score = tt_score_make(alg, &a->shape);
    if (!score)
        tool_die(state, TOOL_FAILED, "cannot set out the plans of %s %s: %s", a->coll, a->alg, strerror(errno));
    return score;
}

static void draw_svg(const struct argp_state *state, const char *file, const struct tt_score *score)
{
    FILE *out = strcmp(file, "-") ? fopen(file, "w") : stdout;

    if (!out)
        tool_die(state, TOOL_FAILED, "cannot write %s: %s", file, strerror(errno));
    if (tool_draw_svg(out, score) || fflush(out) || ferror(out))
        tool_die(state, TOOL_FAILED, "cannot draw to %s: %s", file, strerror(errno));
    if (out != stdout)
        fclose(out);
}

int tool_draw(int argc, char **argv)
{
    static struct arguments a; /* large, for a stack */
    struct argp_state state = {.name = argv[0]};
    const struct tt_alg *alg;
    struct tt_score *score;

    a.only = a.count = -1;
    a.seats.ranks = 4;
    a.shape = (struct tt_shape){.commutes = true, .segment = 1, .unit = 1};
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    alg = settle(&state, &a);
    a.shape.count = a.count >= 0 ? a.count : tool_in_blocks(a.shape.coll) ? 1 : a.shape.size;
    if (a.shape.coll == TT_COLL_barrier)
        a.shape.count = 0;
    choose_lengths(&a);
    lay_out(&state, &a, alg);
    score = make(&state, &a, alg);
    if (a.file)
        draw_svg(&state, a.file, score);
    else if (a.only >= 0)
        tool_draw_part(stdout, score, a.only);
    else if (tool_draw_text(stdout, score))
        tool_die(&state, TOOL_FAILED, "cannot draw: %s", strerror(errno));
    tt_score_free(score);
    tt_topo_free(a.topo);
    return TOOL_OK;
}
