/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of rules: made, matched, compared, printed. Matching walks from the top, a few ns a rule; it is asked once per
 * shape, whose decision is then cached. */
#include "selector/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/names.h"
#include "selector/rules_inside.h"

/* ---- making ---- */

struct tt_rules *tt_rules_new(const char *name, bool lines)
{
    struct tt_rules *rules = calloc(1, sizeof *rules);

    if (!rules)
        return NULL;
    rules->lines = lines;
    rules->name = strdup(name);
    if (!rules->name) {
        free(rules);
        return NULL;
    }
    return rules;
}

void tt_rules_free(struct tt_rules *rules)
{
    if (!rules)
        return;
    free(rules->name);
    free(rules->rules);
    free(rules);
}

/* Room grows by doubling: there is none left when n is a power of two. */
int tt_rules_append(struct tt_rules *rules, const struct tt_rule *rule)
{
    const int n = rules->n;

    if (n == TT_MAX_RULES)
        return -1;
    if ((n & (n - 1)) == 0) {
        struct tt_rule *more = realloc(rules->rules, (size_t)(n ? 2 * n : 1) * sizeof *more);

        if (!more)
            return -1;
        rules->rules = more;
    }
    rules->rules[rules->n++] = *rule;
    return 0;
}

struct tt_rule tt_rule_any(void)
{
    struct tt_rule rule = {0};

    for (int f = 0; f < TT_NFACTS; f++)
        rule.when[f] = tt_fact_any((enum tt_fact)f);
    return rule;
}

/* ---- its algorithm ---- */

/* Takes the collectives out that have no algorithm of this name. */
static void keep_those_with(struct tt_rule *rule, const char *name, size_t length)
{
    for (int c = 0; c < TT_NCOLLS; c++) {
        const uint64_t bit = UINT64_C(1) << c;
        const struct tt_alg *alg = rule->colls & bit ? tt_alg_find((enum tt_coll)c, name, length) : NULL;

        if (!alg) {
            rule->colls &= ~bit;
            continue;
        }
        rule->algorithm = alg->name;
        rule->always |= alg->needs || alg->delegate == TT_TO_NCCL ? 0 : bit;
    }
}

const struct tt_alg *tt_rule_algorithm(const struct tt_rule *rule, enum tt_coll coll)
{
    return tt_alg_find(coll, rule->algorithm, strlen(rule->algorithm));
}

static enum tt_coll first_of(uint64_t colls)
{
    return (enum tt_coll)__builtin_ctzll(colls);
}

static void refuse_algorithm(uint64_t lacking, bool strict, const char *name, size_t length, char *why, size_t size)
{
    struct tt_names names = {0};
    char what[128];

    snprintf(what, sizeof what, "an algorithm of %s",
             strict ? tt_coll_name(first_of(lacking)) : "any of these collectives");
    for (int c = 0; c < TT_NCOLLS; c++)
        if (lacking >> c & 1 && (!strict || c == (int)first_of(lacking)))
            tt_names_add_algorithms(&names, (enum tt_coll)c);
    tt_names_refuse(&names, name, length, what, why, size);
}

/* What stands behind the slash; 0 where there is none. */
static int segment_parse(const char *text, size_t length, int64_t *segment)
{
    char word[32];

    if (length == 0 || length >= sizeof word || memchr(text, '\0', length))
        return -1;
    memcpy(word, text, length);
    word[length] = '\0';
    return tt_size_parse(word, segment) || *segment < 1 || *segment > 1 << 30 ? -1 : 0;
}

int tt_rule_read_algorithm(struct tt_rule *rule, bool strict, const char *text, size_t length, char *why, size_t size)
{
    const char *slash = memchr(text, '/', length);
    const size_t n = slash ? (size_t)(slash - text) : length;
    const uint64_t asked = rule->colls;
    char piece[64];

    keep_those_with(rule, text, n);
    if (strict ? rule->colls != asked : !rule->colls) {
        refuse_algorithm(asked & ~rule->colls, strict, text, n, why, size);
        return -1;
    }
    if (!slash)
        return 0;
    for (int c = 0; c < TT_NCOLLS; c++)
        if (rule->colls >> c & 1 && !tt_rule_algorithm(rule, (enum tt_coll)c)->segmented) {
            snprintf(why, size, "%s of %s has no segments: leave out what is behind the slash", rule->algorithm,
                     tt_coll_name((enum tt_coll)c));
            return -1;
        }
    if (segment_parse(slash + 1, length - n - 1, &rule->segment)) {
        snprintf(why, size, "%s: its segment may be a size from 1 to 1G, such as %s/64K",
                 tt_print_piece(piece, sizeof piece, text, length), rule->algorithm);
        return -1;
    }
    return 0;
}

