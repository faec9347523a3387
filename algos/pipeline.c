/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pipeline (levels.h) costs. Its lanes share ports, and a rank that adds up; how long they wait for each other
 * depends on whether they have got in step, so no sum over stages tells it: of the same figures some pipelines take
 * 1.2 times as long as the busiest port, some 1.9. So the lanes of a few ranks are followed round by round, as a closed
 * queueing network: ports are shared by the messages that are in them (processor sharing: Kleinrock, Queueing Systems,
 * which is how links are priced, too), ranks serve who comes first. That gives T = the first segments' way + (k - 1)
 * rounds, as textbooks have it, but the length of a round is found and not assumed. The first segments of each lane are
 * followed; of the others each takes as long as the last of these. That is 200 to 500 events, of some 20 ns: too long
 * to try all lengths of segments, which are compared by the textbook's formula, tt_pipeline_rough. */
#include "algos/levels.h"

#include <math.h>

enum { MOST_FOLLOWED = 6 }; /* segments of a lane */
static const double NEAR_ENOUGH = 1e-9;

/* What a rank of a role has to do for each segment, of all stages, some rounds behind the first: messages in which it
 * has part, perhaps with others; and what it copies, and then folds, level by level of the canonical tree: what several
 * ranks do of a level is over when all are. */
struct post {
    int lag;
    unsigned roles, others;
    double each; /* of all of the vector, how long a message would be busy alone */
    const struct tt_sends *of;
};
struct toil {
    int lag, rank;
    bool more; /* the next one is of the same level */
    double start, busy;
};
struct duty {
    int posts, copies, folds;
    struct post post[TT_STAGES * TT_SENDS];
    struct toil copy[TT_STAGES * TT_RANKS];
    struct toil *fold;
};

/* Messages under way in a lane that share a port, so many of them, which alone would be busy for so long with all; they
 * are over at that time at the earliest. Those who wait for them: 1 << seat. */
struct load {
    bool over;
    int place;
    unsigned who;
    double left, weight, least;
};

enum { MOST_LOADS = TT_MAX_LANES * (TT_STAGES * (TT_SENDS + TT_RANKS) + TT_ROLES) };

/* By when it is their turn, the last one first: loads, or ranks that are then done with what they do. Before these, one
 * whose turn it never is. */
struct turn {
    double at;
    int load; /* or ~seat */
};
struct queue {
    struct turn *last;
    struct turn of[1 + MOST_LOADS];
};

/* What had passed for every message that has been there ever since; and the messages there, which are over when so much
 * has. */
struct port {
    double passed, since, weight;
    struct queue there;
};

/* Where a rank is in a lane: in which round, and what it has to wait for there; and what it folds next. */
struct seat {
    int role, lane;
    int round, loads, fold;
    const double *part; /* of the vector, by how many rounds a stage is behind: how long a segment is there; 0: none */
};
enum { SEATS = TT_MAX_LANES * TT_ROLES };

/* Lengths of segments are looked up by number, which may be that of none: less than 0, or too large. */
enum { MOST_ROUNDS = MOST_FOLLOWED + 2 * TT_STAGES };

struct pipe {
    int segments, rounds, left; /* of each lane; and seats */
    unsigned ready;             /* seats that have nothing to wait for: 1 << seat */
    double now, overhead;
    double part[TT_MAX_LANES][TT_STAGES + MOST_ROUNDS]; /* of the vector, by round + TT_STAGES: a segment, or 0 */
    double posted[TT_ROLES], free[TT_RANKS];            /* until when they post; fold or copy */
    double first, last; /* when seats began their first full round, and the last one: the sum */
    struct duty duty[TT_ROLES];
    struct toil fold[TT_STAGES * TT_RANKS * (TT_MAX_BITS + 1)]; /* of all duties */
    struct seat seat[SEATS];
    struct port port[TT_PORTS];
    int next;             /* the port where something is over first */
    double end[TT_PORTS]; /* when the first message that is there is over */
    struct queue due;     /* what comes, or is over */
    int idles, idle[MOST_LOADS];
    struct load load[MOST_LOADS];
};

static void clear(struct queue *q)
{
    q->last = q->of;
    q->last->at = INFINITY;
}

