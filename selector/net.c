/* SPDX-License-Identifier: BSD-3-Clause */
/* Fares are found by sending each pattern's messages through the ports once and counting. If all have n bytes and start
 * together, the fullest port decides: those who go through it share it equally until they are over, and nobody is
 * slower. So beta is that port's times how many go through it, exactly what the priced plans say of such a round. O(p)
 * per pattern, of which there are O(log p); everybody to everybody is not sent but counted, by how many ranks there are
 * at each level from each. */
#include "selector/net.h"

#include <stdlib.h>
#include <string.h>

#include "algos/levels.h"
#include "selector/ports.h"

enum { SAMPLES = 12 }; /* of the steps that an average is taken over */

/* Where what ranks send doubles, who has two blocks for one of the others' gets behind: from not at all (0), in the
 * first step, to so that the others' are over by then (1). This is the mean of both, and the formulas depend little on
 * it: of 540 cases of allgather's doubling against the priced plans, on 3 to 64 ranks of the machines of
 * tests/test_cost.c, none is off by more than 15 % with anything from 0.4 to 0.7; 3 are with 0, 18 with 1. Nothing else
 * uses it. */
static const double BEHIND = 0.5;

/* One message on its way, and as many more as there are others that do the same through the same ports. */
struct sent {
    int out, in; /* ports */
    int from, to, blocks;
    unsigned char level, class, turn;
    struct tt_crowd all, own, next; /* as in struct tt_meeting; all: fare.beta and share */
};

/* What is looked up for every message: a rank's node, GPU, and ports at each level; and how many there are of it. */
struct place {
    int node, gpu;
    bool linked;
    int weight;
    struct tt_way way[TT_NLEVELS];
};

/* A rank where such as it are of a kind (struct tt_meeting). */
struct member {
    int kind;
    unsigned pair; /* 1 << kind that it was first, if it stands for a pair */
};

/* A scope and what is on the way in it. Where several scopes do the same at the same time, each rank stands for all in
 * its place that go through its NIC: it weighs as much. */
struct traffic {
    const struct tt_topo *t;
    const struct tt_ports *ports;
    int size;
    const int *ranks;            /* of the topology */
    struct place *places;        /* of the same */
    struct sent *sent;           /* room for two of each rank */
    int *ready;                  /* scratch: of each rank, how many messages it has had, in turns */
    struct member *member;       /* and of what kind it is by now */
    struct tt_meeting *meetings; /* room for the next ones */
    int nsent;
    int *load, *blocks;      /* messages, and blocks, through each port; all zero but while fares are worked out */
    int *members, *with_gpu; /* ranks of the scope, by node */
    int *sharing;            /* likewise, by port at TT_LEVEL_GPU */
};

/* ---- counting ---- */

static void raise(double *most, double value)
{
    *most = value > *most ? value : *most;
}

/* By all that ports carry. Leaves no load. */
static void raise_to_busiest(struct traffic *w, struct tt_fares *fares)
{
    for (int i = 0; i < w->ports->n; i++) {
        raise(i < w->ports->across ? &fares->near.beta : &fares->far.beta, w->load[i] * w->ports->beta[i]);
        w->load[i] = 0;
    }
}

static void load_port(struct traffic *w, int port, int messages, int blocks)
{
    w->load[port] += messages;
    w->blocks[port] += messages * blocks;
}

/* Puts all messages of a turn on their way, or takes them off. */
static void fill_ports(struct traffic *w, int turn, int one)
{
    for (int i = 0; i < w->nsent; i++) {
        const struct sent *m = &w->sent[i];

        if (m->turn != turn)
            continue;
        load_port(w, m->out, one * w->places[m->from].weight, m->blocks);
        load_port(w, m->in, m->in == m->out ? 0 : one * w->places[m->to].weight, m->blocks);
    }
}

static void raise_to_slowest(const struct traffic *w, const struct sent *m, struct tt_fares *fares)
{
    struct tt_fare *fare = m->level == TT_LEVEL_NIC ? &fares->far : &fares->near;

    raise(&fare->alpha, w->t->speed[m->level].alpha);
    raise(&fare->beta, w->load[m->out] * w->ports->beta[m->out]);
    raise(&fare->beta, w->load[m->in] * w->ports->beta[m->in]);
    fares->any = true;
}

/* The slowest of those of a class, all being under way. */
static struct tt_fares slowest(const struct traffic *w, int class)
{
    struct tt_fares fares = {0};
    int messages = 0, across = 0;

    for (int i = 0; i < w->nsent; i++) {
        const struct sent *m = &w->sent[i];

        if (m->class != class)
            continue;
        raise_to_slowest(w, m, &fares);
        messages++;
        across += m->level == TT_LEVEL_NIC;
    }
    fares.crossing = messages ? (double)across / messages : 0;
    return fares;
}

/* ---- patterns: to which rank of the scope does a send in step k? -1: to none ---- */

typedef int pattern(int a, int size, int k);

static int shifted(int a, int size, int k)
{
    return 1 << k < size ? tt_mod(a + (1 << k), size) : -1;
}

static int before(int a, int size, int k)
{
    (void)k;
    return tt_mod(a - 1, size);
}

