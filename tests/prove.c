/* SPDX-License-Identifier: BSD-3-Clause */
/* How a plan is proved. What can be seen without running is looked at first: places against the extents that the
 * standard gives each buffer, overlaps within rounds and between lanes, the two sides of every message. Then
 * all ranks run together on symbols, each round posting all its steps at once and a message passing only when
 * both sides are posted. Since overlaps have been excluded by then, one order of execution stands for all.
 *
 * A value is (tree, at): how ranks' parts were folded, and which element of them. Trees know ranks only and are
 * shared (equal trees are the same number), so there are a few thousand of them however long the vectors are, and
 * comparing two expressions is comparing two integers. */
#include "tests/prove.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Trees: 0 is memory that nobody wrote, 1 + r is rank r's own part, the rest are foldings of two others. */
enum { NOBODY, FIRST_LEAF, FIRST_FOLD = FIRST_LEAF + PROVE_MAX_RANKS };

struct value {
    uint32_t tree;
    int32_t at;
};

struct tree {
    uint32_t a, b;
    uint64_t ranks; /* whose parts are in it */
};

struct forest {
    struct tree *trees;
    uint32_t count, capacity;
    uint32_t *slots, nslots; /* a hash table of foldings, at most half full */
};

/* A lane of one rank while it runs: steps[at .. end) are posted, `pending` of them have not completed; it ends at stop. */
struct track {
    int at, end, stop;
    int pending;
    uint64_t told, knows; /* ranks whose entry it knew of when the round began, and now */
};

/* One side of a message. */
struct side {
    uint64_t key; /* lane, message, part: sorts as they are numbered */
    int rank, step;
};

struct ticket {
    int rank, lane;
};

struct rank_state {
    const struct tt_plan *plan;
    bool inplace;
    int64_t extent[TT_NBUFS];
    struct value *memory[TT_NBUFS];
    int *partner;  /* of each step that is a message: the other side's step */
    bool *posted;  /* of each step */
    struct track tracks[TT_MAX_LANES];
};

struct proof {
    const struct tt_shape *shape;
    int size;
    struct rank_state ranks[PROVE_MAX_RANKS];
    struct forest forest;
    struct value *memory;
    int *partners;
    bool *posted;
    struct ticket *ready; /* a stack of lanes whose round is complete */
    int nready;
    struct prove_verdict *verdict;
};

static const char *const fault_names[PROVE_NFAULTS] = {
    [PROVED] = "PROVED",
#define F(id, words) [PROVE_##id] = #id,
    PROVE_FAULTS(F)
#undef F
};

static const char *const fault_words[PROVE_NFAULTS] = {
    [PROVED] = "proved",
#define F(id, words) [PROVE_##id] = words,
    PROVE_FAULTS(F)
#undef F
};

const char *prove_fault_name(enum prove_fault fault)
{
    return fault_names[fault];
}

const char *prove_fault_words(enum prove_fault fault)
{
    return fault_words[fault];
}

/* ---- saying what is wrong ---- */

/* A text that is cut, never overrun, when it is full. */
struct text {
    char *at;
    size_t left;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *t, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    if (n < 0 || t->left == 0)
        return;
    if ((size_t)n >= t->left)
        n = (int)t->left - 1;
    t->at += n;
    t->left -= (size_t)n;
}

static void say_shape(struct text *t, const char *algorithm, const struct tt_shape *s)
{
    say(t, "%s %s, P = %d, ", tt_coll_name(s->coll), algorithm, s->size);
    if (s->counts) {
        say(t, "counts");
        for (int r = 0; r < s->size; r++)
            say(t, " %lld", (long long)s->counts[r]);
    } else {
        say(t, "count %lld", (long long)s->count);
    }
    say(t, ", root %d, %s, %scommutative, segment %lld", s->root, s->inplace ? "in place" : "not in place",
        s->commutes ? "" : "not ", (long long)s->segment);
}

static void say_place(struct text *t, struct tt_loc loc, int64_t n)
{
    say(t, "%s[%lld..%lld)", tt_buf_name(loc.buf), (long long)loc.at, (long long)(loc.at + n));
}

