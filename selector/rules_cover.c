/* SPDX-License-Identifier: BSD-3-Clause */
/* Can a rule ever be reached? A rule is a box: some collectives, and a span of each fact. Rules before it are taken out
 * of it one after the other, each leaving at most two boxes per fact, until something is left, or nothing. So a rule
 * that several others hide together is found out, too. What is left is found at once in files that people write; for
 * those that are made to be hard there is a limit, beyond which a rule counts as reachable. */
#include <stdio.h>

#include "coll/plan.h"
#include "selector/rules_inside.h"

enum { PATIENCE = 20000, MAX_NAMED = 6 };

struct search {
    const struct tt_rules *rules; /* those before the last */
    bool surely; /* only what an algorithm can serve in any case counts as taken: a power of two of ranks is not any
                    case */
    int patience;
    int nlines, lines[MAX_NAMED]; /* who took something */
};

/* The collectives of which a rule takes all calls that it asks for. */
static uint64_t taken(const struct search *search, const struct tt_rule *rule)
{
    return search->surely ? rule->always : rule->colls;
}

static bool meets(const struct search *search, const struct tt_rule *rule, const struct tt_rule *box)
{
    if (!(taken(search, rule) & box->colls))
        return false;
    for (int f = 0; f < TT_NFACTS; f++)
        if (rule->when[f].to < box->when[f].from || box->when[f].to < rule->when[f].from)
            return false;
    return true;
}

static void note(struct search *search, int line)
{
    for (int i = 0; i < search->nlines; i++)
        if (search->lines[i] == line)
            return;
    if (search->nlines < MAX_NAMED)
        search->lines[search->nlines++] = line;
}

static bool is_left(struct search *search, struct tt_rule box, int from);

/* Is anything left of box, of which a rule takes a part, by that rule and those behind it? */
static bool is_left_around(struct search *search, struct tt_rule box, int i)
{
    const struct tt_rule *rule = &search->rules->rules[i];
    const uint64_t colls = taken(search, rule);
    struct tt_rule part = box;

    part.colls = box.colls & ~colls;
    if (part.colls && is_left(search, part, i + 1))
        return true;
    box.colls &= colls;
    for (int f = 0; f < TT_NFACTS; f++) {
        const struct tt_span span = rule->when[f];

        part = box;
        part.when[f].to = span.from - 1;
        if (box.when[f].from < span.from && is_left(search, part, i + 1))
            return true;
        part = box;
        part.when[f].from = span.to < INT64_MAX ? span.to + 1 : span.to;
        if (box.when[f].to > span.to && is_left(search, part, i + 1))
            return true;
        box.when[f].from = box.when[f].from < span.from ? span.from : box.when[f].from;
        box.when[f].to = box.when[f].to > span.to ? span.to : box.when[f].to;
    }
    note(search, rule->line);
    return false;
}

/* Is anything left of box by rules from the i-th on? */
static bool is_left(struct search *search, struct tt_rule box, int i)
{
    const int last = search->rules->n - 1;

    if (search->patience-- <= 0)
        return true;
    while (i < last && !meets(search, &search->rules->rules[i], &box))
        i++;
    return i == last || is_left_around(search, box, i);
}

/* Does one rule alone take all? Its line, or 0. */
static int taker(const struct search *search, const struct tt_rule *rule)
{
    for (int i = 0; i < search->rules->n - 1; i++) {
        const struct tt_rule *other = &search->rules->rules[i];
        bool all = (rule->colls & ~taken(search, other)) == 0;

        for (int f = 0; f < TT_NFACTS && all; f++)
            all = tt_span_holds(other->when[f], rule->when[f]);
        if (all)
            return other->line;
    }
    return 0;
}

/* The calls of one collective that a rule asks for. What such calls never have is nothing that could be left over. */
static struct tt_rule calls_of(const struct tt_rule *rule, enum tt_coll coll)
{
    struct tt_rule box = *rule;

    box.colls = UINT64_C(1) << coll;
    for (int f = 0; f < TT_NFACTS; f++) {
        const int64_t unknown = tt_fact_any((enum tt_fact)f).from;

        if (tt_fact_missing((enum tt_fact)f, coll))
            box.when[f].to = unknown;
        else if (f != TT_FACT_level && f != TT_FACT_memory && box.when[f].from == unknown)
            box.when[f].from++;
    }
    return box;
}

static bool is_hidden(struct search *search, const struct tt_rule *rule)
{
    const int one = taker(search, rule);

    if (one)
        note(search, one);
    for (int c = 0; c < TT_NCOLLS && !one; c++)
        if (rule->colls >> c & 1 && is_left(search, calls_of(rule, (enum tt_coll)c), 0))
            return false;
    return true;
}

static int by_number(const struct search *search, int after)
{
    int next = 0;

    for (int i = 0; i < search->nlines; i++)
        if (search->lines[i] > after && (!next || search->lines[i] < next))
            next = search->lines[i];
    return next;
}

static void say_hidden(const struct search *search, char *why, size_t size)
{
    const char *what = search->rules->lines ? "line" : "pin";
    size_t used =
        (size_t)snprintf(why, size, "%s %d can never be reached: %s%s", what,
                         search->rules->rules[search->rules->n - 1].line, what, search->nlines > 1 ? "s" : "");

    for (int line = by_number(search, 0); line && used < size; line = by_number(search, line))
        used += (size_t)snprintf(why + used, size - used, "%s %d", line == by_number(search, 0) ? "" : " and", line);
    if (used < size)
        snprintf(why + used, size - used, " before it take%s all of its calls", search->nlines > 1 ? "" : "s");
}

/* Ranks are nodes times ranks per node; what does not go with that, or with the algorithm, holds for no call. */
static const char *never_holds(const struct tt_rule *rule)
{
    const struct tt_span ranks = rule->when[TT_FACT_ranks], nodes = rule->when[TT_FACT_nodes];
    const struct tt_span each = rule->when[TT_FACT_ranks_per_node];
    bool in_order = rule->when[TT_FACT_commutes].to == 0;

    if (ranks.to < (nodes.from ? nodes.from : 1) * (each.from ? each.from : 1))
        return "it asks for fewer ranks than nodes times ranks_per_node";
    if (ranks.from > nodes.to * each.to)
        return "it asks for more ranks than nodes times ranks_per_node";
    for (int c = 0; c < TT_NCOLLS && in_order; c++)
        if (rule->colls >> c & 1)
            in_order = tt_rule_algorithm(rule, (enum tt_coll)c)->needs & TT_COMMUTATIVE;
    return in_order ? "its algorithm needs an op that commutes" : NULL;
}

int tt_rules_check_last(struct tt_rules *rules, char *why, size_t size)
{
    struct tt_rule *last = &rules->rules[rules->n - 1];
    struct search surely = {.rules = rules, .surely = true, .patience = PATIENCE};
    struct search mostly = {.rules = rules, .patience = PATIENCE};

    if (never_holds(last)) {
        snprintf(why, size, "this can never hold: %s", never_holds(last));
        return -1;
    }
    if (is_hidden(&surely, last)) {
        say_hidden(&surely, why, size);
        return -1;
    }
    last->after = is_hidden(&mostly, last) ? by_number(&mostly, 0) : 0;
    return 0;
}
