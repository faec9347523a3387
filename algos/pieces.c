/* SPDX-License-Identifier: BSD-3-Clause */
/* The pieces of pieces.h that are no algorithm of their own: where parts begin, folding, and what scans share. */
#include "algos/costs.h"

#include <errno.h>
#include <stdlib.h>

/* The first rank that part i stands for, if so many pairs have folded. */
static int first_of_part(int i, int pairs)
{
    return i < pairs ? 2 * i : i + pairs;
}

/* Is its shape stated in one vector? */
static bool is_vector(const struct tt_shape *s)
{
    return s->coll == TT_COLL_allreduce || s->coll == TT_COLL_reduce || s->coll == TT_COLL_bcast;
}

int64_t tt_part(const struct tt_shape *s, int parts, int i)
{
    if (is_vector(s))
        return tt_cut(s->count, parts, i);
    return tt_offset(s, first_of_part(i, s->size - parts));
}

int64_t tt_longest(const struct tt_shape *s)
{
    int64_t longest = s->counts ? 0 : s->count;

    for (int i = 0; s->counts && i < s->size; i++)
        longest = s->counts[i] > longest ? s->counts[i] : longest;
    return longest;
}

bool tt_straddles(const struct tt_shape *s, int64_t from, int64_t to, int64_t n)
{
    return s->inplace && from != to && from < to + n && to < from + n;
}

struct tt_fold tt_fold(const struct tt_plan *p, int keep)
{
    const int rank = tt_rank(p), pairs = tt_size(p) - tt_pow2_below(tt_size(p));
    const bool paired = rank < 2 * pairs;

    return (struct tt_fold){.keep = keep,
                            .partner = paired ? rank ^ 1 : -1,
                            .stays = !paired || rank == keep || (rank % 2 == 1 && (rank ^ 1) != keep)};
}

int tt_fold_enter(struct tt_plan *p, const struct tt_fold *f, struct tt_loc send, struct tt_loc recv)
{
    const int size = tt_pow2_below(tt_size(p)), pairs = tt_size(p) - size;
    int *ranks;

    if (!f->stays)
        return 0;
    ranks = malloc((size_t)size * sizeof *ranks);
    if (!ranks)
        return ENOMEM;
    for (int i = 0; i < size; i++)
        ranks[i] = i >= pairs ? i + pairs : 2 * i == f->keep ? 2 * i : 2 * i + 1;
    tt_enter(p, &(struct tt_scope){ranks, size, send, recv});
    free(ranks);
    return 0;
}

int tt_fold_reduce(struct tt_plan *p, const struct tt_fold *f, int64_t n, struct tt_loc work)
{
    const struct tt_loc own = tt_at(SEND, 0);
    struct tt_loc arrived;

    if (!f->stays)
        tt_send(p, f->partner, own, n);
    if (!f->stays || f->partner < 0) {
        tt_fence(p);
        return tt_fold_enter(p, f, own, work);
    }
    arrived = tt_tmp(p, n);
    tt_recv(p, f->partner, arrived, n);
    tt_fence(p);
    if (tt_rank(p) < f->partner)
        tt_reduce(p, work, own, arrived, n);
    else
        tt_reduce(p, work, arrived, own, n);
    tt_fence(p);
    return tt_fold_enter(p, f, work, work);
}

int tt_folded_rank(int rank, int size)
{
    const int pairs = size - tt_pow2_below(size);

    return rank < 2 * pairs ? rank / 2 : rank - pairs;
}

struct tt_merge tt_merge_at(int part, int size, int level)
{
    const int pairs = size - tt_pow2_below(size), width = 1 << level, low = part & -width;
    const int first = first_of_part(low, pairs);

    return (struct tt_merge){first, level ? first_of_part(low + width / 2, pairs) : first + 1,
                             first_of_part(low + width, pairs)};
}

void tt_unfold(struct tt_plan *p, const struct tt_fold *f, int64_t n)
{
    if (f->partner < 0)
        return;
    if (f->stays)
        tt_send(p, f->partner, tt_at(RECV, 0), n);
    else
        tt_recv(p, f->partner, tt_at(RECV, 0), n);
}

/* Is there a rank in this one's place of the group above the one that two groups become? */
static bool sum_is_needed(const struct tt_plan *p, int bit)
{
    return tt_rank(p) + 2 * bit < tt_size(p);
}

