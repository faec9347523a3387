/* SPDX-License-Identifier: BSD-3-Clause */
/* How a plan is proved. What can be seen without running is looked at first: places against the extents that the
 * standard gives each buffer, overlaps within rounds and between lanes, the two sides of every message. Then
 * all ranks run together on symbols, each round posting all its steps at once and a message passing only when
 * both sides are posted. Since overlaps have been excluded by then, one order of execution stands for all.
 *
 * A value is (tree, at): how ranks' parts were folded, and which element of them. Trees know ranks only and are
 * shared (equal trees are the same number), so there are a few thousand of them however long the vectors are, and
 * comparing two expressions is comparing two integers. */
#include "tests/prove_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the forest ---- */

static bool forest_open(struct forest *f, int size)
{
    f->capacity = 1024;
    f->nslots = 2048;
    f->count = FIRST_FOLD;
    f->trees = malloc(f->capacity * sizeof *f->trees);
    f->slots = calloc(f->nslots, sizeof *f->slots);
    if (!f->trees || !f->slots)
        return false;
    memset(f->trees, 0, FIRST_FOLD * sizeof *f->trees);
    for (int r = 0; r < size; r++)
        f->trees[FIRST_LEAF + r].ranks = (uint64_t)1 << r;
    return true;
}

static void forest_close(struct forest *f)
{
    free(f->trees);
    free(f->slots);
}

/* The slot where a op b is, or belongs. */
static uint32_t *forest_slot(const struct forest *f, uint32_t a, uint32_t b)
{
    uint32_t i = (a * 2654435761u ^ b * 2246822519u) >> 7;

    while (f->slots[i %= f->nslots] && (f->trees[f->slots[i]].a != a || f->trees[f->slots[i]].b != b))
        i++;
    return &f->slots[i];
}

static bool forest_grow(struct forest *f)
{
    struct tree *trees = realloc(f->trees, 2 * f->capacity * sizeof *trees);
    uint32_t *slots = calloc(2 * f->nslots, sizeof *slots);

    f->trees = trees ? trees : f->trees;
    if (!trees || !slots) {
        free(slots);
        return false;
    }
    free(f->slots);
    f->slots = slots;
    f->capacity *= 2;
    f->nslots *= 2;
    for (uint32_t i = FIRST_FOLD; i < f->count; i++)
        *forest_slot(f, trees[i].a, trees[i].b) = i;
    return true;
}

/* The tree a op b; NOBODY when out of memory. */
static uint32_t forest_fold(struct forest *f, uint32_t a, uint32_t b)
{
    uint32_t *slot = forest_slot(f, a, b);

    if (*slot)
        return *slot;
    if (f->count == f->capacity) {
        if (!forest_grow(f))
            return NOBODY;
        slot = forest_slot(f, a, b);
    }
    f->trees[f->count] = (struct tree){a, b, f->trees[a].ranks | f->trees[b].ranks};
    return *slot = f->count++;
}

/* ---- what the call gives and promises ---- */

static int64_t block_of(const struct tt_shape *s, int rank)
{
    return s->counts ? s->counts[rank] : s->count;
}

static void set_extents(const struct tt_shape *s, int rank, struct rank_state *r)
{
    r->extent[SEND] = tt_whole_elements(s, rank, SEND);
    r->extent[RECV] = tt_whole_elements(s, rank, RECV);
    r->extent[TMP] = r->plan->tmp;
    r->extent[PIN] = r->plan->pin;
}

static void plant(struct rank_state *r, struct tt_loc loc, int64_t n)
{
    const uint32_t leaf = FIRST_LEAF + (uint32_t)r->plan->rank;

    for (int64_t i = 0; i < n; i++)
        r->memory[loc.buf][loc.at + i] = (struct value){leaf, (int32_t)i};
}

/* The contribution of a rank, where its caller put it. A barrier's messages have no content, so for it scratch is as
 * good as written. */
static void plant_rank(const struct tt_shape *s, struct rank_state *r)
{
    int64_t n;
    const struct tt_loc loc = tt_whole_brought(s, r->plan->rank, &n);

    plant(r, loc, n);
    if (s->coll == TT_COLL_barrier)
        plant(r, tt_at(TMP, 0), r->extent[TMP]);
}

