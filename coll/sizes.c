/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes, times and rates as people write them. The digits are read by hand rather than by strtod, so that the locale,
 * hexadecimal, "inf" and rounding above 2^53 play no part. */
#include "coll/sizes.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
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

/* A number without exponent as whole + fraction / scale, and *text behind it and the blanks after it. */
struct decimal {
    int64_t whole, fraction, scale;
};

static int decimal_parse(const char **text, struct decimal *d)
{
    int places = 0, length;

    *d = (struct decimal){digits(text, &length), 0, 1};
    if (d->whole < 0)
        return -1;
    if (**text == '.') {
        ++*text;
        d->fraction = digits(text, &places);
    }
    while (**text == ' ')
        ++*text;
    if (d->fraction < 0 || places > 9)
        return -1;
    while (places-- > 0)
        d->scale *= 10;
    return 0;
}

/* In units of which there are so many in one: rounded once only, so that "0.1us" is the double nearest to it. */
static double decimal_value(const struct decimal *d, double in_one)
{
    return ((double)d->whole * (double)d->scale + (double)d->fraction) / ((double)d->scale * in_one);
}

int tt_size_parse(const char *text, int64_t *bytes)
{
    struct decimal d;
    int64_t unit, part;

    if (decimal_parse(&text, &d))
        return -1;
    unit = unit_find(text);
    if (unit == 0)
        return -1;
    if (__builtin_mul_overflow(d.fraction, unit, &part) || part % d.scale ||
        __builtin_mul_overflow(d.whole, unit, &d.whole) || __builtin_add_overflow(d.whole, part / d.scale, bytes))
        return -1;
    return 0;
}

/* ---- times ---- */

/* How many there are of each in a second. */
static const struct {
    const char *name;
    double in_a_second;
} times[] = {{"s", 1}, {"ms", 1e3}, {"us", 1e6}, {"ns", 1e9}};

enum { NTIMES = sizeof times / sizeof *times };

int tt_time_parse(const char *text, double *seconds)
{
    struct decimal d;

    if (decimal_parse(&text, &d))
        return -1;
    if (*text == '\0' && d.whole == 0 && d.fraction == 0) {
        *seconds = 0;
        return 0;
    }
    for (int i = 0; i < NTIMES; i++)
        if (strcmp(text, times[i].name) == 0) {
            *seconds = decimal_value(&d, times[i].in_a_second);
            return 0;
        }
    return -1;
}

char *tt_time_print(char *text, size_t size, double seconds)
{
    int i = 0;

    while (seconds != 0 && i + 1 < NTIMES && seconds * times[i].in_a_second < 0.9995)
        i++;
    snprintf(text, size, "%.3g %s", seconds * times[i].in_a_second, times[i].name);
    return text;
}

/* ---- rates ---- */

static const struct {
    const char *name;
    double bytes;
} bits[] = {{"bit", 0.125}, {"Kbit", 125}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"Tbit", 125e9}};

enum { NBITS = sizeof bits / sizeof *bits };

/* Bytes in a unit of which `length` letters are meant; 0 if there is none. */
static double rate_unit(const char *text, size_t length)
{
    char name[8];

    if (length == 0 || length >= sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    for (int i = 0; i < NBITS; i++)
        if (strcasecmp(bits[i].name, name) == 0)
            return bits[i].bytes;
    return name[length - 1] == 'b' ? 0 : (double)unit_find(name);
}

int tt_rate_parse(const char *text, double *bytes_per_second)
{
    struct decimal d;
    size_t length;
    double unit;

    if (decimal_parse(&text, &d))
        return -1;
    length = strlen(text);
    unit = length > 2 && strcmp(text + length - 2, "/s") == 0 ? rate_unit(text, length - 2) : 0;
    if (unit == 0 || (d.whole == 0 && d.fraction == 0))
        return -1;
    *bytes_per_second = decimal_value(&d, 1) * unit;
    return 0;
}

char *tt_rate_print(char *text, size_t size, double bytes_per_second)
{
    static const char *const names[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
    int i = 0;

    for (; bytes_per_second >= 999.95 && i + 1 < (int)(sizeof names / sizeof *names); i++)
        bytes_per_second /= 1000;
    snprintf(text, size, "%.4g %s", bytes_per_second, names[i]);
    return text;
}

/* ---- sizes and numbers ---- */

/* names: of thousands of that many, five of them. */
static char *size_print(char *text, size_t size, int64_t bytes, double thousand, const char *const names[5])
{
    double value = (double)bytes;
    int i = 0;

    while (value >= thousand - 0.05 && i + 1 < 5) {
        value /= thousand;
        i++;
    }
    snprintf(text, size, value == (double)(int64_t)value ? "%.0f %s" : "%.1f %s", value, names[i]);
    return text;
}

bool tt_size_is_decimal(const char *text)
{
    const size_t n = strlen(text);

    return n > 2 && strchr("Bb", text[n - 1]) && strchr("KMGTkmgt", text[n - 2]);
}

char *tt_size_print(char *text, size_t size, int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};

    return size_print(text, size, bytes, 1024, names);
}

char *tt_size_print_tens(char *text, size_t size, int64_t bytes)
{
    static const char *const names[] = {"B", "KB", "MB", "GB", "TB"};

    return size_print(text, size, bytes, 1000, names);
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