static int lane_of(const struct tt_plan *p, int step)
{
    int lane = 0;

    while (lane + 1 < p->nlanes && step >= p->lanes[lane].first + p->lanes[lane].count)
        lane++;
    return lane;
}

/* "rank 2, lane 0, step 5 (recv from 1 into RECV[3..5))" */
static void say_step(struct text *t, const struct tt_plan *p, int step)
{
    const struct tt_step *s = &p->steps[step];

    say(t, "rank %d, lane %d, step %d (%s ", p->rank, lane_of(p, step), step, tt_verb_name(s->verb));
    if (s->verb == TT_RECV)
        say(t, "from %d into ", s->peer);
    if (s->verb != TT_SEND)
        say_place(t, s->dst, s->n);
    if (s->verb == TT_COPY || s->verb == TT_REDUCE)
        say(t, " = ");
    if (s->verb != TT_RECV)
        say_place(t, s->a, s->n);
    if (s->verb == TT_REDUCE) {
        say(t, " op ");
        say_place(t, s->b, s->n);
    }
    if (s->verb == TT_SEND)
        say(t, " to %d", s->peer);
    say(t, ")");
}

/* "((0 op 1) op 2)" */
static void say_tree(struct text *t, const struct forest *f, uint32_t tree)
{
    if (tree == NOBODY) {
        say(t, "nothing");
    } else if (tree < FIRST_FOLD) {
        say(t, "%d", (int)(tree - FIRST_LEAF));
    } else {
        say(t, "(");
        say_tree(t, f, f->trees[tree].a);
        say(t, " op ");
        say_tree(t, f, f->trees[tree].b);
        say(t, ")");
    }
}

static void say_value(struct text *t, const struct forest *f, struct value v)
{
    char words[160];
    struct text tree = {words, sizeof words};

    say_tree(&tree, f, v.tree);
    say(t, "%s%s", words, tree.left > 1 ? "" : "...");
    if (v.tree != NOBODY)
        say(t, " of element %d", (int)v.at);
}

/* Starts the verdict; the caller says the rest. */
static struct text accuse(struct prove_verdict *v, const char *algorithm, const struct tt_shape *s, enum prove_fault fault)
{
    struct text t = {v->why, sizeof v->why};

    v->fault = fault;
    say_shape(&t, algorithm, s);
    say(&t, ": %s: ", fault_names[fault]);
    return t;
}

static struct text accuse_proof(struct proof *pr, enum prove_fault fault)
{
    return accuse(pr->verdict, pr->ranks[0].plan->algorithm, pr->shape, fault);
}

/* One step is at fault: says so and continues with the words given. Always false. */
static bool accuse_step(struct proof *pr, enum prove_fault fault, int rank, int step, const char *words)
{
    struct text t = accuse_proof(pr, fault);

    say_step(&t, pr->ranks[rank].plan, step);
    say(&t, " %s", words);
    return false;
}

static bool accuse_pair(struct proof *pr, enum prove_fault fault, const struct side *x, const char *words,
                        const struct side *y)
{
    struct text t = accuse_proof(pr, fault);

    say(&t, "ranks %d and %d: ", x->rank, y->rank);
    say_step(&t, pr->ranks[x->rank].plan, x->step);
    say(&t, " %s ", words);
    say_step(&t, pr->ranks[y->rank].plan, y->step);
    return false;
}

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

bool prove_in_place(const struct tt_shape *s, int rank)
{
    switch (s->coll) {
    case TT_COLL_reduce:
    case TT_COLL_gather:
    case TT_COLL_scatter:
        return s->inplace && rank == s->root;
    case TT_COLL_bcast:
    case TT_COLL_barrier:
        return false;
    default:
        return s->inplace;
    }
}

static int64_t block_of(const struct tt_shape *s, int rank)
{
    return s->counts ? s->counts[rank] : s->count;
}

