/* SPDX-License-Identifier: BSD-3-Clause */
/* Likeness is the number of letters to be put in, left out, changed, or swapped with the next (Damerau's distance). It
 * costs a few thousand steps a name, once, on the way to an error. */
#include "selector/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "coll/plan.h"

enum { LONGEST = 40 };

void tt_names_add(struct tt_names *names, const char *name)
{
    for (int i = 0; i < names->n; i++)
        if (strcmp(names->name[i], name) == 0)
            return;
    if (names->n < TT_MAX_NAMES)
        names->name[names->n++] = name;
}

void tt_names_add_algorithms(struct tt_names *names, enum tt_coll coll)
{
    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], coll))
            tt_names_add(names, tt_algs[i]->name);
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Both at most LONGEST letters long. */
static int distance(const char *a, size_t na, const char *b, size_t nb)
{
    int d[LONGEST + 1][LONGEST + 1];

    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = (int)(i + j);
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[na][nb];
}

/* Who writes "gpt3" means the one that begins so. */
static const char *longer(const struct tt_names *names, const char *name, size_t length)
{
    for (int i = 0; length > 2 && i < names->n; i++)
        if (strncmp(name, names->name[i], length) == 0)
            return names->name[i];
    return NULL;
}

const char *tt_names_nearest(const struct tt_names *names, const char *name, size_t length)
{
    const char *nearest = NULL;
    int best = (int)length / 3 + 1; /* further away is another word */

    if (length > LONGEST)
        return NULL;
    for (int i = 0; i < names->n; i++) {
        const size_t other = strlen(names->name[i]);
        const int away = other <= LONGEST ? distance(name, length, names->name[i], other) : best + 1;

        if (away <= best && (away < best || !nearest)) {
            best = away;
            nearest = names->name[i];
        }
    }
    return nearest ? nearest : longer(names, name, length);
}

char *tt_print_piece(char *out, size_t size, const char *text, size_t length)
{
    size_t n = 0;

    while (n < length && n < LONGEST && n + 1 < size) {
        out[n] = isprint((unsigned char)text[n]) ? text[n] : '?';
        n++;
    }
    snprintf(out + n, size - n, "%s", n < length ? "..." : "");
    return out;
}

void tt_names_refuse(const struct tt_names *names, const char *name, size_t length, const char *what, char *why,
                     size_t size)
{
    const char *nearest = tt_names_nearest(names, name, length);
    char piece[LONGEST + 8];
    size_t used = (size_t)snprintf(why, size, "%s is not %s%s%s%s: there are ",
                                   length ? tt_print_piece(piece, sizeof piece, name, length) : "\"\"", what,
                                   nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");

    for (int i = 0; i < names->n && used < size; i++)
        used += (size_t)snprintf(why + used, size - used, "%s%s", i ? ", " : "", names->name[i]);
}