/* The ranks from 0 up to `end`. */
static uint64_t ranks_below(int end)
{
    return end ? ~(uint64_t)0 >> (PROVE_MAX_RANKS - end) : 0;
}

static uint64_t everybody(const struct proof *pr)
{
    return ranks_below(pr->size);
}

static bool accuse_result(struct proof *pr, enum prove_fault fault, int rank, int64_t i, uint64_t who, int64_t at)
{
    struct text t = prove_accuse(pr, fault);
    const int last = PROVE_MAX_RANKS - 1 - __builtin_clzll(who);

    prove_say(&t, "rank %d, RECV[%lld]: expected ", rank, (long long)i);
    if (who & (who - 1))
        prove_say(&t, "the parts of ranks 0 to %d, each once,", last);
    else
        prove_say(&t, "%d", last);
    prove_say(&t, " of element %lld, seen ", (long long)at);
    prove_say_value(&t, &pr->forest, pr->ranks[rank].memory[RECV][i]);
    return false;
}

/* RECV[first .. first + n) of a rank must be elements at ... of the parts of `who`, folded if there are several. */
static bool expect(struct proof *pr, int rank, int64_t first, int64_t n, uint64_t who, int64_t at)
{
    for (int64_t i = 0; i < n; i++) {
        const struct value v = pr->ranks[rank].memory[RECV][first + i];

        if (pr->forest.trees[v.tree].ranks != who)
            return accuse_result(pr, PROVE_WRONG_CONTRIBUTIONS, rank, first + i, who, at + i);
        if (v.at != at + i)
            return accuse_result(pr, PROVE_MISPLACED, rank, first + i, who, at + i);
    }
    return true;
}

static uint64_t only(int rank)
{
    return (uint64_t)1 << rank;
}

/* RECV is the whole part of every rank, in rank order. */
static bool expect_gathered(struct proof *pr, int rank)
{
    for (int r = 0; r < pr->size; r++)
        if (!expect(pr, rank, tt_offset(pr->shape, r), block_of(pr->shape, r), only(r), 0))
            return false;
    return true;
}

/* RECV is, of every rank's part, the block that is meant for this one. */
static bool expect_exchanged(struct proof *pr, int rank)
{
    const struct tt_shape *s = pr->shape;
    int64_t first = 0;

    for (int r = 0; r < pr->size; r++) {
        const int64_t n = tt_whole_block(s, r, rank);

        if (!expect(pr, rank, first, n, only(r), n ? tt_whole_sent(s, r, rank) : 0))
            return false;
        first += n;
    }
    return true;
}

/* Rank 0 has no result of an exscan, and in place what it has stays what it was. */
static bool expect_exscan(struct proof *pr, int rank)
{
    const int64_t n = pr->shape->count;

    if (rank > 0)
        return expect(pr, rank, 0, n, ranks_below(rank), 0);
    return !pr->ranks[rank].inplace || expect(pr, rank, 0, n, only(0), 0);
}

static bool expect_scattered(struct proof *pr, int rank)
{
    const struct tt_shape *s = pr->shape;

    return pr->ranks[rank].inplace || expect(pr, rank, 0, block_of(s, rank), only(s->root), tt_offset(s, rank));
}

static bool expect_all_entered(struct proof *pr, int rank)
{
    const struct rank_state *r = &pr->ranks[rank];
    uint64_t knows = (uint64_t)1 << rank;
    struct text t;

    for (int l = 0; l < r->plan->nlanes; l++)
        knows |= r->tracks[l].knows;
    if (knows == everybody(pr))
        return true;
    t = prove_accuse(pr, PROVE_EARLY);
    prove_say(&t, "rank %d: expected to know that ranks 0 to %d have entered, seen that it cannot know of rank %d",
              rank, pr->size - 1, __builtin_ctzll(~knows));
    return false;
}

