/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be said of memory without running: that steps stay within the buffers of the call, leave the send buffer
 * alone, and that no two which may run at the same time touch the same elements if one writes them. Found by a
 * sweep over the sorted stretches that each round touches, n log n in its steps. */
#include "tests/prove_parts.h"

#include <stdlib.h>

/* A stretch of memory that a step touches. */
struct touch {
    struct tt_loc loc;
    int64_t end;
    bool writes;
    int step, lane;
};

enum { MOST_TOUCHES = TT_MAX_SOURCES + 1 };

static bool same_place(struct tt_loc x, struct tt_loc y)
{
    return x.buf == y.buf && x.at == y.at;
}

/* What a step touches, writes first. A source that is exactly the destination of a reduction is part of the write, and
 * so is what such a receive brings. */
static int touches(const struct tt_plan *p, int step, int lane, struct touch *out)
{
    const struct tt_step *s = &p->steps[step];
    struct tt_loc sources[TT_MAX_SOURCES];
    const int nsources = tt_step_sources(p, s, sources);
    int n = 0;

    if (s->verb != TT_SEND && s->verb != TT_FENCE)
        out[n++] = (struct touch){s->dst, s->dst.at + s->n, true, step, lane};
    if (s->verb == TT_RECV_REDUCE && !same_place(tt_step_landing(s), s->dst))
        out[n++] = (struct touch){tt_step_landing(s), tt_step_landing(s).at + s->n, true, step, lane};
    for (int i = 0; i < nsources; i++)
        if (!tt_step_reduces(s) || !same_place(sources[i], s->dst))
            out[n++] = (struct touch){sources[i], sources[i].at + s->n, false, step, lane};
    return n;
}

static bool check_places(struct proof *pr, int rank)
{
    const struct rank_state *r = &pr->ranks[rank];
    struct touch seen[MOST_TOUCHES];

    for (int l = 0; l < r->plan->nlanes; l++)
        for (int i = r->plan->lanes[l].first; i < r->plan->lanes[l].first + r->plan->lanes[l].count; i++)
            for (int n = touches(r->plan, i, l, seen); n-- > 0;) {
                if (seen[n].writes && seen[n].loc.buf == SEND)
                    return prove_accuse_step(pr, PROVE_WRITES_SEND, rank, i, "writes the send buffer");
                if (seen[n].loc.at < 0 || seen[n].end > r->extent[seen[n].loc.buf])
                    return prove_accuse_step(pr, PROVE_BOUNDS, rank, i, "reaches outside the buffers this rank has");
            }
    return true;
}

static int by_place(const void *x, const void *y)
{
    const struct touch *a = x, *b = y;

    if (a->loc.buf != b->loc.buf)
        return a->loc.buf < b->loc.buf ? -1 : 1;
    return a->loc.at < b->loc.at ? -1 : a->loc.at > b->loc.at;
}

/* Rounds are short and mostly in order already, where insertion beats qsort. */
static void sort_touches(struct touch *t, int n)
{
    if (n > 24) {
        qsort(t, (size_t)n, sizeof *t, by_place);
        return;
    }
    for (int i = 1; i < n; i++) {
        const struct touch x = t[i];
        int j = i;

        for (; j > 0 && by_place(&t[j - 1], &x) > 0; j--)
            t[j] = t[j - 1];
        t[j] = x;
    }
}

static bool accuse_overlap(struct proof *pr, int rank, const struct touch *x, const struct touch *y)
{
    return prove_accuse_pair(pr, PROVE_HAZARD, &(struct side){0, rank, x->step},
                       x->step == y->step ? "overlaps its own source:" : "runs at the same time as",
                       &(struct side){0, rank, y->step});
}