void tt_group_exchange(struct tt_plan *p, int bit, struct tt_loc all, struct tt_loc arrived, int64_t n)
{
    const int peer = tt_rank(p) ^ bit;
    const bool upper = tt_rank(p) & bit;

    if (!upper || tt_rank(p) + bit < tt_size(p))
        tt_send(p, peer, all, n);
    if (upper || sum_is_needed(p, bit))
        tt_recv(p, peer, arrived, n);
    tt_fence(p);
}

struct tt_loc tt_group_merge(struct tt_plan *p, int bit, struct tt_loc all, struct tt_loc arrived, int64_t n)
{
    const bool upper = tt_rank(p) & bit;
    struct tt_loc room;

    if (!sum_is_needed(p, bit))
        return all;
    room = all.buf == TMP ? all : tt_tmp(p, n);
    tt_reduce(p, room, upper ? arrived : all, upper ? all : arrived, n);
    return room;
}

struct tt_ready tt_first_ready(double t)
{
    struct tt_ready ready = {.kinds = TT_FIRST_KINDS};

    for (int kind = 0; kind < TT_FIRST_KINDS; kind++)
        ready.at[kind] = t;
    ready.pairs[TT_PAIR_NEAR] = 1 << TT_PAIR_NEAR;
    ready.pairs[TT_PAIR_FAR] = 1 << TT_PAIR_FAR;
    return ready;
}

/* Between the ranks of pairs of one kind, all pairs at once. */
static double pair_takes(const struct tt_net *net, int kind, double n)
{
    const struct tt_fare *f = kind == TT_PAIR_FAR ? &net->fold.far : &net->fold.near;

    return n > 0 ? net->overhead + f->alpha + n * f->beta : 0;
}

struct tt_ready tt_fold_cost(const struct tt_net *net, enum tt_folded which, double n, double others, double add)
{
    struct tt_ready ready = tt_first_ready(0);

    ready.at[TT_PAIR_NEAR] =
        pair_takes(net, TT_PAIR_NEAR, n) + tt_smaller(n, others) * net->ahead[which][TT_PAIR_NEAR] + add;
    ready.at[TT_PAIR_FAR] =
        pair_takes(net, TT_PAIR_FAR, n) + tt_smaller(n, others) * net->ahead[which][TT_PAIR_FAR] + add;
    return ready;
}

/* What a meeting's messages keep the busiest of its links at: all of the step; those alone that stand for pairs; and
 * what others add that are a step ahead. */
struct flows {
    double all, own, next;
};

static struct flows flows_of(const struct tt_meeting *m, struct tt_sent sent)
{
    if (sent.blocks)
        return (struct flows){sent.n * m->share, sent.n * m->own.share, sent.n * m->next.share};
    return (struct flows){sent.n * m->fare.beta, sent.n * m->own.beta, sent.next * m->next.beta};
}

static double longest(const struct tt_meeting *m, struct tt_sent sent)
{
    return sent.blocks ? m->blocks * sent.n : sent.n;
}

static bool meets(const struct tt_meeting *m, struct tt_sent sent)
{
    return m->any && longest(m, sent) > 0 && (m->first || !sent.first);
}

static double both_ready(const struct tt_ready *t, const struct tt_meeting *m)
{
    return tt_larger(t->at[m->of[0]], t->at[m->of[1]]);
}

/* Those of a step who stand for no pairs: the first of them to begin, and how long they take; and when all begin, on
 * average. */
struct pace {
    bool ahead;
    double first, takes, mean;
};

/* Once flows are under way, with what is added up then. */
static double takes(const struct tt_net *net, const struct tt_meeting *m, struct tt_sent sent, double flows, bool add)
{
    return net->overhead + m->fare.alpha + flows + (add ? tt_adds(net, longest(m, sent)) : 0);
}

static struct pace pace_of(const struct tt_net *net, const struct tt_ready *t, const struct tt_meetings *step,
                           struct tt_sent sent, bool add)
{
    struct pace p = {false, 0, 0, 0};
    int meetings = 0;

    for (int i = 0; i < step->n; i++) {
        const struct tt_meeting *m = &step->of[i];
        const double ready = both_ready(t, m);

        if (!meets(m, sent))
            continue;
        meetings += m->meet;
        p.mean += m->meet * ready;
        if (m->pairs)
            continue;
        p.first = p.ahead ? tt_smaller(p.first, ready) : ready;
        p.takes = tt_larger(p.takes, takes(net, m, sent, flows_of(m, sent).all, add));
        p.ahead = true;
    }
    p.mean = meetings ? p.mean / meetings : 0;
    return p;
}