static int climbs(int a, int size, int k)
{
    const int bit = 1 << k, peer = a ^ bit;

    return peer < size && (!(a & bit) || a + bit < size) ? peer : -1;
}

static int folds(int a, int size, int k)
{
    (void)k;
    return a < 2 * (size - tt_pow2_below(size)) && a % 2 == 0 ? a + 1 : -1;
}

/* Of those that stay, the one of that number. */
static int rank_at(int number, int size)
{
    const int pairs = size - tt_pow2_below(size);

    return number < pairs ? 2 * number + 1 : number + pairs;
}

static int halves(int a, int size, int k)
{
    const int i = tt_folded_rank(a, size);

    return folds(a, size, 0) < 0 && i >> k == 1 ? (i == 1 << k ? 0 : rank_at(i - (1 << k), size)) : -1;
}

/* The other way about: who has the block of a, the number of its part being reversed. */
static int reversed(int a, int size, int k)
{
    int i = tt_folded_rank(a, size), r = 0;

    (void)k;
    for (int bit = 1; bit < tt_pow2_below(size); bit *= 2)
        r = 2 * r + !!(i & bit);
    return rank_at(r, size);
}

static int down_tree(int a, int size, int k)
{
    return a % (2 << k) == 0 && a + (1 << k) < size ? a + (1 << k) : -1;
}

/* Up a tree; but for the last ranks' own, which have fewer behind them, and so are earlier than others of the step. */
static int gathers(int a, int size, int k)
{
    const bool child = a & 1 << k && !(a & ((1 << k) - 1)), full = a + (1 << k) <= size || a == 1 << k;

    return child && full ? a - (1 << k) : -1;
}

static int reflected(int a, int size, int k)
{
    return tt_mod(k - a, size);
}

/* As tt_topo_level says. */
static enum tt_level level_between(const struct place *a, const struct place *b)
{
    if (a->node != b->node)
        return TT_LEVEL_NIC;
    if (a->gpu < 0 || b->gpu < 0)
        return TT_LEVEL_HOST;
    return a->gpu == b->gpu ? TT_LEVEL_GPU : a->linked ? TT_LEVEL_LINK : TT_LEVEL_HOST;
}

/* The ranks that send in a pattern are among first, first + stride, ... up to end. */
struct range {
    int first, end, stride;
};

static struct range senders(const struct traffic *w, pattern *to, int k)
{
    if (to == down_tree)
        return (struct range){0, w->size, 2 << k};
    if (to == halves)
        return (struct range){rank_at(1 << k, w->size), rank_at((2 << k) - 1, w->size) + 1, 1};
    return (struct range){0, w->size, 1};
}

/* What all of a tree's messages, of as many blocks as the subtree has ranks, keep the busiest ports at. */
static struct tt_fares subtrees(struct traffic *w)
{
    struct tt_fares fares = {.any = w->size > 1};

    for (int a = 1; a < w->size; a++) {
        const struct place *from = &w->places[a & (a - 1)], *to = &w->places[a];
        const enum tt_level level = level_between(from, to);
        const int out = from->way[level].out, in = to->way[level].in, blocks = tt_subtree(a, w->size);

        w->load[out] += blocks;
        w->load[in] += in == out ? 0 : blocks;
        raise(level == TT_LEVEL_NIC ? &fares.far.alpha : &fares.near.alpha, w->t->speed[level].alpha);
    }
    raise_to_busiest(w, &fares);
    return fares;
}

static void send_blocks(struct traffic *w, int a, int b, int class, int turn, int blocks)
{
    const struct place *from = &w->places[a], *to = &w->places[b];
    const enum tt_level level = level_between(from, to);

    w->sent[w->nsent++] = (struct sent){.out = from->way[level].out,
                                        .in = to->way[level].in,
                                        .from = a,
                                        .to = b,
                                        .blocks = blocks,
                                        .level = (unsigned char)level,
                                        .class = (unsigned char)class,
                                        .turn = (unsigned char)turn};
}

static void send(struct traffic *w, int a, int b, int class, int turn)
{
    send_blocks(w, a, b, class, turn, 1);
}

/* All messages of a pattern. */
static void send_all(struct traffic *w, pattern *to, int k)
{
    const struct range range = senders(w, to, k);

    for (int a = range.first; a < range.end; a += range.stride) {
        const int b = to(a, w->size, k);

        if (b >= 0 && b != a)
            send(w, a, b, 0, 0);
    }
}

static struct tt_fares fare_of(struct traffic *w, pattern *to, int k)
{
    struct tt_fares fares;

    w->nsent = 0;
    send_all(w, to, k);
    fill_ports(w, 0, 1);
    fares = slowest(w, 0);
    fill_ports(w, 0, -1);
    return fares;
}

/* ---- who has nobody to wait for in a step goes on to the next ----
 * So messages of several steps are under way at the same time: in the same turn, if all take equally long. */

