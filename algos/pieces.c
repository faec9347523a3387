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

struct tt_ready tt_fold_cost(const struct tt_net *net, double n, double add)
{
    struct tt_ready ready = tt_first_ready(0);

    ready.at[TT_PAIR_NEAR] = pair_takes(net, TT_PAIR_NEAR, n) + add;
    ready.at[TT_PAIR_FAR] = pair_takes(net, TT_PAIR_FAR, n) + add;
    return ready;
}

/* A meeting, once both are ready: so late after the step's first ones that a part of what shares its links is over. */
static double meeting_takes(const struct tt_net *net, const struct tt_meeting *m, struct tt_sent sent, double late)
{
    const double n = sent.blocks ? m->blocks * sent.n : sent.n;
    const double flows = sent.blocks ? m->share * sent.n : m->fare.beta * sent.n;
    const bool far = m->fare.alpha == net->alone.far.alpha;
    const double alone = n * (far ? net->alone.far.beta : net->alone.near.beta);

    return n > 0 ? net->overhead + m->fare.alpha + tt_larger(alone, flows - 0.2 * late) : 0;
}

static double both_ready(const struct tt_ready *t, const struct tt_meeting *m)
{
    return tt_larger(t->at[m->of[0]], t->at[m->of[1]]);
}

static double first_ready(const struct tt_ready *t, const struct tt_meetings *step, bool first)
{
    double early = tt_all_ready(t);

    for (int i = 0; i < step->n; i++)
        if (step->of[i].any && (step->of[i].first || !first))
            early = tt_smaller(early, both_ready(t, &step->of[i]));
    return early;
}

void tt_fold_step(struct tt_ready *t, const struct tt_net *net, const struct tt_meetings *step, struct tt_sent sent,
                  bool add)
{
    const struct tt_ready before = *t;
    const double early = first_ready(t, step, sent.first);

    for (int i = 0; i < step->n; i++) {
        const struct tt_meeting *m = &step->of[i];
        const double ready = both_ready(&before, m), n = sent.blocks ? m->blocks * sent.n : sent.n;
        const double takes = meeting_takes(net, m, sent, add ? 0 : ready - early) + (add ? tt_adds(net, n) : 0);

        t->at[i] = sent.first && !m->first ? 0 : ready + (m->any ? takes : 0);
        t->pairs[i] = m->pairs;
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
        return (struct tt_sent){.n = tt_parts_bytes(s, size, parts), .first = s->count <= 2 * parts};
    return (struct tt_sent){.n = tt_block_bytes(s), .blocks = true};
}

double tt_unfold_cost(const struct tt_ready *t, const struct tt_net *net, double n)
{
    double all = 0;

    for (int i = 0; i < t->kinds; i++) {
        const double near = t->pairs[i] & 1 << TT_PAIR_NEAR ? pair_takes(net, TT_PAIR_NEAR, n) : 0;
        const double far = t->pairs[i] & 1 << TT_PAIR_FAR ? pair_takes(net, TT_PAIR_FAR, n) : 0;

        all = tt_larger(all, t->at[i] + tt_larger(near, far));
    }
    return all;
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
