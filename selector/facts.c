/* SPDX-License-Identifier: BSD-3-Clause */
/* Every fact is a number, and every condition a span of numbers: words (gpu, link, host, nic) count in their order. So
 * one text reads, prints, matches and compares them all. */
#include "selector/facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/names.h"
#include "selector/topo.h"

enum kind { SIZES, NUMBERS, WORD, WORDS, KINDS, NKINDS };

static const char *const values[NKINDS] = {
    [SIZES] = "a size or a range of sizes, such as 8, 0-16K, 64K- or -1M",
    [NUMBERS] = "a number from 1 up or a range of them, such as 4, 2-64, 16- or -8",
    [WORD] = "yes or no",
    [WORDS] = "gpu, link, host or nic, or a range in that order, such as gpu-link",
    [KINDS] = "device",
};

static const struct row {
    const char *name, *help;
    enum kind kind;
    int64_t least, most;
} rows[TT_NFACTS] = {
#define F(id, kind, least, most, help) {#id, help, kind, least, most},
    TT_FACTS(F)
#undef F
};

const char *tt_fact_name(enum tt_fact fact)
{
    return rows[fact].name;
}

const char *tt_fact_help(enum tt_fact fact)
{
    return rows[fact].help;
}

const char *tt_fact_values(enum tt_fact fact)
{
    return values[rows[fact].kind];
}

enum tt_fact tt_fact_find(const char *name, size_t length)
{
    int i = 0;

    while (i < TT_NFACTS && (strlen(rows[i].name) != length || memcmp(rows[i].name, name, length) != 0))
        i++;
    return (enum tt_fact)i;
}

struct tt_span tt_fact_any(enum tt_fact fact)
{
    return (struct tt_span){rows[fact].least - 1, rows[fact].most};
}

const char *tt_fact_missing(enum tt_fact fact, enum tt_coll coll)
{
    if (fact == TT_FACT_commutes && !(tt_coll_traits(coll) & TT_REDUCES))
        return "has no op";
    if (fact == TT_FACT_bytes && tt_coll_traits(coll) & TT_NO_BUFFER)
        return "moves no bytes";
    if (fact == TT_FACT_memory && tt_coll_traits(coll) & TT_NO_BUFFER)
        return "has no buffer";
    if (fact == TT_FACT_bytes && tt_coll_lengths_local(coll))
        return "has no size that all ranks know";
    return NULL;
}

/* ---- a call's ---- */

static struct tt_span one(int64_t value)
{
    return (struct tt_span){value, value};
}

static struct tt_span ranks_per_node(const struct tt_shape *s)
{
    struct tt_span n = {INT32_MAX, 0};

    if (!s->nodes)
        return one(s->size);
    for (int i = 0; i < s->nodes->n; i++) {
        const int here = s->nodes->first[i + 1] - s->nodes->first[i];

        n.from = here < n.from ? here : n.from;
        n.to = here > n.to ? here : n.to;
    }
    return n;
}

struct tt_facts tt_facts_of(enum tt_coll coll, const struct tt_shape *s, int level)
{
    const int nodes = s->nodes ? s->nodes->n : 1;
    struct tt_facts facts = {.coll = coll};

    for (int f = 0; f < TT_NFACTS; f++)
        facts.is[f] = one(rows[f].least - 1);
    if (!tt_fact_missing(TT_FACT_bytes, coll))
        facts.is[TT_FACT_bytes] = one(tt_shape_bytes(s));
    facts.is[TT_FACT_ranks] = one(s->size);
    facts.is[TT_FACT_nodes] = one(nodes);
    facts.is[TT_FACT_ranks_per_node] = ranks_per_node(s);
    if (!tt_fact_missing(TT_FACT_commutes, coll))
        facts.is[TT_FACT_commutes] = one(s->commutes);
    facts.is[TT_FACT_level] = one(level < 0 && nodes > 1 ? TT_LEVEL_NIC : level);
    return facts;
}

void tt_facts_on_gpus(struct tt_facts *facts)
{
    if (!tt_fact_missing(TT_FACT_memory, facts->coll))
        facts->is[TT_FACT_memory] = one(1);
}

/* ---- spans as text ---- */

static const char *word_of(enum tt_fact fact, int64_t value)
{
    switch (rows[fact].kind) {
    case WORDS:
        return tt_level_name((enum tt_level)value);
    case KINDS:
        return "device";
    default:
        return value ? "yes" : "no";
    }
}

static int word_find(enum tt_fact fact, const char *text, int64_t *value)
{
    for (*value = rows[fact].least; *value <= rows[fact].most; ++*value)
        if (strcmp(word_of(fact, *value), text) == 0)
            return 0;
    return -1;
}

static int value_parse(enum tt_fact fact, const char *text, size_t length, int64_t *value)
{
    char word[32];
    int number;

    if (length >= sizeof word || memchr(text, '\0', length))
        return -1;
    memcpy(word, text, length);
    word[length] = '\0';
    switch (rows[fact].kind) {
    case SIZES:
        return tt_size_parse(word, value);
    case NUMBERS:
        if (tt_int_parse(word, &number))
            return -1;
        *value = number;
        return 0;
    default:
        return word_find(fact, word, value);
    }
}

/* Either end may be left out, but not both. */
static int ends_parse(enum tt_fact fact, const char *text, size_t length, struct tt_span *span)
{
    const bool ranges = rows[fact].kind != WORD && rows[fact].kind != KINDS;
    const char *dash = ranges ? memchr(text, '-', length) : NULL, *end = text + length;

    *span = (struct tt_span){rows[fact].least, rows[fact].most};
    if (!dash) {
        if (value_parse(fact, text, length, &span->from))
            return -1;
        span->to = span->from;
        return 0;
    }
    if (length == 1 || (dash > text && value_parse(fact, text, (size_t)(dash - text), &span->from)))
        return -1;
    return dash + 1 < end ? value_parse(fact, dash + 1, (size_t)(end - dash - 1), &span->to) : 0;
}

int tt_span_parse(enum tt_fact fact, const char *text, size_t length, struct tt_span *span, char *why, size_t size)
{
    char piece[64];

    tt_print_piece(piece, sizeof piece, text, length);
    if (ends_parse(fact, text, length, span)) {
        snprintf(why, size, "%s %s: it may be %s", rows[fact].name, piece, tt_fact_values(fact));
        return -1;
    }
    if (span->from > span->to) {
        snprintf(why, size, "%s %s: the range ends before it begins", rows[fact].name, piece);
        return -1;
    }
    return 0;
}

/* In the largest unit that is exact. */
static void size_print(int64_t bytes, char *text, size_t size)
{
    static const char units[] = "\0KMGT";
    int i = 0;

    while (bytes && bytes % 1024 == 0 && i < 4) {
        bytes /= 1024;
        i++;
    }
    snprintf(text, size, "%" PRId64 "%.1s", bytes, &units[i]);
}

static void value_print(enum tt_fact fact, int64_t value, char *text, size_t size)
{
    if (rows[fact].kind == SIZES)
        size_print(value, text, size);
    else if (rows[fact].kind == NUMBERS)
        snprintf(text, size, "%" PRId64, value);
    else
        snprintf(text, size, "%s", word_of(fact, value));
}

char *tt_span_print(enum tt_fact fact, struct tt_span span, char *text, size_t size)
{
    char from[32], to[32];

    value_print(fact, span.from, from, sizeof from);
    value_print(fact, span.to, to, sizeof to);
    if (span.from == span.to)
        snprintf(text, size, "%s", from);
    else
        snprintf(text, size, "%s-%s", from, span.to == rows[fact].most ? "" : to);
    return text;
}