/* Those of each class have the fares of the turns they are in. Returns the last turn. */
static void fares_by_turn(struct traffic *w, struct tt_fares *fares, int turns)
{
    for (int turn = 0; turn < turns; turn++) {
        fill_ports(w, turn, 1);
        for (int i = 0; i < w->nsent; i++)
            if (w->sent[i].turn == turn)
                raise_to_slowest(w, &w->sent[i], &fares[w->sent[i].class]);
        fill_ports(w, turn, -1);
    }
}

/* The port that carries most of all messages, one turn with another: since when, in turns, and in what time per byte.
 */
static struct tt_busiest busiest_port(struct traffic *w, int turns)
{
    struct tt_busiest b = {.after = turns};
    int most = 0;

    for (int turn = 0; turn < turns; turn++)
        fill_ports(w, turn, 1);
    for (int i = 0; i < w->ports->n; i++)
        if (w->load[i] * w->ports->beta[i] > b.fare.beta) {
            b.fare.beta = w->load[i] * w->ports->beta[i];
            most = i;
        }
    for (int turn = 0; turn < turns; turn++)
        fill_ports(w, turn, -1);
    for (int i = 0; i < w->nsent; i++) {
        const struct sent *m = &w->sent[i];

        if (m->out != most && m->in != most)
            continue;
        b.after = m->turn < b.after ? m->turn : b.after;
        b.fare.alpha = w->t->speed[m->level].alpha;
    }
    return b;
}

/* a sends to b when both are ready. How many turns there have been then. */
static int meet(struct traffic *w, int a, int b, int class)
{
    const int turn = w->ready[a] > w->ready[b] ? w->ready[a] : w->ready[b];

    send(w, a, b, class, turn);
    w->ready[a] = w->ready[b] = turn + 1;
    return turn + 1;
}

/* Down a binomial tree, from the largest step: each rank that is there sends to its next child. */
static void fill_served(struct traffic *w, struct tt_net *net)
{
    int turns = 0;

    w->nsent = 0;
    memset(w->ready, 0, (size_t)w->size * sizeof *w->ready);
    for (int k = tt_steps(w->size) - 1; k >= 0; k--)
        for (int a = 0; a + (1 << k) < w->size; a += 2 << k) {
            const int turn = meet(w, a, a + (1 << k), k);

            turns = turn > turns ? turn : turns;
        }
    fares_by_turn(w, net->served, turns);
    net->serving = busiest_port(w, turns);
}

/* ---- meetings: who meets whom in a step, by the kinds that they are of ---- */

/* Of those that share a port the longest is over when all are. behind: where who has the longer ones is so much behind
 * the others that these are over by then, and other long ones are on the way instead. */
static struct tt_crowd shares_of(const struct traffic *w, const struct sent *m, double behind)
{
    const int ports[] = {m->out, m->in};
    struct tt_crowd c = {0, 0};

    for (int i = 0; i < 2; i++) {
        const int port = ports[i], most = w->load[port] * m->blocks;
        const int blocks = most < w->blocks[port] ? most : w->blocks[port];

        raise(&c.beta, w->load[port] * w->ports->beta[port]);
        raise(&c.share, (blocks + behind * (most - blocks)) * w->ports->beta[port]);
    }
    return c;
}

static void find_all_shares(struct traffic *w, int turns)
{
    for (int turn = 0; turn < turns; turn++) {
        fill_ports(w, turn, 1);
        for (int i = 0; i < w->nsent; i++)
            if (w->sent[i].turn == turn)
                w->sent[i].all = w->sent[i].own = shares_of(w, &w->sent[i], 0);
        fill_ports(w, turn, -1);
    }
}

/* Those whose like stand for pairs, those that do not, and what the latter send in the step after. */
enum { BEHIND_TURN, AHEAD_TURN, NEXT_TURN };

/* All at once; those behind alone; and those behind with what others send next. */
static void find_folded_shares(struct traffic *w, double behind)
{
    fill_ports(w, BEHIND_TURN, 1);
    for (int i = 0; i < w->nsent; i++)
        w->sent[i].own = shares_of(w, &w->sent[i], behind);
    fill_ports(w, NEXT_TURN, 1);
    for (int i = 0; i < w->nsent; i++) {
        struct sent *m = &w->sent[i];
        const struct tt_crowd c = shares_of(w, m, behind);

        m->next = (struct tt_crowd){c.beta - m->own.beta, c.share - m->own.share};
    }
    fill_ports(w, NEXT_TURN, -1);
    fill_ports(w, AHEAD_TURN, 1);
    for (int i = 0; i < w->nsent; i++)
        w->sent[i].all = shares_of(w, &w->sent[i], behind);
    for (int i = 0; i < w->nsent; i++)
        if (w->sent[i].turn != BEHIND_TURN) /* nobody asks, and kinds would differ by it */
            w->sent[i].own = w->sent[i].next = (struct tt_crowd){0, 0};
    fill_ports(w, AHEAD_TURN, -1);
    fill_ports(w, BEHIND_TURN, -1);
}

static struct tt_meeting meeting_by(const struct traffic *w, const struct sent *m)
{
    return (struct tt_meeting){.any = true,
                               .fare = {w->t->speed[m->level].alpha, m->all.beta},
                               .blocks = m->blocks,
                               .share = m->all.share,
                               .own = m->own,
                               .next = m->next};
}