static void insert(struct queue *q, double at, int load)
{
    struct turn *t = ++q->last;

    for (; t[-1].at < at; t--)
        *t = t[-1];
    t->at = at;
    t->load = load;
}

static bool anybody(const struct queue *q)
{
    return q->last > q->of;
}

static double soonest(const struct queue *q)
{
    return q->last->at;
}

static int seat_of(int role, int lane)
{
    return lane * TT_ROLES + role;
}

/* ---- a round ---- */

static bool has_role(unsigned roles, int role)
{
    return roles >> role & 1;
}

/* Messages are posted one after the other. */
static void send(struct pipe *p, int lane, const struct post *post, double n)
{
    const struct tt_sends *s = post->of;
    const double begin = tt_larger(p->posted[s->role], p->now), each = n * post->each;

    p->posted[s->role] = begin + s->posts * p->overhead;
    insert(&p->due, begin + p->overhead + s->alpha, p->idle[--p->idles]);
    p->load[p->idle[p->idles]] = (struct load){
        .place = s->port,
        .who = post->roles << seat_of(0, lane),
        .left = each,
        .weight = s->messages,
        .least = p->posted[s->role] + s->alpha + each,
    };
}

/* Are others there, too? */
static bool all_there(const struct pipe *p, const struct seat *seat, unsigned others)
{
    for (; others > 0; others &= others - 1)
        if (p->seat[seat_of(__builtin_ctz(others), seat->lane)].round < seat->round)
            return false;
    return true;
}

/* How long a rank does nothing else. */
static double work(struct pipe *p, int rank, double busy)
{
    p->free[rank] = tt_larger(p->free[rank], p->now) + busy;
    return p->free[rank];
}

static void wait_until(struct pipe *p, struct seat *seat, double until)
{
    seat->loads++;
    insert(&p->due, until, ~seat_of(seat->role, seat->lane));
}

/* The last one there starts what several have part in. */
static void begin_round(struct pipe *p, struct seat *seat)
{
    const struct duty *d = &p->duty[seat->role];

    p->first += seat->round == p->rounds - p->segments ? p->now : 0;
    p->last += seat->round == p->segments - 1 ? p->now : 0;
    for (const struct post *post = d->post; post < d->post + d->posts; post++) {
        const double n = seat->part[-post->lag];

        seat->loads += n > 0;
        if (n > 0 && all_there(p, seat, post->others))
            send(p, seat->lane, post, n);
    }
    for (const struct toil *t = d->copy; t < d->copy + d->copies; t++) {
        const double n = seat->part[-t->lag];

        if (n > 0)
            wait_until(p, seat, work(p, t->rank, t->start + n * t->busy));
    }
}

/* The next level of what there is to fold. False after the last. */
static bool fold(struct pipe *p, struct seat *seat)
{
    const struct duty *d = &p->duty[seat->role];
    double until = 0;

    for (bool more = true; more && seat->fold < d->folds; seat->fold++) {
        const struct toil *t = &d->fold[seat->fold];
        const double n = seat->part[-t->lag];

        if (n > 0)
            until = tt_larger(until, work(p, t->rank, t->start + n * t->busy));
        more = t->more || until == 0;
    }
    if (until > 0)
        wait_until(p, seat, until);
    return until > 0;
}

/* Goes on as far as there is nothing to wait for. */
static void go_on(struct pipe *p, struct seat *seat)
{
    while (seat->loads == 0 && seat->round < p->rounds && !fold(p, seat)) {
        seat->fold = 0;
        seat->part++;
        if (++seat->round < p->rounds)
            begin_round(p, seat);
        else
            p->left--;
    }
}

static void go_on_all(struct pipe *p)
{
    unsigned ready = p->ready;

    p->ready = 0;
    for (; ready > 0; ready &= ready - 1)
        go_on(p, &p->seat[__builtin_ctz(ready)]);
}

/* ---- what is under way ---- */

/* What has passed by now; and, once it is known who is there, when the first of them is over. */
static void catch_up(struct pipe *p, struct port *port)
{
    if (anybody(&port->there))
        port->passed += (p->now - port->since) / port->weight;
    port->since = p->now;
}

