/* SPDX-License-Identifier: BSD-3-Clause */
/* Figures as lines that people read and programs, too: in the rules file they are remarks; a journal has nothing else.
 * The journal is written as it goes, so that neither ^C nor a job's end loses what was measured. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "coll/sizes.h"
#include "selector/facts.h"
#include "selector/rules.h"
#include "selector/tune.h"

/* ---- figures ---- */

static const char end_of_point[] = "#.";

static char *size_word(int64_t bytes, char *text, size_t size)
{
    return tt_span_print(TT_FACT_bytes, (struct tt_span){bytes, bytes}, text, size);
}

/* "ring/64K" */
static char *name_word(const struct tt_candidate *c, char *text, size_t size)
{
    const size_t used = (size_t)snprintf(text, size, "%s", c->alg ? c->alg->name : "chosen");

    if (c->segment && used + 1 < size) {
        text[used] = '/';
        size_word(c->segment, text + used + 1, size - used - 1);
    }
    return text;
}

static void write_figure(FILE *out, const struct tt_point *point, const struct tt_candidate *c)
{
    char bytes[32], name[64];

    fprintf(out, "#: %s %s %s %.3f us +- %.3f us, %d times\n", tt_coll_name(point->coll),
            size_word(point->bytes, bytes, sizeof bytes), name_word(c, name, sizeof name), c->is.seconds * 1e6,
            c->is.noise * 1e6, c->is.n);
}

static void write_figures(FILE *out, const struct tt_point *point)
{
    for (int i = 0; i < point->n; i++)
        if (point->of[i].is.n > 0)
            write_figure(out, point, &point->of[i]);
}

void tt_figures_write(FILE *out, const struct tt_point *point)
{
    write_figures(out, point);
    fprintf(out, "%s\n", end_of_point);
}

/* "ring/64K" of a collective, into c; false if there is no such. */
static bool read_name(enum tt_coll coll, const char *name, struct tt_candidate *c)
{
    const char *slash = strchr(name, '/');

    c->alg = tt_alg_find(coll, name, slash ? (size_t)(slash - name) : strlen(name));
    return c->alg && (!slash || tt_size_parse(slash + 1, &c->segment) == 0);
}

/* One line into the point that it belongs to, which is made if need be; lines of another kind are nobody's. */
static int read_figure(const char *line, struct tt_points *points)
{
    char coll_name[64], bytes_word[32], name[64];
    struct tt_point point = {0}, *there;
    struct tt_candidate c = {0};

    if (sscanf(line, "#: %63s %31s %63s %lf us +- %lf us, %d times", coll_name, bytes_word, name, &c.is.seconds,
               &c.is.noise, &c.is.n) != 6 ||
        c.is.n < 1)
        return 0;
    c.is.seconds *= 1e-6;
    c.is.noise *= 1e-6;
    point.coll = tt_coll_find(coll_name, strlen(coll_name));
    if (point.coll >= TT_NCOLLS || tt_size_parse(bytes_word, &point.bytes) || !read_name(point.coll, name, &c))
        return 0;
    there = tt_points_find(points, point.coll, point.bytes);
    if (!there) {
        if (tt_points_add(points, &point))
            return -1;
        there = &points->at[points->n - 1];
    }
    if (there->n < TT_MOST_CANDIDATES && !tt_point_find(there, c.alg, c.segment))
        there->of[there->n++] = c;
    return 0;
}

int tt_figures_read(FILE *in, struct tt_points *points)
{
    char line[512];

    while (fgets(line, sizeof line, in)) {
        if (strncmp(line, end_of_point, strlen(end_of_point)) == 0 && points->n)
            points->at[points->n - 1].whole = true;
        else if (strchr(line, '\n') && read_figure(line, points))
            return -1;
    }
    return 0;
}

/* ---- the journal ---- */

/* What was being written when the end came is measured anew. */
static void keep_whole(struct tt_points *points)
{
    int n = 0;

    for (int i = 0; i < points->n; i++)
        if (points->at[i].whole)
            points->at[n++] = points->at[i];
    points->n = n;
}

/* Does the file begin with that line? Then the rest is read. */
static int read_journal(const char *file, const char *first_line, struct tt_points *points, bool *same)
{
    FILE *in = fopen(file, "r");
    char line[1024];
    int error = 0;

    *same = in && fgets(line, sizeof line, in) && strcspn(line, "\n") == strlen(first_line) &&
            strncmp(line, first_line, strlen(first_line)) == 0;
    if (*same)
        error = tt_figures_read(in, points);
    if (in)
        fclose(in);
    keep_whole(points);
    return error;
}

/* Written anew with what is whole, beside it and then in its place, so that there is always one. */
static FILE *begin_journal(const char *file, const char *first_line, const struct tt_points *points)
{
    char *beside;
    FILE *out;

    if (asprintf(&beside, "%s.new", file) < 0)
        return NULL;
    out = fopen(beside, "w");
    if (out) {
        fprintf(out, "%s\n", first_line);
        for (int i = 0; i < points->n; i++)
            tt_figures_write(out, &points->at[i]);
        if (fflush(out) || rename(beside, file)) {
            fclose(out);
            out = NULL;
        }
    }
    free(beside);
    return out;
}

FILE *tt_journal_open(const char *file, const char *first_line, struct tt_points *points, char *why, size_t size)
{
    bool same;
    FILE *out = NULL;

    errno = ENOMEM;
    if (read_journal(file, first_line, points, &same) == 0)
        out = begin_journal(file, first_line, points);
    if (!out)
        snprintf(why, size, "%s: %s", file, strerror(errno));
    return out;
}

