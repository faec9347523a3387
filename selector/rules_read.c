/* SPDX-License-Identifier: BSD-3-Clause */
/* The two grammars: a file's, a line a rule, and a pin's, which fits into a variable. Both are read strictly: a word
 * that is not understood is an error that says where it stands and what may stand there, since a rule that is silently
 * left out would be looked for in the wrong place. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "selector/names.h"
#include "selector/rules_inside.h"

enum { MAX_FILE = 1 << 20 };

/* A stretch of the text that is read: nothing is copied or written. */
struct piece {
    const char *at;
    size_t length;
};

struct reader {
    struct tt_rules *rules;
    int line;
    char *why;
    size_t size;
};

/* Puts "rules.txt:12: " in front. */
static int refuse(const struct reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(const struct reader *r, const char *format, ...)
{
    const int used = snprintf(r->why, r->size, "%s:%d: ", r->rules->name, r->line);
    va_list args;

    va_start(args, format);
    if ((size_t)used < r->size)
        vsnprintf(r->why + used, r->size - (size_t)used, format, args);
    va_end(args);
    return -1;
}

static bool is(struct piece word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.at, text, word.length) == 0;
}

/* The next word, parted by blanks; of length 0 at the end. */
static struct piece next_word(struct piece *rest)
{
    static const char blanks[] = " \t\r";
    struct piece word;

    while (rest->length && strchr(blanks, *rest->at)) {
        rest->at++;
        rest->length--;
    }
    word = (struct piece){rest->at, 0};
    while (word.length < rest->length && !strchr(blanks, word.at[word.length]))
        word.length++;
    rest->at += word.length;
    rest->length -= word.length;
    return word;
}

/* The text up to a separator, which goes, too. */
static struct piece cut(struct piece *rest, char separator)
{
    const char *end = rest->length ? memchr(rest->at, separator, rest->length) : NULL;
    const struct piece first = {rest->at, end ? (size_t)(end - rest->at) : rest->length};
    const size_t gone = first.length + (end ? 1 : 0);

    rest->at += gone;
    rest->length -= gone;
    return first;
}

/* ---- collectives ---- */

static int read_coll(const struct reader *r, struct piece name, struct tt_rule *rule)
{
    const enum tt_coll coll = tt_coll_find(name.at, name.length);
    struct tt_names names = {0};
    char why[1024];

    if (coll < TT_NCOLLS && rule->colls >> coll & 1)
        return refuse(r, "%s is named twice", tt_coll_name(coll));
    if (coll < TT_NCOLLS) {
        rule->colls |= UINT64_C(1) << coll;
        return 0;
    }
    for (int c = 0; c < TT_NCOLLS; c++)
        tt_names_add(&names, tt_coll_name((enum tt_coll)c));
    tt_names_refuse(&names, name.at, name.length, "a collective", why, sizeof why);
    return refuse(r, "%s; or several with commas between, or * for all", why);
}

static bool is_all(struct piece word)
{
    return is(word, "*");
}

static int read_colls(const struct reader *r, struct piece word, struct tt_rule *rule)
{
    struct piece rest = word;

    if (is_all(word)) {
        rule->colls = (UINT64_C(1) << TT_NCOLLS) - 1;
        return 0;
    }
    while (rest.length) {
        const struct piece name = cut(&rest, ',');

        if (read_coll(r, name, rule))
            return -1;
    }
    return word.at[word.length - 1] == ',' ? refuse(r, "a collective is missing behind the last comma") : 0;
}

/* ---- conditions ---- */

static int refuse_fact(const struct reader *r, struct piece name)
{
    struct tt_names names = {0};
    char why[1024];

    for (int f = 0; f < TT_NFACTS; f++)
        tt_names_add(&names, tt_fact_name((enum tt_fact)f));
    tt_names_add(&names, "->");
    tt_names_refuse(&names, name.at, name.length, "a condition", why, sizeof why);
    return refuse(r, "%s and an algorithm", why);
}

/* Named collectives must have what the rule asks for; of * those are meant that have. */
static int narrow(const struct reader *r, enum tt_fact fact, bool all, struct tt_rule *rule)
{
    for (int c = 0; c < TT_NCOLLS; c++) {
        const char *missing = rule->colls >> c & 1 ? tt_fact_missing(fact, (enum tt_coll)c) : NULL;

        if (missing && !all)
            return refuse(r, "no condition on %s: %s %s", tt_fact_name(fact), tt_coll_name((enum tt_coll)c), missing);
        if (missing)
            rule->colls &= ~(UINT64_C(1) << c);
    }
    return 0;
}

static int read_condition(const struct reader *r, struct piece name, struct piece *rest, unsigned *seen, bool all,
                          struct tt_rule *rule)
{
    const enum tt_fact fact = tt_fact_find(name.at, name.length);
    char why[256];
    struct piece value;

    if (fact == TT_NFACTS)
        return refuse_fact(r, name);
    if (*seen & 1u << fact)
        return refuse(r, "%s is asked twice", tt_fact_name(fact));
    *seen |= 1u << fact;
    value = next_word(rest);
    if (!value.length || is(value, "->"))
        return refuse(r, "%s lacks its value: %s", tt_fact_name(fact), tt_fact_values(fact));
    if (tt_span_parse(fact, value.at, value.length, &rule->when[fact], why, sizeof why))
        return refuse(r, "%s", why);
    return narrow(r, fact, all, rule);
}

