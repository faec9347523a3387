/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranking as a table: what a step takes, what it is made of, whether it fits, and what most is lost by. */
#include <stdio.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/plan.h"

enum { FEW = 6 }; /* lines of what cannot be, unless all are wanted */

double tool_plan_exposed(const struct tt_iteration *step)
{
    return step->seconds - step->compute - step->bubble;
}

void tool_plan_head(const struct tool_plan *p, const struct tool_prospect *prospect)
{
    const struct tt_transformer *m = &prospect->m;
    const struct tt_topo *t = prospect->topo;
    char text[3][32];

    printf("%s\n  %s parameters, %d layers", m->about, tool_print_si(tt_parameters(m), text[0], sizeof text[0]),
           m->layers);
    if (m->experts)
        printf(", %d experts of which a token meets %d", m->experts, m->top_k);
    printf("; a step: %d sequences of %d tokens, %s, recomputing %s\n", m->batch, m->sequence,
           tt_precision_names[m->precision], tt_recompute_words[m->recompute]);
    printf("on %d GPUs (%s) of %d node%s: %s\n", t->size, p->gpu->name, t->nodes.n, t->nodes.n == 1 ? "" : "s",
           t->about);
    printf("  computing at %.3g of %sFLOP/s; %s of a GPU's memory may be used; a NIC carries %s\n",
           prospect->with.efficiency, tool_print_si(tt_gpu_peak(p->gpu, m), text[0], sizeof text[0]),
           tool_print_gb(prospect->with.memory, text[1], sizeof text[1]),
           tt_rate_print(text[2], sizeof text[2], 1 / t->speed[TT_LEVEL_NIC].beta));
    if (prospect->with.skew > 1)
        printf("  the busiest expert gets %.3g times the tokens of the average one\n", prospect->with.skew);
    if (p->no_overlap)
        puts("  no communication is hidden");
}

/* ---- the ranking ---- */

static void print_row(const struct tool_plan *p, const struct tt_ranked *r, bool best)
{
    const struct tt_iteration *s = &r->step;
    char layout[128], step[32], memory[32], tokens[32], reason[160];

    printf("%c %-40s %9s %6.0f %% %6.0f %% %5.0f %%  %8s %8s %7.0f   ", best ? '*' : ' ',
           tt_layout_print(&s->layout, layout, sizeof layout), tt_time_print(step, sizeof step, s->seconds),
           100 * s->compute / s->seconds, 100 * tool_plan_exposed(s) / s->seconds, 100 * s->bubble / s->seconds,
           tool_print_gb(s->memory.total, memory, sizeof memory), tool_print_si(s->tokens, tokens, sizeof tokens),
           s->flops / 1e12);
    if (s->memory.fits)
        printf("%s\n", tt_iteration_reason(s, reason, sizeof reason));
    else
        printf("does not fit into %s\n", tool_print_gb(p->now.is[TOOL_KNOB_memory], memory, sizeof memory));
}

static void print_ranking(const struct tool_plan *p, const struct tt_search *s)
{
    int shown = 0;

    if (!tt_search_best(s))
        return;
    printf("\n  %-40s %9s %8s %8s %7s  %8s %8s %7s\n", "", "", "of it", "", "", "memory", "tokens", "TFLOP/s");
    printf("  %-40s %9s %8s %8s %7s  %8s %8s %7s   %s\n", "layout", "a step", "compute", "exposed", "bubble", "per GPU",
           "a second", "per GPU", "lost most by");
    for (; shown < s->n && (p->all || (shown < p->top && s->ranked[shown].step.memory.fits)); shown++)
        print_row(p, &s->ranked[shown], shown == 0);
    printf("\n* is the best of %d layouts: of those with the same sizes (tp, cp, pp, dp, ep), the best one is shown.\n",
           s->worked_out);
    puts("Exposed: communication that is not hidden, imbalance and the optimizer. --explain LAYOUT shows the "
         "arithmetic.");
}

/* ---- what cannot be ---- */

static void print_misfits(const struct tool_plan *p, const struct tt_search *s)
{
    int first = 0, shown = 0;
    char layout[128], memory[32], room[32];

    while (first < s->n && s->ranked[first].step.memory.fits)
        first++;
    if (first == s->n)
        return;
    printf("\nDo not fit into %s of a GPU, of %d sizes %d:\n",
           tool_print_gb(p->now.is[TOOL_KNOB_memory], room, sizeof room), s->n, s->n - first);
    for (int i = first; i < s->n && (p->all || shown < FEW); i++, shown++) {
        const struct tt_memory *y = &s->ranked[i].step.memory;

        printf("  %-40s %s at least: %.0f %% weights, %.0f %% gradients, %.0f %% optimizer, %.0f %% activations\n",
               tt_layout_print(&s->ranked[i].step.layout, layout, sizeof layout),
               tool_print_gb(y->total, memory, sizeof memory), 100 * y->weights / y->total,
               100 * y->gradients / y->total, 100 * y->optimizer / y->total,
               100 * (y->activations + y->output) / y->total);
    }
    if (s->n - first > shown)
        printf("  and %d more: --all\n", s->n - first - shown);
}

static void print_refusals(const struct tool_plan *p, const struct tt_search *s)
{
    char layout[128];
    int shown = 0;

    if (s->nrefusals == 0)
        return;
    printf("\nCannot be, %d layouts for %d reasons:\n", s->refused, s->nrefusals);
    for (; shown < s->nrefusals && (p->all || shown < FEW); shown++) {
        const struct tt_refusal *r = &s->refusals[shown];

        printf("  %s: %s%s", r->why, r->count > 1 ? "as " : "", tt_layout_print(&r->example, layout, sizeof layout));
        printf(r->count > 1 ? ", %d layouts\n" : "\n", r->count);
    }
    if (s->nrefusals > shown)
        printf("  and %d reasons more: --all\n", s->nrefusals - shown);
}

/* ---- what would change it ---- */

static void print_change(const struct tool_plan *p, const struct tool_plan_change *c)
{
    char value[32], now[32], when[128], layout[128];

    tool_knob_print(c->knob, c->value, value, sizeof value);
    tool_knob_print(c->knob, p->now.is[c->knob], now, sizeof now);
    if (c->knob == TOOL_KNOB_gpus)
        snprintf(when, sizeof when, "on %s GPUs", value);
    else
        snprintf(when, sizeof when, "%s from %s %s, not %s", tool_knob_words(c->knob), value, c->down ? "down" : "up",
                 now);
    printf("  %-58s %s\n", when, c->none ? "nothing fits" : tt_layout_print(&c->to, layout, sizeof layout));
}

static void print_changes(const struct argp_state *state, const struct tool_plan *p,
                          const struct tool_prospect *prospect)
{
    struct tool_plan_change changes[TOOL_MAX_PLAN_CHANGES];
    const int n = tool_plan_changes(state, p, prospect, changes);

    if (n == 0)
        puts("\nNo change of GPUs, batch, NIC, memory or efficiency nearby makes other sizes the best.");
    else
        puts("\nWhat would make other sizes the best:");
    for (int i = 0; i < n; i++)
        print_change(p, &changes[i]);
}

void tool_plan_text(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect)
{
    const struct tt_search *s = &prospect->search;

    tool_plan_head(p, prospect);
    if (!tt_search_best(s))
        puts(s->n ? "\nNothing fits." : "\nNothing can be.");
    print_ranking(p, s);
    print_misfits(p, s);
    print_refusals(p, s);
    if (tt_search_best(s))
        print_changes(state, p, prospect);
    puts("Times are the cost model's, by speeds that the topology states, and by one efficiency for all products.");
}
