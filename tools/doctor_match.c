/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls that meet must be the same one: of each communicator, the first number is looked for under which ranks have
 * called different things. The fewer are to blame. Whether a rank left a call out, or made one too many, shows in what
 * the ranks called next; or, where they hang before that, in what followed the same call earlier. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

enum { GROUPS = 8, FURTHER = 16 };

/* Ranks that say the same. */
struct group {
    const struct doctor_member *first;
    const struct tt_record_line *line;
    int n;
};

struct split {
    struct group groups[GROUPS];
    int n;
};

static bool same_text(const struct record *ra, uint16_t a, const struct record *rb, uint16_t b)
{
    return strcmp(record_name(ra, a), record_name(rb, b)) == 0;
}

/* 0: not known, or like no other. */
static uint16_t kin(const struct record *r, const struct tt_record_line *l)
{
    return l->type && l->type < r->nnames ? r->names[l->type].kin : 0;
}

static bool other_type(const struct record *ra, const struct tt_record_line *a, const struct record *rb,
                       const struct tt_record_line *b)
{
    return kin(ra, a) && kin(rb, b) && kin(ra, a) != kin(rb, b);
}

const char *doctor_differ(const struct record *ra, const struct tt_record_line *a, const struct record *rb,
                          const struct tt_record_line *b)
{
    if (!same_text(ra, a->collective, rb, b->collective))
        return "collective";
    if (a->flavour != b->flavour)
        return "form";
    if (a->root != b->root)
        return "root";
    if (!same_text(ra, a->op, rb, b->op))
        return "op";
    if (a->bytes < 0 || b->bytes < 0)
        return NULL;
    if (other_type(ra, a, rb, b))
        return a->count == b->count || a->bytes == b->bytes ? "type" : "count and type";
    return a->bytes == b->bytes ? NULL : "count";
}

static const char *differ(const struct doctor_member *m, const struct tt_record_line *a, const struct doctor_member *k,
                          const struct tt_record_line *b)
{
    if (m->entry->inter) /* lengths and roots mean other things to either group */
        return strcmp(record_name(m->rank->r, a->collective), record_name(k->rank->r, b->collective)) ? "collective"
                                                                                                      : NULL;
    return doctor_differ(m->rank->r, a, k->rank->r, b);
}

/* ---- one number ---- */

static void sort_in(struct split *s, const struct doctor_member *m, const struct tt_record_line *l)
{
    int i = 0;

    while (i < s->n && differ(m, l, s->groups[i].first, s->groups[i].line))
        i++;
    if (i == GROUPS)
        return;
    if (i == s->n)
        s->groups[s->n++] = (struct group){m, l, 0};
    s->groups[i].n++;
}

static void split(struct split *s, const struct doctor_comm *c, uint64_t number)
{
    s->n = 0;
    for (int m = 0; m < c->size; m++) {
        const struct tt_record_line *l = doctor_line(&c->members[m], number);

        if (l)
            sort_in(s, &c->members[m], l);
    }
}

/* The largest first; of two equal ones that of the lower rank, as it was. */
static void order(struct split *s)
{
    int most = 0;

    for (int i = 1; i < s->n; i++)
        if (s->groups[i].n > s->groups[most].n)
            most = i;
    const struct group first = s->groups[most];

    memmove(s->groups + 1, s->groups, (size_t)most * sizeof *s->groups);
    s->groups[0] = first;
}

/* ---- left out, or one too many ---- */

/* From this number on, are a's calls those of b, one later? Not known (0), no (-1), or yes. */
static int shifted(const struct doctor_member *a, const struct doctor_member *b, uint64_t number)
{
    int same = 0;

    for (uint64_t i = number; i < number + FURTHER; i++) {
        const struct tt_record_line *x = doctor_line(a, i), *y = doctor_line(b, i + 1);

        if (!x || !y)
            break;
        if (differ(a, x, b, y))
            return -1;
        same++;
    }
    return same;
}

/* What b calls there, it has called before; did what a calls there come next then? */
static bool came_next(const struct doctor_member *a, const struct doctor_member *b, uint64_t number)
{
    const struct tt_record_line *x = doctor_line(a, number), *y = doctor_line(b, number);

    for (uint64_t i = number; i-- > b->first && x && y;) {
        const struct tt_record_line *before = doctor_line(b, i), *next = doctor_line(b, i + 1);

        if (before && next && before->caller == y->caller && !differ(b, before, b, y))
            return !differ(b, next, a, x);
    }
    return false;
}

static bool left_out(const struct doctor_member *odd, const struct doctor_member *others, uint64_t number)
{
    const int seen = shifted(odd, others, number);

    return seen > 0 || (seen == 0 && came_next(odd, others, number));
}

/* ---- telling ---- */

static void mark(struct doctor_set *set, const struct doctor_comm *c, const struct group *g, uint64_t number)
{
    for (int m = 0; m < c->size; m++) {
        const struct tt_record_line *l = doctor_line(&c->members[m], number);

        if (l && c->members[m].world >= 0 && !differ(&c->members[m], l, g->first, g->line))
            set->has[c->members[m].world] = 1;
    }
}

static void tell(struct doctor_job *job, const struct doctor_comm *c, const struct split *s, uint64_t number)
{
    const struct group *most = &s->groups[0], *odd = &s->groups[1];
    const char *field = differ(odd->first, odd->line, most->first, most->line);
    const char *name = record_name(odd->first->rank->r, odd->line->collective);
    struct doctor_finding *f = doctor_find(job, DOCTOR_MISMATCH, field, NULL, name);
    struct doctor_set others = doctor_set_make(job->size);
    const bool elsewhere =
        !doctor_same_caller(odd->first->rank->r, odd->line->caller, most->first->rank->r, most->line->caller);
    const bool skipped = elsewhere && left_out(odd->first, most->first, number);
    const bool added = elsewhere && left_out(most->first, odd->first, number);
    const char *how = skipped && !added   ? "skipped a call"
                      : added && !skipped ? "made a call too many"
                                          : "does not match";

    if (!f || !others.has)
        return;
    mark(&f->blame, c, odd, number);
    mark(&others, c, most, number);
    snprintf(f->text, sizeof f->text,
             "%s %s: in call %" PRIu64 " on %s it called %s, where %s called %s: the %s differs%s",
             doctor_ranks(&f->blame), how, number + 1, c->name, doctor_call(odd->first->rank, odd->line),
             doctor_ranks(&others), doctor_call(most->first->rank, most->line), field,
             most->n == odd->n && s->n == 2 ? " (as many ranks say the one as the other)" : "");
    free(others.has);
}

static void match(struct doctor_job *job, const struct doctor_comm *c)
{
    uint64_t from = UINT64_MAX, to = 0;
    struct split s;

    for (int m = 0; m < c->size; m++)
        if (c->members[m].n) {
            from = c->members[m].first < from ? c->members[m].first : from;
            to = c->members[m].first + c->members[m].n > to ? c->members[m].first + c->members[m].n : to;
        }
    if (to > from && to - from > DOCTOR_FARTHEST) /* some file is spoilt */
        to = from + DOCTOR_FARTHEST;
    for (uint64_t number = from; number < to; number++) {
        split(&s, c, number);
        if (s.n < 2)
            continue;
        order(&s);
        tell(job, c, &s, number);
        return;
    }
}

void doctor_match(struct doctor_job *job)
{
    for (int i = 0; i < job->ncomms; i++)
        match(job, &job->comms[i]);
}
