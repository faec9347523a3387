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
enum { FOR_PEOPLE = 3, TO_GO_ON_WITH = 15 }; /* digits: whoever goes on with a journal comes to the same */

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

/* With so many digits behind the point. */
static void write_figure(FILE *out, const struct tt_point *point, const struct tt_candidate *c,
                         const struct tt_figure *is, int digits)
{
    char bytes[32], name[64];

    fprintf(out, "#: %s %s %s %.*f us +- %.*f us, %d times", tt_coll_name(point->coll),
            size_word(point->bytes, bytes, sizeof bytes), name_word(c, name, sizeof name), digits, is->seconds * 1e6,
            digits, is->noise * 1e6, is->n);
}

/* Of all visits; of several, what the choice goes by is said, too. */
static void write_figures(FILE *out, const struct tt_point *point)
{
    for (int i = 0; i < point->n; i++) {
        const struct tt_candidate *c = &point->of[i];

        if (c->is.n == 0)
            continue;
        write_figure(out, point, c, &c->is, FOR_PEOPLE);
        fprintf(out, point->visits > 1 ? ", %.3f of the best\n" : "\n", c->times);
    }
}

void tt_figures_write(FILE *out, const struct tt_point *point, int visit)
{
    for (int i = 0; i < point->n; i++) {
        if (point->of[i].of[visit].n == 0)
            continue;
        write_figure(out, point, &point->of[i], &point->of[i].of[visit], TO_GO_ON_WITH);
        fputc('\n', out);
    }
    fprintf(out, "%s\n", end_of_point);
}

/* "ring/64K" of a collective, into c; false if there is no such. */
static bool read_name(enum tt_coll coll, const char *name, struct tt_candidate *c)
{
    const char *slash = strchr(name, '/');

    c->alg = tt_alg_find(coll, name, slash ? (size_t)(slash - name) : strlen(name));
    return c->alg && (!slash || tt_size_parse(slash + 1, &c->segment) == 0);
}

/* The candidate of that name and segment, made if need be; NULL: there is no room. */
static struct tt_candidate *seat_of(struct tt_point *point, const struct tt_candidate *c)
{
    for (int i = 0; i < point->n; i++)
        if (point->of[i].alg == c->alg && point->of[i].segment == c->segment)
            return &point->of[i];
    if (point->n == TT_MOST_CANDIDATES)
        return NULL;
    point->of[point->n] = (struct tt_candidate){.alg = c->alg, .segment = c->segment};
    return &point->of[point->n++];
}

/* Another visit of a size that is known, or a first one of a new size. What was cut short counts only if it is all
 * there is. */
static int add_visit(struct tt_points *points, const struct tt_point *visit, bool whole)
{
    struct tt_point *there = tt_points_find(points, visit->coll, visit->bytes);

    if (visit->n == 0 || (there && (!whole || there->visits == TT_MOST_VISITS)))
        return 0;
    if (!there) {
        if (tt_points_add(points, &(struct tt_point){.coll = visit->coll, .bytes = visit->bytes, .whole = whole}))
            return -1;
        there = &points->at[points->n - 1];
    }
    for (int i = 0; i < visit->n; i++) {
        struct tt_candidate *c = seat_of(there, &visit->of[i]);

        if (c)
            c->of[there->visits] = visit->of[i].of[0];
    }
    there->visits++;
    return 0;
}

/* A line, of a size and a candidate. false: it is of another kind. */
static bool read_figure(const char *line, struct tt_point *point, struct tt_candidate *c)
{
    char coll_name[64], bytes_word[32], name[64];
    struct tt_figure *is = &c->of[0];

    if (sscanf(line, "#: %63s %31s %63s %lf us +- %lf us, %d times", coll_name, bytes_word, name, &is->seconds,
               &is->noise, &is->n) != 6 ||
        is->n < 1)
        return false;
    is->seconds *= 1e-6;
    is->noise *= 1e-6;
    point->coll = tt_coll_find(coll_name, strlen(coll_name));
    return point->coll < TT_NCOLLS && tt_size_parse(bytes_word, &point->bytes) == 0 && read_name(point->coll, name, c);
}