static void raise_meeting(struct tt_meeting *m, const struct tt_meeting *by)
{
    raise(&m->fare.alpha, by->fare.alpha);
    raise(&m->fare.beta, by->fare.beta);
    raise(&m->blocks, by->blocks);
    raise(&m->share, by->share);
    raise(&m->own.beta, by->own.beta);
    raise(&m->own.share, by->own.share);
    raise(&m->next.beta, by->next.beta);
    raise(&m->next.share, by->next.share);
    m->any |= by->any;
    m->first |= by->first;
}

static bool are_alike(const struct tt_meeting *a, const struct tt_meeting *b)
{
    return a->of[0] == b->of[0] && a->of[1] == b->of[1] && a->any == b->any && a->first == b->first &&
           a->fare.alpha == b->fare.alpha && a->fare.beta == b->fare.beta && a->blocks == b->blocks &&
           a->share == b->share && a->own.beta == b->own.beta && a->own.share == b->own.share &&
           a->next.beta == b->next.beta && a->next.share == b->next.share;
}

/* a and b meet; or a waits, then b is a. Of more kinds than there may be the last stands for the rest. */
static void join(struct traffic *w, struct tt_meetings *step, int a, int b, struct tt_meeting m)
{
    struct tt_meeting *of = w->meetings;
    struct member *x = &w->member[a], *y = &w->member[b];
    int i = 0;

    m.of[0] = (unsigned char)(x->kind < y->kind ? x->kind : y->kind);
    m.of[1] = (unsigned char)(x->kind < y->kind ? y->kind : x->kind);
    while (i < step->n && !are_alike(&of[i], &m))
        i++;
    if (i == TT_MOST_KINDS)
        raise_meeting(&of[--i], &m);
    else if (i == step->n)
        of[step->n++] = m;
    of[i].meet++;
    of[i].pairs |= x->pair | y->pair;
    x->kind = y->kind = i;
}

static void begin_step(const struct traffic *w, struct tt_meetings *step)
{
    *step = (struct tt_meetings){.of = w->meetings};
}

static void end_step(struct traffic *w, const struct tt_meetings *step)
{
    w->meetings += step->n;
}

/* What a rank is before the first step. */
static struct member first_member(const struct traffic *w, int a)
{
    const bool pair = a < 2 * (w->size - tt_pow2_below(w->size));
    const int kind = !pair ? TT_SINGLE : w->places[a].node == w->places[a ^ 1].node ? TT_PAIR_NEAR : TT_PAIR_FAR;

    return (struct member){kind, pair ? 1U << kind : 0};
}

/* Up the canonical tree: two groups merge when both are ready. */
static void send_merges(struct traffic *w, int *turns)
{
    w->nsent = *turns = 0;
    memset(w->ready, 0, (size_t)w->size * sizeof *w->ready);
    for (int k = 0; 1 << k <= tt_pow2_below(w->size); k++)
        for (int part = 0; part < tt_pow2_below(w->size); part += 1 << k) {
            const struct tt_merge m = tt_merge_at(part, w->size, k);

            if (m.middle < m.end)
                *turns = meet(w, m.middle, m.first, 0);
        }
}

static void fill_merge(struct traffic *w, struct tt_net *net)
{
    const struct sent *sent = w->sent;
    int turns;

    send_merges(w, &turns);
    find_all_shares(w, turns);
    for (int a = 0; a < w->size; a++)
        w->member[a] = (struct member){TT_SINGLE, 0};
    for (int k = 0; 1 << k <= tt_pow2_below(w->size); k++) {
        begin_step(w, &net->merge[k]);
        net->merge[k].in_turns = true;
        for (int part = 0; part < tt_pow2_below(w->size); part += 1 << k) {
            const struct tt_merge m = tt_merge_at(part, w->size, k);

            if (m.middle < m.end)
                join(w, &net->merge[k], m.first, m.middle, meeting_by(w, sent++));
            else
                join(w, &net->merge[k], m.first, m.first, (struct tt_meeting){.any = false});
        }
        end_step(w, &net->merge[k]);
    }
}

/* Where the parts begin that a rank of that number has of those it shares when bit k is the last that it met by, going
 * on to so many at a time. */
static int parts_from(enum tt_folded which, int number, int k, int parts)
{
    int from = 0;

    if (which != TT_HALVES_NEAR)
        return number & -(1 << k);
    for (int bit = 0; bit <= k; bit++)
        from += number & 1 << bit ? parts >> (bit + 1) : 0;
    return from;
}

/* How many blocks who stays sends in the step of bit k: what its peer keeps, or what it has. */
static int blocks_sent(enum tt_folded which, int number, int k, int size)
{
    const int parts = tt_pow2_below(size), pairs = size - parts;
    const int n = which == TT_HALVES_NEAR ? parts >> (k + 1) : 1 << k;
    const int from = parts_from(which, which == TT_DOUBLES_NEAR ? number : number ^ 1 << k, k, parts);
    const int of_two = from >= pairs ? 0 : from + n <= pairs ? n : pairs - from;

    return n + of_two;
}

static int bit_of(enum tt_folded which, int steps, int i)
{
    return which == TT_HALVES_FAR ? steps - 1 - i : i;
}