/* Elements of SEND and RECV when the rank is not in place. */
static void extents(const struct tt_shape *s, int rank, int64_t *send, int64_t *recv)
{
    const int64_t all = tt_offset(s, s->size);
    const bool root = rank == s->root;

    switch (s->coll) {
    case TT_COLL_allreduce: *send = *recv = s->count; return;
    case TT_COLL_reduce: *send = s->count; *recv = root ? s->count : 0; return;
    case TT_COLL_reduce_scatter: *send = all; *recv = block_of(s, rank); return;
    case TT_COLL_bcast: *send = 0; *recv = s->count; return;
    case TT_COLL_allgather: *send = s->count; *recv = all; return;
    case TT_COLL_gather: *send = s->count; *recv = root ? all : 0; return;
    case TT_COLL_scatter: *send = root ? all : 0; *recv = s->count; return;
    case TT_COLL_alltoall: *send = *recv = all; return;
    default: *send = *recv = 0;
    }
}

static void set_extents(const struct tt_shape *s, int rank, struct rank_state *r)
{
    extents(s, rank, &r->extent[SEND], &r->extent[RECV]);
    if (r->inplace && s->coll == TT_COLL_scatter)
        r->extent[RECV] = 0;
    if (r->inplace && s->coll != TT_COLL_scatter)
        r->extent[SEND] = 0;
    if (r->inplace && s->coll == TT_COLL_reduce_scatter)
        r->extent[RECV] = tt_offset(s, s->size);
    r->extent[TMP] = r->plan->tmp;
    r->extent[PIN] = r->plan->pin;
}

static void plant(struct rank_state *r, enum tt_buf buf, int64_t first, int64_t n)
{
    const uint32_t leaf = FIRST_LEAF + (uint32_t)r->plan->rank;

    for (int64_t i = 0; i < n; i++)
        r->memory[buf][first + i] = (struct value){leaf, (int32_t)i};
}

/* The contribution of a rank, where its caller put it. A barrier's messages have no content, so for it scratch is as
 * good as written. */
static void plant_rank(const struct tt_shape *s, struct rank_state *r)
{
    const int rank = r->plan->rank;

    plant(r, SEND, 0, r->extent[SEND]);
    if (s->coll == TT_COLL_barrier)
        plant(r, TMP, 0, r->extent[TMP]);
    if (s->coll == TT_COLL_bcast && rank == s->root)
        plant(r, RECV, 0, s->count);
    if (!r->inplace || s->coll == TT_COLL_scatter)
        return;
    if (s->coll == TT_COLL_allgather || s->coll == TT_COLL_gather)
        plant(r, RECV, tt_offset(s, rank), s->count);
    else
        plant(r, RECV, 0, r->extent[RECV]);
}

static uint64_t everybody(const struct proof *pr)
{
    return ~(uint64_t)0 >> (PROVE_MAX_RANKS - pr->size);
}

static bool accuse_result(struct proof *pr, enum prove_fault fault, int rank, int64_t i, int who, int64_t at)
{
    struct text t = accuse_proof(pr, fault);

    say(&t, "rank %d, RECV[%lld]: expected ", rank, (long long)i);
    if (who < 0)
        say(&t, "the parts of ranks 0 to %d, each once,", pr->size - 1);
    else
        say(&t, "%d", who);
    say(&t, " of element %lld, seen ", (long long)at);
    say_value(&t, &pr->forest, pr->ranks[rank].memory[RECV][i]);
    return false;
}

/* RECV[first .. first + n) of a rank must be elements at ... of who's part, or of everybody's folded if who is -1. */
static bool expect(struct proof *pr, int rank, int64_t first, int64_t n, int who, int64_t at)
{
    const uint64_t wanted = who < 0 ? everybody(pr) : (uint64_t)1 << who;

    for (int64_t i = 0; i < n; i++) {
        const struct value v = pr->ranks[rank].memory[RECV][first + i];

        if (pr->forest.trees[v.tree].ranks != wanted)
            return accuse_result(pr, PROVE_WRONG_CONTRIBUTIONS, rank, first + i, who, at + i);
        if (v.at != at + i)
            return accuse_result(pr, PROVE_MISPLACED, rank, first + i, who, at + i);
    }
    return true;
}

