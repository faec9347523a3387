/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as people write them. The digits are read by hand rather than by strtod, so that the locale, hexadecimal,
 * "inf" and rounding above 2^53 play no part. */
#include "coll/sizes.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>

static const struct {
    const char *name;
    int64_t bytes;
} units[] = {
    {"", 1},
    {"B", 1},
    {"K", INT64_C(1) << 10},
    {"M", INT64_C(1) << 20},
    {"G", INT64_C(1) << 30},
    {"T", INT64_C(1) << 40},
    {"KiB", INT64_C(1) << 10},
    {"MiB", INT64_C(1) << 20},
    {"GiB", INT64_C(1) << 30},
    {"TiB", INT64_C(1) << 40},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", INT64_C(1000000000000)},
};

enum { NUNITS = sizeof units / sizeof *units };

/* Digits from *text on, as an integer; -1 if there is none or too many. Counts them. */
static int64_t digits(const char **text, int *how_many)
{
    int64_t value = 0;

    for (*how_many = 0; isdigit((unsigned char)**text); ++*text, ++*how_many)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, **text - '0', &value))
            return -1;
    return *how_many ? value : -1;
}

static int64_t unit_find(const char *name)
{
    for (int i = 0; i < NUNITS; i++)
        if (strcasecmp(units[i].name, name) == 0)
            return units[i].bytes;
    return 0;
}

int tt_size_parse(const char *text, int64_t *bytes)
{
    int length, places = 0;
    int64_t whole = digits(&text, &length), fraction = 0, scale = 1, unit, part;

    if (whole < 0)
        return -1;
    if (*text == '.') {
        text++;
        fraction = digits(&text, &places);
    }
    while (*text == ' ')
        text++;
    unit = unit_find(text);
    if (fraction < 0 || places > 9 || unit == 0)
        return -1;
    while (places-- > 0)
        scale *= 10;
    if (__builtin_mul_overflow(fraction, unit, &part) || part % scale || __builtin_mul_overflow(whole, unit, &whole) ||
        __builtin_add_overflow(whole, part / scale, bytes))
        return -1;
    return 0;
}

char *tt_size_print(char *text, size_t size, int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    int i = 0;

    while (value >= 1023.95 && i + 1 < (int)(sizeof names / sizeof *names)) {
        value /= 1024;
        i++;
    }
    snprintf(text, size, value == (double)(int64_t)value ? "%.0f %s" : "%.1f %s", value, names[i]);
    return text;
}

int tt_int_parse(const char *text, int *value)
{
    int length;
    int64_t n = digits(&text, &length);

    if (n <= 0 || n > INT_MAX || *text)
        return -1;
    *value = (int)n;
    return 0;
}
