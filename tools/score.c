/* SPDX-License-Identifier: BSD-3-Clause */
/* Setting all ranks' plans in time. A section is what lies between two fences of one lane. It starts when the section
 * before it has ended; a message travels in the round after both its ends have started; a section ends with the
 * last of its messages. These rules are relaxed until nothing moves any more, which takes as many passes as the order
 * of ranks is unlucky: a pass per hop of a chain at worst. */
#include "tools/score.h"

#include <errno.h>
#include <stdlib.h>

/* One end of a message while the two are being brought together. */
struct end {
    int source, target, lane, message;
    int slot; /* of the step: index in the array of all steps of all ranks */
};

struct setting {
    struct tt_score *score;
    int *first;   /* slot of each rank's step 0; first[size] is the number of slots */
    int *starts;  /* per slot: round after which its section starts */
    int *partner; /* per slot of a send or receive: the other end */
};

/* ---- totals ---- */

static void raise_int64(int64_t *most, int64_t value)
{
    *most = value > *most ? value : *most;
}

void tt_score_raise(struct tt_totals *most, const struct tt_plan *plan)
{
    const struct tt_totals t = tt_plan_totals(plan);

    most->messages = t.messages > most->messages ? t.messages : most->messages;
    most->reductions = t.reductions > most->reductions ? t.reductions : most->reductions;
    raise_int64(&most->sent, t.sent);
    raise_int64(&most->received, t.received);
    raise_int64(&most->copied, t.copied);
    raise_int64(&most->reduced, t.reduced);
}

int tt_score_own_rounds(const struct tt_plan *plan)
{
    int longest = 0;

    for (int l = 0; l < plan->nlanes; l++) {
        int rounds = 0;
        bool counted = false;

        for (int i = plan->lanes[l].first; i < plan->lanes[l].first + plan->lanes[l].count; i++) {
            const bool message = tt_step_is_message(&plan->steps[i]);

            rounds += message && !counted;
            counted = plan->steps[i].verb != TT_FENCE && (counted || message);
        }
        longest = rounds > longest ? rounds : longest;
    }
    return longest;
}

/* ---- bringing the two ends of each message together ---- */

static int compare_ends(const void *a, const void *b)
{
    const struct end *x = a, *y = b;

    if (x->source != y->source)
        return x->source - y->source;
    if (x->target != y->target)
        return x->target - y->target;
    if (x->lane != y->lane)
        return x->lane - y->lane;
    return x->message - y->message;
}

/* All ends of that kind, sorted; how many in *n. */
static void collect_ends(const struct setting *t, bool sends, struct end *ends, int *n)
{
    *n = 0;
    for (int r = 0; r < t->score->shape.size; r++) {
        const struct tt_plan *p = t->score->plans[r];

        for (int l = 0; l < p->nlanes; l++)
            for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++) {
                const struct tt_step *s = &p->steps[i];

                if (sends ? s->verb == TT_SEND : tt_step_receives(s))
                    ends[(*n)++] =
                        (struct end){sends ? r : s->peer, sends ? s->peer : r, l, s->message, t->first[r] + i};
            }
    }
    qsort(ends, (size_t)*n, sizeof *ends, compare_ends);
}

static int pair_ends(const struct setting *t)
{
    const size_t slots = (size_t)t->first[t->score->shape.size] + 1;
    struct end *sends = malloc(slots * sizeof *sends), *recvs = malloc(slots * sizeof *recvs);
    int nsends = 0, nrecvs = 0, error = sends && recvs ? 0 : ENOMEM;

    if (!error) {
        collect_ends(t, true, sends, &nsends);
        collect_ends(t, false, recvs, &nrecvs);
        error = nsends == nrecvs ? 0 : EPROTO;
    }
    for (int i = 0; !error && i < nsends; i++) {
        error = compare_ends(&sends[i], &recvs[i]) ? EPROTO : 0;
        t->partner[sends[i].slot] = recvs[i].slot;
        t->partner[recvs[i].slot] = sends[i].slot;
    }
    free(sends);
    free(recvs);
    t->score->all_messages = nsends;
    return error;
}

/* ---- time ---- */

static int later(int a, int b)
{
    return a > b ? a : b;
}

/* The round that the message with an end at slot travels in. */
static int travels(const struct setting *t, int slot)
{
    return later(t->starts[slot], t->starts[t->partner[slot]]) + 1;
}