static bool expect_promise(struct proof *pr, int rank)
{
    const struct tt_shape *s = pr->shape;

    switch (s->coll) {
    case TT_COLL_allreduce: return expect(pr, rank, 0, s->count, everybody(pr), 0);
    case TT_COLL_reduce: return rank != s->root || expect(pr, rank, 0, s->count, everybody(pr), 0);
    case TT_COLL_scan: return expect(pr, rank, 0, s->count, ranks_below(rank + 1), 0);
    case TT_COLL_exscan: return expect_exscan(pr, rank);
    case TT_COLL_reduce_scatter: return expect(pr, rank, 0, block_of(s, rank), everybody(pr), tt_offset(s, rank));
    case TT_COLL_bcast: return expect(pr, rank, 0, s->count, only(s->root), 0);
    case TT_COLL_allgather:
    case TT_COLL_allgatherv: return expect_gathered(pr, rank);
    case TT_COLL_gather:
    case TT_COLL_gatherv: return rank != s->root || expect_gathered(pr, rank);
    case TT_COLL_scatter:
    case TT_COLL_scatterv: return expect_scattered(pr, rank);
    case TT_COLL_alltoall:
    case TT_COLL_alltoallv: return expect_exchanged(pr, rank);
    default: return expect_all_entered(pr, rank);
    }
}

/* Every rank of an allreduce must hold bit for bit the same, whatever rounding does: so the same trees. */
static bool expect_same_trees(struct proof *pr, int rank)
{
    const struct value *x = pr->ranks[0].memory[RECV], *y = pr->ranks[rank].memory[RECV];
    struct text t;

    for (int64_t i = 0; pr->shape->coll == TT_COLL_allreduce && i < pr->shape->count; i++) {
        if (x[i].tree == y[i].tree)
            continue;
        t = prove_accuse(pr, PROVE_TREES_DIFFER);
        prove_say(&t, "ranks 0 and %d, RECV[%lld]: expected one tree, seen ", rank, (long long)i);
        prove_say_value(&t, &pr->forest, x[i]);
        prove_say(&t, " and ");
        prove_say_value(&t, &pr->forest, y[i]);
        return false;
    }
    return true;
}

/* ---- the canonical trees, told in another way than algorithms build them ---- */

/* Of the parts lo .. hi - 1, a power of two of them, of which the first `pairs` are two ranks each. */
static uint32_t balanced(struct forest *f, int lo, int hi, int pairs)
{
    const int middle = (lo + hi) / 2;

    if (hi - lo > 1)
        return forest_fold(f, balanced(f, lo, middle, pairs), balanced(f, middle, hi, pairs));
    if (lo < pairs)
        return forest_fold(f, FIRST_LEAF + 2 * (uint32_t)lo, FIRST_LEAF + 2 * (uint32_t)lo + 1);
    return FIRST_LEAF + (uint32_t)(lo + pairs);
}

/* Of the ranks lo .. hi - 1: a power of two of them and the rest. */
static uint32_t of_prefix(struct forest *f, int lo, int hi)
{
    const int most = tt_pow2_below(hi - lo);
    const uint32_t first = balanced(f, lo, lo + most, 0);

    return lo + most == hi ? first : forest_fold(f, first, of_prefix(f, lo + most, hi));
}

static uint32_t canonical(struct proof *pr, int rank)
{
    const int parts = tt_pow2_below(pr->size);

    switch (pr->shape->coll) {
    case TT_COLL_scan: return of_prefix(&pr->forest, 0, rank + 1);
    case TT_COLL_exscan: return rank ? of_prefix(&pr->forest, 0, rank) : FIRST_LEAF;
    default: return balanced(&pr->forest, 0, parts, pr->size - parts);
    }
}

/* What a rank has for a result, each element of it, must be that tree. */
static bool expect_canonical(struct proof *pr, int rank)
{
    const struct tt_shape *s = pr->shape;
    const int64_t n = pr->ranks[rank].extent[RECV] ? block_of(s, rank) : 0;
    const uint32_t tree = s->reproducible ? canonical(pr, rank) : NOBODY;
    struct text t;

    for (int64_t i = 0; s->reproducible && i < n; i++) {
        if (pr->ranks[rank].memory[RECV][i].tree == tree)
            continue;
        t = prove_accuse(pr, PROVE_NOT_CANONICAL);
        prove_say(&t, "rank %d, RECV[%lld]: expected ", rank, (long long)i);
        prove_say_value(&t, &pr->forest, (struct value){tree, pr->ranks[rank].memory[RECV][i].at});
        prove_say(&t, ", seen ");
        prove_say_value(&t, &pr->forest, pr->ranks[rank].memory[RECV][i]);
        return false;
    }
    return true;
}

