/* SPDX-License-Identifier: BSD-3-Clause */
/* A step is put together from calls, each with its group, bytes and how often it is made; then from microbatches. What
 * is taken to hide communication: gradients and weights of data-parallel ranks behind one microbatch's computing, but
 * for the share of one layer, which has nothing left to hide behind; of a context group, keys and values behind the
 * core of attention. All else is waited for. */
#include "planner/iteration.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const tt_flow_names[TT_NFLOWS] = {
#define F(id, words, member) #id,
    TT_FLOWS(F)
#undef F
};
const char *const tt_flow_words[TT_NFLOWS] = {
#define F(id, words, member) words,
    TT_FLOWS(F)
#undef F
};

/* ---- sizes ---- */

static double tokens_of(const struct tt_layout *l, const struct tt_transformer *m)
{
    return (double)l->micro * m->sequence / l->context;
}

/* Bytes of a microbatch's activations, where they are whole. */
static double activation(const struct tt_layout *l, const struct tt_transformer *m)
{
    return tokens_of(l, m) * m->hidden * tt_weight_bytes(m);
}

/* Forward passes of a layer in a step: full recomputation makes it two, exchanges included. */
static int forwards(const struct tt_transformer *m)
{
    return m->recompute == TT_RECOMPUTE_full ? 2 : 1;
}

static int replicas(const struct tt_layout *l)
{
    return l->context * l->data;
}

/* Parameters beside the layers, of the first or the last stage. Where the embedding is both, and the stages two, both
 * have it. */
static double ends(const struct tt_layout *l, const struct tt_transformer *m, bool last)
{
    const double table = m->tied ? (double)m->vocabulary * m->hidden : 0;

    if (l->pipeline == 1)
        return tt_embedding_weights(m) + tt_output_weights(m);
    return last ? tt_output_weights(m) + table : tt_embedding_weights(m);
}

/* Of one GPU. */
static double weights_of(const struct tt_iteration *s, const struct tt_transformer *m, bool last)
{
    return (s->layers * tt_layer_weights(m).shared + ends(&s->layout, m, last)) / s->layout.tensor;
}

/* ---- computing ---- */

static void compute(struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_layer_work work = tt_layer_work(with->m);
    const struct tt_times times = tt_times(with->m);
    const double rate = tt_gpu_peak(with->gpu, with->m) * with->efficiency * s->layout.tensor;
    const double tokens = tokens_of(&s->layout, with->m);

    s->work.weights = tokens * s->layers * times.weights * work.weights / rate;
    s->work.core = tokens * s->layers * times.core * work.core / rate;
    s->work.experts = tokens * s->layers * times.weights * work.experts / rate;
    s->work.output = tokens * 3 * tt_output_work(with->m) / rate;
}

static double computing(const struct tt_iteration *s)
{
    return s->work.weights + s->work.core + s->work.experts + s->work.output;
}

/* ---- communication ---- */

static void add_hop(struct tt_iteration *s, const struct tt_setting *with, enum tt_flow_kind kind, const char *what,
                    int distance, double bytes, double times)
{
    s->flows[s->nflows++] = (struct tt_flow){.kind = kind,
                                             .what = what,
                                             .coll = TT_NCOLLS,
                                             .group = {2, distance},
                                             .about = tt_placement_hop(with->place, distance),
                                             .bytes = bytes,
                                             .unit = 1,
                                             .times = times,
                                             .seconds = tt_placement_hop_seconds(with->place, distance, bytes),
                                             .algorithm = "send"};
}

static void add_call(struct tt_iteration *s, const struct tt_setting *with, struct tt_flow flow)
{
    const struct tt_group_price price = tt_placement_price(with->place, flow.group, flow.coll, flow.bytes, flow.unit);

    if (flow.group.size < 2 || flow.times <= 0 || flow.bytes <= 0)
        return;
    flow.about = tt_placement_about(with->place, flow.group);
    flow.seconds = price.seconds;
    flow.algorithm = price.algorithm;
    s->flows[s->nflows++] = flow;
}

/* What a tensor group exchanges between its parts: one allreduce of so many bytes, or, where what lies between is cut,
 * too, an allgather before and a reduce_scatter behind. */
static void add_exchange(struct tt_iteration *s, const struct tt_setting *with, const char *what, double bytes,
                         double times)
{
    struct tt_flow flow = {.kind = TT_FLOW_tensor,
                           .what = what,
                           .coll = TT_COLL_allreduce,
                           .group = {s->layout.tensor, 1},
                           .bytes = bytes,
                           .unit = (int)tt_weight_bytes(with->m),
                           .times = times};

    if (s->layout.sequence) {
        flow.bytes /= s->layout.tensor;
        flow.coll = TT_COLL_allgather;
        add_call(s, with, flow);
        flow.coll = TT_COLL_reduce_scatter;
    }
    add_call(s, with, flow);
}