/* RECV is one block from every rank, beginning at element `at` of its part. */
static bool expect_blocks(struct proof *pr, int rank, int64_t at)
{
    for (int r = 0; r < pr->size; r++)
        if (!expect(pr, rank, tt_offset(pr->shape, r), pr->shape->count, r, at))
            return false;
    return true;
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
    t = accuse_proof(pr, PROVE_EARLY);
    say(&t, "rank %d: expected to know that ranks 0 to %d have entered, seen that it cannot know of rank %d", rank,
        pr->size - 1, __builtin_ctzll(~knows));
    return false;
}

static bool expect_promise(struct proof *pr, int rank)
{
    const struct tt_shape *s = pr->shape;

    switch (s->coll) {
    case TT_COLL_allreduce: return expect(pr, rank, 0, s->count, -1, 0);
    case TT_COLL_reduce: return rank != s->root || expect(pr, rank, 0, s->count, -1, 0);
    case TT_COLL_reduce_scatter: return expect(pr, rank, 0, block_of(s, rank), -1, tt_offset(s, rank));
    case TT_COLL_bcast: return expect(pr, rank, 0, s->count, s->root, 0);
    case TT_COLL_allgather: return expect_blocks(pr, rank, 0);
    case TT_COLL_gather: return rank != s->root || expect_blocks(pr, rank, 0);
    case TT_COLL_scatter:
        return pr->ranks[rank].inplace || expect(pr, rank, 0, s->count, s->root, tt_offset(s, rank));
    case TT_COLL_alltoall: return expect_blocks(pr, rank, tt_offset(s, rank));
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
        t = accuse_proof(pr, PROVE_TREES_DIFFER);
        say(&t, "ranks 0 and %d, RECV[%lld]: expected one tree, seen ", rank, (long long)i);
        say_value(&t, &pr->forest, x[i]);
        say(&t, " and ");
        say_value(&t, &pr->forest, y[i]);
        return false;
    }
    return true;
}

static bool check_results(struct proof *pr)
{
    for (int r = 0; r < pr->size; r++)
        if (!expect_promise(pr, r) || !expect_same_trees(pr, r))
            return false;
    return true;
}

/* ---- places: bounds and overlaps ---- */

/* A stretch of memory that a step touches. */
struct touch {
    struct tt_loc loc;
    int64_t end;
    bool writes;
    int step, lane;
};

/* What a step touches, the write first. A source that is exactly the destination is part of the write. */
static int touches(const struct tt_plan *p, int step, int lane, struct touch *out)
{
    const struct tt_step *s = &p->steps[step];
    const bool writes = s->verb == TT_RECV || s->verb == TT_COPY || s->verb == TT_REDUCE;
    const struct tt_loc sources[2] = {s->a, s->b};
    const int nsources = s->verb == TT_REDUCE ? 2 : s->verb == TT_SEND || s->verb == TT_COPY ? 1 : 0;
    int n = 0;

    if (writes)
        out[n++] = (struct touch){s->dst, s->dst.at + s->n, true, step, lane};
    for (int i = 0; i < nsources; i++)
        if (s->verb != TT_REDUCE || sources[i].buf != s->dst.buf || sources[i].at != s->dst.at)
            out[n++] = (struct touch){sources[i], sources[i].at + s->n, false, step, lane};
    return n;
}