static bool check_results(struct proof *pr)
{
    for (int r = 0; r < pr->size; r++)
        if (!expect_promise(pr, r) || !expect_same_trees(pr, r) || !expect_canonical(pr, r))
            return false;
    return true;
}

/* ---- running on symbols ---- */

static struct value *values(const struct rank_state *r, struct tt_loc loc)
{
    return r->memory[loc.buf] + loc.at;
}

static bool accuse_unwritten(struct proof *pr, int rank, int step, struct tt_loc loc, int64_t i)
{
    char words[120];
    struct text t = {words, sizeof words};

    prove_say(&t, "reads ");
    prove_say_place(&t, tt_plus(loc, i), 1);
    prove_say(&t, ", which nobody has written");
    return prove_accuse_step(pr, PROVE_UNINITIALISED, rank, step, words);
}

/* Moves n values that the step of `rank` reads at src. */
static bool move(struct proof *pr, int rank, int step, struct value *dst, struct tt_loc src, int64_t n)
{
    const struct value *from = values(&pr->ranks[rank], src);

    for (int64_t i = 0; i < n; i++) {
        if (from[i].tree == NOBODY)
            return accuse_unwritten(pr, rank, step, src, i);
        dst[i] = from[i];
    }
    return true;
}

static bool accuse_fold(struct proof *pr, enum prove_fault fault, int rank, int step, struct value a, struct value b)
{
    char words[420];
    struct text t = {words, sizeof words};

    prove_say(&t, "folds ");
    prove_say_value(&t, &pr->forest, a);
    prove_say(&t, " with ");
    prove_say_value(&t, &pr->forest, b);
    return prove_accuse_step(pr, fault, rank, step, words);
}

/* Whether a op b can be part of a right result. In order means that b's ranks follow a's immediately: trees made of
 * such foldings alone, and only those, have all their leaves in rank order. */
static bool may_fold(struct proof *pr, int rank, int step, struct value a, struct value b)
{
    const uint64_t x = pr->forest.trees[a.tree].ranks, y = pr->forest.trees[b.tree].ranks;

    if (a.at != b.at)
        return accuse_fold(pr, PROVE_MISPLACED, rank, step, a, b);
    if (x & y)
        return accuse_fold(pr, PROVE_WRONG_CONTRIBUTIONS, rank, step, a, b);
    if (!pr->shape->commutes && __builtin_ctzll(y) != PROVE_MAX_RANKS - __builtin_clzll(x))
        return accuse_fold(pr, PROVE_ORDER, rank, step, a, b);
    return true;
}

/* The value that sources[0 .. k - 1] of one element make, in that order; its tree is NOBODY if they cannot. */
static struct value fold_element(struct proof *pr, int rank, int step, const struct value *sources, int k)
{
    const struct tt_step *s = &pr->ranks[rank].plan->steps[step];
    const struct value none = {NOBODY, 0};
    struct value waiting[TT_MAX_SOURCES];
    int n = 0;

    for (int j = 0; j < k; j++) {
        waiting[n++] = sources[j];
        for (int i = tt_foldings(s->order, j); i > 0 && n > 1; i--) {
            struct value *a = &waiting[n - 2];

            if (!may_fold(pr, rank, step, *a, a[1]))
                return none;
            a->tree = forest_fold(&pr->forest, a->tree, a[1].tree);
            if (a->tree == NOBODY)
                return none;
            n--;
        }
    }
    if (n == 1)
        return waiting[0];
    prove_accuse_step(pr, PROVE_WRONG_CONTRIBUTIONS, rank, step, "does not make one of its sources");
    return none;
}