/* ---- rules ---- */

/* The size where one choice gives way to the next: midway between the two that were measured, as sizes grow. */
static int64_t boundary(int64_t below, int64_t above)
{
    return (int64_t)sqrt((double)below * (double)above);
}

/* Ranks per node, where all nodes have as many; else 0. */
static int per_node(const struct tt_tuning *t)
{
    if (!t->nodes)
        return t->size;
    for (int i = 0; i < t->nodes->n; i++)
        if (t->nodes->first[i + 1] - t->nodes->first[i] != t->nodes->first[1])
            return 0;
    return t->nodes->first[1];
}

static struct tt_span one(int64_t value)
{
    return (struct tt_span){value, value};
}

/* The rule for calls such as were measured, from the size `from` to the size `to`. */
static struct tt_rule rule_for(const struct tt_tuning *t, enum tt_coll coll, const struct tt_candidate *c, int64_t from,
                               int64_t to)
{
    struct tt_rule rule = {.colls = UINT64_C(1) << coll, .algorithm = c->alg->name, .segment = c->segment};

    for (int f = 0; f < TT_NFACTS; f++)
        rule.when[f] = tt_fact_any((enum tt_fact)f);
    if (from > 0 || to < INT64_MAX)
        rule.when[TT_FACT_bytes] = (struct tt_span){from, to};
    rule.when[TT_FACT_ranks] = one(t->size);
    rule.when[TT_FACT_nodes] = one(t->nodes ? t->nodes->n : 1);
    if (per_node(t))
        rule.when[TT_FACT_ranks_per_node] = one(per_node(t));
    return rule;
}

/* A time that falls as the size grows is somebody's fault: the longer call would have served the smaller size better.
 * Of what programs may get, which is the choice and the MPI below. Returns how many there are. */
static int remark(FILE *out, const struct tt_points *points, const struct tt_point *point,
                  const struct tt_candidate *chosen)
{
    const struct tt_candidate *const both[] = {tt_point_find(point, chosen->alg, chosen->segment),
                                               tt_point_native(point)};
    int n = 0;

    for (int i = 0; i < 2; i++) {
        const struct tt_candidate *c = i == 0 || both[1] != both[0] ? both[i] : NULL;
        const struct tt_point *before = c ? tt_tune_slower_before(points, point, c) : NULL;
        char name[64], bytes[2][32], time[2][32];

        if (!before)
            continue;
        fprintf(out, "# not monotone: %s of %s takes %s at %s, but %s at %s\n", name_word(c, name, sizeof name),
                tt_coll_name(point->coll),
                tt_time_print(time[0], sizeof time[0], tt_point_find(before, c->alg, c->segment)->is.seconds),
                size_word(before->bytes, bytes[0], sizeof bytes[0]),
                tt_time_print(time[1], sizeof time[1], c->is.seconds),
                size_word(point->bytes, bytes[1], sizeof bytes[1]));
        n++;
    }
    return n;
}

/* How far the last measured size is to be believed: without end if it is the largest that was asked for; where
 * measuring was cut short, no further than to its double. */
static int64_t believed(const struct tt_tuning *t, const struct tt_point *last)
{
    int k = 0;

    while (tt_tune_size(t, last->coll, k + 1) >= 0)
        k++;
    return last->bytes >= tt_tune_size(t, last->coll, k) ? INT64_MAX : 2 * last->bytes;
}

static bool same_choice(const struct tt_candidate *a, const struct tt_candidate *b)
{
    return a->alg == b->alg && a->segment == b->segment;
}

/* The rule that begins with point i and all points that it takes; the next point's number. */
static int write_rule(FILE *out, const struct tt_tuning *t, const struct tt_points *points, int i, int64_t *from,
                      const struct tt_candidate **choice, int *remarks)
{
    const struct tt_point *point = &points->at[i];
    const struct tt_candidate *chosen = *choice, *next = NULL;
    int end = i + 1;
    char line[256];
    struct tt_rule rule;
    int64_t to;

    for (; end < points->n && points->at[end].coll == point->coll; end++) {
        next = tt_tune_choose(&points->at[end], chosen);
        if (next && !same_choice(next, chosen))
            break;
        next = NULL;
    }
    to = next ? boundary(points->at[end - 1].bytes, points->at[end].bytes) : believed(t, &points->at[end - 1]);
    rule = rule_for(t, point->coll, chosen, *from, to);
    fprintf(out, "%s\n", tt_rule_print(&rule, line, sizeof line));
    for (; i < end; i++) {
        write_figures(out, &points->at[i]);
        *remarks += remark(out, points, &points->at[i], chosen);
    }
    *from = next ? to + 1 : 0;
    *choice = next;
    return end;
}

int tt_tune_write_rules(FILE *out, const char *head, const struct tt_tuning *t, const struct tt_points *points)
{
    const struct tt_candidate *choice = NULL;
    int64_t from = 0;
    int remarks = 0;

    for (; *head; head += strcspn(head, "\n"), head += *head == '\n')
        fprintf(out, "# %.*s\n", (int)strcspn(head, "\n"), head);
    for (int i = 0; i < points->n;) {
        if (!choice)
            fputc('\n', out);
        choice = choice ? choice : tt_tune_choose(&points->at[i], NULL);
        if (choice)
            i = write_rule(out, t, points, i, &from, &choice, &remarks);
        else
            i++;
    }
    return remarks;
}
