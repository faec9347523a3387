/* SPDX-License-Identifier: BSD-3-Clause */
/* Who decides: the communicator's info key over the variable's pin, over the rules file, over the default. Each takes
 * the first of its rules that holds and is feasible; what was passed over is told, too.
 *
 * The default choices: a short table by size, read from the top, first feasible row wins. The sizes are where
 * latency (few rounds) gives way to bandwidth (few bytes) in the alpha-beta arithmetic for a node: alpha of a few
 * microseconds, beta of a few GB/s. */
#include "selector/select.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coll/plan.h"

struct row {
    enum tt_coll coll;
    int64_t up_to; /* bytes of the vector, or of a block (the average one) where the shape is stated in blocks */
    int max_ranks; /* or 0: any; or POWER_OF_TWO: any such */
    const char *name, *why;
};

enum { POWER_OF_TWO = -1 };
#define ANY_SIZE INT64_MAX
#define K *INT64_C(1024)

static const struct row table[] = {
    {TT_COLL_allreduce, 16 K, 0, "doubling", "default: up to 16K, fewest rounds"},
    {TT_COLL_allreduce, 512 K, 0, "halving", "default: up to 512K, few rounds and no byte twice"},
    {TT_COLL_allreduce, ANY_SIZE, 0, "ring", "default: large, fewest bytes"},
    {TT_COLL_allreduce, ANY_SIZE, POWER_OF_TWO, "halving", "default: large, and a ring folds out of order"},
    {TT_COLL_allreduce, ANY_SIZE, 64, "direct", "default: large, and a ring folds out of order"},
    {TT_COLL_allreduce, ANY_SIZE, 0, "halving", "default: large, and a ring folds out of order"},
    {TT_COLL_reduce, 64 K, 0, "binomial", "default: up to 64K, fewest rounds"},
    {TT_COLL_reduce, ANY_SIZE, 0, "halving", "default: large, no rank carries the whole vector twice"},
    {TT_COLL_scan, 256 K, 0, "doubling", "default: up to 256K, fewest rounds"},
    {TT_COLL_scan, ANY_SIZE, 16, "chain", "default: large, each rank carries the vector once"},
    {TT_COLL_scan, ANY_SIZE, 0, "doubling", "default: many ranks, fewest rounds"},
    {TT_COLL_exscan, ANY_SIZE, 0, "doubling", "default: fewest rounds"},
    {TT_COLL_reduce_scatter, 16 K, 0, "halving", "default: up to 16K a block, fewest rounds"},
    {TT_COLL_reduce_scatter, 16 K, 0, "halving_in_order", "default: up to 16K a block, fewest rounds in rank order"},
    {TT_COLL_reduce_scatter, ANY_SIZE, 0, "ring", "default: large, fewest bytes in flight"},
    {TT_COLL_reduce_scatter, ANY_SIZE, 0, "direct", "default: large, and a ring folds out of order"},
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

static bool meant_for(const struct row *r, const struct tt_shape *s)
{
    const bool power_of_two = (s->size & (s->size - 1)) == 0;

    return r->coll == s->coll && tt_shape_bytes(s) <= r->up_to &&
           (r->max_ranks == 0 || (r->max_ranks == POWER_OF_TWO ? power_of_two : s->size <= r->max_ranks));
}

/* ---- who decides ---- */

struct question {
    enum tt_coll coll;
    const struct tt_shape *s;
    bool ours;
    struct tt_facts facts;
};

static void add(struct tt_choice *choice, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct tt_choice *choice, const char *format, ...)
{
    const size_t used = strlen(choice->why);
    va_list args;

    va_start(args, format);
    vsnprintf(choice->why + used, sizeof choice->why - used, format, args);
    va_end(args);
}

static const char *why_not(const struct question *q, const struct tt_alg *alg)
{
    if (q->ours && alg->delegate == TT_TO_MPI)
        return "the MPI below does not know the type";
    return tt_infeasible(alg, q->s);
}

/* 0: as the shape has it. */
static int64_t segment_of(const struct tt_rule *rule, const struct tt_shape *s)
{
    const int64_t n = rule->segment / (int64_t)s->unit;

    return rule->segment && n == 0 ? 1 : n;
}

/* By the first rule that holds and whose algorithm can do it. Those that hold but cannot are told of in passed. */
static bool by_rules(const struct question *q, const struct tt_rules *rules, struct tt_choice *choice,
                     struct tt_choice *passed)
{
    const struct tt_rule *rule = NULL;
    char where[128];

    while ((rule = tt_rules_next(rules, rule, &q->facts))) {
        const struct tt_alg *alg = tt_rule_algorithm(rule, q->coll);
        const char *not = why_not(q, alg);

        tt_rule_where(rules, rule, where, sizeof where);
        if (!not) {
            choice->alg = alg;
            choice->segment = segment_of(rule, q->s);
            add(choice, "%s", where);
            return true;
        }
        add(passed, "; %s passed over, because %s is not feasible: %s", where, alg->name, not);
    }
    return false;
}

static void by_default(const struct question *q, struct tt_choice *choice)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const struct tt_alg *alg = meant_for(&table[i], q->s) ? find(q->coll, table[i].name) : NULL;

        if (alg && !tt_infeasible(alg, q->s)) {
            choice->alg = alg;
            add(choice, "%s", table[i].why);
            return;
        }
    }
    choice->alg = find(q->coll, "native");
    add(choice, "default: no own algorithm serves it");
}

static void by_need(const char *foreign, bool ours, bool reproducible, struct tt_choice *choice)
{
    choice->alg = ours ? NULL : find(TT_COLL_any, "native");
    add(choice, "%s%s", foreign,
        reproducible && !ours ? "; in its own order, whatever TUTTI_REPRODUCIBLE says" : "");
}

struct tt_choice tt_select(enum tt_coll coll, const struct tt_shape *s, const struct tt_orders *orders,
                           const char *foreign, bool ours)
{
    const struct tt_rules *const strongest_first[] = {orders->info, orders->pin, orders->rules};
    const struct question q = {coll, s, ours, tt_facts_of(coll, s, orders->level)};
    const bool reproducible = s->reproducible && tt_coll_traits(coll) & TT_REDUCES;
    struct tt_choice choice = {0}, passed = {0};

    if (foreign) {
        by_need(foreign, ours, reproducible, &choice);
        return choice;
    }
    for (int i = 0; i < 3 && !by_rules(&q, strongest_first[i], &choice, &passed); i++)
        ;
    if (!choice.alg)
        by_default(&q, &choice);
    add(&choice, "%s%s", reproducible ? "; reproducible" : "", passed.why);
    return choice;
}