/* If a messages share a link until others, b, begin so much later, these are over when all flows are but for that time;
 * and no sooner than they would be alone. So who stands for pairs does not wait for what others, ahead, have sent by
 * then, but, if there is time, for what these send next. */
static double behind(const struct flows *f, const struct pace *p, double ready)
{
    const double late = tt_larger(0, ready - p->first), left = p->takes - late;
    const double shared = tt_larger(f->own, f->all - late);

    return shared + (left > 0 ? tt_smaller(f->next, tt_larger(0, shared - left)) : tt_larger(0, f->next + left));
}

/* The same of those of whom nobody is a step ahead: as late as they are on average. */
static double among(const struct tt_net *net, const struct tt_meeting *m, struct tt_sent sent, double all, double late)
{
    const bool far = m->fare.alpha == net->alone.far.alpha;
    const double alone = longest(m, sent) * (far ? net->alone.far.beta : net->alone.near.beta);

    return all - tt_smaller(tt_larger(0, late), tt_larger(0, all - alone));
}

static double meeting_takes(const struct tt_net *net, const struct tt_meetings *step, const struct tt_meeting *m,
                            struct tt_sent sent, const struct pace *p, double ready)
{
    const struct flows f = flows_of(m, sent);

    if (step->in_turns)
        return f.all;
    return m->pairs && p->ahead ? behind(&f, p, ready) : among(net, m, sent, f.all, ready - p->mean);
}

void tt_fold_step(struct tt_ready *t, const struct tt_net *net, const struct tt_meetings *step, struct tt_sent sent,
                  bool add)
{
    const struct tt_ready before = *t;
    const struct pace pace = pace_of(net, t, step, sent, add);

    for (int i = 0; i < step->n; i++) {
        const struct tt_meeting *m = &step->of[i];
        const double ready = both_ready(&before, m);

        t->at[i] = sent.first && !m->first ? 0 : ready;
        if (meets(m, sent))
            t->at[i] += takes(net, m, sent, meeting_takes(net, step, m, sent, &pace, ready), add);
        t->pairs[i] = m->pairs;
        t->home[i] = m->home;
    }
    t->kinds = step->n;
}

double tt_all_ready(const struct tt_ready *t)
{
    double all = 0;

    for (int i = 0; i < t->kinds; i++)
        all = tt_larger(all, t->at[i]);
    return all;
}

struct tt_sent tt_parts_sent(const struct tt_shape *s, int size, int parts)
{
    if (is_vector(s))
        return (struct tt_sent){.n = tt_parts_bytes(s, size, parts),
                                .next = tt_parts_bytes(s, size, parts) / 2,
                                .first = s->count <= 2 * parts};
    return (struct tt_sent){.n = tt_block_bytes(s), .blocks = true};
}

/* How much sooner than at some time those are ready, on average, among which are such pairs. */
static double sooner(const struct tt_ready *t, int pair, double at)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < t->kinds; i++)
        if (t->pairs[i] & 1U << pair) {
            sum += at - t->at[i];
            n++;
        }
    return sum > 0 ? sum / n : 0;
}

static double unfolds(const struct tt_ready *t, const struct tt_net *net, int pair, double n)
{
    const struct tt_fare *f = pair == TT_PAIR_FAR ? &net->fold.far : &net->fold.near;
    const struct tt_fare *alone = pair == TT_PAIR_FAR ? &net->alone.far : &net->alone.near;
    double all = 0;

    for (int i = 0; n > 0 && i < t->kinds; i++)
        if (t->pairs[i] & 1U << pair) {
            const double own = n * tt_larger(alone->beta, t->home[i]);
            const double flows = tt_larger(own, n * f->beta - sooner(t, pair, t->at[i]));

            all = tt_larger(all, t->at[i] + net->overhead + f->alpha + flows);
        }
    return all;
}

double tt_unfold_cost(const struct tt_ready *t, const struct tt_net *net, double n)
{
    return tt_larger(tt_all_ready(t), tt_larger(unfolds(t, net, TT_PAIR_NEAR, n), unfolds(t, net, TT_PAIR_FAR, n)));
}

double tt_block_bytes(const struct tt_shape *s)
{
    return s->counts ? tt_bytes(s, tt_offset(s, s->size)) / s->size : tt_bytes(s, s->count);
}

int tt_unwrapped(const struct tt_plan *p, int root, int child)
{
    const int size = tt_size(p), room = size - tt_mod(root + child, size), blocks = tt_subtree(child, size);

    return blocks < room ? blocks : room;
}