static bool same_values(const struct value *x, const struct value *y, int k)
{
    for (int j = 0; j < k; j++)
        if (x[j].tree != y[j].tree || x[j].at - x[0].at != y[j].at - y[0].at)
            return false;
    return true;
}

/* Where the operands of a step lie, those of a receive that reduces being where it has put what arrived. */
static int operands_of(const struct tt_plan *p, const struct tt_step *s, struct tt_loc out[TT_MAX_SOURCES])
{
    if (s->verb == TT_REDUCE)
        return tt_step_sources(p, s, out);
    out[0] = s->a;
    out[1] = s->b;
    return 2;
}

static bool fold(struct proof *pr, int rank, int step)
{
    const struct rank_state *r = &pr->ranks[rank];
    const struct tt_step *s = &r->plan->steps[step];
    struct tt_loc at[TT_MAX_SOURCES];
    const int k = operands_of(r->plan, s, at);
    struct value now[TT_MAX_SOURCES], last[TT_MAX_SOURCES] = {{NOBODY, 0}}, made = {NOBODY, 0};

    for (int64_t i = 0; i < s->n; i++) {
        for (int j = 0; j < k; j++) {
            now[j] = values(r, at[j])[i];
            if (now[j].tree == NOBODY)
                return accuse_unwritten(pr, rank, step, at[j], i);
        }
        if (!same_values(now, last, k)) {
            memcpy(last, now, (size_t)k * sizeof *now);
            made = fold_element(pr, rank, step, now, k);
            if (made.tree == NOBODY)
                return false;
        }
        values(r, s->dst)[i] = (struct value){made.tree, now[0].at};
    }
    return true;
}

/* Reduces what has arrived, of which nothing stays: a wire may never have put it there. */
static bool fold_arrived(struct proof *pr, int rank, int step)
{
    const struct rank_state *r = &pr->ranks[rank];
    const struct tt_step *s = &r->plan->steps[step];
    const struct tt_loc landing = tt_step_landing(s);

    if (s->verb != TT_RECV_REDUCE)
        return true;
    if (!fold(pr, rank, step))
        return false;
    if (landing.buf != s->dst.buf || landing.at != s->dst.at)
        memset(values(r, landing), 0, (size_t)s->n * sizeof(struct value));
    return true;
}

static void complete(struct proof *pr, int rank, int lane)
{
    if (--pr->ranks[rank].tracks[lane].pending == 0)
        pr->ready[pr->nready++] = (struct ticket){rank, lane};
}

/* Is where that receive puts things where a reduction that waits for it has put its result? */
static bool is_result_here(const struct tt_plan *p, int from, int to, const struct tt_step *receive)
{
    for (int i = from; i < to; i++)
        if (p->steps[i].after && p->steps[i].dst.buf == receive->dst.buf && p->steps[i].dst.at == receive->dst.at)
            return true;
    return false;
}

/* Everything has arrived that this round receives: what waited for that runs. Only then is what was lent given back,
 * whose senders have waited, and may never have been put where it was to be read. */
static bool all_arrived(struct proof *pr, int rank, int lane)
{
    struct rank_state *r = &pr->ranks[rank];
    const struct tt_plan *p = r->plan;
    const int from = r->tracks[lane].at, to = r->tracks[lane].end;

    for (int i = from; i < to; i++)
        if (p->steps[i].after) {
            r->posted[i] = true;
            if (!fold(pr, rank, i))
                return false;
            complete(pr, rank, lane);
        }
    for (int i = from; i < to; i++)
        if (p->steps[i].lends) {
            if (!is_result_here(p, from, to, &p->steps[i]))
                memset(values(r, p->steps[i].dst), 0, (size_t)p->steps[i].n * sizeof(struct value));
            complete(pr, p->steps[i].peer, lane);
        }
    return true;
}

/* The message passes if both sides are posted. What the receiver learns is what the sender knew as it posted: a send
 * may be buffered, so the sender learns nothing. */
