/* SPDX-License-Identifier: BSD-3-Clause */
/* A model from a file. doc/plan.md has the format. What cannot be is refused here; what only some layouts cannot do is
 * theirs to say. */
#include <math.h>

#include "planner/transformer.h"
#include "selector/json_file.h"

enum { MAX_NUMBER = 1 << 30 };
static const double published_within = 0.05; /* published figures are rounded: "70b" is 69.0 */

#define WHOLE(name, from, may_lack)                                                                                    \
    {                                                                                                                  \
        .key = #name, .read = tt_json_whole, .at = offsetof(struct tt_transformer, name), .least = from,               \
        .most = MAX_NUMBER, .optional = may_lack                                                                       \
    }
#define FLAG(name)                                                                                                     \
    {                                                                                                                  \
        .key = #name, .read = tt_json_flag, .at = offsetof(struct tt_transformer, name), .optional = true              \
    }
#define CHOICE(name, choices, may_lack)                                                                                \
    {                                                                                                                  \
        .key = #name, .read = tt_json_choice, .at = offsetof(struct tt_transformer, name), .names = choices,           \
        .optional = may_lack                                                                                           \
    }
static const struct tt_field fields[] = {
    {.key = "about",
     .read = tt_json_words,
     .at = offsetof(struct tt_transformer, about),
     .most = sizeof((struct tt_transformer *)0)->about - 1},
    {.key = "parameters", .read = tt_json_number, .at = offsetof(struct tt_transformer, parameters), .optional = true},
    WHOLE(layers, 1, false),
    WHOLE(hidden, 1, false),
    WHOLE(heads, 1, false),
    WHOLE(kv_heads, 1, true),
    WHOLE(ffn, 1, false),
    WHOLE(vocabulary, 1, false),
    WHOLE(experts, 0, true),
    WHOLE(top_k, 0, true),
    WHOLE(sequence, 1, false),
    WHOLE(batch, 1, false),
    FLAG(gated),
    FLAG(bias),
    FLAG(tied),
    FLAG(positions),
    CHOICE(precision, tt_precision_names, false),
    CHOICE(gradients, tt_precision_names, true),
    CHOICE(optimizer, tt_optimizer_names, false),
    CHOICE(recompute, tt_recompute_names, false),
    {0}};
static const struct tt_field whole_file = {.inside = fields};

static bool fits_together(struct tt_json_file *f, const struct tt_transformer *m)
{
    const double counted = tt_parameters(m);

    if (m->hidden % m->heads)
        return tt_json_wrong(f, "heads", "hidden, %d, is not divisible by %d", m->hidden, m->heads);
    if (m->heads % m->kv_heads)
        return tt_json_wrong(f, "kv_heads", "heads, %d, are not divisible by %d", m->heads, m->kv_heads);
    if ((m->experts == 0) != (m->top_k == 0) || m->top_k > m->experts)
        return tt_json_wrong(f, m->top_k ? "top_k" : "experts",
                             "a token goes to top_k = %d of %d experts: 1 to all of them, or neither key is there",
                             m->top_k, m->experts);
    if (m->parameters && fabs(m->parameters - counted) > published_within * m->parameters)
        return tt_json_wrong(f, "parameters", "says %.4g, and the shape has %.4g, which is not within %.0f %%",
                             m->parameters, counted, 100 * published_within);
    return true;
}

int tt_transformer_read(const char *file, struct tt_transformer *m, char *why, size_t size)
{
    struct tt_json_file f;
    bool good;

    *m = (struct tt_transformer){.gradients = TT_NPRECISIONS};
    good = tt_json_open(&f, file, "models", why, size) && tt_json_object(&f, f.root, "", m, &whole_file);
    m->kv_heads = m->kv_heads ? m->kv_heads : m->heads;
    m->gradients = m->gradients == TT_NPRECISIONS ? m->precision : m->gradients;
    good = good && fits_together(&f, m);
    tt_json_close(&f);
    return good ? 0 : -1;
}
