/* SPDX-License-Identifier: BSD-3-Clause */
/* The closed forms. With gelu, biases, ffn = 4 hidden and learned positions the parameters are 12 l h^2 (1 + 13/(12 h)
 * + (V + s)/(12 l h)) and the last norm, and the work is 96 B s l h^2 (1 + s/(6 h) + V/(16 l h)) with full
 * recomputation: tests/test_planner.c holds them to that. */
#include "planner/transformer.h"

#define NAME(id, ...) #id,
const char *const tt_precision_names[] = {TT_PRECISIONS(NAME) NULL};
const char *const tt_optimizer_names[] = {TT_OPTIMIZERS(NAME) NULL};
const char *const tt_recompute_names[] = {TT_RECOMPUTES(NAME) NULL};
#undef NAME
#define WORDS(id, words) words,
const char *const tt_recompute_words[] = {TT_RECOMPUTES(WORDS) NULL};
#undef WORDS

/* ---- parameters ---- */

/* The width of keys, which is that of values: fewer heads may have them than ask. */
static double kv_width(const struct tt_transformer *m)
{
    return (double)m->hidden / m->heads * m->kv_heads;
}

static double norm_weights(const struct tt_transformer *m)
{
    return (m->bias ? 2.0 : 1.0) * m->hidden;
}

/* Of one feed-forward part, or one expert. */
static double ffn_matrices(const struct tt_transformer *m)
{
    return (m->gated ? 3.0 : 2.0) * m->hidden * m->ffn;
}

static double ffn_weights(const struct tt_transformer *m)
{
    const double biases = m->bias ? (m->gated ? 2.0 : 1.0) * m->ffn + m->hidden : 0;

    return ffn_matrices(m) + biases;
}

static double attention_matrices(const struct tt_transformer *m)
{
    return 2.0 * m->hidden * m->hidden + 2.0 * m->hidden * kv_width(m);
}

static double router_weights(const struct tt_transformer *m)
{
    return (double)m->hidden * m->experts;
}

struct tt_layer_weights tt_layer_weights(const struct tt_transformer *m)
{
    const double biases = m->bias ? 2.0 * m->hidden + 2 * kv_width(m) : 0;
    const double shared = attention_matrices(m) + biases + 2 * norm_weights(m) + router_weights(m);

    if (m->experts)
        return (struct tt_layer_weights){shared, m->experts * ffn_weights(m)};
    return (struct tt_layer_weights){shared + ffn_weights(m), 0};
}

double tt_embedding_weights(const struct tt_transformer *m)
{
    return (double)m->vocabulary * m->hidden + (m->positions ? (double)m->sequence * m->hidden : 0);
}

double tt_output_weights(const struct tt_transformer *m)
{
    return norm_weights(m) + (m->tied ? 0 : (double)m->vocabulary * m->hidden);
}

double tt_parameters(const struct tt_transformer *m)
{
    const struct tt_layer_weights layer = tt_layer_weights(m);

    return m->layers * (layer.shared + layer.experts) + tt_embedding_weights(m) + tt_output_weights(m);
}

double tt_active_parameters(const struct tt_transformer *m)
{
    const double idle = m->experts ? (m->experts - m->top_k) * ffn_weights(m) : 0;

    return tt_parameters(m) - m->layers * idle;
}

/* ---- arithmetic ---- */

struct tt_layer_work tt_layer_work(const struct tt_transformer *m)
{
    const double shared = 2 * (attention_matrices(m) + router_weights(m)), ffn = 2 * ffn_matrices(m);
    const double core = 4.0 * m->sequence * m->hidden; /* scores, and what they weigh */

    if (m->experts)
        return (struct tt_layer_work){shared, core, m->top_k * ffn};
    return (struct tt_layer_work){shared + ffn, core, 0};
}

double tt_output_work(const struct tt_transformer *m)
{
    return 2.0 * m->hidden * m->vocabulary;
}

struct tt_times tt_times(const struct tt_transformer *m)
{
    return (struct tt_times){m->recompute == TT_RECOMPUTE_full ? 4 : 3, m->recompute == TT_RECOMPUTE_none ? 3 : 4};
}

double tt_step_work(const struct tt_transformer *m, double sequences)
{
    const struct tt_layer_work work = tt_layer_work(m);
    const struct tt_times times = tt_times(m);
    const double layer = times.weights * (work.weights + work.experts) + times.core * work.core;

    return sequences * m->sequence * (m->layers * layer + 3 * tt_output_work(m));
}

/* ---- bytes ---- */

static double bytes_of(enum tt_precision precision)
{
#define BYTES(id, bytes, rate) [TT_##id] = bytes,
    static const double bytes[] = {TT_PRECISIONS(BYTES)};
#undef BYTES

    return bytes[precision];
}

double tt_weight_bytes(const struct tt_transformer *m)
{
    return bytes_of(m->precision);
}

double tt_gradient_bytes(const struct tt_transformer *m)
{
    return bytes_of(m->gradients);
}

double tt_optimizer_bytes(const struct tt_transformer *m)
{
#define NUMBERS(id, numbers) [TT_##id] = numbers,
    static const double numbers[] = {TT_OPTIMIZERS(NUMBERS)};
#undef NUMBERS

    return 4 * numbers[m->optimizer] + (m->precision == TT_fp32 ? 0 : 4);
}

/* What a token leaves behind within a layer between its exchanges: queries, keys, values and what goes into the last
 * product of attention; what the feed-forward part has in its middle. */
static double inner_keeps(const struct tt_transformer *m)
{
    const double attention = 2.0 * m->hidden + 2 * kv_width(m), middle = (m->gated ? 3.0 : 2.0) * m->ffn;
    const double copies = m->experts ? 2.0 * m->top_k * m->hidden : 0; /* as sent to experts, and as they came back */

    return tt_weight_bytes(m) * (attention + (m->experts ? m->top_k : 1) * middle + copies);
}

/* What goes into norms and into the first products; a byte each of two masks, where there is dropout as in GPT. */
static double outer_keeps(const struct tt_transformer *m)
{
    return 4 * tt_weight_bytes(m) * m->hidden + (m->bias ? 2.0 * m->hidden : 0);
}

/* Scores before and after the softmax, and the mask, of each head. */
static double score_keeps(const struct tt_transformer *m)
{
    return (2 * tt_weight_bytes(m) + 1) * m->heads * m->sequence;
}

double tt_layer_holds(const struct tt_transformer *m, int t, int c, bool sequence)
{
    const double scores = m->recompute == TT_RECOMPUTE_none ? score_keeps(m) : 0;

    return (outer_keeps(m) / (sequence ? t : 1) + (inner_keeps(m) + scores) / t) / c;
}

double tt_layer_keeps(const struct tt_transformer *m, int t, int c, bool sequence)
{
    if (m->recompute != TT_RECOMPUTE_full)
        return tt_layer_holds(m, t, c, sequence);
    return tt_weight_bytes(m) * m->hidden / (sequence ? t : 1) / c;
}