static bool pass(struct proof *pr, int rank, int step, int lane)
{
    const struct tt_step *s = &pr->ranks[rank].plan->steps[step];
    const int other = pr->ranks[rank].partner[step];
    const bool sends = s->verb == TT_SEND;
    const int from = sends ? rank : s->peer, to = sends ? s->peer : rank;
    const int out = sends ? step : other, in = sends ? other : step;
    const struct tt_loc src = pr->ranks[from].plan->steps[out].a;
    const struct tt_loc dst = tt_step_landing(&pr->ranks[to].plan->steps[in]);

    if (!pr->ranks[s->peer].posted[other])
        return true;
    if (!move(pr, from, out, values(&pr->ranks[to], dst), src, s->n) || !fold_arrived(pr, to, in))
        return false;
    pr->ranks[to].tracks[lane].knows |= pr->ranks[from].tracks[lane].told;
    if (!pr->ranks[to].plan->steps[in].lends)
        complete(pr, from, lane);
    if (--pr->ranks[to].tracks[lane].arriving == 0 && !all_arrived(pr, to, lane))
        return false;
    complete(pr, to, lane);
    return true;
}

static bool post(struct proof *pr, int rank, int lane, int step)
{
    struct rank_state *r = &pr->ranks[rank];
    const struct tt_step *s = &r->plan->steps[step];

    if (s->after)
        return true;
    r->posted[step] = true;
    if (tt_step_is_message(s))
        return pass(pr, rank, step, lane);
    if (s->verb == TT_COPY ? !move(pr, rank, step, values(r, s->dst), s->a, s->n) : !fold(pr, rank, step))
        return false;
    complete(pr, rank, lane);
    return true;
}

/* Posts the round that begins at steps[t->at]. */
static bool begin_round(struct proof *pr, int rank, int lane)
{
    const struct tt_plan *p = pr->ranks[rank].plan;
    struct track *t = &pr->ranks[rank].tracks[lane];
    bool no_receives;

    t->end = t->at;
    while (t->end < t->stop && p->steps[t->end].verb != TT_FENCE)
        t->end++;
    t->told = t->knows;
    t->pending = t->end - t->at + 1; /* one for posting itself, so that an empty round ends as well */
    t->arriving = 0;
    for (int i = t->at; i < t->end; i++)
        t->arriving += tt_step_receives(&p->steps[i]);
    no_receives = t->arriving == 0;
    for (int i = t->at; i < t->end; i++)
        if (!post(pr, rank, lane, i))
            return false;
    if (no_receives && !all_arrived(pr, rank, lane))
        return false;
    complete(pr, rank, lane);
    return true;
}

/* Does a send wait for what it lent to be read, which waits for other receives? */
static bool is_lent(const struct proof *pr, int rank, int lane, int step)
{
    const struct tt_step *s = &pr->ranks[rank].plan->steps[step];

    return s->verb == TT_SEND && pr->ranks[s->peer].plan->steps[pr->ranks[rank].partner[step]].lends &&
           pr->ranks[s->peer].tracks[lane].arriving > 0;
}

/* The first step of a stuck lane that has not completed: a message whose other side is not posted, or that is lent. */
static int stuck_step(const struct proof *pr, int rank, int lane)
{
    const struct rank_state *r = &pr->ranks[rank];
    int i = r->tracks[lane].at;

    while (!tt_step_is_message(&r->plan->steps[i]) ||
           (pr->ranks[r->plan->steps[i].peer].posted[r->partner[i]] && !is_lent(pr, rank, lane, i)))
        i++;
    return i;
}

/* Whoever is waited for waits as well, or it would have come: so following the waits leads into a circle. */
static bool accuse_deadlock(struct proof *pr, int rank, int lane)
{
    struct text t = prove_accuse(pr, PROVE_DEADLOCK);
    int first, step;

    for (int hops = 0; hops < pr->size; hops++)
        rank = pr->ranks[rank].plan->steps[stuck_step(pr, rank, lane)].peer;
    first = rank;
    do {
        step = stuck_step(pr, rank, lane);
        prove_say_step(&t, pr->ranks[rank].plan, step);
        rank = pr->ranks[rank].plan->steps[step].peer;
        prove_say(&t, " waits for rank %d%s", rank, rank == first ? "" : ", ");
    } while (rank != first);
    return false;
}