/* Each half of a layer exchanges once on each way through it. With experts the second half is of what they were sent.
 */
static void add_tensor(struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_transformer *m = with->m;
    const double bytes = activation(&s->layout, m), passes = (double)s->microbatches * (forwards(m) + 1);

    if (m->experts) {
        add_exchange(s, with, "attention's activations", bytes, passes * s->layers);
        add_exchange(s, with, "experts' activations", m->top_k * bytes, passes * s->layers);
    } else {
        add_exchange(s, with, "layers' activations", bytes, 2 * passes * s->layers);
    }
    add_exchange(s, with, s->layout.pipeline > 1 ? "output's gradient" : "embedding, output's gradient", bytes,
                 (s->layout.pipeline > 1 ? 1.0 : 2.0) * s->microbatches);
}

/* Keys and values go round, forward and backward; on the way back their gradients are added up. */
static void add_context(struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_transformer *m = with->m;
    const int heads = m->kv_heads > s->layout.tensor ? m->kv_heads / s->layout.tensor : 1;
    const double width = 2.0 * m->hidden / m->heads * heads, layers = (double)s->microbatches * s->layers;
    struct tt_flow flow = {.kind = TT_FLOW_context,
                           .what = "keys and values",
                           .coll = TT_COLL_allgather,
                           .group = {s->layout.context, s->layout.tensor},
                           .bytes = tokens_of(&s->layout, m) * width * tt_weight_bytes(m),
                           .unit = (int)tt_weight_bytes(m),
                           .times = layers * (forwards(m) + 1)};

    add_call(s, with, flow);
    flow.what = "their gradients";
    flow.coll = TT_COLL_reduce_scatter;
    flow.times = layers;
    add_call(s, with, flow);
}

/* To the experts and back, on each way through a layer. */
static void add_experts(struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_transformer *m = with->m;
    const double own = activation(&s->layout, m) / (s->layout.sequence ? s->layout.tensor : 1);

    add_call(s, with,
             (struct tt_flow){.kind = TT_FLOW_experts,
                              .what = "tokens to experts and back",
                              .coll = TT_COLL_alltoall,
                              .group = {s->layout.expert, s->layout.tensor},
                              .bytes = with->skew * m->top_k * own / s->layout.expert,
                              .unit = (int)tt_weight_bytes(m),
                              .times = 2.0 * s->microbatches * s->layers * (forwards(m) + 1)});
}

/* Activations forward and their gradients backward, each rank of a tensor group sending its part, which the next group
 * puts together if it needs it whole. */
static void add_stages(struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_layout *l = &s->layout;
    const double part = activation(l, with->m) / l->tensor, times = 2.0 * s->microbatches * l->pieces;

    if (l->pipeline == 1)
        return;
    add_hop(s, with, TT_FLOW_stages, "activations to the next stage", l->tensor * replicas(l), part, times);
    if (!l->sequence)
        add_call(s, with,
                 (struct tt_flow){.kind = TT_FLOW_stages,
                                  .what = "put together there",
                                  .coll = TT_COLL_allgather,
                                  .group = {l->tensor, 1},
                                  .bytes = part,
                                  .unit = (int)tt_weight_bytes(with->m),
                                  .times = times});
}

/* So many parameters of a GPU that `group` has copies of. layers: a call for each of so many, with zero 3. */
static void add_copies(struct tt_iteration *s, const struct tt_setting *with, struct tt_span_of group,
                       double parameters, int layers, const char *const what[2])
{
    const double runs = s->layout.zero >= 2 ? s->microbatches : 1, calls = s->layout.zero == 3 ? layers : 1;
    struct tt_flow flow = {.kind = TT_FLOW_data, .what = what[0], .coll = TT_COLL_allreduce, .group = group};
    const struct tt_transformer *m = with->m;

    flow.unit = (int)tt_gradient_bytes(m);
    flow.bytes = parameters / calls * tt_gradient_bytes(m);
    flow.times = runs * calls;
    if (s->layout.zero) {
        flow.coll = TT_COLL_reduce_scatter;
        flow.bytes /= group.size;
    }
    add_call(s, with, flow);
    flow.what = what[1];
    flow.coll = TT_COLL_allgather;
    flow.unit = (int)tt_weight_bytes(m);
    flow.bytes = parameters / calls * tt_weight_bytes(m) / group.size;
    flow.times = s->layout.zero == 3 ? 2 * runs * calls : s->layout.zero ? 1 : 0;
    add_call(s, with, flow);
}