static int first_over(const struct pipe *p)
{
    int first = 0;

    for (int i = 1; i < TT_PORTS; i++)
        first = p->end[i] < p->end[first] ? i : first;
    return first;
}

static void look_ahead(struct pipe *p, int place)
{
    const struct port *port = &p->port[place];

    p->end[place] = anybody(&port->there) ? p->now + (soonest(&port->there) - port->passed) * port->weight : INFINITY;
    if (place != p->next)
        p->next = p->end[place] < p->end[p->next] ? place : p->next;
    else
        p->next = first_over(p);
}

static void come(struct pipe *p, int i)
{
    const struct load *l = &p->load[i];
    struct port *port = &p->port[l->place];

    catch_up(p, port);
    port->weight = anybody(&port->there) ? port->weight + l->weight : l->weight;
    insert(&port->there, port->passed + l->left, i);
    look_ahead(p, l->place);
}

static void end_load(struct pipe *p, int seat)
{
    if (--p->seat[seat].loads == 0)
        p->ready |= 1U << seat;
}

static void end_messages(struct pipe *p, int i)
{
    for (unsigned who = p->load[i].who; who > 0; who &= who - 1)
        end_load(p, __builtin_ctz(who));
    p->idle[p->idles++] = i;
}

/* All that are over at a port; less than a billionth of the time is none. */
static void leave(struct pipe *p, int place)
{
    struct port *port = &p->port[place];

    catch_up(p, port);
    while (soonest(&port->there) <= port->passed + NEAR_ENOUGH * p->now) {
        const int i = (port->there.last--)->load;

        port->weight -= p->load[i].weight;
        p->load[i].over = true;
        if (p->load[i].least <= p->now)
            end_messages(p, i);
        else
            insert(&p->due, p->load[i].least, i);
    }
    look_ahead(p, place);
}

/* To when something next comes, or is over. */
static void pass_time(struct pipe *p)
{
    p->now = tt_smaller(p->end[p->next], soonest(&p->due));
    while (p->end[p->next] <= p->now * (1 + NEAR_ENOUGH))
        leave(p, p->next);
}

static void follow(struct pipe *p)
{
    go_on_all(p);
    while (p->left > 0) {
        pass_time(p);
        while (soonest(&p->due) <= p->now) {
            const int i = (p->due.last--)->load;

            if (i < 0)
                end_load(p, ~i);
            else if (p->load[i].over)
                end_messages(p, i);
            else
                come(p, i);
        }
        go_on_all(p);
    }
}

/* ---- what there is to do ---- */

static void add_posts(struct duty *d, int role, const struct tt_stage *stage)
{
    for (const struct tt_sends *s = stage->sends; s < stage->sends + TT_SENDS; s++) {
        const unsigned roles = 1U << s->role | s->with;

        if (s->messages > 0 && has_role(roles, role))
            d->post[d->posts++] = (struct post){stage->lag, roles, roles & ~(1U << role), s->busy / s->messages, s};
    }
}

/* Of a fold of so many operands, how many reductions level i has: those that fold pairs, if there are any, then half as
 * many each time. 0 after the last. */
static int reductions(int operands, int i)
{
    const int parts = tt_pow2_below(operands), pairs = operands - parts;

    return i == 0 && pairs > 0 ? pairs : parts >> (i + (pairs == 0));
}

/* Of all ranks of a role, but for what takes no time. False: there is no such level. */
static bool add_level(struct duty *d, int role, const struct tt_stage *stage, int level)
{
    const int before = d->folds;

    for (int rank = 0; rank < TT_RANKS; rank++) {
        const struct tt_work *w = &stage->work[rank];
        const int ops = w->role == role && w->operands > 1 ? reductions(w->operands, level) : 0;

        if (ops > 0 && w->start + w->add > 0)
            d->fold[d->folds++] = (struct toil){stage->lag, rank, true, ops * w->start, ops * w->add};
    }
    if (d->folds > before)
        d->fold[d->folds - 1].more = false;
    return d->folds > before;
}

static void add_work(struct duty *d, int role, const struct tt_stage *stage)
{
    for (int rank = 0; rank < TT_RANKS; rank++) {
        const struct tt_work *w = &stage->work[rank];

        if (w->role == role && w->begin + w->copy > 0)
            d->copy[d->copies++] = (struct toil){stage->lag, rank, false, w->begin, w->copy};
    }
    for (int level = 0; add_level(d, role, stage, level);)
        level++;
}

