/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of layouts, and what cannot be: always with the two numbers that do not fit each other. */
#include "planner/layout.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"
#include "selector/names.h"

const char *const tt_schedule_names[] = {
#define S(id, words) #id,
    TT_SCHEDULES(S)
#undef S
        NULL};

const struct tt_layout tt_any_layout = {.zero = -1, .schedule = -1, .sequence = -1};

/* The numbers of a name: P(key, member, least, what is said where it is not: a value that is left out). */
#define PARTS(P)                                                                                                       \
    P("tp", tensor, 1, 0)                                                                                              \
    P("cp", context, 1, 1)                                                                                             \
    P("pp", pipeline, 1, 0)                                                                                            \
    P("dp", data, 1, 0)                                                                                                \
    P("ep", expert, 1, 1)                                                                                              \
    P("zero", zero, 0, 0)                                                                                              \
    P("mb", micro, 1, 0)                                                                                               \
    P("v", pieces, 1, 1)
static const struct {
    const char *key;
    size_t at;
    int least, silent;
} parts[] = {
#define P(key, member, least, silent) {key, offsetof(struct tt_layout, member), least, silent},
    PARTS(P)
#undef P
};
enum { NPARTS = sizeof parts / sizeof *parts };

static int *part_of(struct tt_layout *l, int i)
{
    return (int *)((char *)l + parts[i].at);
}

char *tt_layout_print(const struct tt_layout *l, char *text, size_t size)
{
    struct tt_layout copy = *l;
    size_t used = 0;

    *text = '\0';
    for (int i = 0; i < NPARTS && used < size; i++) {
        const int value = *part_of(&copy, i);

        if (value >= parts[i].least && value != parts[i].silent)
            used += (size_t)snprintf(text + used, size - used, "%s%s%d", used ? "," : "", parts[i].key, value);
    }
    if (l->pipeline > 1 && l->schedule >= 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ",%s", tt_schedule_names[l->schedule]);
    if (l->sequence > 0 && used < size)
        snprintf(text + used, size - used, ",sp");
    return text;
}

/* ---- reading ---- */

static int refuse(const char *word, size_t length, char *why, size_t size)
{
    struct tt_names names = {0};
    char words[256];

    for (int i = 0; i < NPARTS; i++)
        tt_names_add(&names, parts[i].key);
    for (int i = 0; i < TT_NSCHEDULES; i++)
        tt_names_add(&names, tt_schedule_names[i]);
    tt_names_add(&names, "sp");
    tt_names_add(&names, "nosp");
    tt_names_refuse(&names, word, length, "a part of a layout", words, sizeof words);
    snprintf(why, size, "%s, as in \"tp8,pp4,dp2,zero1\"", words);
    return -1;
}

static int read_number(const char *word, size_t letters, size_t length, struct tt_layout *l, char *why, size_t size)
{
    char digits[16];
    int value = 0;

    for (int i = 0; i < NPARTS; i++) {
        if (strlen(parts[i].key) != letters || strncmp(word, parts[i].key, letters) != 0)
            continue;
        snprintf(digits, sizeof digits, "%.*s", (int)(length - letters), word + letters);
        if ((strcmp(digits, "0") && tt_int_parse(digits, &value)) || value < parts[i].least ||
            (strcmp(parts[i].key, "zero") == 0 && value > 3)) {
            snprintf(why, size, "%.*s wants %s behind it, not \"%s\"", (int)letters, word,
                     parts[i].least ? "a number from 1 up" : "0, 1, 2 or 3", digits);
            return -1;
        }
        *part_of(l, i) = value;
        return 0;
    }
    return refuse(word, length, why, size);
}

static int read_word(const char *word, size_t length, struct tt_layout *l, char *why, size_t size)
{
    size_t letters = 0;

    for (int i = 0; i < TT_NSCHEDULES; i++)
        if (strlen(tt_schedule_names[i]) == length && strncmp(word, tt_schedule_names[i], length) == 0) {
            l->schedule = i;
            return 0;
        }
    while (letters < length && isalpha((unsigned char)word[letters]))
        letters++;
    if (letters < length)
        return read_number(word, letters, length, l, why, size);
    if ((length == 2 || length == 4) && strncmp(word + length - 2, "sp", 2) == 0 &&
        (length == 2 || strncmp(word, "no", 2) == 0)) {
        l->sequence = length == 2;
        return 0;
    }
    return refuse(word, length, why, size);
}