static void add_data(struct tt_iteration *s, const struct tt_setting *with)
{
    static const char *const dense[] = {"gradients", "weights"}, *const sparse[] = {"experts' gradients",
                                                                                    "experts' weights"};
    const struct tt_layout *l = &s->layout;
    const struct tt_transformer *m = with->m;

    add_copies(s, with, (struct tt_span_of){replicas(l), l->tensor}, s->weights, s->layers, dense);
    add_copies(s, with, (struct tt_span_of){replicas(l) / l->expert, l->tensor * l->expert}, s->experts, s->layers,
               sparse);
    if (l->pipeline > 1 && m->tied)
        add_hop(s, with, TT_FLOW_data, "tied embedding's gradient, first and last stage",
                l->tensor * replicas(l) * (l->pipeline - 1),
                (double)m->vocabulary * m->hidden / l->tensor * tt_gradient_bytes(m), 1);
}

/* ---- what is hidden ---- */

static double hidden_context(const struct tt_iteration *s, const struct tt_setting *with)
{
    return with->overlap ? s->microbatches * s->work.core : 0;
}

/* Of what data-parallel ranks exchange so many times, each time behind a microbatch. */
static double exposed_data(const struct tt_iteration *s, const struct tt_setting *with)
{
    const double runs = s->layout.zero >= 2 ? s->microbatches : 1, each = s->total[TT_FLOW_data] / runs;
    const double share = each / s->layers, left = each - computing(s) * (s->layers - 1) / s->layers;

    if (!with->overlap)
        return s->total[TT_FLOW_data];
    return runs * (left > share ? left : share);
}

static void sum_up_flows(struct tt_iteration *s, const struct tt_setting *with)
{
    for (int i = 0; i < s->nflows; i++)
        s->total[s->flows[i].kind] += s->flows[i].times * s->flows[i].seconds;
    memcpy(s->exposed, s->total, sizeof s->exposed);
    s->exposed[TT_FLOW_context] = fmax(0, s->total[TT_FLOW_context] - hidden_context(s, with));
    s->exposed[TT_FLOW_data] = exposed_data(s, with);
}

/* ---- memory ---- */

/* Microbatches whose activations the first or last stage keeps at a time, as stages of all its pieces. */
static double in_flight(const struct tt_iteration *s, bool last)
{
    const struct tt_layout *l = &s->layout;
    const double m = s->microbatches, p = l->pipeline;

    if (l->schedule == TT_SCHEDULE_gpipe || p == 1)
        return p == 1 ? 1 : m;
    if (l->schedule == TT_SCHEDULE_interleaved)
        return fmin(m, (last ? 1 : p) * (1 + (p - 1) / (p * l->pieces)));
    return fmin(m, last ? 1 : p);
}

static struct tt_memory memory_of(const struct tt_iteration *s, const struct tt_setting *with, bool last)
{
    const struct tt_layout *l = &s->layout;
    const struct tt_transformer *m = with->m;
    const double weights = weights_of(s, m, last), tokens = (double)l->micro * m->sequence;
    const double own = weights / replicas(l) + s->experts / (replicas(l) / l->expert), all = weights + s->experts;
    struct tt_memory y = {.last_stage = last, .in_flight = in_flight(s, last)};

    y.weights = (l->zero == 3 ? own + all / s->layers : all) * tt_weight_bytes(m);
    y.gradients = (l->zero >= 2 ? own : all) * tt_gradient_bytes(m);
    y.optimizer = (l->zero >= 1 ? own : all) * tt_optimizer_bytes(m);
    y.activations = y.in_flight * s->layers * tokens * tt_layer_keeps(m, l->tensor, l->context, l->sequence);
    if (m->recompute == TT_RECOMPUTE_full)
        y.activations += tokens * tt_layer_holds(m, l->tensor, l->context, l->sequence);
    if (last || l->pipeline == 1) /* logits in full precision, and their gradient */
        y.output = tokens / l->context * m->vocabulary / l->tensor * 8;
    y.total = y.weights + y.gradients + y.optimizer + y.activations + y.output;
    y.fits = y.total <= with->memory;
    return y;
}

static struct tt_memory fullest(const struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_memory first = memory_of(s, with, false), last = memory_of(s, with, true);

    return last.total > first.total ? last : first;
}

/* ---- the step ---- */