/* What those that stay send in step i, if there is one: each to whom it differs from in a bit of their numbers. Those
 * who have nobody among their like that stands for a pair are in that turn, the others behind; in the next one's,
 * nobody. */
static void send_folded(struct traffic *w, enum tt_folded which, int i, int turn)
{
    const int size = w->size, parts = tt_pow2_below(size), steps = tt_steps(parts), pairs = size - parts;
    const int k = bit_of(which, steps, i), met = which == TT_HALVES_FAR ? parts - (1 << (k < 0 ? 0 : k)) : (2 << k) - 1;

    for (int part = 0; i < steps && part < parts; part++) {
        const bool behind = (part & ~met) < pairs;

        if (!behind || turn == AHEAD_TURN)
            send_blocks(w, rank_at(part, size), rank_at(part ^ 1 << k, size), 0, behind ? BEHIND_TURN : turn,
                        blocks_sent(which, part, k, size));
    }
}

/* What pairs that fold have to share their links with. */
static void find_ahead(struct traffic *w, struct tt_net *net, enum tt_folded which)
{
    double all[2] = {0}, own[2] = {0};

    w->nsent = 0;
    send_folded(w, which, 0, NEXT_TURN);
    for (int a = 0; a < w->size; a++) {
        const int b = folds(a, w->size, 0);

        if (b >= 0)
            send(w, a, b, 0, BEHIND_TURN);
    }
    find_folded_shares(w, 0);
    for (int i = 0; i < w->nsent; i++) {
        const struct sent *m = &w->sent[i];
        const int kind = m->level == TT_LEVEL_NIC ? TT_PAIR_FAR : TT_PAIR_NEAR;

        if (m->turn != BEHIND_TURN)
            continue;
        raise(&own[kind], m->own.beta);
        raise(&all[kind], m->own.beta + m->next.beta);
    }
    for (int kind = 0; kind < 2; kind++)
        net->ahead[which][kind] = all[kind] - own[kind];
}

/* In the end who stays sends to who sat out: those at the same time, more or less, who met across last; or within. */
static void find_homes(struct traffic *w, struct tt_meeting *of)
{
    w->nsent = 0;
    for (int a = 0; a < w->size; a++)
        if (folds(a, w->size, 0) >= 0)
            send(w, a + 1, a, w->member[a + 1].kind,
                 of[w->member[a + 1].kind].fare.alpha == w->t->speed[TT_LEVEL_NIC].alpha);
    for (int turn = 0; turn < 2; turn++) {
        fill_ports(w, turn, 1);
        for (int i = 0; i < w->nsent; i++)
            if (w->sent[i].turn == turn)
                raise(&of[w->sent[i].class].home, shares_of(w, &w->sent[i], 0).beta);
        fill_ports(w, turn, -1);
    }
}

/* How busy the busiest port across is, and how many are. */
static double busiest_across(const struct traffic *w, int *ports)
{
    double most = 0;

    *ports = 0;
    for (int i = w->ports->across; i < w->ports->n; i++) {
        const double busy = w->load[i] * w->ports->beta[i];

        *ports = busy > most ? 1 : *ports + (busy == most);
        raise(&most, busy);
    }
    return most;
}

static void load_message(struct traffic *w, const struct sent *m, int one)
{
    load_port(w, m->out, one, 1);
    load_port(w, m->in, one, 1);
}

/* The busiest port if a pair's message goes the other way: all are looked at only if none is as busy but the pair's. */
static double turn_pair(struct traffic *w, const struct sent *m, double before, int ports)
{
    const struct place *from = &w->places[m->to], *to = &w->places[m->from];
    const struct sent back = {.out = from->way[m->level].out, .in = to->way[m->level].in};
    const int touched[] = {m->out, m->in, back.out, back.in};
    double most = 0;

    for (int i = 0; i < 4; i++)
        ports -= w->load[touched[i]] * w->ports->beta[touched[i]] == before;
    load_message(w, m, -1);
    load_message(w, &back, 1);
    for (int i = 0; i < 4; i++)
        raise(&most, w->load[touched[i]] * w->ports->beta[touched[i]]);
    if (ports > 0)
        raise(&most, before);
    else
        most = busiest_across(w, &ports);
    load_message(w, &back, -1);
    load_message(w, m, 1);
    return most;
}

/* Of a pair, who is a rooted call's root stays, whichever it is. */
static void find_turned(struct traffic *w, struct tt_net *net)
{
    double(*turned)[2] = (double(*)[2])net->turned;

    for (int ahead = 0; ahead < 2; ahead++) {
        double before;
        int ports;

        w->nsent = 0;
        send_all(w, folds, 0);
        if (ahead)
            send_folded(w, TT_HALVES_NEAR, 0, NEXT_TURN);
        fill_ports(w, 0, 1);
        fill_ports(w, NEXT_TURN, ahead);
        before = busiest_across(w, &ports);
        for (int i = 0; i < w->size - tt_pow2_below(w->size); i++)
            if (w->sent[i].level == TT_LEVEL_NIC)
                turned[i][ahead] = turn_pair(w, &w->sent[i], before, ports);
        fill_ports(w, 0, -1);
        fill_ports(w, NEXT_TURN, -ahead);
    }
}

