/* SPDX-License-Identifier: BSD-3-Clause */
/* One layout's arithmetic, line by line with its units: what is multiplied, and what comes out, as it could be done by
 * hand. Every line's figures are those of the step (planner/iteration.h); none is worked out anew but the product that
 * the line shows. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "tools/bench.h"
#include "tools/plan.h"

enum { NUMBERS = 12, WIDTH = 32 };

/* Room for some numbers in words, in turns. */
static char *room(void)
{
    static char text[NUMBERS][WIDTH];
    static int turn;

    turn = (turn + 1) % NUMBERS;
    return text[turn];
}

static const char *in_time(double seconds)
{
    return tt_time_print(room(), WIDTH, seconds);
}

static const char *in_bytes(double bytes)
{
    return tool_print_gb(bytes, room(), WIDTH);
}

static const char *si(double number)
{
    return tool_print_si(number, room(), WIDTH);
}

/* "  name   product   = result" */
static void print_line(const char *name, const char *result, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void print_line(const char *name, const char *result, const char *format, ...)
{
    char product[160];
    va_list args;

    va_start(args, format);
    vsnprintf(product, sizeof product, format, args);
    va_end(args);
    printf("  %-34s %-72s = %s\n", name, product, result);
}

/* ---- computing ---- */

static void print_work(const char *name, const struct tt_iteration *s, const struct tt_setting *with, double times,
                       double each, int layers, double seconds)
{
    const struct tt_layout *l = &s->layout;
    const double tokens = (double)l->micro * with->m->sequence / l->context;

    if (each <= 0)
        return;
    print_line(name, in_time(seconds), "%.0f tokens x %d layer%s x %.0f times x %sFLOP / tp %d / %sFLOP/s", tokens,
               layers, layers == 1 ? "" : "s", times, si(each), l->tensor,
               si(tt_gpu_peak(with->gpu, with->m) * with->efficiency));
}

static void print_computing(const struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_layer_work work = tt_layer_work(with->m);
    const struct tt_times times = tt_times(with->m);

    printf(
        "\nComputing, of a microbatch on the last stage, at %.3g x %sFLOP/s = %sFLOP/s a GPU; forward once, backward "
        "twice%s:\n",
        with->efficiency, si(tt_gpu_peak(with->gpu, with->m)), si(tt_gpu_peak(with->gpu, with->m) * with->efficiency),
        times.weights > 3            ? ", recomputed once"
        : times.core > times.weights ? ", the core of attention recomputed once"
                                     : "");
    print_work("products with weights", s, with, times.weights, work.weights, s->layers, s->work.weights);
    print_work("core of attention", s, with, times.core, work.core, s->layers, s->work.core);
    print_work("products of experts", s, with, times.weights, work.experts, s->layers, s->work.experts);
    print_work("output", s, with, 3, tt_output_work(with->m), 1, s->work.output);
    print_line("a microbatch", in_time(s->compute / s->microbatches), "the sum");
}

/* ---- communication ---- */

static const char *coll_words(const struct tt_flow *f)
{
    return f->coll == TT_NCOLLS ? "send" : tt_coll_name(f->coll);
}

/* Who: "8 GPUs, link", "4 GPUs, 8 apart, nic of 2". */
static const char *group_words(const struct tt_flow *f, char *text, size_t size)
{
    int used;

    if (f->coll == TT_NCOLLS)
        used = snprintf(text, size, "%d further on", f->group.stride);
    else if (f->group.stride == 1)
        used = snprintf(text, size, "%d GPUs", f->group.size);
    else
        used = snprintf(text, size, "%d GPUs, %d apart", f->group.size, f->group.stride);
    if (f->about.sharing > 1 && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ", 1/%.3g NIC", f->about.sharing);
    return text;
}

static void print_flows(const struct tt_iteration *s)
{
    char group[64];

    if (s->nflows == 0)
        return;
    printf("\nCommunication of a step, on each GPU, by the algorithms that would be chosen:\n");
    printf("  %-14s %-44s %-26s %-5s %9s  %-18s %9s   %-9s %9s\n", "", "", "among", "over", "of", "", "each", "",
           "in all");
    for (int i = 0; i < s->nflows; i++) {
        const struct tt_flow *f = &s->flows[i];

        printf("  %-14s %-44s %-26s %-5s %9s  %-18s %9s x %-9.0f %9s\n", coll_words(f), f->what,
               group_words(f, group, sizeof group), tt_level_name((enum tt_level)f->about.level), in_bytes(f->bytes),
               f->algorithm, in_time(f->seconds), f->times, in_time(f->times * f->seconds));
    }
    for (int kind = 0; kind < TT_NFLOWS; kind++)
        if (s->total[kind] > 0)
            printf("  %-34s in all %9s, exposed %9s\n", tt_flow_words[kind], in_time(s->total[kind]),
                   in_time(s->exposed[kind]));
}

/* ---- the step ---- */

static void print_micro(const struct tt_iteration *s)
{
    const double m = s->microbatches;

    printf("\nA microbatch:\n");
    print_line("computing", in_time(s->compute / m), "as above");
    if (s->imbalance > 0)
        print_line("the busiest expert", in_time(s->imbalance / m), "its tokens beyond the average");
    for (int kind = 0; kind < TT_NFLOWS; kind++)
        if (kind != TT_FLOW_data && s->exposed[kind] > 0)
            print_line(tt_flow_words[kind], in_time(s->exposed[kind] / m), "%s exposed / %.0f microbatches",
                       in_time(s->exposed[kind]), m);
    print_line("", in_time(s->micro), "the sum");
}

/* Each exchange hides behind the computing of a microbatch, but for the share of one layer. */
static void print_data(const struct tt_iteration *s, const struct tt_setting *with)
{
    const double all = s->total[TT_FLOW_data], exposed = s->exposed[TT_FLOW_data];
    const double runs = s->layout.zero >= 2 ? s->microbatches : 1, hidden = (all - exposed) / runs;

    if (all <= 0)
        return;
    if (!with->overlap)
        print_line("data parallel, exposed", in_time(exposed), "of %s", in_time(all));
    else if (exposed * s->layers <= all * (1 + 1e-9))
        print_line("data parallel, exposed", in_time(exposed), "%s / %d layers: one has nothing left to hide behind",
                   in_time(all), s->layers);
    else
        print_line("data parallel, exposed", in_time(exposed), "%s - %.0f x %s, %d/%d of a microbatch's computing",
                   in_time(all), runs, in_time(hidden), s->layers - 1, s->layers);
}

static void print_sum(const struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_layout *l = &s->layout;
    const double m = s->microbatches;
    const double bytes = 2 * tt_optimizer_bytes(with->m) + tt_gradient_bytes(with->m) + tt_weight_bytes(with->m);

    printf("\nThe step:\n");
    print_line("microbatches", in_time(m * s->micro), "%d sequences / %d data parallel / %d = %.0f, x %s",
               with->m->batch, l->data, l->micro, m, in_time(s->micro));
    if (l->pipeline > 1)
        print_line("bubble", in_time(s->bubble), "(%d stages - 1) / %d piece%s x %s: %.1f %% of the pipeline works",
                   l->pipeline, l->pieces, l->pieces == 1 ? "" : "s", in_time(s->micro), 100 * m / (m + s->waits));
    print_data(s, with);
    print_line("optimizer", in_time(s->optimizer), "%.0f bytes a parameter of %s and %s%s, by %sB/s", bytes,
               si(s->weights), si(s->experts), l->zero ? ", cut" : "", si(with->gpu->bandwidth));
    print_line("", in_time(s->seconds), "the sum");
    printf("  per GPU: %.1f %% computing, %.1f %% exposed, %.1f %% imbalance, %.1f %% bubble\n",
           100 * s->compute / s->seconds, 100 * (tool_plan_exposed(s) - s->imbalance) / s->seconds,
           100 * s->imbalance / s->seconds, 100 * s->bubble / s->seconds);
    printf("  %s tokens a second; %.1f TFLOP/s per GPU, %.1f %% of the peak, what is recomputed counted\n",
           si(s->tokens), s->flops / 1e12, 100 * s->flops / tt_gpu_peak(with->gpu, with->m));
}

/* ---- memory ---- */

static void print_state(const char *name, const struct tt_iteration *s, double bytes, double each, bool cut)
{
    if (cut)
        print_line(name, in_bytes(bytes), "%s and %s of experts, cut for those who have copies, x %.0f bytes",
                   si(s->weights), si(s->experts), each);
    else
        print_line(name, in_bytes(bytes), "(%s + %s of experts) x %.0f bytes", si(s->weights), si(s->experts), each);
}

static void print_memory(const struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_layout *l = &s->layout;
    const struct tt_memory *y = &s->memory;
    const double tokens = (double)l->micro * with->m->sequence;

    printf("\nMemory of a GPU of the %s stage:\n", y->last_stage && l->pipeline > 1 ? "last" : "first");
    print_state("weights", s, y->weights, tt_weight_bytes(with->m), l->zero == 3);
    print_state("gradients", s, y->gradients, tt_gradient_bytes(with->m), l->zero >= 2);
    print_state("optimizer", s, y->optimizer, tt_optimizer_bytes(with->m), l->zero >= 1);
    print_line("activations", in_bytes(y->activations), "%.3g microbatches x %d layers x %.0f tokens x %s%s",
               y->in_flight, s->layers, tokens, in_bytes(tt_layer_keeps(with->m, l->tensor, l->context, l->sequence)),
               with->m->recompute == TT_RECOMPUTE_full ? ", and one layer in full" : "");
    if (y->output > 0)
        print_line("output", in_bytes(y->output), "%.0f tokens / %d x %d of vocabulary / %d x 8 bytes", tokens,
                   l->context, with->m->vocabulary, l->tensor);
    print_line("", in_bytes(y->total), "the sum; %s may be used: %s", in_bytes(with->memory),
               y->fits ? "it fits" : "it does not fit");
}

/* ---- measuring it ---- */

/* In whole elements of four bytes, as tutti bench has them. */
static long long bench_bytes(const struct tt_flow *f)
{
    return (long long)ceil(f->bytes / 4) * 4;
}

static bool same_call(const struct tt_flow *a, const struct tt_flow *b)
{
    return a->coll == b->coll && a->group.size == b->group.size && a->group.stride == b->group.stride &&
           bench_bytes(a) == bench_bytes(b);
}

static bool told_before(const struct tt_iteration *s, int i)
{
    for (int k = 0; k < i; k++)
        if (same_call(&s->flows[k], &s->flows[i]))
            return true;
    return s->flows[i].coll == TT_NCOLLS;
}

static void print_bench(const struct tt_iteration *s, const struct tt_topo *t)
{
    const char *memory = t->seats[0].gpu < 0 ? "" : " -m device";

    printf("\nTo measure these calls, one group of each at a time:\n");
    for (int i = 0; i < s->nflows; i++) {
        const struct tt_flow *f = &s->flows[i];

        if (told_before(s, i))
            continue;
        printf("  mpiexec -n %d tutti bench %s%s -b %lld -e %lld --json call%d.json   # on %d node%s\n", f->group.size,
               tt_coll_name(f->coll), memory, bench_bytes(f), bench_bytes(f), i + 1, f->about.nodes,
               f->about.nodes == 1 ? "" : "s");
    }
    puts("--measured call1.json --measured ... shows what they took beside what is predicted.");
}

/* What was chosen there, or else the best path, of that collective, size and number of ranks; NULL: not measured. */
static const struct tool_row *row_of(const struct tool_results *r, const struct tt_flow *f)
{
    const struct tool_row *best = NULL;

    for (int i = 0; i < r->n && r->ranks == f->group.size; i++) {
        const struct tool_row *row = &r->rows[i];

        if (row->path == TOOL_BARE || row->coll != f->coll || llabs(row->bytes - bench_bytes(f)) > 4)
            continue;
        if (!best || row->path == TOOL_CHOICE || (best->path != TOOL_CHOICE && row->median < best->median))
            best = row;
    }
    return best;
}

/* Returns how many of the calls were measured. */
static int print_file(const struct argp_state *state, const char *file, const struct tt_iteration *s)
{
    struct tool_results r;
    char why[512], group[64];
    int found = 0;

    if (tool_bench_read(file, &r, why, sizeof why))
        tool_die(state, TOOL_FAILED, "%s", why);
    for (int i = 0; i < s->nflows; i++) {
        const struct tt_flow *f = &s->flows[i];
        const struct tool_row *row = told_before(s, i) ? NULL : row_of(&r, f);

        if (!row)
            continue;
        found++;
        printf("  %-14s %-26s %9s %10s %-18s %10s %-18s %8.2f  %s, %s%s\n", tt_coll_name(f->coll),
               group_words(f, group, sizeof group), in_bytes(f->bytes), in_time(f->seconds), f->algorithm,
               in_time(row->median), row->algorithm, row->median / f->seconds, r.host, tool_where_names[r.where],
               r.simulated ? ", GPUs SIMULATED" : "");
    }
    if (!found)
        printf("  %s: none of the calls, of that collective and size on as many ranks\n", file);
    tool_results_free(&r);
    return found;
}

static void print_measured(const struct argp_state *state, const struct tool_plan *p, const struct tt_iteration *s)
{
    int found = 0, calls = 0;

    printf("\nPredicted, and measured by tutti bench:\n");
    printf("  %-14s %-26s %9s %10s %-18s %10s %-18s %8s  %s\n", "", "among", "of", "predicted", "", "measured", "",
           "ratio", "where");
    for (int i = 0; i < p->nmeasured; i++)
        found += print_file(state, p->measured[i], s);
    for (int i = 0; i < s->nflows; i++)
        calls += !told_before(s, i);
    if (found < calls)
        printf("  %d of %d calls measured\n", found, calls);
}

/* ---- all of it ---- */

static int nothing(const struct argp_state *state, const struct tt_search *s)
{
    char layout[128];

    fprintf(stderr, "%s: there is no layout with %s on %d GPUs:\n", state->name,
            tt_layout_print(&s->wish, layout, sizeof layout), s->gpus);
    for (int i = 0; i < s->nrefusals; i++)
        fprintf(stderr, "  %s: %s\n", tt_layout_print(&s->refusals[i].example, layout, sizeof layout),
                s->refusals[i].why);
    if (!s->nrefusals)
        fprintf(stderr, "  sizes are such that tp x cp x pp x dp = %d\n", s->gpus);
    return TOOL_FAILED;
}

int tool_plan_explain(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect)
{
    const struct tt_iteration *s = prospect->search.n ? &prospect->search.ranked[0].step : NULL;
    char layout[128];

    if (!s)
        return nothing(state, &prospect->search);
    if (p->json) {
        tool_plan_json(state, p, prospect);
        return TOOL_OK;
    }
    tool_plan_head(p, prospect);
    printf("\n%s: %s a step, the best of %d layout%s with what was asked for\n",
           tt_layout_print(&s->layout, layout, sizeof layout), in_time(s->seconds), prospect->search.worked_out,
           prospect->search.worked_out == 1 ? "" : "s");
    print_computing(s, &prospect->with);
    print_flows(s);
    print_micro(s);
    print_sum(s, &prospect->with);
    print_memory(s, &prospect->with);
    if (p->nmeasured)
        print_measured(state, p, s);
    else if (s->nflows)
        print_bench(s, prospect->topo);
    return TOOL_OK;
}