static bool check_places(struct proof *pr, int rank)
{
    const struct rank_state *r = &pr->ranks[rank];
    struct touch seen[3];

    for (int l = 0; l < r->plan->nlanes; l++)
        for (int i = r->plan->lanes[l].first; i < r->plan->lanes[l].first + r->plan->lanes[l].count; i++)
            for (int n = touches(r->plan, i, l, seen); n-- > 0;) {
                if (seen[n].writes && seen[n].loc.buf == SEND)
                    return accuse_step(pr, PROVE_WRITES_SEND, rank, i, "writes the send buffer");
                if (seen[n].loc.at < 0 || seen[n].end > r->extent[seen[n].loc.buf])
                    return accuse_step(pr, PROVE_BOUNDS, rank, i, "reaches outside the buffers this rank has");
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
    return accuse_pair(pr, PROVE_HAZARD, &(struct side){0, rank, x->step},
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

static bool check_rounds(struct proof *pr, int rank, struct touch *t)
{
    const struct tt_plan *p = pr->ranks[rank].plan;

    for (int l = 0; l < p->nlanes; l++) {
        const int stop = p->lanes[l].first + p->lanes[l].count;
        int n = 0;

        for (int i = p->lanes[l].first; i < stop; i++) {
            if (p->steps[i].verb != TT_FENCE)
                n += touches(p, i, l, t + n);
            if (p->steps[i].verb != TT_FENCE && i + 1 < stop)
                continue;
            if (!sweep_round(pr, rank, t, n))
                return false;
            n = 0;
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

static bool check_memory(struct proof *pr)
{
    int most = 1;
    struct touch *t;
    bool good = true;

    for (int r = 0; r < pr->size; r++)
        most = pr->ranks[r].plan->nsteps > most ? pr->ranks[r].plan->nsteps : most;
    t = malloc((size_t)most * 3 * sizeof *t);
    for (int r = 0; t && good && r < pr->size; r++)
        good = check_places(pr, r) && check_rounds(pr, r, t) && check_lanes(pr, r, t);
    free(t);
    return t && good;
}

/* ---- messages: who meets whom ---- */

/* Both sides of the messages of one direction of travel, sorted into P * P boxes, one per (from, to). */
struct boxes {
    int *first; /* P * P + 1 */
    struct side *sides;
};

static int box_of(const struct proof *pr, int rank, const struct tt_step *s)
{
    return s->verb == TT_SEND ? rank * pr->size + s->peer : s->peer * pr->size + rank;
}

static void count_sides(const struct proof *pr, enum tt_verb verb, int *first)
{
    for (int r = 0; r < pr->size; r++)
        for (int i = 0; i < pr->ranks[r].plan->nsteps; i++)
            if (pr->ranks[r].plan->steps[i].verb == verb)
                first[box_of(pr, r, &pr->ranks[r].plan->steps[i]) + 1]++;
    for (int b = 0; b < pr->size * pr->size; b++)
        first[b + 1] += first[b];
}

enum { PART_BITS = 30, MESSAGE_BITS = 30 };

static uint64_t key_of(int lane, const struct tt_step *s)
{
    return (uint64_t)lane << (MESSAGE_BITS + PART_BITS) | (uint64_t)s->message << PART_BITS | (uint64_t)s->part;
}

/* Keeps each box sorted; sides nearly always come in order. Whole messages may overtake each other, for each has its
 * number in its tag, but the parts of one are told apart by nothing but their order. */
static bool insert_side(struct proof *pr, struct side *box, int n, struct side x)
{
    while (n > 0 && box[n - 1].key > x.key) {
        if (box[n - 1].key >> PART_BITS == x.key >> PART_BITS)
            return accuse_pair(pr, PROVE_OVERTAKING, &x, "is an earlier part of the same message than", &box[n - 1]);
        box[n] = box[n - 1];
        n--;
    }
    box[n] = x;
    return true;
}

static bool fill_from(struct proof *pr, int rank, enum tt_verb verb, struct boxes *b, int *filled)
{
    const struct tt_plan *p = pr->ranks[rank].plan;

    for (int l = 0; l < p->nlanes; l++)
        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++) {
            const struct tt_step *s = &p->steps[i];
            int box;

            if (s->verb != verb)
                continue;
            box = box_of(pr, rank, s);
            if (!insert_side(pr, b->sides + b->first[box], filled[box]++, (struct side){key_of(l, s), rank, i}))
                return false;
        }
    return true;
}

static bool fill_boxes(struct proof *pr, enum tt_verb verb, struct boxes *b, int *filled)
{
    for (int r = 0; r < pr->size; r++)
        if (!fill_from(pr, r, verb, b, filled))
            return false;
    return true;
}

/* boxes_close it whatever comes back. */
static bool boxes_open(struct proof *pr, enum tt_verb verb, struct boxes *b)
{
    bool good = false;
    const size_t n = (size_t)pr->size * (size_t)pr->size;
    int *filled = calloc(n, sizeof *filled);

    b->sides = NULL;
    b->first = calloc(n + 1, sizeof *b->first);
    if (filled && b->first) {
        count_sides(pr, verb, b->first);
        b->sides = malloc(((size_t)b->first[n] + 1) * sizeof *b->sides);
        good = b->sides && fill_boxes(pr, verb, b, filled);
    }
    free(filled);
    return good;
}

static void boxes_close(struct boxes *b)
{
    free(b->first);
    free(b->sides);
}

static const struct tt_step *step_of(const struct proof *pr, const struct side *x)
{
    return &pr->ranks[x->rank].plan->steps[x->step];
}

/* Of the two, the one that comes first has no counterpart. */
static bool accuse_lonely(struct proof *pr, const struct side *send, const struct side *recv)
{
    const struct side *x = !recv || (send && send->key < recv->key) ? send : recv;
    const struct tt_step *s = step_of(pr, x);
    struct text t = accuse_proof(pr, PROVE_MATCHING);

    say(&t, "ranks %d and %d: ", x->rank, s->peer);
    say_step(&t, pr->ranks[x->rank].plan, x->step);
    say(&t, " is message %d, part %d, which rank %d does not %s", s->message, s->part, s->peer,
        s->verb == TT_SEND ? "receive" : "send");
    return false;
}

static bool meet(struct proof *pr, const struct side *send, const struct side *recv)
{
    if (send->key != recv->key)
        return accuse_lonely(pr, send, recv);
    if (step_of(pr, send)->n != step_of(pr, recv)->n)
        return accuse_pair(pr, PROVE_LENGTH, send, "meets", recv);
    pr->ranks[send->rank].partner[send->step] = recv->step;
    pr->ranks[recv->rank].partner[recv->step] = send->step;
    return true;
}

static bool meet_box(struct proof *pr, const struct side *sends, int nsends, const struct side *recvs, int nrecvs)
{
    int i = 0;

    /* A missing one shifts all that follow: better to name it than the lengths that differ after it. */
    while (nsends != nrecvs && i < nsends && i < nrecvs && sends[i].key == recvs[i].key)
        i++;
    if (nsends != nrecvs)
        return accuse_lonely(pr, i < nsends ? &sends[i] : NULL, i < nrecvs ? &recvs[i] : NULL);
    for (i = 0; i < nsends; i++)
        if (!meet(pr, &sends[i], &recvs[i]))
            return false;
    return true;
}

static bool check_messages(struct proof *pr)
{
    struct boxes sends = {NULL, NULL}, recvs = {NULL, NULL};
    bool good = boxes_open(pr, TT_SEND, &sends) && boxes_open(pr, TT_RECV, &recvs);

    for (int b = 0; good && b < pr->size * pr->size; b++)
        good = meet_box(pr, sends.sides + sends.first[b], sends.first[b + 1] - sends.first[b],
                        recvs.sides + recvs.first[b], recvs.first[b + 1] - recvs.first[b]);
    boxes_close(&sends);
    boxes_close(&recvs);
    return good;
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

    say(&t, "reads ");
    say_place(&t, tt_plus(loc, i), 1);
    say(&t, ", which nobody has written");
    return accuse_step(pr, PROVE_UNINITIALISED, rank, step, words);
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

    say(&t, "folds ");
    say_value(&t, &pr->forest, a);
    say(&t, " with ");
    say_value(&t, &pr->forest, b);
    return accuse_step(pr, fault, rank, step, words);
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

static bool fold(struct proof *pr, int rank, int step)
{
    const struct rank_state *r = &pr->ranks[rank];
    const struct tt_step *s = &r->plan->steps[step];
    const struct value *a = values(r, s->a), *b = values(r, s->b);
    struct value *dst = values(r, s->dst), last_a = {NOBODY, 0}, last_b = {NOBODY, 0};
    uint32_t tree = NOBODY;

    for (int64_t i = 0; i < s->n; i++) {
        if (a[i].tree == NOBODY || b[i].tree == NOBODY)
            return accuse_unwritten(pr, rank, step, a[i].tree == NOBODY ? s->a : s->b, i);
        if (a[i].tree != last_a.tree || b[i].tree != last_b.tree || a[i].at != b[i].at) {
            last_a = a[i];
            last_b = b[i];
            if (!may_fold(pr, rank, step, last_a, last_b))
                return false;
            tree = forest_fold(&pr->forest, last_a.tree, last_b.tree);
            if (tree == NOBODY)
                return false;
        }
        dst[i] = (struct value){tree, a[i].at};
    }
    return true;
}

static void complete(struct proof *pr, int rank, int lane)
{
    if (--pr->ranks[rank].tracks[lane].pending == 0)
        pr->ready[pr->nready++] = (struct ticket){rank, lane};
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

    if (!pr->ranks[s->peer].posted[other])
        return true;
    if (!move(pr, from, out, values(&pr->ranks[to], pr->ranks[to].plan->steps[in].dst), pr->ranks[from].plan->steps[out].a,
              s->n))
        return false;
    pr->ranks[to].tracks[lane].knows |= pr->ranks[from].tracks[lane].told;
    complete(pr, from, lane);
    complete(pr, to, lane);
    return true;
}

static bool post(struct proof *pr, int rank, int lane, int step)
{
    struct rank_state *r = &pr->ranks[rank];
    const struct tt_step *s = &r->plan->steps[step];

    r->posted[step] = true;
    if (s->verb == TT_SEND || s->verb == TT_RECV)
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

    t->end = t->at;
    while (t->end < t->stop && p->steps[t->end].verb != TT_FENCE)
        t->end++;
    t->told = t->knows;
    t->pending = t->end - t->at + 1; /* one for posting itself, so that an empty round ends as well */
    for (int i = t->at; i < t->end; i++)
        if (!post(pr, rank, lane, i))
            return false;
    complete(pr, rank, lane);
    return true;
}

/* The first step of a stuck lane that has not completed: a message whose other side is not posted. */
static int stuck_step(const struct proof *pr, int rank, int lane)
{
    const struct rank_state *r = &pr->ranks[rank];
    int i = r->tracks[lane].at;

    while (r->plan->steps[i].verb == TT_COPY || r->plan->steps[i].verb == TT_REDUCE ||
           pr->ranks[r->plan->steps[i].peer].posted[r->partner[i]])
        i++;
    return i;
}

/* Whoever is waited for waits as well, or it would have come: so following the waits leads into a circle. */
static bool accuse_deadlock(struct proof *pr, int rank, int lane)
{
    struct text t = accuse_proof(pr, PROVE_DEADLOCK);
    int first, step;

    for (int hops = 0; hops < pr->size; hops++)
        rank = pr->ranks[rank].plan->steps[stuck_step(pr, rank, lane)].peer;
    first = rank;
    do {
        step = stuck_step(pr, rank, lane);
        say_step(&t, pr->ranks[rank].plan, step);
        rank = pr->ranks[rank].plan->steps[step].peer;
        say(&t, " waits for rank %d%s", rank, rank == first ? "" : ", ");
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
        pr.ranks[r].inplace = prove_in_place(s, r);
        set_extents(s, r, &pr.ranks[r]);
    }
    return pr;
}

/* What fails without an accusation has failed for want of memory. */
static bool conclude(struct proof *pr, bool good)
{
    if (!good && pr->verdict->fault == PROVED)
        accuse_proof(pr, PROVE_OUT_OF_MEMORY);
    return good;
}

bool prove_plans(struct tt_plan *const *plans, const struct tt_shape *s, struct prove_verdict *v)
{
    struct proof pr = proof_of(plans, s, v);
    const bool good = conclude(&pr, forest_open(&pr.forest, s->size) && memory_open(&pr) && check_memory(&pr) &&
                                        check_messages(&pr) && run_all(&pr) && check_results(&pr));

    forest_close(&pr.forest);
    free(pr.memory);
    free(pr.partners);
    free(pr.posted);
    free(pr.ready);
    return good;
}

/* ---- staging ---- */

/* Of one pair of ranks: the messages x that are sent here against those, y, that were to be sent there. */
static bool same_box(struct proof *pr, const struct proof *there, const struct side *x, int nx, const struct side *y,
                     int ny)
{
    struct text t;

    for (int i = 0; i < nx && i < ny; i++)
        if (x[i].key != y[i].key || step_of(pr, &x[i])->n != step_of(there, &y[i])->n) {
            t = accuse_proof(pr, PROVE_WIRE);
            say(&t, "rank %d: expected ", x[i].rank);
            say_step(&t, there->ranks[y[i].rank].plan, y[i].step);
            say(&t, ", seen ");
            say_step(&t, pr->ranks[x[i].rank].plan, x[i].step);
            return false;
        }
    if (nx == ny)
        return true;
    t = accuse_proof(pr, PROVE_WIRE);
    say(&t, "rank %d: expected %d messages to rank %d, seen %d", nx ? x->rank : y->rank, ny,
        nx ? step_of(pr, x)->peer : step_of(there, y)->peer, nx);
    return false;
}

static bool same_wire(struct tt_plan *const *plans, struct tt_plan *const *model, const struct tt_shape *s,
                      struct prove_verdict *v)
{
    struct proof here = proof_of(plans, s, v), there = proof_of(model, s, v);
    struct boxes x = {NULL, NULL}, y = {NULL, NULL};
    bool good = boxes_open(&here, TT_SEND, &x) && boxes_open(&there, TT_SEND, &y);

    for (int b = 0; good && b < s->size * s->size; b++)
        good = same_box(&here, &there, x.sides + x.first[b], x.first[b + 1] - x.first[b], y.sides + y.first[b],
                        y.first[b + 1] - y.first[b]);
    boxes_close(&x);
    boxes_close(&y);
    return conclude(&here, good);
}

static bool check_staged(struct proof *pr, const unsigned *device_bufs)
{
    for (int r = 0; r < pr->size; r++)
        for (int i = 0; i < pr->ranks[r].plan->nsteps; i++) {
            const struct tt_step *s = &pr->ranks[r].plan->steps[i];

            if ((s->verb == TT_SEND && (device_bufs[r] & 1u << s->a.buf)) ||
                (s->verb == TT_RECV && (device_bufs[r] & 1u << s->dst.buf)))
                return accuse_step(pr, PROVE_UNSTAGED, r, i, "names device memory");
        }
    return true;
}

/* All plans rewritten, or none. */
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
    struct proof pr = proof_of(staged, s, v);

    return check_staged(&pr, device_bufs) && same_wire(staged, plans, s, v) && prove_plans(staged, s, v);
}

bool prove_staged(struct tt_plan *const *plans, const struct tt_shape *s, int64_t part, const unsigned *device_bufs,
                  struct prove_verdict *v)
{
    struct tt_plan *split[PROVE_MAX_RANKS], *staged[PROVE_MAX_RANKS];
    struct proof pr = proof_of(plans, s, v);
    bool good = false;

    if (!split_all(plans, s->size, part, split))
        return conclude(&pr, false);
    if (stage_all(split, s->size, device_bufs, staged)) {
        good = prove_staging(staged, split, s, device_bufs, v);
        prove_free(staged, s->size);
    }
    prove_free(split, s->size);
    return conclude(&pr, good);
}

/* ---- from an algorithm ---- */

bool prove_build(const struct tt_alg *alg, const struct tt_shape *s, struct tt_plan **plans, struct prove_verdict *v)
{
    for (int r = 0; r < s->size; r++) {
        struct tt_shape own = *s;
        struct text t;
        int error;

        own.inplace = prove_in_place(s, r);
        plans[r] = tt_plan_build(alg, &own, r);
        if (plans[r])
            continue;
        error = errno;
        prove_free(plans, r);
        t = accuse(v, alg->name, s, PROVE_NOT_BUILT);
        say(&t, "rank %d: %s", r, strerror(error));
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