/* Those that stay meet, of their numbers one bit after the other. */
static void fill_folded(struct traffic *w, struct tt_net *net, enum tt_folded which)
{
    const int size = w->size, parts = tt_pow2_below(size), steps = tt_steps(parts);

    for (int a = 0; a < size; a++)
        w->member[a] = first_member(w, a);
    find_ahead(w, net, which);
    for (int i = 0; i < steps; i++) {
        const int k = bit_of(which, steps, i);
        struct tt_meetings *step = &net->folded[which][k];

        w->nsent = 0;
        send_folded(w, which, i, AHEAD_TURN);
        send_folded(w, which, i + 1, NEXT_TURN);
        find_folded_shares(w, which == TT_DOUBLES_NEAR ? BEHIND : 0);
        begin_step(w, step);
        for (int part = 0; part < parts; part++) {
            const int peer = part ^ 1 << k;
            const struct tt_meeting back = meeting_by(w, &w->sent[peer]);
            struct tt_meeting m = meeting_by(w, &w->sent[part]);

            if (peer < part)
                continue;
            raise_meeting(&m, &back);
            m.first = !(part & ((1 << k) - 1));
            join(w, step, rank_at(part, size), rank_at(peer, size), m);
        }
        if (i == steps - 1)
            find_homes(w, w->meetings);
        end_step(w, step);
    }
}

static void add_fare(struct tt_fare *sum, const struct tt_fare *fare, double weight)
{
    sum->alpha += weight * fare->alpha;
    sum->beta += weight * fare->beta;
}

/* The average over the steps of the reflected pattern, or, if there are very many, over some of them. */
static void average(struct traffic *w, struct tt_fares *mixed, struct tt_fares *pure)
{
    const int samples = w->size < 2 * SAMPLES ? w->size : SAMPLES;

    for (int i = 0; i < samples; i++) {
        const int k = w->size == samples ? i : (int)((i * UINT64_C(2654435769) >> 8) % (unsigned)w->size);
        const struct tt_fares f = fare_of(w, reflected, k);
        struct tt_fares *sum = f.crossing > 0 && f.crossing < 1 ? mixed : pure;

        add_fare(&sum->near, &f.near, 1.0 / samples);
        add_fare(&sum->far, &f.far, 1.0 / samples);
        sum->crossing += f.crossing / samples;
        sum->any |= f.any;
    }
}

static struct tt_fares both_ways(struct traffic *w)
{
    struct tt_fares fares;

    w->nsent = 0;
    send_all(w, shifted, 0);
    send_all(w, before, 0);
    fill_ports(w, 0, 1);
    fares = slowest(w, 0);
    fill_ports(w, 0, -1);
    return fares;
}

/* ---- everybody to everybody, or to one ---- */

static void count_members(struct traffic *w)
{
    for (int i = 0; i < w->size; i++) {
        const struct place *p = &w->places[i];

        w->members[p->node]++;
        w->with_gpu[p->node] += p->gpu >= 0;
        w->sharing[p->way[TT_LEVEL_GPU].out] += p->gpu >= 0;
    }
}

/* How many messages there are at each level between a rank and all others of the scope. */
static void count_levels(const struct traffic *w, const struct place *p, int at[TT_NLEVELS])
{
    const int members = w->members[p->node], with_gpu = p->gpu < 0 ? 0 : w->with_gpu[p->node];
    const int sharing = p->gpu < 0 ? 0 : w->sharing[p->way[TT_LEVEL_GPU].out];

    at[TT_LEVEL_GPU] = sharing - (sharing > 0);
    at[TT_LEVEL_LINK] = p->linked ? with_gpu - sharing : 0;
    at[TT_LEVEL_HOST] = members - 1 - at[TT_LEVEL_GPU] - at[TT_LEVEL_LINK];
    at[TT_LEVEL_NIC] = (w->size - members) * p->weight;
}

static void load_levels(struct traffic *w, const struct place *p, const int at[TT_NLEVELS])
{
    for (int level = 0; level < TT_NLEVELS; level++) {
        const struct tt_way way = p->way[level];

        w->load[way.out] += at[level];
        w->load[way.in] += way.in == way.out ? 0 : at[level];
    }
}

/* Of all ranks at once. Leaves no load. */
static struct tt_fares everybody(struct traffic *w)
{
    struct tt_fares fares = {.any = w->size > 1};
    double across = 0;

    for (int i = 0; i < w->size; i++) {
        int at[TT_NLEVELS];

        count_levels(w, &w->places[i], at);
        load_levels(w, &w->places[i], at);
        across += w->size - w->members[w->places[i].node];
        for (int level = 0; level < TT_NLEVELS; level++)
            if (at[level] > 0)
                raise(level == TT_LEVEL_NIC ? &fares.far.alpha : &fares.near.alpha, w->t->speed[level].alpha);
    }
    raise_to_busiest(w, &fares);
    fares.crossing = w->size > 1 ? across / ((double)w->size * (w->size - 1)) : 0;
    return fares;
}