/* Up to the arrow. */
static int read_conditions(const struct reader *r, struct piece *rest, bool all, struct tt_rule *rule)
{
    unsigned seen = 0;

    for (struct piece word = next_word(rest); !is(word, "->"); word = next_word(rest)) {
        if (!word.length)
            return refuse(r, "no -> and algorithm at the end, as in: allreduce bytes 0-16K -> doubling");
        if (read_condition(r, word, rest, &seen, all, rule))
            return -1;
    }
    return 0;
}

/* ---- a line ---- */

static int read_algorithm(const struct reader *r, struct piece *rest, bool all, struct tt_rule *rule)
{
    const struct piece name = next_word(rest), more = next_word(rest);
    char why[1024], piece[64];

    if (!name.length)
        return refuse(r, "no algorithm behind ->");
    if (tt_rule_read_algorithm(rule, !all, name.at, name.length, why, sizeof why))
        return refuse(r, "%s", why);
    if (more.length)
        return refuse(r, "%s is one column too many: a rule ends with its algorithm",
                      tt_print_piece(piece, sizeof piece, more.at, more.length));
    return 0;
}

static int append(const struct reader *r, const struct tt_rule *rule)
{
    char why[256];

    if (tt_rules_append(r->rules, rule))
        return refuse(r, "out of memory, or more than %d rules", TT_MAX_RULES);
    return tt_rules_check_last(r->rules, why, sizeof why) ? refuse(r, "%s", why) : 0;
}

static int read_line(const struct reader *r, struct piece line)
{
    struct tt_rule rule = tt_rule_any();
    struct piece rest = cut(&line, '#'), word = next_word(&rest);

    rule.line = r->line;
    if (!word.length)
        return 0;
    if (read_colls(r, word, &rule) || read_conditions(r, &rest, is_all(word), &rule) ||
        read_algorithm(r, &rest, is_all(word), &rule))
        return -1;
    return append(r, &rule);
}

/* ---- a file ---- */

static int read_lines(struct reader *r, struct piece text)
{
    if (text.length && memchr(text.at, '\0', text.length))
        return refuse(r, "this is no text: there are zero bytes in it");
    for (; text.length; r->line++) {
        const struct piece line = cut(&text, '\n');

        if (read_line(r, line))
            return -1;
    }
    return 0;
}

struct tt_rules *tt_rules_parse(const char *name, const char *text, size_t length, char *why, size_t size)
{
    struct reader r = {tt_rules_new(name, true), 1, why, size};

    if (!r.rules) {
        snprintf(why, size, "%s: out of memory", name);
        return NULL;
    }
    if (read_lines(&r, (struct piece){text, length})) {
        tt_rules_free(r.rules);
        return NULL;
    }
    return r.rules;
}

struct tt_rules *tt_rules_read(const char *file, char *why, size_t size)
{
    FILE *in = fopen(file, "r");
    char *text = in ? malloc(MAX_FILE + 1) : NULL;
    const size_t length = text ? fread(text, 1, MAX_FILE + 1, in) : 0;
    struct tt_rules *rules = NULL;

    if (!text || ferror(in))
        snprintf(why, size, "%s: cannot be read: %s", file, strerror(errno));
    else if (length > MAX_FILE)
        snprintf(why, size, "%s: no rules file: it is larger than 1 MiB", file);
    else
        rules = tt_rules_parse(file, text, length, why, size);
    free(text);
    if (in)
        fclose(in);
    return rules;
}

/* ---- a pin ---- */

static struct piece trim(struct piece text)
{
    while (text.length && strchr(" \t", *text.at)) {
        text.at++;
        text.length--;
    }
    while (text.length && strchr(" \t", text.at[text.length - 1]))
        text.length--;
    return text;
}

/* "ring", "two_level/1M", "ring:16K-" */
static int read_pin(struct tt_rules *rules, enum tt_coll coll, struct piece text, char *why, size_t size)
{
    struct tt_rule rule = tt_rule_any();
    struct piece rest = text, name = trim(cut(&rest, ':'));
    const bool ranged = name.at + name.length < text.at + text.length && memchr(text.at, ':', text.length);
    const char *missing = tt_fact_missing(TT_FACT_bytes, coll);

    rule.colls = UINT64_C(1) << coll;
    rule.line = rules->n + 1;
    if (tt_rule_read_algorithm(&rule, true, name.at, name.length, why, size))
        return -1;
    if (ranged && missing) {
        snprintf(why, size, "no range of bytes for %s, which %s", tt_coll_name(coll), missing);
        return -1;
    }
    rest = trim(rest);
    if (ranged && tt_span_parse(TT_FACT_bytes, rest.at, rest.length, &rule.when[TT_FACT_bytes], why, size))
        return -1;
    if (tt_rules_append(rules, &rule)) {
        snprintf(why, size, "out of memory");
        return -1;
    }
    return tt_rules_check_last(rules, why, size);
}

static int read_pins(struct tt_rules *rules, enum tt_coll coll, const char *text, char *why, size_t size)
{
    struct piece rest = {text, strlen(text)};
    char inner[1024], piece[64];

    do {
        const struct piece one = cut(&rest, ';');

        if (read_pin(rules, coll, trim(one), inner, sizeof inner)) {
            snprintf(why, size, "%s=%s: %s", rules->name, tt_print_piece(piece, sizeof piece, text, strlen(text)),
                     inner);
            return -1;
        }
    } while (rest.length || rest.at[-1] == ';');
    return 0;
}

struct tt_rules *tt_pin_parse(const char *name, enum tt_coll coll, const char *text, char *why, size_t size)
{
    struct tt_rules *rules = tt_rules_new(name, false);

    if (!rules) {
        snprintf(why, size, "%s: out of memory", name);
        return NULL;
    }
    if (read_pins(rules, coll, text, why, size)) {
        tt_rules_free(rules);
        return NULL;
    }
    return rules;
}