static bool check_finished(struct proof *pr)
{
    for (int r = 0; r < pr->size; r++)
        for (int l = 0; l < pr->ranks[r].plan->nlanes; l++)
            if (pr->ranks[r].tracks[l].pending > 0)
                return accuse_deadlock(pr, r, l);
    return true;
}

static bool run_all(struct proof *pr)
{
    for (int r = 0; r < pr->size; r++)
        for (int l = 0; l < pr->ranks[r].plan->nlanes; l++) {
            const struct tt_lane *lane = &pr->ranks[r].plan->lanes[l];

            pr->ranks[r].tracks[l] = (struct track){.at = lane->first, .stop = lane->first + lane->count,
                                                    .knows = (uint64_t)1 << r};
            if (!begin_round(pr, r, l))
                return false;
        }
    while (pr->nready > 0) {
        const struct ticket next = pr->ready[--pr->nready];
        struct track *t = &pr->ranks[next.rank].tracks[next.lane];

        t->at = t->end + 1;
        if (t->end < t->stop && !begin_round(pr, next.rank, next.lane))
            return false;
    }
    return check_finished(pr);
}

/* ---- the whole ---- */

static bool memory_open(struct proof *pr)
{
    size_t elements = 1, steps = 1, s = 0, e = 0;

    for (int r = 0; r < pr->size; r++) {
        steps += (size_t)pr->ranks[r].plan->nsteps;
        for (int b = 0; b < TT_NBUFS; b++)
            elements += (size_t)pr->ranks[r].extent[b];
    }
    pr->memory = calloc(elements, sizeof *pr->memory);
    pr->partners = malloc(steps * sizeof *pr->partners);
    pr->posted = calloc(steps, sizeof *pr->posted);
    pr->ready = malloc((size_t)pr->size * TT_MAX_LANES * sizeof *pr->ready);
    if (!pr->memory || !pr->partners || !pr->posted || !pr->ready)
        return false;
    for (int r = 0; r < pr->size; r++) {
        pr->ranks[r].partner = pr->partners + s;
        pr->ranks[r].posted = pr->posted + s;
        s += (size_t)pr->ranks[r].plan->nsteps;
        for (int b = 0; b < TT_NBUFS; b++) {
            pr->ranks[r].memory[b] = pr->memory + e;
            e += (size_t)pr->ranks[r].extent[b];
        }
        plant_rank(pr->shape, &pr->ranks[r]);
    }
    return true;
}

static struct proof proof_of(struct tt_plan *const *plans, const struct tt_shape *s, struct prove_verdict *v)
{
    struct proof pr = {.shape = s, .size = s->size, .verdict = v};

    v->fault = PROVED;
    v->why[0] = '\0';
    for (int r = 0; r < s->size; r++) {
        pr.ranks[r].plan = plans[r];
        pr.ranks[r].inplace = tt_whole_in_place(s, r);
        set_extents(s, r, &pr.ranks[r]);
    }
    return pr;
}

/* What fails without an accusation has failed for want of memory. */
static bool conclude(struct proof *pr, bool good)
{
    if (!good && pr->verdict->fault == PROVED)
        prove_accuse(pr, PROVE_OUT_OF_MEMORY);
    return good;
}

bool prove_plans(struct tt_plan *const *plans, const struct tt_shape *s, struct prove_verdict *v)
{
    struct proof pr = proof_of(plans, s, v);
    const bool good = conclude(&pr, forest_open(&pr.forest, s->size) && memory_open(&pr) && prove_memory(&pr) &&
                                        prove_messages(&pr) && run_all(&pr) && check_results(&pr));

    forest_close(&pr.forest);
    free(pr.memory);
    free(pr.partners);
    free(pr.posted);
    free(pr.ready);
    return good;
}

/* ---- staging ---- */