/* All of the scope to one: what they have in common is the port there. */
static struct tt_fares to_one(const struct traffic *w, const struct place *p)
{
    struct tt_fares fares = {.any = w->size > 1};
    int at[TT_NLEVELS];

    count_levels(w, p, at);
    for (int level = 0; level < TT_NLEVELS; level++) {
        struct tt_fare *fare = level == TT_LEVEL_NIC ? &fares.far : &fares.near;
        const struct tt_speed *speed = &w->t->speed[level];

        if (at[level] > 0)
            raise(&fare->alpha, speed->alpha);
        raise(&fare->beta, at[level] * speed->beta);
    }
    fares.crossing = w->size > 1 ? (double)(w->size - w->members[p->node]) / (w->size - 1) : 0;
    return fares;
}

/* One message at a time, at the slowest level within nodes that any two ranks have between them, or across. */
static struct tt_fares alone(const struct tt_topo *t, const struct tt_fares *all)
{
    struct tt_fares fares = {.any = all->any, .crossing = all->crossing};

    for (int level = 0; level < TT_NLEVELS; level++) {
        struct tt_fare *fare = level == TT_LEVEL_NIC ? &fares.far : &fares.near;
        const double alpha = level == TT_LEVEL_NIC ? all->far.alpha : all->near.alpha;

        if (alpha > 0 && t->speed[level].alpha == alpha)
            *fare = (struct tt_fare){alpha, t->speed[level].beta};
    }
    return fares;
}

/* ---- making ---- */

static void fill_patterns(struct tt_net *net, struct traffic *w)
{
    const int parts = tt_pow2_below(w->size);

    for (int k = 0; 1 << k < w->size && k < TT_MAX_BITS; k++) {
        net->shift[k] = fare_of(w, shifted, k);
        net->climb[k] = fare_of(w, climbs, k);
        net->tree[k] = fare_of(w, down_tree, k);
        net->gathered[k] = fare_of(w, gathers, k);
    }
    for (int k = 0; 1 << k < parts && k < TT_MAX_BITS; k++)
        net->halves[k] = fare_of(w, halves, k);
    if (parts < w->size)
        net->fold = fare_of(w, folds, 0);
    for (int which = 0; which < TT_FOLDED; which++)
        fill_folded(w, net, which);
    find_turned(w, net);
    fill_served(w, net);
    fill_merge(w, net);
    net->subtrees = subtrees(w);
    net->both = both_ways(w);
    net->all = everybody(w);
    net->reverse = fare_of(w, reversed, 0);
    net->alone = alone(w->t, &net->all);
    average(w, &net->pair, &net->pair_pure);
}

/* The most meetings there are of all steps in which ranks that stay meet, or groups merge. */
static size_t most_meetings(int size)
{
    const int parts = tt_pow2_below(size), kinds = parts < TT_MOST_KINDS ? parts : TT_MOST_KINDS;

    return (size_t)(TT_FOLDED + 1) * (size_t)(tt_steps(parts) + 1) * (size_t)kinds;
}

/* The struct, and behind it the meetings, the fares by node, classes of nodes, that of each, and the nodes of ranks. */
static struct tt_net *new_net(const struct tt_topo *t, int size, struct tt_meeting **meetings)
{
    const size_t nodes = (size_t)t->nodes.n, n = most_meetings(size);
    struct tt_net *net =
        calloc(1, sizeof *net + n * sizeof **meetings + (size_t)(size - tt_pow2_below(size)) * sizeof *net->turned +
                      nodes * (sizeof *net->one + sizeof *net->class + sizeof *net->class_of) +
                      (size_t)size * sizeof *net->node);

    if (!net)
        return NULL;
    *meetings = (struct tt_meeting *)(net + 1);
    net->turned = (double(*)[2])(*meetings + n);
    net->one = (struct tt_fares *)(net->turned + (size - tt_pow2_below(size)));
    net->class = (struct tt_node_class *)(net->one + nodes);
    net->class_of = (int *)(net->class + nodes);
    net->node = net->class_of + nodes;
    net->size = size;
    net->gamma = t->gamma;
    net->copy = t->copy;
    net->overhead = t->overhead;
    for (int r = 0; r < t->size; r++)
        net->launch = t->seats[r].gpu >= 0 ? t->launch : net->launch;
    return net;
}

/* Of each node, the fare to its first rank in the scope. */
static void fill_roots(struct tt_net *net, const struct traffic *w)
{
    struct tt_fares *one = (struct tt_fares *)net->one;
    int *node = (int *)net->node;

    for (int i = 0; i < w->size; i++) {
        node[i] = w->places[i].node;
        if (!one[node[i]].any)
            one[node[i]] = to_one(w, &w->places[i]);
    }
}

/* weights: of each rank, or NULL: each is one. */
static void fill_places(struct traffic *w, const int *weights)
{
    for (int i = 0; i < w->size; i++) {
        const struct tt_seat *seat = &w->t->seats[w->ranks[i]];
        const int weight = weights ? weights[i] : 1;

        w->places[i] = (struct place){seat->node, seat->gpu, w->t->kinds[seat->node].linked, weight, {{0}}};
        for (int level = 0; level < TT_NLEVELS; level++)
            w->places[i].way[level] = tt_ports_between(w->ports, level, w->ranks[i], w->ranks[i]);
    }
}