static void set_duties(struct pipe *p, const struct tt_stages *s)
{
    struct toil *fold = p->fold;

    for (int role = 0; role < s->roles; role++) {
        struct duty *d = &p->duty[role];

        d->posts = d->copies = d->folds = 0;
        d->fold = fold;
        for (int i = 0; i < s->n; i++) {
            add_posts(d, role, &s->of[i]);
            add_work(d, role, &s->of[i]);
        }
        fold += d->folds;
    }
}

static void set_parts(struct pipe *p, const struct tt_pipeline *pipe)
{
    for (int lane = 0; lane < pipe->lanes; lane++)
        for (int k = -TT_STAGES; k < p->rounds; k++) {
            const bool none = k < 0 || k >= p->segments;

            p->part[lane][TT_STAGES + k] = none ? 0 : (double)(k == 0 ? lane + 1 : pipe->lanes) / pipe->parts;
        }
}

/* Nobody has begun. */
static void set_out(struct pipe *p, int roles, int lanes)
{
    p->left = lanes * roles;
    p->ready = 0;
    p->now = p->first = p->last = 0;
    for (int i = 0; i < MOST_LOADS; i++)
        p->idle[i] = i;
    p->idles = MOST_LOADS;
    clear(&p->due);
    p->next = 0;
    for (int i = 0; i < TT_ROLES; i++)
        p->posted[i] = 0;
    for (int i = 0; i < TT_RANKS; i++)
        p->free[i] = 0;
    for (int i = 0; i < TT_PORTS; i++) {
        clear(&p->port[i].there);
        p->port[i].passed = p->port[i].since = 0;
        p->end[i] = INFINITY;
    }
    for (int role = 0; role < roles; role++)
        for (int lane = 0; lane < lanes; lane++) {
            p->seat[seat_of(role, lane)] =
                (struct seat){role, lane, .round = -1, .part = p->part[lane] + TT_STAGES - 1};
            p->ready |= 1U << seat_of(role, lane);
        }
}

double tt_pipeline_time(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s)
{
    const int most_lag = s->of[s->n - 1].lag, most = tt_larger(MOST_FOLLOWED, most_lag + 2);
    const int segments = tt_smaller(pipe->segments, most), seats = pipe->lanes * s->roles;
    struct pipe p;

    p.segments = segments;
    p.rounds = segments + most_lag;
    p.overhead = net->overhead;
    set_duties(&p, s);
    set_parts(&p, pipe);
    set_out(&p, s->roles, pipe->lanes);
    follow(&p);
    if (pipe->segments > segments)
        p.now += (pipe->segments - segments) * (p.last - p.first) / (segments - 1 - most_lag) / seats;
    return p.now;
}

/* ---- the textbook's formula ---- */

/* How long a rank is at work over all segments. */
static double work_time(const struct tt_pipeline *pipe, const struct tt_work *w)
{
    const int folds = w->operands > 1 ? w->operands - 1 : 0;

    return pipe->lanes * pipe->segments * (w->begin + folds * w->start) + w->copy + folds * w->add;
}

/* Of all segments, or of one of so many that are as long. */
static double stage_time(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stage *stage,
                         double k)
{
    double messages = 0, adds = 0;

    for (int i = 0; i < TT_SENDS; i++) {
        const struct tt_sends *s = &stage->sends[i];

        if (s->messages > 0)
            messages = tt_larger(messages, s->alpha + net->overhead + tt_larger(s->busy / k, s->posts * net->overhead));
    }
    for (int rank = 0; rank < TT_RANKS; rank++)
        adds = tt_larger(adds, work_time(pipe, &stage->work[rank]) / k);
    return messages + adds;
}

