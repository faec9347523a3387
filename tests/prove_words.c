/* SPDX-License-Identifier: BSD-3-Clause */
/* What the prover says: which call, what kind of fault, and a sentence that names ranks, lanes and steps, so that the
 * author of an algorithm can find the line without running anything. */
#include "tests/prove_parts.h"

#include <stdarg.h>
#include <stdio.h>

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

void prove_say(struct text *t, const char *format, ...)
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
    prove_say(t, "%s %s, P = %d, ", tt_coll_name(s->coll), algorithm, s->size);
    if (s->counts) {
        const int n = s->coll == TT_COLL_alltoallv ? s->size * s->size : s->size;

        prove_say(t, "counts");
        for (int i = 0; i < n && i < PROVE_MAX_RANKS; i++)
            prove_say(t, " %lld", (long long)s->counts[i]);
        prove_say(t, "%s", n > PROVE_MAX_RANKS ? " ..." : "");
    } else {
        prove_say(t, "count %lld", (long long)s->count);
    }
    if (s->nodes) {
        prove_say(t, ", on nodes");
        for (int r = 0; r < s->size; r++)
            prove_say(t, " %d", s->nodes->of[r]);
    }
    prove_say(t, ", root %d, %s, %scommutative, segment %lld", s->root, s->inplace ? "in place" : "not in place",
        s->commutes ? "" : "not ", (long long)s->segment);
}

void prove_say_place(struct text *t, struct tt_loc loc, int64_t n)
{
    prove_say(t, "%s[%lld..%lld)", tt_buf_name(loc.buf), (long long)loc.at, (long long)(loc.at + n));
}

static int lane_of(const struct tt_plan *p, int step)
{
    int lane = 0;

    while (lane + 1 < p->nlanes && step >= p->lanes[lane].first + p->lanes[lane].count)
        lane++;
    return lane;
}

/* "rank 2, lane 0, step 5 (recv from 1 into RECV[3..5))" */
void prove_say_step(struct text *t, const struct tt_plan *p, int step)
{
    const struct tt_step *s = &p->steps[step];

    prove_say(t, "rank %d, lane %d, step %d (%s ", p->rank, lane_of(p, step), step, tt_verb_name(s->verb));
    if (tt_step_receives(s))
        prove_say(t, "from %d into ", s->peer);
    if (s->verb != TT_SEND)
        prove_say_place(t, s->dst, s->n);
    if (s->verb == TT_COPY || tt_step_reduces(s))
        prove_say(t, " = ");
    if (s->verb != TT_RECV)
        prove_say_place(t, s->a, s->n);
    if (tt_step_reduces(s)) {
        prove_say(t, " op ");
        prove_say_place(t, s->b, s->n);
    }
    for (int i = 0; i < s->more; i++) {
        prove_say(t, " op ");
        prove_say_place(t, p->rest[s->rest + i], s->n);
    }
    if (s->verb == TT_SEND)
        prove_say(t, " to %d", s->peer);
    prove_say(t, ")");
}

/* "((0 op 1) op 2)" */
static void say_tree(struct text *t, const struct forest *f, uint32_t tree)
{
    if (tree == NOBODY) {
        prove_say(t, "nothing");
    } else if (tree < FIRST_FOLD) {
        prove_say(t, "%d", (int)(tree - FIRST_LEAF));
    } else {
        prove_say(t, "(");
        say_tree(t, f, f->trees[tree].a);
        prove_say(t, " op ");
        say_tree(t, f, f->trees[tree].b);
        prove_say(t, ")");
    }
}

void prove_say_value(struct text *t, const struct forest *f, struct value v)
{
    char words[160];
    struct text tree = {words, sizeof words};

    say_tree(&tree, f, v.tree);
    prove_say(t, "%s%s", words, tree.left > 1 ? "" : "...");
    if (v.tree != NOBODY)
        prove_say(t, " of element %d", (int)v.at);
}

/* Starts the verdict; the caller says the rest. */
struct text prove_accuse_shape(struct prove_verdict *v, const char *algorithm, const struct tt_shape *s,
                               enum prove_fault fault)
{
    struct text t = {v->why, sizeof v->why};

    v->fault = fault;
    say_shape(&t, algorithm, s);
    prove_say(&t, ": %s: ", fault_names[fault]);
    return t;
}

struct text prove_accuse(struct proof *pr, enum prove_fault fault)
{
    return prove_accuse_shape(pr->verdict, pr->ranks[0].plan->algorithm, pr->shape, fault);
}

/* One step is at fault: says so and continues with the words given. Always false. */
bool prove_accuse_step(struct proof *pr, enum prove_fault fault, int rank, int step, const char *words)
{
    struct text t = prove_accuse(pr, fault);

    prove_say_step(&t, pr->ranks[rank].plan, step);
    prove_say(&t, " %s", words);
    return false;
}

bool prove_accuse_pair(struct proof *pr, enum prove_fault fault, const struct side *x, const char *words,
                        const struct side *y)
{
    struct text t = prove_accuse(pr, fault);

    if (x->rank != y->rank)
        prove_say(&t, "ranks %d and %d: ", x->rank, y->rank);
    prove_say_step(&t, pr->ranks[x->rank].plan, x->step);
    prove_say(&t, " %s ", words);
    prove_say_step(&t, pr->ranks[y->rank].plan, y->step);
    return false;
}