int tt_layout_parse(const char *text, struct tt_layout *l, char *why, size_t size)
{
    *l = tt_any_layout;
    for (size_t length; *text; text += length) {
        text += strspn(text, ", ");
        length = strcspn(text, ", ");
        if (length && read_word(text, length, l, why, size))
            return -1;
    }
    if (l->pieces > 1 && l->schedule < 0)
        l->schedule = TT_SCHEDULE_interleaved;
    return 0;
}

bool tt_layout_is(const struct tt_layout *l, const struct tt_layout *wish)
{
    struct tt_layout a = *l, b = *wish;

    for (int i = 0; i < NPARTS; i++) {
        const int open = parts[i].least - 1, wished = *part_of(&b, i);

        if (wished != open && wished != *part_of(&a, i))
            return false;
    }
    return (wish->schedule < 0 || l->pipeline == 1 || wish->schedule == l->schedule) &&
           (wish->sequence < 0 || l->tensor == 1 || wish->sequence == l->sequence);
}

/* ---- what cannot be ---- */

#define IMPOSSIBLE_IF(condition, ...)                                                                                  \
    do {                                                                                                               \
        if (condition) {                                                                                               \
            snprintf(why, size, __VA_ARGS__);                                                                          \
            return why;                                                                                                \
        }                                                                                                              \
    } while (0)

const char *tt_sizes_impossible(const struct tt_layout *l, const struct tt_transformer *m, char *why, size_t size)
{
    const int t = l->tensor, c = l->context, p = l->pipeline, d = l->data, e = l->expert;

    IMPOSSIBLE_IF(m->heads % t, "%d heads are not divisible by tensor parallel %d", m->heads, t);
    IMPOSSIBLE_IF(m->kv_heads % t && t % m->kv_heads, "%d key and value heads do not fit tensor parallel %d",
                  m->kv_heads, t);
    IMPOSSIBLE_IF(m->ffn % t, "the feed-forward width, %d, is not divisible by tensor parallel %d", m->ffn, t);
    IMPOSSIBLE_IF(p > m->layers, "more stages, %d, than layers, %d", p, m->layers);
    IMPOSSIBLE_IF(m->layers % p, "%d layers are not divisible by %d stages", m->layers, p);
    IMPOSSIBLE_IF(c > 1 && m->sequence % (2 * c), "a sequence of %d cannot be cut for context parallel %d, twice each",
                  m->sequence, c);
    IMPOSSIBLE_IF(e > 1 && !m->experts, "expert parallel %d, but the model has no experts", e);
    IMPOSSIBLE_IF(e > 1 && m->experts % e, "%d experts are not divisible by expert parallel %d", m->experts, e);
    IMPOSSIBLE_IF(c * d % e, "data and context parallel, %d ranks, are not divisible by expert parallel %d", c * d, e);
    IMPOSSIBLE_IF(d > m->batch,
                  "data parallel %d wants a global batch of %d sequences at least, not %d; a larger one would be "
                  "another optimisation problem",
                  d, d, m->batch);
    IMPOSSIBLE_IF(m->batch % d, "a global batch of %d is not divisible by data parallel %d", m->batch, d);
    return NULL;
}

const char *tt_layout_impossible(const struct tt_layout *l, const struct tt_transformer *m, char *why, size_t size)
{
    const int p = l->pipeline, v = l->pieces, own = m->batch / l->data;

    IMPOSSIBLE_IF(own % l->micro, "%d sequences of each data-parallel rank are not divisible by microbatches of %d",
                  own, l->micro);
    IMPOSSIBLE_IF(l->sequence && m->sequence / l->context % l->tensor,
                  "a sequence of %d is not divisible by tensor parallel %d", m->sequence / l->context, l->tensor);
    IMPOSSIBLE_IF(
        m->experts && l->tensor > 1 && !l->sequence,
        "experts with tensor parallelism want sequence parallelism (sp), or each token would be sent %d times",
        l->tensor);
    IMPOSSIBLE_IF(v > 1 && l->schedule != TT_SCHEDULE_interleaved, "v%d is for the interleaved schedule", v);
    IMPOSSIBLE_IF(l->schedule == TT_SCHEDULE_interleaved && v < 2, "interleaved wants two pieces at least: v2");
    IMPOSSIBLE_IF(m->layers % (p * v), "%d layers are not divisible by %d stages of %d pieces", m->layers, p, v);
    IMPOSSIBLE_IF(l->schedule == TT_SCHEDULE_interleaved && tt_microbatches(l, m) % p,
                  "interleaved wants microbatches, %d, divisible by stages, %d", tt_microbatches(l, m), p);
    return NULL;
}

int tt_microbatches(const struct tt_layout *l, const struct tt_transformer *m)
{
    return m->batch / (l->data * l->micro);
}
