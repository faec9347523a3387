/* SPDX-License-Identifier: BSD-3-Clause */
/* The default choices: a short table by size, read from the top, first feasible row wins. The sizes are where
 * latency (few rounds) gives way to bandwidth (few bytes) in the alpha-beta arithmetic for a node: alpha of a few
 * microseconds, beta of a few GB/s. */
#include "selector/select.h"

#include <stdio.h>
#include <string.h>

#include "coll/plan.h"

struct row {
    enum tt_coll coll;
    int64_t up_to; /* bytes of the vector, or of a block (the average one) where the shape is stated in blocks */
    int max_ranks; /* 0: any */
    const char *name, *why;
};

#define ANY_SIZE INT64_MAX
#define K *INT64_C(1024)

static const struct row table[] = {
    {TT_COLL_allreduce, 16 K, 0, "doubling", "default: up to 16K, fewest rounds"},
    {TT_COLL_allreduce, 512 K, 0, "halving", "default: up to 512K, few rounds and no byte twice"},
    {TT_COLL_allreduce, ANY_SIZE, 0, "ring", "default: large, fewest bytes"},
    {TT_COLL_allreduce, ANY_SIZE, 0, "halving", "default: large, and the op does not commute"},
    {TT_COLL_reduce, 64 K, 0, "binomial", "default: up to 64K, fewest rounds"},
    {TT_COLL_reduce, ANY_SIZE, 0, "halving", "default: large, no rank carries the whole vector twice"},
    {TT_COLL_scan, 256 K, 0, "doubling", "default: up to 256K, fewest rounds"},
    {TT_COLL_scan, ANY_SIZE, 16, "chain", "default: large, each rank carries the vector once"},
    {TT_COLL_scan, ANY_SIZE, 0, "doubling", "default: many ranks, fewest rounds"},
    {TT_COLL_exscan, ANY_SIZE, 0, "doubling", "default: fewest rounds"},
    {TT_COLL_reduce_scatter, 16 K, 0, "halving", "default: up to 16K a block, fewest rounds"},
    {TT_COLL_reduce_scatter, ANY_SIZE, 0, "ring", "default: large, fewest bytes in flight"},
    {TT_COLL_reduce_scatter, ANY_SIZE, 0, "direct", "default: the op does not commute"},
    {TT_COLL_bcast, 16 K, 0, "binomial", "default: up to 16K, fewest rounds"},
    {TT_COLL_bcast, ANY_SIZE, 2, "binomial", "default: two ranks, one message"},
    {TT_COLL_bcast, ANY_SIZE, 0, "scatter_allgather", "default: large, every link carries its share"},
    {TT_COLL_allgather, 8 K, 0, "bruck", "default: up to 8K a block, fewest rounds"},
    {TT_COLL_allgather, ANY_SIZE, 0, "ring", "default: large, neighbours only"},
    {TT_COLL_allgatherv, 8 K, 0, "bruck", "default: up to 8K an average block, fewest rounds"},
    {TT_COLL_allgatherv, ANY_SIZE, 0, "ring", "default: large, neighbours only"},
    {TT_COLL_gather, ANY_SIZE, 0, "binomial", "default: fewest rounds"},
    {TT_COLL_scatter, ANY_SIZE, 0, "binomial", "default: fewest rounds"},
    {TT_COLL_gatherv, ANY_SIZE, 0, "linear", "default: blocks only their owners and the root know"},
    {TT_COLL_scatterv, ANY_SIZE, 0, "linear", "default: blocks only their owners and the root know"},
    {TT_COLL_alltoall, 256, 0, "bruck", "default: up to 256 bytes a block, fewest messages"},
    {TT_COLL_alltoall, ANY_SIZE, 0, "pairwise", "default: each byte crosses once"},
    {TT_COLL_alltoallv, ANY_SIZE, 0, "direct", "default: nobody waits for the long blocks of others"},
    {TT_COLL_barrier, ANY_SIZE, 0, "dissemination", "default: fewest rounds"},
};

static const struct tt_alg *find(enum tt_coll coll, const char *name)
{
    return tt_alg_find(coll, name, strlen(name));
}

const struct tt_alg *tt_select_default(enum tt_coll coll, int64_t bytes, int p, bool commutes, const char **why)
{
    const struct tt_shape s = {.coll = tt_coll_family(coll), .size = p, .commutes = commutes};

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct row *r = &table[i];
        const struct tt_alg *alg;

        if (r->coll != s.coll || bytes > r->up_to || (r->max_ranks && p > r->max_ranks))
            continue;
        alg = find(coll, r->name);
        if (alg && !tt_infeasible(alg, &s)) {
            *why = r->why;
            return alg;
        }
    }
    *why = "default: no own algorithm serves it";
    return find(coll, "native");
}

struct tt_choice tt_select(enum tt_coll coll, const struct tt_shape *s, const struct tt_alg *pin, const char *foreign,
                           bool ours)
{
    struct tt_choice choice = {0};
    const char *why_not = NULL, *why;

    if (foreign) {
        choice.alg = ours ? NULL : find(coll, "native");
        snprintf(choice.why, sizeof choice.why, "%s", foreign);
        return choice;
    }
    if (pin)
        why_not = ours && pin->delegate == TT_TO_MPI ? "the MPI below does not know the type" : tt_infeasible(pin, s);
    if (pin && !why_not) {
        choice.alg = pin;
        snprintf(choice.why, sizeof choice.why, "pinned");
        return choice;
    }
    choice.alg = tt_select_default(coll, tt_shape_bytes(s), s->size, s->commutes, &why);
    if (why_not)
        snprintf(choice.why, sizeof choice.why, "%s; pinned %s is not feasible: %s", why, pin->name, why_not);
    else
        snprintf(choice.why, sizeof choice.why, "%s", why);
    return choice;
}
