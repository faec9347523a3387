/* SPDX-License-Identifier: BSD-3-Clause */
/* Fuse: algorithms say what is folded, in small steps; this pass finds those that memory need not see one by one.
 *
 * First, a reduction whose result only another one reads becomes part of that: operands of a direct algorithm are read
 * once each and the result is written once, in one launch on a device, where p-1 steps read and wrote sums in between.
 * Then, a receive whose content only a reduction of the next round reads becomes one step with it: a wire that can
 * reduces what arrives as it comes, any other has the message in cache when it reduces. Where a reduction reads several
 * receives of one round it moves into that round, to be done when all have arrived, and they may be read where the
 * senders have them.
 *
 * A step may go only where nobody can tell: what it reads must still, or already, be there, and nobody else may touch
 * what it writes. So each lane is swept round by round with a map of which step wrote each stretch of memory last. The
 * map is a sorted array, a step costs its logarithm. The prover proves what comes out like any other plan. */
#include "coll/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NOBODY = -1, MANY = -2 };

/* Memory from a place up to end, which a step touched last. */
struct stretch {
    struct tt_loc from;
    int64_t end;
    int step;
};

/* Disjoint, in the order of places. */
struct map {
    struct stretch *of;
    int n, room;
};

/* What is known of a step. */
struct fact {
    int reader;   /* the one step that reads all it wrote, and nothing but that; NOBODY, MANY */
    int round;    /* of its lane, from 1 on */
    int below;    /* the round in which what lay there before was written; 0: before all */
    bool dropped; /* it has become part of another step, */
    bool undone;  /* and what it wrote is not written any more */
    bool early;   /* it goes into the round before */
};

struct pass {
    struct tt_plan *p; /* rewritten in place */
    int rest_room;
    int most; /* sources of one step */
    struct fact *facts;
    struct map last;                        /* who wrote it last, before this round */
    struct map reads, writes;               /* of this round */
    struct map reads_before, writes_before; /* of the one before */
    bool failed;                            /* for want of memory */
};

/* ---- maps ---- */

static bool is_before(const struct stretch *s, struct tt_loc at)
{
    return s->from.buf < at.buf || (s->from.buf == at.buf && s->end <= at.at);
}