/* ---- matching ---- */

static bool holds(const struct tt_rule *rule, const struct tt_facts *facts)
{
    if (!(rule->colls >> facts->coll & 1))
        return false;
    for (int f = 0; f < TT_NFACTS; f++)
        if (!tt_span_holds(rule->when[f], facts->is[f]))
            return false;
    return true;
}

const struct tt_rule *tt_rules_next(const struct tt_rules *rules, const struct tt_rule *after,
                                    const struct tt_facts *facts)
{
    for (int i = after ? (int)(after - rules->rules) + 1 : 0; rules && i < rules->n; i++)
        if (holds(&rules->rules[i], facts))
            return &rules->rules[i];
    return NULL;
}

static bool asks(const struct tt_rule *rule, int fact)
{
    const struct tt_span any = tt_fact_any((enum tt_fact)fact);

    return !tt_span_holds(rule->when[fact], any);
}

bool tt_rules_ask_memory(const struct tt_rules *rules, enum tt_coll coll)
{
    for (int i = 0; rules && i < rules->n; i++) {
        const struct tt_rule *rule = &rules->rules[i];

        if (rule->colls >> coll & 1 &&
            (asks(rule, TT_FACT_memory) || tt_rule_algorithm(rule, coll)->delegate == TT_TO_NCCL))
            return true;
    }
    return false;
}

/* ---- comparing ---- */

/* FNV-1a over the numbers: no secret to keep, only decisions to compare. */
static uint64_t mix(uint64_t h, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        h = (h ^ (value >> 8 * i & 0xFF)) * UINT64_C(1099511628211);
    return h;
}

static uint64_t mix_text(uint64_t h, const char *text)
{
    for (; *text; text++)
        h = mix(h, (unsigned char)*text);
    return h;
}

uint64_t tt_rules_hash(const struct tt_rules *rules)
{
    uint64_t h = UINT64_C(14695981039346656037);

    if (!rules)
        return 0;
    for (int i = 0; i < rules->n; i++) {
        const struct tt_rule *rule = &rules->rules[i];

        h = mix(mix(h, rule->colls), (uint64_t)rule->segment);
        h = mix(mix_text(h, rule->algorithm), 0);
        for (int f = 0; f < TT_NFACTS; f++)
            h = mix(mix(h, (uint64_t)rule->when[f].from), (uint64_t)rule->when[f].to);
    }
    return h ? h : 1;
}

/* ---- printing ---- */

char *tt_rule_where(const struct tt_rules *rules, const struct tt_rule *rule, char *text, size_t size)
{
    char span[64];

    if (rules->lines)
        snprintf(text, size, "%s:%d", rules->name, rule->line);
    else if (asks(rule, TT_FACT_bytes))
        snprintf(text, size, "%s, %s", rules->name,
                 tt_span_print(TT_FACT_bytes, rule->when[TT_FACT_bytes], span, sizeof span));
    else
        snprintf(text, size, "%s", rules->name);
    return text;
}

static size_t print_colls(uint64_t colls, char *text, size_t size)
{
    size_t used = 0;

    for (int c = 0; c < TT_NCOLLS && used < size; c++)
        if (colls >> c & 1)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? "," : "", tt_coll_name((enum tt_coll)c));
    return used;
}

char *tt_rule_print(const struct tt_rule *rule, char *text, size_t size)
{
    char span[64];
    size_t used = print_colls(rule->colls, text, size);

    for (int f = 0; f < TT_NFACTS && used < size; f++)
        if (asks(rule, f))
            used += (size_t)snprintf(text + used, size - used, " %s %s", tt_fact_name((enum tt_fact)f),
                                     tt_span_print((enum tt_fact)f, rule->when[f], span, sizeof span));
    if (used < size)
        used += (size_t)snprintf(text + used, size - used, " -> %s", rule->algorithm);
    if (used < size && rule->segment)
        snprintf(text + used, size - used, "/%s",
                 tt_span_print(TT_FACT_bytes, (struct tt_span){rule->segment, rule->segment}, span, sizeof span));
    return text;
}