/* Lets one lane's sections start no earlier than the ones before them end. True if any moved. */
static bool relax_lane(const struct setting *t, int rank, const struct tt_lane *lane)
{
    const struct tt_step *steps = t->score->plans[rank]->steps;
    int start = 0, end = 0;
    bool moved = false;

    for (int i = lane->first; i < lane->first + lane->count; i++) {
        const int slot = t->first[rank] + i;

        if (steps[i].verb == TT_FENCE) {
            start = end;
            continue;
        }
        moved |= t->starts[slot] < start;
        t->starts[slot] = later(t->starts[slot], start);
        if (t->partner[slot] >= 0)
            end = later(end, travels(t, slot));
    }
    return moved;
}

/* A chain of events longer than all steps together bites its own tail: that is a deadlock. */
static int set_times(const struct setting *t)
{
    const int size = t->score->shape.size;

    for (int pass = 0; pass <= t->first[size] + 1; pass++) {
        bool moved = false;

        for (int r = 0; r < size; r++)
            for (int l = 0; l < t->score->plans[r]->nlanes; l++)
                moved |= relax_lane(t, r, &t->score->plans[r]->lanes[l]);
        if (!moved)
            return 0;
    }
    return EPROTO;
}

/* ---- the events ---- */

static int compare_events(const void *a, const void *b)
{
    const struct tt_event *x = a, *y = b;

    if (x->round != y->round)
        return x->round - y->round;
    if (!x->recv != !y->recv)
        return !x->recv - !y->recv;
    if (x->lane != y->lane)
        return x->lane - y->lane;
    if (x->rank != y->rank)
        return x->rank - y->rank;
    return x->order - y->order;
}

static const struct tt_step *step_at(const struct setting *t, int rank, int slot)
{
    return &t->score->plans[rank]->steps[slot - t->first[rank]];
}

static void add_event(const struct setting *t, int rank, int lane, int i)
{
    struct tt_score *score = t->score;
    const struct tt_step *s = &score->plans[rank]->steps[i];
    const int slot = t->first[rank] + i;
    struct tt_event event = {.round = t->starts[slot], .lane = lane, .rank = rank, .step = s, .order = i};

    if (s->verb == TT_FENCE || tt_step_receives(s))
        return;
    if (s->verb == TT_SEND) {
        event.round = travels(t, slot);
        event.recv = step_at(t, s->peer, t->partner[slot]);
    }
    score->rounds = later(score->rounds, event.round);
    score->events[score->nevents++] = event;
}

static int list_events(const struct setting *t)
{
    struct tt_score *score = t->score;

    score->events = malloc(((size_t)t->first[score->shape.size] + 1) * sizeof *score->events);
    if (!score->events)
        return ENOMEM;
    for (int r = 0; r < score->shape.size; r++) {
        const struct tt_plan *p = score->plans[r];

        score->nlanes = later(score->nlanes, p->nlanes);
        tt_score_raise(&score->most, p);
        for (int l = 0; l < p->nlanes; l++)
            for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++)
                add_event(t, r, l, i);
    }
    qsort(score->events, (size_t)score->nevents, sizeof *score->events, compare_events);
    return 0;
}

/* ---- making ---- */

static int build_plans(struct tt_score *score, int *first)
{
    for (int r = 0; r < score->shape.size; r++) {
        score->plans[r] = tt_whole_plan(score->alg, &score->shape, r);
        if (!score->plans[r])
            return errno;
        first[r + 1] = first[r] + score->plans[r]->nsteps;
    }
    return 0;
}

static int set_in_time(struct setting *t)
{
    const size_t slots = (size_t)t->first[t->score->shape.size] + 1;
    int error;

    t->starts = calloc(slots, sizeof *t->starts);
    t->partner = malloc(slots * sizeof *t->partner);
    if (!t->starts || !t->partner)
        return ENOMEM;
    for (size_t i = 0; i < slots; i++)
        t->partner[i] = -1;
    error = pair_ends(t);
    if (!error)
        error = set_times(t);
    return error ? error : list_events(t);
}

struct tt_score *tt_score_make(const struct tt_alg *alg, const struct tt_shape *s)
{
    struct tt_score *score = calloc(1, sizeof *score);
    struct setting t = {.score = score};
    int error = ENOMEM;

    if (!score)
        return NULL;
    score->alg = alg;
    score->shape = *s;
    score->plans = calloc((size_t)s->size, sizeof *score->plans);
    t.first = calloc((size_t)s->size + 1, sizeof *t.first);
    if (score->plans && t.first)
        error = build_plans(score, t.first);
    if (!error)
        error = set_in_time(&t);
    free(t.first);
    free(t.starts);
    free(t.partner);
    if (!error)
        return score;
    tt_score_free(score);
    errno = error;
    return NULL;
}

void tt_score_free(struct tt_score *score)
{
    if (!score)
        return;
    for (int r = 0; score->plans && r < score->shape.size; r++)
        tt_plan_free(score->plans[r]);
    free(score->plans);
    free(score->events);
    free(score);
}