/* The net of a scope, or of several that its ranks stand for. */
static struct tt_net *net_of(const struct tt_topo *t, const struct tt_ports *ports, int size, const int *ranks,
                             const int *weights)
{
    const size_t nodes = (size_t)t->nodes.n;
    struct traffic w = {.t = t, .ports = ports, .size = size, .ranks = ranks};
    struct tt_net *net = new_net(t, size, &w.meetings);

    w.load = calloc((size_t)ports->n * 3 + 1, sizeof *w.load);
    w.members = calloc(nodes * 2, sizeof *w.members);
    w.sent = malloc((size_t)size * 2 * sizeof *w.sent);
    w.places = malloc((size_t)size * sizeof *w.places);
    w.ready = malloc((size_t)size * sizeof *w.ready);
    w.member = malloc((size_t)size * sizeof *w.member);
    if (net && w.load && w.members && w.sent && w.places && w.ready && w.member) {
        w.sharing = w.load + ports->n;
        w.blocks = w.sharing + ports->n;
        w.with_gpu = w.members + nodes;
        fill_places(&w, weights);
        count_members(&w);
        fill_patterns(net, &w);
        fill_roots(net, &w);
    } else {
        free(net);
        net = NULL;
    }
    free(w.load);
    free(w.members);
    free(w.sent);
    free(w.places);
    free(w.ready);
    free(w.member);
    return net;
}

/* Of the first so many ranks of a node, one of those whose NIC most of them share, and how many do. */
static int busiest(const struct tt_ports *ports, const int *ranks, int n, int *weight)
{
    int most = ranks[0];

    *weight = 0;
    for (int i = 0; i < n; i++) {
        int sharing = 0;

        for (int j = 0; j < n; j++)
            sharing += tt_ports_between(ports, TT_LEVEL_NIC, ranks[i], ranks[j]).out ==
                       tt_ports_between(ports, TT_LEVEL_NIC, ranks[j], ranks[j]).out;
        if (sharing > *weight) {
            *weight = sharing;
            most = ranks[i];
        }
    }
    return most;
}

static int node_size(const struct tt_nodes *nodes, int i)
{
    return nodes->first[i + 1] - nodes->first[i];
}

static void sort_nodes(struct tt_net *net, const struct tt_nodes *nodes)
{
    struct tt_node_class *class = (struct tt_node_class *)net->class;
    int *class_of = (int *)net->class_of;

    for (int i = 0; i < nodes->n; i++) {
        const int ranks = node_size(nodes, i), nics = nodes->nics[i];
        int k = 0;

        while (k < net->classes && (class[k].ranks != ranks || class[k].nics != nics))
            k++;
        class[k] = (struct tt_node_class){.nodes = class[k].nodes + 1, .ranks = ranks, .nics = nics};
        class_of[i] = k;
        net->classes += k == net->classes;
    }
    tt_share_out(class, net->classes, nodes->n);
}

/* The largest node, and one rank of each: as many of the latter as the smallest node has. */
static int add_levels(struct tt_net *net, const struct tt_topo *t, const struct tt_ports *ports)
{
    const struct tt_nodes *nodes = &t->nodes;
    int *ranks = malloc(2 * (size_t)nodes->n * sizeof *ranks), *weights = ranks + nodes->n;
    int smallest = t->size, largest = 0;

    if (!ranks)
        return -1;
    for (int i = 0; i < nodes->n; i++) {
        smallest = node_size(nodes, i) < smallest ? node_size(nodes, i) : smallest;
        largest = node_size(nodes, i) > node_size(nodes, largest) ? i : largest;
    }
    for (int i = 0; i < nodes->n; i++)
        ranks[i] = busiest(ports, nodes->ranks + nodes->first[i], smallest, &weights[i]);
    sort_nodes(net, nodes);
    net->rails = smallest;
    net->across = net_of(t, ports, nodes->n, ranks, weights);
    net->within = net_of(t, ports, node_size(nodes, largest), nodes->ranks + nodes->first[largest], NULL);
    free(ranks);
    return net->across && net->within ? 0 : -1;
}

static struct tt_net *make(const struct tt_topo *t, const struct tt_ports *ports)
{
    int *ranks = malloc((size_t)t->size * sizeof *ranks);
    struct tt_net *net;

    if (!ranks)
        return NULL;
    for (int r = 0; r < t->size; r++)
        ranks[r] = r;
    net = net_of(t, ports, t->size, ranks, NULL);
    free(ranks);
    if (net && t->nodes.n > 1 && add_levels(net, t, ports)) {
        tt_net_free(net);
        return NULL;
    }
    return net;
}

struct tt_net *tt_net_make(const struct tt_topo *t)
{
    struct tt_ports ports;
    struct tt_net *net = tt_ports_make(&ports, t) ? NULL : make(t, &ports);

    tt_ports_free(&ports);
    return net;
}

void tt_net_free(struct tt_net *net)
{
    if (!net)
        return;
    free((void *)net->within);
    free((void *)net->across);
    free(net);
}