/* What is busiest over all segments: a port, or a rank, that posts or adds up. */
static double busiest(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s)
{
    double port[TT_PORTS] = {0}, posts[TT_ROLES] = {0}, rank[TT_RANKS] = {0}, most = 0;

    for (int i = 0; i < s->n; i++) {
        for (int k = 0; k < TT_SENDS; k++) {
            const struct tt_sends *sends = &s->of[i].sends[k];

            port[sends->port] += sends->busy;
            posts[sends->role] += sends->posts * net->overhead * pipe->lanes * pipe->segments;
            most = tt_larger(most, tt_larger(port[sends->port], posts[sends->role]));
        }
        for (int k = 0; k < TT_RANKS; k++) {
            rank[k] += work_time(pipe, &s->of[i].work[k]);
            most = tt_larger(most, rank[k]);
        }
    }
    return most;
}

/* What two limits come to: up to a fifth more than the larger, the nearer they are to each other. */
static double both(double a, double b)
{
    const double larger = tt_larger(a, b), ratio = larger > 0 ? tt_smaller(a, b) / larger : 0;

    return larger * (1 + .2 * ratio * ratio * ratio * ratio);
}

/* On its way a segment meets others: this part of each other lane's, as a rule. Of what was tried it tells segments
 * apart best, on five machines, five collectives, from 1 MiB to 512 MiB: what is chosen by it takes 1.010 times as long
 * as the best segment. */
static const double IN_STEP = .2;

double tt_pipeline_rough(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s)
{
    const double k = (double)pipe->parts / pipe->lanes;
    const double met = pipe->segments > 1 ? k / (1 + IN_STEP * (pipe->lanes - 1)) : k;
    double way = 0, round = 0;

    for (int i = 0; i < s->n; i++) {
        way += stage_time(net, pipe, &s->of[i], met);
        round = tt_larger(round, stage_time(net, pipe, &s->of[i], k));
    }
    return way + both((pipe->segments - 1) * round, busiest(net, pipe, s) * (1 - 1 / k));
}

/* ---- stages ---- */

struct tt_sends tt_within_sends(const struct tt_net *net, double busy, double messages)
{
    const double sent = busy > 0 ? messages : 0;

    return (struct tt_sends){.alpha = net->within->all.near.alpha, .busy = busy, .messages = sent, .posts = sent};
}

struct tt_sends tt_across_sends(const struct tt_net *net, double busy, double messages)
{
    const double sent = busy > 0 ? messages : 0;

    return (struct tt_sends){TT_PORT_FAR_OUT, .alpha = net->alone.far.alpha, .busy = busy, .messages = sent,
                             .posts = sent};
}

struct tt_sends tt_comes_in(struct tt_sends s)
{
    s.port = TT_PORT_FAR_IN;
    s.posts = 0;
    return s;
}

struct tt_sends tt_sends_of(struct tt_sends s, int role, enum tt_port port, unsigned with)
{
    s.role = role;
    s.port = port;
    s.with = with;
    return s;
}

struct tt_away tt_away_busy(const struct tt_net *net, const struct tt_node_class *home, double n)
{
    struct tt_away away = {.largest = 1};

    for (int i = 0; i < net->classes; i++) {
        const struct tt_node_class *class = &net->class[i];

        away.nics = tt_larger(away.nics, tt_nics_busy(net, class, n, net->rails));
        if (class == home && class->nodes == 1)
            continue;
        away.within = tt_larger(away.within, tt_within_busy(net, class->ranks, n / net->rails, net->rails));
        away.largest = class->ranks > away.largest ? class->ranks : away.largest;
    }
    return away;
}

static void raise_sends(struct tt_sends *s, struct tt_sends of)
{
    of.busy = tt_larger(of.busy, s->busy);
    of.messages = tt_larger(of.messages, s->messages);
    of.posts = tt_larger(of.posts, s->posts);
    *s = of;
}

void tt_stages_raise(struct tt_stages *s, const struct tt_stages *of, const struct tt_pipeline *pipe)
{
    s->n = of->n;
    s->roles = of->roles;
    for (int i = 0; i < s->n; i++) {
        s->of[i].lag = of->of[i].lag;
        for (int k = 0; k < TT_SENDS; k++)
            raise_sends(&s->of[i].sends[k], of->of[i].sends[k]);
    }
    for (int rank = 0; rank < TT_RANKS && rank < s->n; rank++)
        if (work_time(pipe, &of->of[rank].work[0]) > work_time(pipe, &s->of[rank].work[rank]))
            for (int i = 0; i < s->n; i++)
                s->of[i].work[rank] = of->of[i].work[0];
}