/* Sweeps over sorted touches, remembering who reached furthest: of all, and of those that write. */
static bool sweep_round(struct proof *pr, int rank, struct touch *t, int n)
{
    const struct touch *any = NULL, *write = NULL;

    sort_touches(t, n);
    for (int i = 0; i < n; i++) {
        const struct touch *before = t[i].writes ? any : write;

        if (before && before->loc.buf == t[i].loc.buf && before->end > t[i].loc.at)
            return accuse_overlap(pr, rank, before, &t[i]);
        if (!any || any->loc.buf != t[i].loc.buf || any->end < t[i].end)
            any = &t[i];
        if (t[i].writes && (!write || write->loc.buf != t[i].loc.buf || write->end < t[i].end))
            write = &t[i];
    }
    return true;
}

/* Do they run at the same time as others of that kind? Reductions that wait for the receives are not in their way, and
 * so neither are plain receives in theirs; all others run beside both. */
static bool runs_beside(const struct tt_step *s, bool receives)
{
    return s->verb != TT_FENCE && (receives ? !s->after : s->verb != TT_RECV);
}

static bool check_round(struct proof *pr, int rank, int lane, int from, int to, struct touch *t)
{
    const struct tt_plan *p = pr->ranks[rank].plan;
    bool after = false;

    for (int i = from; i < to; i++)
        after |= p->steps[i].after;
    for (int receives = 1; receives >= !after; receives--) {
        int n = 0;

        for (int i = from; i < to; i++)
            if (runs_beside(&p->steps[i], receives))
                n += touches(p, i, lane, t + n);
        if (!sweep_round(pr, rank, t, n))
            return false;
    }
    return true;
}

static bool check_rounds(struct proof *pr, int rank, struct touch *t)
{
    const struct tt_plan *p = pr->ranks[rank].plan;

    for (int l = 0; l < p->nlanes; l++) {
        const int end = p->lanes[l].first + p->lanes[l].count;

        for (int i = p->lanes[l].first, stop; i < end; i = stop + 1) {
            stop = tt_round_end(p, i, end);
            if (!check_round(pr, rank, l, i, stop, t))
                return false;
        }
    }
    return true;
}

/* As sweep_round, but it is only other lanes that matter, and all of their rounds. */
static bool sweep_lanes(struct proof *pr, int rank, struct touch *t, int n)
{
    const struct touch *any[TT_MAX_LANES] = {NULL}, *write[TT_MAX_LANES] = {NULL};

    sort_touches(t, n);
    for (int i = 0; i < n; i++) {
        const int lane = t[i].lane;

        for (int l = 0; l < TT_MAX_LANES; l++) {
            const struct touch *before = t[i].writes ? any[l] : write[l];

            if (l != lane && before && before->loc.buf == t[i].loc.buf && before->end > t[i].loc.at)
                return accuse_overlap(pr, rank, before, &t[i]);
        }
        if (!any[lane] || any[lane]->loc.buf != t[i].loc.buf || any[lane]->end < t[i].end)
            any[lane] = &t[i];
        if (t[i].writes && (!write[lane] || write[lane]->loc.buf != t[i].loc.buf || write[lane]->end < t[i].end))
            write[lane] = &t[i];
    }
    return true;
}

static bool check_lanes(struct proof *pr, int rank, struct touch *t)
{
    const struct tt_plan *p = pr->ranks[rank].plan;
    int n = 0;

    if (p->nlanes == 1)
        return true;
    for (int l = 0; l < p->nlanes; l++)
        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++)
            n += touches(p, i, l, t + n);
    return sweep_lanes(pr, rank, t, n);
}

bool prove_memory(struct proof *pr)
{
    size_t most = 1;
    struct touch *t;
    bool good = true;

    for (int r = 0; r < pr->size; r++) {
        const struct tt_plan *p = pr->ranks[r].plan;
        const size_t all = 3 * (size_t)p->nsteps + (size_t)p->nrest;

        most = all > most ? all : most;
    }
    t = malloc(most * sizeof *t);
    for (int r = 0; t && good && r < pr->size; r++)
        good = check_places(pr, r) && check_rounds(pr, r, t) && check_lanes(pr, r, t);
    free(t);
    return t && good;
}

