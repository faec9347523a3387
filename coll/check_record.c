/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks fall into groups that say the same. The largest comes first, as that of those who are most likely right; but
 * nobody is called wrong, since that cannot be known. */
#include "coll/check_record.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/ranks.h"

enum { MAX_GROUPS = 4 }; /* that are told one by one */

struct text {
    char *at;
    size_t left;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= t->left)
        n = t->left ? (int)t->left - 1 : 0;
    t->at += n;
    t->left -= (size_t)n;
}

/* ---- digests ---- */

struct tt_digest tt_digest_of(const struct tt_record *r)
{
    struct tt_digest d = {.pairs = r->pairs, .amiss = r->fault[0] != '\0'};

    memcpy(d.value, r->value, sizeof d.value);
    return d;
}

void tt_digest_join(struct tt_digest *d, const struct tt_digest *more)
{
    for (int i = 0; i < TT_NCHECKED; i++) {
        d->amiss |= d->value[i] && more->value[i] && d->value[i] != more->value[i];
        d->value[i] = d->value[i] ? d->value[i] : more->value[i];
    }
    d->pairs += more->pairs;
    d->amiss |= more->amiss;
}

bool tt_digest_agrees(const struct tt_digest *d)
{
    return !d->amiss && d->pairs == 0;
}

/* ---- words ---- */

static const struct {
    const char *words;
    size_t said; /* where in a record */
} rows[TT_NCHECKED] = {
#define TT_CHECKED(id, words, said) {words, offsetof(struct tt_record, said)},
#include "coll/check.def"
#undef TT_CHECKED
};

static const char *said_of(const struct tt_record *r, int row)
{
    return (const char *)r + rows[row].said;
}

/* ---- groups ---- */

struct groups {
    int n;
    int first[MAX_GROUPS], members[MAX_GROUPS]; /* a rank of each; beyond the last, all other groups are one */
    signed char *of;                            /* of each rank; -1: has no say */
};

static signed char group_of(struct groups *g, const struct tt_record *records, int rank, int row)
{
    int i = 0;

    if (!records[rank].value[row])
        return -1;
    while (i < g->n && records[g->first[i]].value[row] != records[rank].value[row])
        i++;
    if (i == g->n && g->n < MAX_GROUPS) {
        g->first[g->n] = rank;
        g->members[g->n++] = 0;
    }
    return (signed char)(i < MAX_GROUPS ? i : MAX_GROUPS - 1);
}

static void sort(struct groups *g, const struct tt_record *records, int n, int row)
{
    g->n = 0;
    for (int r = 0; r < n; r++) {
        g->of[r] = group_of(g, records, r, row);
        if (g->of[r] >= 0)
            g->members[g->of[r]]++;
    }
}

/* The largest group that has not been told; of equals the one with the lowest rank. */
static signed char largest(const struct groups *g, const bool *told)
{
    signed char best = -1;

    for (signed char i = 0; i < g->n; i++)
        if (!told[i] && (best < 0 || g->members[i] > g->members[best]))
            best = i;
    return best;
}

static void tell_groups(struct text *t, const struct tt_record *records, int n, const struct groups *g, int row)
{
    bool told[MAX_GROUPS] = {false};
    char ranks[128];

    for (int k = 0; k < g->n; k++) {
        const signed char i = largest(g, told);

        told[i] = true;
        add(t, "%s%s on %s", k ? "; " : ": ", said_of(&records[g->first[i]], row),
            tt_ranks_print(ranks, sizeof ranks, g->of, n, i));
    }
}

/* ---- what is wrong ---- */

static void tell_difference(const struct tt_record *records, int n, const char *on, const struct groups *g, int row,
                            struct text *t)
{
    if (row <= TT_CHECKED_form)
        add(t, "calls on %s do not match: %s differs", on, rows[row].words);
    else
        add(t, "calls of %s on %s do not match: %s differs", records[g->first[0]].call, on, rows[row].words);
    tell_groups(t, records, n, g, row);
}

static bool tell_fault(const struct tt_record *records, int n, const char *on, struct text *t)
{
    int first = 0, more = 0;

    while (first < n && !records[first].fault[0])
        first++;
    if (first == n)
        return false;
    for (int r = first + 1; r < n; r++)
        more += records[r].fault[0] != '\0';
    add(t, "%s on %s: rank %d: %s", records[first].call, on, first, records[first].fault);
    if (more)
        add(t, " (and %d more rank%s)", more, more == 1 ? "" : "s");
    return true;
}

/* Which collective it is comes before what is wrong with somebody's arguments, and that before all else. */
bool tt_records_agree(const struct tt_record *records, int n, const char *on, char *text, size_t size)
{
    struct text t = {text, size};
    struct groups g = {.of = malloc((size_t)n * sizeof *g.of)};
    bool agree = true;

    if (!g.of) {
        add(&t, "out of host memory");
        return false;
    }
    for (int row = 0; row < TT_NCHECKED && agree; row++) {
        if (row == TT_CHECKED_form + 1 && tell_fault(records, n, on, &t))
            agree = false;
        sort(&g, records, n, row);
        if (agree && g.n > 1) {
            tell_difference(records, n, on, &g, row, &t);
            agree = false;
        }
    }
    free(g.of);
    return agree;
}
