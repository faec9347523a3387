/* SPDX-License-Identifier: BSD-3-Clause */
/* Who meets whom: the two sides of every message, found by its number and compared without running. Sides are put
 * into a box for each pair of ranks, in which they nearly always come in order, so that this is linear. */
#include "tests/prove_parts.h"

#include <stdlib.h>

/* Both sides of the messages of one direction of travel, sorted into P * P boxes, one per (from, to). */
struct boxes {
    int *first; /* P * P + 1 */
    struct side *sides;
};

static int box_of(const struct proof *pr, int rank, const struct tt_step *s)
{
    return s->verb == TT_SEND ? rank * pr->size + s->peer : s->peer * pr->size + rank;
}

static bool is_side(const struct tt_step *s, bool sends)
{
    return tt_step_is_message(s) && (s->verb == TT_SEND) == sends;
}

static void count_sides(const struct proof *pr, bool sends, int *first)
{
    for (int r = 0; r < pr->size; r++)
        for (int i = 0; i < pr->ranks[r].plan->nsteps; i++)
            if (is_side(&pr->ranks[r].plan->steps[i], sends))
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
            return prove_accuse_pair(pr, PROVE_OVERTAKING, &x, "is an earlier part of the same message than",
                                     &box[n - 1]);
        box[n] = box[n - 1];
        n--;
    }
    box[n] = x;
    return true;
}

static bool fill_from(struct proof *pr, int rank, bool sends, struct boxes *b, int *filled)
{
    const struct tt_plan *p = pr->ranks[rank].plan;

    for (int l = 0; l < p->nlanes; l++)
        for (int i = p->lanes[l].first; i < p->lanes[l].first + p->lanes[l].count; i++) {
            const struct tt_step *s = &p->steps[i];
            int box;

            if (!is_side(s, sends))
                continue;
            box = box_of(pr, rank, s);
            if (!insert_side(pr, b->sides + b->first[box], filled[box]++, (struct side){key_of(l, s), rank, i}))
                return false;
        }
    return true;
}

static bool fill_boxes(struct proof *pr, bool sends, struct boxes *b, int *filled)
{
    for (int r = 0; r < pr->size; r++)
        if (!fill_from(pr, r, sends, b, filled))
            return false;
    return true;
}

/* boxes_close it whatever comes back. */
static bool boxes_open(struct proof *pr, bool sends, struct boxes *b)
{
    bool good = false;
    const size_t n = (size_t)pr->size * (size_t)pr->size;
    int *filled = calloc(n, sizeof *filled);

    b->sides = NULL;
    b->first = calloc(n + 1, sizeof *b->first);
    if (filled && b->first) {
        count_sides(pr, sends, b->first);
        b->sides = malloc(((size_t)b->first[n] + 1) * sizeof *b->sides);
        good = b->sides && fill_boxes(pr, sends, b, filled);
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
    struct text t = prove_accuse(pr, PROVE_MATCHING);

    prove_say(&t, "ranks %d and %d: ", x->rank, s->peer);
    prove_say_step(&t, pr->ranks[x->rank].plan, x->step);
    prove_say(&t, " is message %d, part %d, which rank %d does not %s", s->message, s->part, s->peer,
        s->verb == TT_SEND ? "receive" : "send");
    return false;
}

static bool meet(struct proof *pr, const struct side *send, const struct side *recv)
{
    if (send->key != recv->key)
        return accuse_lonely(pr, send, recv);
    if (step_of(pr, send)->n != step_of(pr, recv)->n)
        return prove_accuse_pair(pr, PROVE_LENGTH, send, "meets", recv);
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

bool prove_messages(struct proof *pr)
{
    struct boxes sends = {NULL, NULL}, recvs = {NULL, NULL};
    bool good = boxes_open(pr, true, &sends) && boxes_open(pr, false, &recvs);

    for (int b = 0; good && b < pr->size * pr->size; b++)
        good = meet_box(pr, sends.sides + sends.first[b], sends.first[b + 1] - sends.first[b],
                        recvs.sides + recvs.first[b], recvs.first[b + 1] - recvs.first[b]);
    boxes_close(&sends);
    boxes_close(&recvs);
    return good;
}

/* ---- the same wire ---- */

/* Of one pair of ranks: the messages x that are sent here against those, y, that were to be sent there. */
static bool same_box(struct proof *pr, const struct proof *there, const struct side *x, int nx, const struct side *y,
                     int ny)
{
    struct text t;

    for (int i = 0; i < nx && i < ny; i++)
        if (x[i].key != y[i].key || step_of(pr, &x[i])->n != step_of(there, &y[i])->n) {
            t = prove_accuse(pr, PROVE_WIRE);
            prove_say(&t, "rank %d: expected ", x[i].rank);
            prove_say_step(&t, there->ranks[y[i].rank].plan, y[i].step);
            prove_say(&t, ", seen ");
            prove_say_step(&t, pr->ranks[x[i].rank].plan, x[i].step);
            return false;
        }
    if (nx == ny)
        return true;
    t = prove_accuse(pr, PROVE_WIRE);
    prove_say(&t, "rank %d: expected %d messages to rank %d, seen %d", nx ? x->rank : y->rank, ny,
        nx ? step_of(pr, x)->peer : step_of(there, y)->peer, nx);
    return false;
}

bool prove_same_wire(struct proof *here, struct proof *there)
{
    struct boxes x = {NULL, NULL}, y = {NULL, NULL};
    bool good = boxes_open(here, true, &x) && boxes_open(there, true, &y);

    for (int b = 0; good && b < here->size * here->size; b++)
        good = same_box(here, there, x.sides + x.first[b], x.first[b + 1] - x.first[b], y.sides + y.first[b],
                        y.first[b + 1] - y.first[b]);
    boxes_close(&x);
    boxes_close(&y);
    return good;
}