/* The first stretch that does not end before that place. */
static int map_find(const struct map *m, struct tt_loc at)
{
    int low = 0, high = m->n;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (is_before(&m->of[middle], at))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Does stretch i exist and reach into the n elements at that place? */
static bool map_reaches(const struct map *m, int i, struct tt_loc at, int64_t n)
{
    return i < m->n && m->of[i].from.buf == at.buf && m->of[i].from.at < at.at + n;
}

static bool map_grow(struct map *m)
{
    struct stretch *more;

    if (m->n + 2 <= m->room)
        return true;
    more = realloc(m->of, (2 * (size_t)m->room + 16) * sizeof *more);
    if (!more)
        return false;
    m->of = more;
    m->room = 2 * m->room + 16;
    return true;
}

/* From now on it is that step that touched it last. */
static void map_put(struct pass *w, struct map *m, struct tt_loc at, int64_t n, int step)
{
    const int i = map_find(m, at);
    struct stretch with[3];
    int j = i, k = 0;

    if (!map_grow(m)) {
        w->failed = true;
        return;
    }
    while (map_reaches(m, j, at, n))
        j++;
    if (i < j && m->of[i].from.at < at.at)
        with[k++] = (struct stretch){m->of[i].from, at.at, m->of[i].step};
    with[k++] = (struct stretch){at, at.at + n, step};
    if (i < j && m->of[j - 1].end > at.at + n)
        with[k++] = (struct stretch){tt_plus(at, n), m->of[j - 1].end, m->of[j - 1].step};
    memmove(m->of + i + k, m->of + j, (size_t)(m->n - j) * sizeof *m->of);
    memcpy(m->of + i, with, (size_t)k * sizeof *with);
    m->n += k - (j - i);
}

/* Has anybody but that step touched it? */
static bool map_has_other(const struct map *m, struct tt_loc at, int64_t n, int step)
{
    for (int i = map_find(m, at); map_reaches(m, i, at, n); i++)
        if (m->of[i].step != step)
            return true;
    return false;
}

static void map_swap(struct map *x, struct map *y)
{
    const struct map z = *x;

    *x = *y;
    *y = z;
}

/* ---- places ---- */

static bool same_place(struct tt_loc x, struct tt_loc y)
{
    return x.buf == y.buf && x.at == y.at;
}

static bool overlap(struct tt_loc x, struct tt_loc y, int64_t n)
{
    return x.buf == y.buf && x.at < y.at + n && y.at < x.at + n;
}

/* The step that wrote exactly these n elements, and nothing else, and is the last that wrote any of them; or NOBODY. */
static int sole_writer(const struct pass *w, struct tt_loc at, int64_t n)
{
    const int i = map_find(&w->last, at);
    const struct stretch *s;
    const struct tt_step *step;

    if (!map_reaches(&w->last, i, at, n))
        return NOBODY;
    s = &w->last.of[i];
    step = &w->p->steps[s->step];
    return same_place(s->from, at) && s->end == at.at + n && same_place(step->dst, at) && step->n == n ? s->step
                                                                                                       : NOBODY;
}

/* The round in which any of it was last written. */
static int written_in(const struct pass *w, struct tt_loc at, int64_t n)
{
    int last = 0;

    for (int i = map_find(&w->last, at); map_reaches(&w->last, i, at, n); i++) {
        const struct fact *f = &w->facts[w->last.of[i].step];
        const int round = f->undone ? f->below : f->round;

        last = round > last ? round : last;
    }
    return last;
}

/* ---- the sweep ---- */

static void note_round(struct pass *w, int from, int to)
{
    struct tt_loc sources[TT_MAX_SOURCES];

    map_swap(&w->reads, &w->reads_before);
    map_swap(&w->writes, &w->writes_before);
    w->reads.n = w->writes.n = 0;
    for (int i = from; i < to; i++) {
        const struct tt_step *s = &w->p->steps[i];

        for (int k = tt_step_sources(w->p, s, sources); k-- > 0;)
            map_put(w, &w->reads, sources[k], s->n, i);
        if (s->verb != TT_SEND)
            map_put(w, &w->writes, s->dst, s->n, i);
    }
}

static void end_round(struct pass *w, int from, int to)
{
    for (int i = from; i < to; i++) {
        const struct tt_step *s = &w->p->steps[i];

        if (s->verb == TT_SEND)
            continue;
        w->facts[i].below = written_in(w, s->dst, s->n);
        map_put(w, &w->last, s->dst, s->n, i);
    }
}

typedef void decide_round(struct pass *w, int from, int to);

static void sweep_lane(struct pass *w, const struct tt_lane *lane, decide_round *decide)
{
    const int end = lane->first + lane->count;
    int round = 0;

    w->last.n = w->reads.n = w->writes.n = 0;
    for (int i = lane->first, stop; i < end; i = stop + 1) {
        stop = tt_round_end(w->p, i, end);
        round++;
        for (int j = i; j < stop; j++)
            w->facts[j].round = round;
        note_round(w, i, stop);
        decide(w, i, stop);
        end_round(w, i, stop);
    }
}

static void sweep(struct pass *w, decide_round *decide)
{
    for (int l = 0; l < w->p->nlanes; l++)
        sweep_lane(w, &w->p->lanes[l], decide);
}

/* ---- who reads what ---- */

/* A read of a part, or of parts of several, is none that a step could be joined with. */
static void note_read(struct pass *w, struct tt_loc at, int64_t n, int reader)
{
    const int sole = sole_writer(w, at, n);

    if (sole != NOBODY) {
        w->facts[sole].reader = w->facts[sole].reader == NOBODY ? reader : MANY;
        return;
    }
    for (int i = map_find(&w->last, at); map_reaches(&w->last, i, at, n); i++)
        w->facts[w->last.of[i].step].reader = MANY;
}

/* What is overwritten in part may still be read in part. */
static void note_overwriting(struct pass *w, const struct tt_step *s)
{
    for (int i = map_find(&w->last, s->dst); map_reaches(&w->last, i, s->dst, s->n); i++)
        if (w->last.of[i].from.at < s->dst.at || w->last.of[i].end > s->dst.at + s->n)
            w->facts[w->last.of[i].step].reader = MANY;
}

static void note_readers(struct pass *w, int from, int to)
{
    struct tt_loc sources[TT_MAX_SOURCES];

    for (int i = from; i < to; i++) {
        const struct tt_step *s = &w->p->steps[i];

        for (int k = tt_step_sources(w->p, s, sources); k-- > 0;)
            note_read(w, sources[k], s->n, i);
    }
    for (int i = from; i < to; i++)
        if (w->p->steps[i].verb != TT_SEND)
            note_overwriting(w, &w->p->steps[i]);
}

/* The result, which is in the user's buffers at the end, has a reader outside of the plan. */
static void note_results(struct pass *w)
{
    for (int i = 0; i < w->last.n; i++)
        if (w->last.of[i].from.buf != TMP)
            w->facts[w->last.of[i].step].reader = MANY;
}

static void find_readers(struct pass *w)
{
    for (int i = 0; i < w->p->nsteps; i++)
        w->facts[i] = (struct fact){.reader = NOBODY};
    for (int l = 0; l < w->p->nlanes; l++) {
        sweep_lane(w, &w->p->lanes[l], note_readers);
        note_results(w);
    }
}

/* ---- reductions into one of several sources ---- */

struct operands {
    int n;
    struct tt_loc of[TT_MAX_SOURCES];
    unsigned order;
    int made; /* by which step that would become part of another; NOBODY: it is one place, and stays one */
};

static struct operands operands_of(const struct pass *w, const struct tt_step *s)
{
    struct operands o = {.order = s->order};

    o.n = tt_step_sources(w->p, s, o.of);
    if (o.n < TT_MAX_SOURCES)
        o.order &= (1u << 4 * o.n) - 1;
    return o;
}

/* x op y; n is 0 if there is no room for both. */
static struct operands join(const struct pass *w, const struct operands *x, const struct operands *y)
{
    struct operands o = *x;
    int waiting = 0, most = 0;

    if (x->n + y->n > w->most)
        return (struct operands){0};
    memcpy(o.of + o.n, y->of, (size_t)y->n * sizeof *y->of);
    o.n += y->n;
    o.order |= (y->order << 4 * x->n) + (1u << 4 * (o.n - 1));
    for (int j = 0; j < o.n; j++) {
        waiting += 1 - tt_foldings(o.order, j);
        most = waiting > most ? waiting : most;
    }
    return most > TT_MAX_WAITING ? (struct operands){0} : o;
}

/* Could step c read at its time what y read at its own, and would it not be disturbed, nor disturb itself? */
static bool may_read_late(const struct pass *w, int y, int c)
{
    const struct tt_step *s = &w->p->steps[c];
    struct tt_loc sources[TT_MAX_SOURCES];

    for (int k = tt_step_sources(w->p, &w->p->steps[y], sources); k-- > 0;) {
        struct tt_loc at = sources[k];

        if (map_has_other(&w->writes, at, s->n, c) || (overlap(at, s->dst, s->n) && !same_place(at, s->dst)))
            return false;
        for (int i = map_find(&w->last, at); map_reaches(&w->last, i, at, s->n); i++) {
            const struct fact *f = &w->facts[w->last.of[i].step];

            if ((f->undone || w->last.of[i].step == y ? f->below : f->round) >= w->facts[y].round)
                return false;
        }
    }
    return true;
}

/* An operand of step c: those of the reduction that made it, if that can become part of c. */
static struct operands unfold(const struct pass *w, int c, struct tt_loc at)
{
    const int y = sole_writer(w, at, w->p->steps[c].n);
    struct operands o;

    if (y == NOBODY || w->p->steps[y].verb != TT_REDUCE || w->facts[y].reader != c || !may_read_late(w, y, c))
        return (struct operands){.n = 1, .of = {at}, .made = NOBODY};
    o = operands_of(w, &w->p->steps[y]);
    o.made = y;
    return o;
}

/* The sources of step c from now on. */
static void set_operands(struct pass *w, int c, const struct operands *o)
{
    struct tt_plan *p = w->p;
    struct tt_step *s = &p->steps[c];

    if (p->nrest + o->n > w->rest_room) {
        const int room = 2 * w->rest_room + 64;
        struct tt_loc *rest = realloc(p->rest, (size_t)room * sizeof *rest);

        if (!rest) {
            w->failed = true;
            return;
        }
        p->rest = rest;
        w->rest_room = room;
    }
    s->a = o->of[0];
    s->b = o->of[1];
    s->order = o->order;
    s->more = o->n - 2;
    s->rest = p->nrest;
    for (int k = 2; k < o->n; k++)
        p->rest[p->nrest++] = o->of[k];
}

static void drop(struct pass *w, int step)
{
    if (step != NOBODY)
        w->facts[step].dropped = w->facts[step].undone = true;
}

/* Both operands' operands, or, where there is no room for all, the left one's, or the right one's. */
static void merge(struct pass *w, int c)
{
    const struct tt_step *s = &w->p->steps[c];
    const struct operands a = {.n = 1, .of = {s->a}, .made = NOBODY}, b = {.n = 1, .of = {s->b}, .made = NOBODY};
    const struct operands x = unfold(w, c, s->a), y = unfold(w, c, s->b);

    for (int i = 0; i < 3; i++) {
        const struct operands *left = i == 2 ? &a : &x, *right = i == 1 ? &b : &y, o = join(w, left, right);

        if (o.n <= 2)
            continue;
        set_operands(w, c, &o);
        drop(w, left->made);
        drop(w, right->made);
        return;
    }
}

static void merge_round(struct pass *w, int from, int to)
{
    for (int i = from; i < to; i++)
        if (w->p->steps[i].verb == TT_REDUCE)
            merge(w, i);
}

/* ---- receives that reduce ---- */

/* The receive of the round before that brings an operand of step c, to it alone; or NOBODY. */
static int brings(const struct pass *w, int c, struct tt_loc at)
{
    const int r = sole_writer(w, at, w->p->steps[c].n);

    return r != NOBODY && w->p->steps[r].verb == TT_RECV && w->facts[r].reader == c &&
                   w->facts[r].round == w->facts[c].round - 1
               ? r
               : NOBODY;
}

/* Could step c be carried out in the round before, when what is received there has arrived? It would read nothing that
 * is made there in another way, nor touch what others do. */
static bool may_go_early(const struct pass *w, int c)
{
    const struct tt_step *s = &w->p->steps[c];
    struct tt_loc sources[TT_MAX_SOURCES];
    int own = NOBODY; /* the receive that lands in dst */

    for (int k = tt_step_sources(w->p, s, sources); k-- > 0;) {
        const int r = brings(w, c, sources[k]);

        if (r == NOBODY && written_in(w, sources[k], s->n) >= w->facts[c].round - 1)
            return false;
        if (same_place(sources[k], s->dst))
            own = r;
    }
    return !map_has_other(&w->writes_before, s->dst, s->n, own) &&
           !map_has_other(&w->reads_before, s->dst, s->n, NOBODY);
}

/* Makes one step of c and the receive that brings its operand number `lands`. */
static void receive_into(struct pass *w, int c, int r, int lands)
{
    const struct tt_step *s = &w->p->steps[c];
    struct tt_step *receive = &w->p->steps[r];

    receive->verb = TT_RECV_REDUCE;
    receive->dst = s->dst;
    receive->a = s->a;
    receive->b = s->b;
    receive->lands = lands;
    receive->order = s->order;
    w->facts[c].dropped = true;
}

/* c waits for several. */
static void reduce_after(struct pass *w, int c)
{
    struct tt_loc sources[TT_MAX_SOURCES];

    for (int k = tt_step_sources(w->p, &w->p->steps[c], sources); k-- > 0;) {
        const int r = brings(w, c, sources[k]);

        if (r != NOBODY)
            w->p->steps[r].lends = true;
    }
    w->p->steps[c].after = true;
    w->facts[c].early = true;
}

/* What step c has to wait for in the round before becomes one with it, if there is anything and it can. */
static void receive_for(struct pass *w, int c)
{
    const struct tt_step *s = &w->p->steps[c];
    struct tt_loc sources[TT_MAX_SOURCES];
    int r = NOBODY, lands = 0, brought = 0;

    for (int k = tt_step_sources(w->p, s, sources); k-- > 0;)
        if (brings(w, c, sources[k]) != NOBODY) {
            r = brings(w, c, sources[k]);
            lands = k;
            brought++;
        }
    if (!brought || !may_go_early(w, c))
        return;
    if (brought == 1 && !s->more)
        receive_into(w, c, r, lands);
    else
        reduce_after(w, c);
    w->facts[c].round--;
}

/* A round that has messages of its own has its reductions run under them, which would be lost. */
static void receive_round(struct pass *w, int from, int to)
{
    for (int i = from; i < to; i++)
        if (tt_step_is_message(&w->p->steps[i]))
            return;
    for (int i = from; i < to; i++)
        if (w->p->steps[i].verb == TT_REDUCE)
            receive_for(w, i);
}

/* ---- the whole ---- */

/* The steps of the round from there on that go into the one before. Returns how many there are in out then. */
static int put_early(const struct pass *w, int from, int end, struct tt_step *out, int n)
{
    for (int i = from; i < end && w->p->steps[i].verb != TT_FENCE; i++)
        if (w->facts[i].early)
            out[n++] = w->p->steps[i];
    return n;
}

static int put_lane(const struct pass *w, const struct tt_lane *lane, struct tt_step *out, int n)
{
    const int end = lane->first + lane->count, first = n;

    for (int i = lane->first; i < end; i++) {
        const struct tt_step *s = &w->p->steps[i];

        if (s->verb == TT_FENCE) {
            n = put_early(w, i + 1, end, out, n);
            if (n > first && out[n - 1].verb != TT_FENCE)
                out[n++] = *s;
        } else if (!w->facts[i].dropped && !w->facts[i].early) {
            out[n++] = *s;
        }
    }
    return n - (n > first && out[n - 1].verb == TT_FENCE);
}

/* Takes out what was dropped, and fences that have nothing to part any more, and moves what goes early. */
static void close_ranks(struct pass *w)
{
    struct tt_plan *p = w->p;
    struct tt_step *out = malloc(((size_t)p->nsteps + 1) * sizeof *out);
    int n = 0;

    if (!out) {
        w->failed = true;
        return;
    }
    for (int l = 0; l < p->nlanes; l++) {
        const int first = n;

        n = put_lane(w, &p->lanes[l], out, n);
        p->lanes[l] = (struct tt_lane){first, n - first};
    }
    free(p->steps);
    p->steps = out;
    p->nsteps = n;
}

static void fuse(struct pass *w)
{
    if (w->most > 2) {
        find_readers(w);
        sweep(w, merge_round);
        close_ranks(w);
    }
    find_readers(w);
    sweep(w, receive_round);
    close_ranks(w);
    tt_plan_measure(w->p);
}

static void close_pass(struct pass *w)
{
    struct map *const maps[] = {&w->last, &w->reads, &w->writes, &w->reads_before, &w->writes_before};

    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        free(maps[i]->of);
    free(w->facts);
}

struct tt_plan *tt_pass_fuse(const struct tt_plan *p, int most)
{
    struct pass w = {.p = tt_plan_like(p, true), .most = most};

    if (!w.p)
        return NULL;
    w.facts = malloc(((size_t)p->nsteps + 1) * sizeof *w.facts);
    if (w.facts)
        fuse(&w);
    if (!w.facts || w.failed) {
        tt_plan_free(w.p);
        w.p = NULL;
        errno = ENOMEM;
    }
    close_pass(&w);
    return w.p;
}
