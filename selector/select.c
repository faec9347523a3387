/* SPDX-License-Identifier: BSD-3-Clause */
/* Who decides: the communicator's info key over the variable's pin, over the rules file, over the cost model. Each of
 * the first three takes the first of its rules that holds and is feasible; what was passed over is told, too. */
#include "selector/select.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/model.h"
#include "selector/nccl.h"

/* A choice that somebody made is worth a word if the model expects it to take so many times the best. A pin is worth a
 * warning, too; rules are not, since they may have been measured, and the model is none the wiser. */
static const double much = 10;

static const struct tt_alg *find(enum tt_coll coll, const char *name)
{
    return tt_alg_find(coll, name, strlen(name));
}

/* ---- who decides ---- */

struct question {
    enum tt_coll coll;
    const struct tt_shape *s;
    const struct tt_net *net;
    bool ours;
    const struct tt_orders *orders;
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
    if (q->orders->no_nccl && alg->delegate == TT_TO_NCCL && !tt_infeasible(alg, q->s))
        return q->orders->no_nccl;
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
        const char *reason = why_not(q, alg);

        tt_rule_where(rules, rule, where, sizeof where);
        if (!reason) {
            choice->alg = alg;
            choice->segment = segment_of(rule, q->s);
            add(choice, "%s", where);
            return true;
        }
        add(passed, "; %s passed over, because %s is not feasible: %s", where, alg->name, reason);
    }
    return false;
}

/* The first of our own that can: of one rank, where nothing passes between ranks, or where there was no memory for more. */
static void without_model(const struct question *q, struct tt_choice *choice)
{
    for (int i = 0; tt_algs[i] && !choice->alg; i++)
        if (tt_algs[i]->delegate == TT_OWN && tt_alg_serves(tt_algs[i], q->coll) && !tt_infeasible(tt_algs[i], q->s))
            choice->alg = tt_algs[i];
    if (!choice->alg)
        choice->alg = find(q->coll, "native");
    else if (choice->alg->segmented)
        choice->segment = tt_best_segment(choice->alg, q->s, NULL);
    add(choice, q->s->size == 1 ? "one rank" : "no model of the links");
}

/* What one of our own takes where GPU memory goes by way of the host. */
static void restate(const struct question *q, struct tt_estimate *e)
{
    struct tt_shape s = *q->s;

    if (!e->alg || !q->orders->staged)
        return;
    s.segment = e->segment ? e->segment : s.segment;
    e->seconds = tt_estimate(e->alg, &s, q->orders->staged).seconds;
}

/* Puts NCCL among the two best, where it may be. */
static void weigh_nccl(const struct question *q, struct tt_estimate *best, struct tt_estimate *next)
{
    const struct tt_alg *nccl = find(q->coll, "nccl");
    struct tt_estimate e = {.alg = nccl};

    if (!q->orders->on_gpus || !q->orders->topo || why_not(q, nccl))
        return;
    e.seconds = tt_nccl_seconds(q->s, q->orders->topo);
    if (e.seconds < 0)
        return;
    restate(q, best);
    restate(q, next);
    e.seconds += q->orders->votes ? tt_vote_seconds(q->net) : 0;
    if (!best->alg || e.seconds < best->seconds * (1 - 1e-6)) {
        *next = *best;
        *best = e;
    } else if (!next->alg || e.seconds < next->seconds) {
        *next = e;
    }
}

static void by_model(const struct question *q, struct tt_choice *choice)
{
    struct tt_estimate best, next;
    char time[32];

    if (!q->net) {
        without_model(q, choice);
        return;
    }
    tt_model_choose(q->coll, q->s, q->net, &best, &next);
    weigh_nccl(q, &best, &next);
    choice->alg = best.alg ? best.alg : find(q->coll, "native");
    choice->segment = best.segment;
    if (!best.alg) {
        add(choice, "no own algorithm serves it");
        return;
    }
    add(choice, "model: %s", tt_time_print(time, sizeof time, best.seconds));
    if (best.alg->delegate == TT_TO_NCCL && q->orders->votes)
        add(choice, ", %s of it to agree on it", tt_time_print(time, sizeof time, tt_vote_seconds(q->net)));
    if (next.alg)
        add(choice, ", then %s %s", next.alg->name, tt_time_print(time, sizeof time, next.seconds));
}

/* Of a choice that was not the model's: its segment, unless that was said, too; and what the model thinks of it. */
static void complete(const struct question *q, struct tt_choice *choice)
{
    struct tt_estimate best, next, chosen;
    struct tt_shape s = *q->s;

    if (choice->alg->segmented && !choice->segment)
        choice->segment = tt_best_segment(choice->alg, q->s, q->net);
    if (!choice->alg->cost || !q->net)
        return;
    s.segment = choice->segment ? choice->segment : s.segment;
    chosen = tt_estimate(choice->alg, &s, q->net);
    tt_model_choose(q->coll, q->s, q->net, &best, &next);
    choice->slow = best.alg && best.seconds > 0 && chosen.seconds > much * best.seconds;
    if (choice->slow)
        add(choice, "; slow: the model expects %.0f times what %s takes", chosen.seconds / best.seconds,
            best.alg->name);
}

static void by_need(const char *foreign, bool ours, bool reproducible, struct tt_choice *choice)
{
    choice->alg = ours ? NULL : find(TT_COLL_any, "native");
    add(choice, "%s%s", foreign, reproducible && !ours ? "; in its own order, whatever TUTTI_REPRODUCIBLE says" : "");
}

struct tt_choice tt_select(enum tt_coll coll, const struct tt_shape *s, const struct tt_orders *orders,
                           const char *foreign, bool ours)
{
    const struct tt_rules *const strongest_first[] = {orders->info, orders->pin, orders->rules};
    struct question q = {coll, s, orders->net, ours, orders, tt_facts_of(coll, s, orders->level)};
    const bool reproducible = s->reproducible && tt_coll_traits(coll) & TT_REDUCES;
    struct tt_choice choice = {0}, passed = {0};
    int who = 0;

    if (foreign) {
        by_need(foreign, ours, reproducible, &choice);
        return choice;
    }
    if (orders->on_gpus)
        tt_facts_on_gpus(&q.facts);
    while (who < 3 && !by_rules(&q, strongest_first[who], &choice, &passed))
        who++;
    if (choice.alg)
        complete(&q, &choice);
    else
        by_model(&q, &choice);
    choice.slow = choice.slow && who < 2;
    add(&choice, "%s%s", reproducible ? "; reproducible" : "", passed.why);
    return choice;
}