/* Into the visit that it belongs to: the one before it ends where another size begins. */
static int take_line(const char *line, struct tt_points *points, struct tt_point *visit)
{
    struct tt_point point = {0};
    struct tt_candidate c = {0};
    int error = 0;

    if (!read_figure(line, &point, &c))
        return 0;
    if (point.coll != visit->coll || point.bytes != visit->bytes) {
        error = add_visit(points, visit, false);
        *visit = point;
    }
    if (visit->n < TT_MOST_CANDIDATES && !tt_point_find(visit, c.alg, c.segment))
        visit->of[visit->n++] = c;
    return error;
}

int tt_figures_read(FILE *in, struct tt_points *points)
{
    struct tt_point visit = {0};
    char line[512];
    int error = 0;

    while (!error && fgets(line, sizeof line, in)) {
        if (strncmp(line, end_of_point, strlen(end_of_point)) == 0) {
            error = add_visit(points, &visit, true);
            visit = (struct tt_point){0};
        } else if (strchr(line, '\n')) {
            error = take_line(line, points, &visit);
        }
    }
    error = error ? error : add_visit(points, &visit, false);
    for (int i = 0; i < points->n; i++)
        tt_point_sum_up(&points->at[i]);
    return error;
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
            for (int v = 0; v < points->at[i].visits; v++)
                tt_figures_write(out, &points->at[i], v);
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

/* What is being written: all rules, or in front of them those for buffers that are known to be on GPUs, which are
 * NCCL's alone; what else is chosen there is chosen without knowing where buffers are, for to agree on that takes time.
 */
struct sheet {
    FILE *out;
    const struct tt_tuning *t;
    const struct tt_points *points;
    bool on_gpus;
    int remarks;
};

static void write_rule(struct sheet *s, struct tt_rule *rule, int first, int end, const struct tt_candidate *chosen)
{
    char line[256];

    if (s->on_gpus && chosen->alg->delegate != TT_TO_NCCL)
        return;
    if (s->on_gpus)
        rule->when[TT_FACT_memory] = one(1);
    fprintf(s->out, "%s\n", tt_rule_print(rule, line, sizeof line));
    for (int i = first; i < end && !s->on_gpus; i++) {
        write_figures(s->out, &s->points->at[i]);
        s->remarks += remark(s->out, s->points, &s->points->at[i], chosen);
    }
}

/* The rule that begins with point i and all points that it takes; the next point's number. */
static int next_rule(struct sheet *s, int i, int64_t *from, const struct tt_candidate **choice)
{
    const struct tt_points *points = s->points;
    const struct tt_candidate *chosen = *choice, *next = NULL;
    struct tt_rule rule;
    int end = i + 1;
    int64_t to;

    for (; end < points->n && points->at[end].coll == points->at[i].coll; end++) {
        next = tt_tune_choose_at(points, end, chosen, s->on_gpus);
        if (next && !tt_same_choice(next, chosen))
            break;
        next = NULL;
    }
    to = next ? boundary(points->at[end - 1].bytes, points->at[end].bytes) : believed(s->t, &points->at[end - 1]);
    rule = rule_for(s->t, points->at[i].coll, chosen, *from, to);
    write_rule(s, &rule, i, end, chosen);
    *from = next ? to + 1 : 0;
    *choice = next;
    return end;
}

/* Of one collective, from point i on; the next one's first point. */
static int write_collective(struct sheet *s, int i)
{
    const enum tt_coll coll = s->points->at[i].coll;
    const struct tt_candidate *choice = NULL;
    int64_t from = 0;

    while (i < s->points->n && s->points->at[i].coll == coll) {
        choice = choice ? choice : tt_tune_choose_at(s->points, i, NULL, s->on_gpus);
        i = choice ? next_rule(s, i, &from, &choice) : i + 1;
    }
    return i;
}

int tt_tune_write_rules(FILE *out, const char *head, const struct tt_tuning *t, const struct tt_points *points)
{
    struct sheet gpus = {out, t, points, true, 0}, all = {out, t, points, false, 0};

    for (; *head; head += strcspn(head, "\n"), head += *head == '\n')
        fprintf(out, "# %.*s\n", (int)strcspn(head, "\n"), head);
    for (int i = 0; i < points->n;) {
        fputc('\n', out);
        write_collective(&gpus, i);
        i = write_collective(&all, i);
    }
    return all.remarks;
}
