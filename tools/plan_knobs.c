/* SPDX-License-Identifier: BSD-3-Clause */
/* The circumstances of a plan, by name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/sizes.h"
#include "tools/plan.h"

enum how { COUNT, RATE, SIZE, SHARE };
static const struct {
    const char *name, *words;
    enum how how;
} knobs[TOOL_NKNOBS] = {
#define K(id, words, how) {#id, words, how},
    TOOL_KNOBS(K)
#undef K
};

const char *tool_knob_name(enum tool_knob knob)
{
    return knobs[knob].name;
}

const char *tool_knob_words(enum tool_knob knob)
{
    return knobs[knob].words;
}

bool tool_knob_counts(enum tool_knob knob)
{
    return knobs[knob].how == COUNT;
}

enum tool_knob tool_knob_find(const char *name, size_t length)
{
    int i = 0;

    while (i < TOOL_NKNOBS && (strlen(knobs[i].name) != length || strncmp(knobs[i].name, name, length) != 0))
        i++;
    return (enum tool_knob)i;
}

char *tool_knob_print(enum tool_knob knob, double value, char *text, size_t size)
{
    switch (knobs[knob].how) {
    case COUNT:
        snprintf(text, size, "%.0f", value);
        return text;
    case RATE:
        return tt_rate_print(text, size, value);
    case SIZE:
        return tool_print_gb(value, text, size);
    default:
        snprintf(text, size, "%.3g", value);
        return text;
    }
}

static int parse_count(const char *text, double *value)
{
    int number;

    if (tt_int_parse(text, &number))
        return -1;
    *value = number;
    return 0;
}

static int parse_size(const char *text, double *value)
{
    int64_t bytes;

    if (tt_size_parse(text, &bytes) || bytes <= 0)
        return -1;
    *value = (double)bytes;
    return 0;
}

static int parse_share(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    if (end == text || !(*value > 0) || *value > 1e6)
        return -1;
    *value /= strcmp(end, "%") == 0 ? 100 : 1;
    return *end && strcmp(end, "%") ? -1 : 0;
}

int tool_knob_parse(enum tool_knob knob, const char *text, double *value)
{
    switch (knobs[knob].how) {
    case COUNT:
        return parse_count(text, value);
    case RATE:
        return tt_rate_parse(text, value);
    case SIZE:
        return parse_size(text, value);
    default:
        return parse_share(text, value);
    }
}

/* ---- numbers for people ---- */

char *tool_print_si(double number, char *text, size_t size)
{
    static const char *const names[] = {"", " K", " M", " G", " T", " P", " E", " Z"};
    int i = 0;

    for (; number >= 999.5 && i < 7; i++)
        number /= 1000;
    snprintf(text, size, "%.3g%s", number, names[i]);
    return text;
}

char *tool_print_gb(double bytes, char *text, size_t size)
{
    char number[32];

    snprintf(text, size, "%s%sB", tool_print_si(bytes, number, sizeof number), bytes < 999.5 ? " " : "");
    return text;
}