/* Weights are read and written in the precision that they are kept in, with all that the optimizer has. */
static double optimizer_seconds(const struct tt_iteration *s, const struct tt_setting *with)
{
    const struct tt_layout *l = &s->layout;
    const struct tt_transformer *m = with->m;
    const double dense = s->weights / (l->zero ? replicas(l) : 1);
    const double experts = s->experts / (l->zero ? replicas(l) / l->expert : 1);

    return (dense + experts) * (2 * tt_optimizer_bytes(m) + tt_gradient_bytes(m) + tt_weight_bytes(m)) /
           with->gpu->bandwidth;
}

static void sum_up(struct tt_iteration *s, const struct tt_setting *with)
{
    const double m = s->microbatches, sequences = with->m->batch;
    const double imbalance = (with->skew - 1) * s->work.experts;

    s->waits = (s->layout.pipeline - 1.0) / s->layout.pieces;
    s->micro = computing(s) + imbalance;
    for (int kind = 0; kind < TT_NFLOWS; kind++)
        s->micro += kind == TT_FLOW_data ? 0 : s->exposed[kind] / m;
    s->compute = m * computing(s);
    s->imbalance = m * imbalance;
    s->bubble = s->waits * s->micro;
    s->optimizer = optimizer_seconds(s, with);
    s->seconds = (m + s->waits) * s->micro + s->exposed[TT_FLOW_data] + s->optimizer;
    s->tokens = sequences * with->m->sequence / s->seconds;
    s->flops = tt_step_work(with->m, sequences) / s->gpus / s->seconds;
}

int tt_iteration_work_out(struct tt_iteration *s, const struct tt_layout *l, const struct tt_setting *with)
{
    *s = (struct tt_iteration){.layout = *l,
                               .gpus = l->tensor * l->pipeline * replicas(l),
                               .layers = with->m->layers / l->pipeline,
                               .microbatches = tt_microbatches(l, with->m)};
    s->weights = fmax(weights_of(s, with->m, false), weights_of(s, with->m, true));
    s->experts = s->layers * tt_layer_weights(with->m).experts / (l->tensor * l->expert);
    compute(s, with);
    add_tensor(s, with);
    add_context(s, with);
    add_experts(s, with);
    add_stages(s, with);
    add_data(s, with);
    sum_up_flows(s, with);
    sum_up(s, with);
    s->memory = fullest(s, with);
    for (int i = 0; i < s->nflows; i++)
        if (s->flows[i].seconds < 0)
            return -1;
    return 0;
}

/* ---- in words ---- */

static int size_of(const struct tt_layout *l, int kind)
{
#define F(id, words, member) l->member,
    const int sizes[TT_NFLOWS] = {TT_FLOWS(F)};
#undef F

    return kind == TT_FLOW_data ? replicas(l) : sizes[kind];
}

/* The slowest level that a kind of calls crosses. */
static int level_of(const struct tt_iteration *s, int kind)
{
    int level = 0;

    for (int i = 0; i < s->nflows; i++)
        if (s->flows[i].kind == (enum tt_flow_kind)kind && s->flows[i].about.level > level)
            level = s->flows[i].about.level;
    return level;
}

static double share(const struct tt_iteration *s, double seconds)
{
    return 100 * seconds / s->seconds;
}

char *tt_iteration_reason(const struct tt_iteration *s, char *text, size_t size)
{
    int worst = 0;

    for (int kind = 1; kind < TT_NFLOWS; kind++)
        worst = s->exposed[kind] > s->exposed[worst] ? kind : worst;
    if (share(s, s->compute) > 97)
        snprintf(text, size, "nothing to speak of is lost");
    else if (s->bubble >= s->exposed[worst] && s->bubble >= s->imbalance && s->bubble >= s->optimizer)
        snprintf(text, size, "%d stages for %d microbatches: %.0f %% bubble", s->layout.pipeline, s->microbatches,
                 share(s, s->bubble));
    else if (s->exposed[worst] >= s->imbalance && s->exposed[worst] >= s->optimizer)
        snprintf(text, size, "%s %d %s %s: %.0f %% exposed", tt_flow_words[worst], size_of(&s->layout, worst),
                 level_of(s, worst) == TT_LEVEL_NIC ? "crosses" : "goes over",
                 tt_level_words((enum tt_level)level_of(s, worst)), share(s, s->exposed[worst]));
    else if (s->imbalance >= s->optimizer)
        snprintf(text, size, "the busiest expert is waited for: %.0f %%", share(s, s->imbalance));
    else
        snprintf(text, size, "the optimizer goes through memory: %.0f %%", share(s, s->optimizer));
    return text;
}