static bool check_staged(struct proof *pr, const unsigned *device_bufs)
{
    for (int r = 0; r < pr->size; r++)
        for (int i = 0; i < pr->ranks[r].plan->nsteps; i++) {
            const struct tt_step *s = &pr->ranks[r].plan->steps[i];

            if ((s->verb == TT_SEND && (device_bufs[r] & 1u << s->a.buf)) ||
                (tt_step_receives(s) && (device_bufs[r] & 1u << tt_step_landing(s).buf)))
                return prove_accuse_step(pr, PROVE_UNSTAGED, r, i, "names device memory");
        }
    return true;
}

/* All plans rewritten, or none. */
static bool fuse_all(struct tt_plan *const *plans, int size, struct tt_plan **out)
{
    for (int r = 0; r < size; r++)
        if (!(out[r] = tt_pass_fuse(plans[r], TT_MAX_SOURCES))) {
            prove_free(out, r);
            return false;
        }
    return true;
}

static bool split_all(struct tt_plan *const *plans, int size, int64_t max, struct tt_plan **out)
{
    for (int r = 0; r < size; r++)
        if (!(out[r] = tt_pass_split(plans[r], max))) {
            prove_free(out, r);
            return false;
        }
    return true;
}

static bool stage_all(struct tt_plan *const *plans, int size, const unsigned *device_bufs, struct tt_plan **out)
{
    for (int r = 0; r < size; r++)
        if (!(out[r] = tt_pass_stage(plans[r], device_bufs[r]))) {
            prove_free(out, r);
            return false;
        }
    return true;
}

bool prove_staging(struct tt_plan *const *staged, struct tt_plan *const *plans, const struct tt_shape *s,
                   const unsigned *device_bufs, struct prove_verdict *v)
{
    struct proof pr = proof_of(staged, s, v), model = proof_of(plans, s, v);

    return conclude(&pr, check_staged(&pr, device_bufs) && prove_same_wire(&pr, &model)) && prove_plans(staged, s, v);
}

/* Plans that were fused, or need not be. */
static bool prove_cut(struct tt_plan *const *plans, const struct tt_shape *s, int64_t part, const unsigned *device_bufs,
                      struct prove_verdict *v)
{
    struct tt_plan *split[PROVE_MAX_RANKS], *staged[PROVE_MAX_RANKS];
    bool good = false;

    if (!split_all(plans, s->size, part, split))
        return false;
    if (stage_all(split, s->size, device_bufs, staged)) {
        good = prove_staging(staged, split, s, device_bufs, v);
        prove_free(staged, s->size);
    }
    prove_free(split, s->size);
    return good;
}

bool prove_passes(struct tt_plan *const *plans, const struct tt_shape *s, int64_t part, const unsigned *device_bufs,
                  struct prove_verdict *v)
{
    struct tt_plan *fused[PROVE_MAX_RANKS];
    struct proof pr = proof_of(plans, s, v), after;
    bool good;

    if (!fuse_all(plans, s->size, fused))
        return conclude(&pr, false);
    after = proof_of(fused, s, v);
    good = conclude(&after, prove_same_wire(&after, &pr)) && prove_cut(fused, s, part, device_bufs, v);
    prove_free(fused, s->size);
    return conclude(&pr, good);
}

/* ---- from an algorithm ---- */

bool prove_build(const struct tt_alg *alg, const struct tt_shape *s, struct tt_plan **plans, struct prove_verdict *v)
{
    for (int r = 0; r < s->size; r++) {
        struct text t;
        int error;

        plans[r] = tt_whole_plan(alg, s, r);
        if (plans[r])
            continue;
        error = errno;
        prove_free(plans, r);
        t = prove_accuse_shape(v, alg->name, s, PROVE_NOT_BUILT);
        prove_say(&t, "rank %d: %s", r, strerror(error));
        return false;
    }
    return true;
}

void prove_free(struct tt_plan **plans, int size)
{
    for (int r = 0; r < size; r++)
        tt_plan_free(plans[r]);
}

bool prove(const struct tt_alg *alg, const struct tt_shape *s, struct prove_verdict *v)
{
    struct tt_plan *plans[PROVE_MAX_RANKS];
    bool good;

    if (!prove_build(alg, s, plans, v))
        return false;
    good = prove_plans(plans, s, v);
    prove_free(plans, s->size);
    return good;
}
