/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pipeline (levels.h) costs. Its lanes share ports, and a rank that adds up; how long they wait for each other
 * depends on whether they have got in step, so no sum over stages tells it: of the same figures some pipelines take
 * 1.2 times as long as the busiest port, some 1.9. So the lanes of a few ranks are followed round by round, as a closed
 * queueing network: ports are shared by the messages that are in them (processor sharing: Kleinrock, Queueing Systems,
 * which is how links are priced, too), ranks serve who comes first. That gives T = the first segments' way + (k - 1)
 * rounds, as textbooks have it, but the length of a round is found and not assumed. The first segments of each lane are
 * followed; of the others each takes as long as the last of these. That is 200 to 750 events, of some 40 ns: too long to
 * try all lengths of segments, which are compared by the textbook's formula, tt_pipeline_rough. */
#include "algos/levels.h"

#include <math.h>

enum { MOST_FOLLOWED = 6 }; /* segments of a lane */
static const double NEAR_ENOUGH = 1e-9;

/* Ports, and a place for who waits only. */
enum { NOWHERE = TT_PORTS };

/* What is under way in a lane: messages that share a port, so many of them, which alone would be busy for so long with
 * all; they are over at that time at the earliest. Ranks of these roles wait for them. left: once they are at the port,
 * what has passed for each message there when they are over. */
struct load {
    enum { COMING, SHARING, LEFT } state;
    int place, lane;
    unsigned roles;
    double left, weight, least;
};

/* What has passed for every message that has been there ever since; how many there are, and which is over first. */
struct port {
    int loads;
    double passed, weight, first;
};

enum { MOST_LOADS = TT_MAX_LANES * (TT_STAGES * (TT_SENDS + TT_RANKS) + TT_ROLES) };

/* Where a rank is in a lane: in which round, and what it has to wait for there; and what it folds next. */
struct at {
    int round, loads, stage, level;
};

struct pipe {
    const struct tt_pipeline *pipe;
    const struct tt_stages *s;
    int segments, rounds, left; /* of each lane; and lanes, of all roles */
    double now, overhead;
    double posted[TT_ROLES], free[TT_RANKS]; /* until when they post; fold or copy */
    double first, last;                      /* when lanes began their first full round, and the last one: the sum */
    struct at at[TT_ROLES][TT_MAX_LANES];
    struct port port[TT_PORTS];
    int loads;
    struct load load[MOST_LOADS];
    double due[MOST_LOADS]; /* when it comes, or is over; while it is at a port, the port says that */
};

/* ---- a round ---- */

/* How much of the vector the segment is that a stage is at; 0: none. */
static double part(const struct pipe *p, int lane, int round, const struct tt_stage *stage)
{
    const int k = round - stage->lag;

    return k < 0 || k >= p->segments ? 0 : (double)(k == 0 ? lane + 1 : p->pipe->lanes) / p->pipe->parts;
}

static bool has_role(unsigned roles, int role)
{
    return roles >> role & 1;
}

/* Messages are posted one after the other. */
static void send(struct pipe *p, int lane, const struct tt_sends *s, double n)
{
    const double begin = tt_larger(p->posted[s->role], p->now), busy = n * s->busy;

    p->posted[s->role] = begin + s->posts * p->overhead;
    p->due[p->loads] = begin + p->overhead + s->alpha;
    p->load[p->loads++] = (struct load){
        .place = s->port,
        .lane = lane,
        .roles = 1U << s->role | s->with,
        .left = busy / s->messages,
        .weight = s->messages,
        .least = p->posted[s->role] + s->alpha + busy / s->messages,
    };
}

static bool all_there(const struct pipe *p, int lane, unsigned roles, int round)
{
    bool all = true;

    for (int role = 0; role < p->s->roles; role++)
        all &= !has_role(roles, role) || p->at[role][lane].round >= round;
    return all;
}

/* The last one there starts what several have part in. */
static void send_all(struct pipe *p, int role, int lane, const struct tt_stage *stage, double n)
{
    for (int i = 0; i < TT_SENDS; i++) {
        const struct tt_sends *s = &stage->sends[i];
        const unsigned roles = 1U << s->role | s->with;

        if (s->messages <= 0 || !has_role(roles, role))
            continue;
        p->at[role][lane].loads++;
        if (all_there(p, lane, roles, p->at[role][lane].round))
            send(p, lane, s, n);
    }
}

/* How long a rank does nothing else. */
static double work(struct pipe *p, int rank, double busy)
{
    p->free[rank] = tt_larger(p->free[rank], p->now) + busy;
    return p->free[rank];
}

static void wait_until(struct pipe *p, int role, int lane, double until)
{
    p->at[role][lane].loads++;
    p->due[p->loads] = until;
    p->load[p->loads++] = (struct load){.state = LEFT, .place = NOWHERE, .lane = lane, .roles = 1U << role};
}

static void copy(struct pipe *p, int role, int lane, const struct tt_stage *stage, double n)
{
    for (int rank = 0; rank < TT_RANKS; rank++) {
        const struct tt_work *w = &stage->work[rank];

        if (w->role == role && w->begin + w->copy > 0)
            wait_until(p, role, lane, work(p, rank, w->begin + n * w->copy));
    }
}

static void begin_round(struct pipe *p, int role, int lane, int round)
{
    p->first += round == p->rounds - p->segments ? p->now : 0;
    p->last += round == p->segments - 1 ? p->now : 0;
    for (int i = 0; i < p->s->n; i++) {
        const struct tt_stage *stage = &p->s->of[i];
        const double n = part(p, lane, round, stage);

        if (n > 0) {
            send_all(p, role, lane, stage, n);
            copy(p, role, lane, stage, n);
        }
    }
}

/* Of a fold of so many operands in the canonical tree, how many reductions level i has: those that fold pairs, if
 * there are any, then half as many each time. 0 after the last. */
static int reductions(int operands, int i)
{
    const int parts = tt_pow2_below(operands), pairs = operands - parts;

    return i == 0 && pairs > 0 ? pairs : parts >> (i + (pairs == 0));
}

/* A level of what a stage folds. When the last rank is done; 0: there is no such level. */
static double fold_level(struct pipe *p, int role, const struct tt_stage *stage, int level, double n)
{
    double until = 0;

    for (int rank = 0; rank < TT_RANKS; rank++) {
        const struct tt_work *w = &stage->work[rank];
        const int ops = w->role == role && w->operands > 1 ? reductions(w->operands, level) : 0;

        if (ops > 0)
            until = tt_larger(until, work(p, rank, ops * (w->start + n * w->add)));
    }
    return until;
}

/* The next level of what a lane has to fold. False after the last. */
static bool fold(struct pipe *p, int role, int lane)
{
    struct at *at = &p->at[role][lane];

    for (; at->stage < p->s->n; at->stage++, at->level = 0) {
        const struct tt_stage *stage = &p->s->of[at->stage];
        const double n = part(p, lane, at->round, stage);
        const double until = n > 0 ? fold_level(p, role, stage, at->level, n) : 0;

        if (until > 0) {
            wait_until(p, role, lane, until);
            at->level++;
            return true;
        }
    }
    return false;
}

/* Goes on as far as there is nothing to wait for. */
static void go_on(struct pipe *p, int role, int lane)
{
    struct at *at = &p->at[role][lane];

    while (at->loads == 0 && at->round < p->rounds && !fold(p, role, lane)) {
        at->stage = at->level = 0;
        if (++at->round < p->rounds)
            begin_round(p, role, lane, at->round);
        else
            p->left--;
    }
}

static void go_on_all(struct pipe *p)
{
    for (int lane = 0; lane < p->pipe->lanes; lane++)
        for (int role = 0; role < p->s->roles; role++)
            go_on(p, role, lane);
}

/* ---- what is under way ---- */

/* To when something next comes, or is over. */
static void pass_time(struct pipe *p)
{
    double next = INFINITY;

    for (int i = 0; i < p->loads; i++)
        next = tt_smaller(next, p->due[i]);
    for (int i = 0; i < TT_PORTS; i++) {
        const struct port *port = &p->port[i];

        if (port->loads > 0)
            next = tt_smaller(next, p->now + (port->first - port->passed) * port->weight);
    }
    for (int i = 0; i < TT_PORTS; i++)
        if (p->port[i].loads > 0)
            p->port[i].passed += (next - p->now) / p->port[i].weight;
    p->now = next;
}

static void come(struct pipe *p, int i)
{
    struct load *l = &p->load[i];
    struct port *port = &p->port[l->place];

    l->state = SHARING;
    l->left += port->passed;
    port->first = port->loads > 0 ? tt_smaller(port->first, l->left) : l->left;
    port->weight = port->loads > 0 ? port->weight + l->weight : l->weight;
    port->loads++;
    p->due[i] = INFINITY;
}

/* All that are over at a port; less than a billionth of the time is none. */
static void leave(struct pipe *p, int place)
{
    struct port *port = &p->port[place];

    port->first = INFINITY;
    for (int i = 0; i < p->loads; i++) {
        struct load *l = &p->load[i];

        if (l->state != SHARING || l->place != place)
            continue;
        if (l->left > port->passed + NEAR_ENOUGH * p->now) {
            port->first = tt_smaller(port->first, l->left);
            continue;
        }
        l->state = LEFT;
        p->due[i] = l->least;
        port->weight -= l->weight;
        port->loads--;
    }
}

static void end_load(struct pipe *p, int i)
{
    const struct load *l = &p->load[i];

    for (int role = 0; role < p->s->roles; role++)
        p->at[role][l->lane].loads -= has_role(l->roles, role);
    p->load[i] = p->load[--p->loads];
    p->due[i] = p->due[p->loads];
}

static void follow(struct pipe *p)
{
    go_on_all(p);
    while (p->left > 0) {
        const int before = p->loads;

        pass_time(p);
        for (int i = 0; i < TT_PORTS; i++)
            if (p->port[i].loads > 0 && p->port[i].first <= p->port[i].passed + NEAR_ENOUGH * p->now)
                leave(p, i);
        for (int i = before - 1; i >= 0; i--)
            if (p->due[i] <= p->now) {
                if (p->load[i].state == LEFT)
                    end_load(p, i);
                else
                    come(p, i);
            }
        if (p->loads < before)
            go_on_all(p);
    }
}

double tt_pipeline_time(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s)
{
    const int most_lag = s->of[s->n - 1].lag, most = tt_larger(MOST_FOLLOWED, most_lag + 2);
    const int segments = tt_smaller(pipe->segments, most), lanes = pipe->lanes * s->roles;
    struct pipe p;

    p.pipe = pipe;
    p.s = s;
    p.segments = segments;
    p.rounds = segments + most_lag;
    p.left = lanes;
    p.overhead = net->overhead;
    p.now = p.first = p.last = 0;
    p.loads = 0;
    for (int i = 0; i < TT_ROLES; i++)
        p.posted[i] = 0;
    for (int i = 0; i < TT_RANKS; i++)
        p.free[i] = 0;
    for (int i = 0; i < TT_PORTS; i++)
        p.port[i] = (struct port){.loads = 0};
    for (int role = 0; role < s->roles; role++)
        for (int lane = 0; lane < pipe->lanes; lane++)
            p.at[role][lane] = (struct at){.round = -1};
    follow(&p);
    if (pipe->segments > segments)
        p.now += (pipe->segments - segments) * (p.last - p.first) / (segments - 1 - most_lag) / lanes;
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

double tt_pipeline_rough(const struct tt_net *net, const struct tt_pipeline *pipe, const struct tt_stages *s)
{
    const double k = (double)pipe->parts / pipe->lanes;
    double way = 0, round = 0;

    for (int i = 0; i < s->n; i++) {
        const double time = stage_time(net, pipe, &s->of[i], k);

        way += time;
        round = tt_larger(round, time);
    }
    return way + tt_larger((pipe->segments - 1) * round, busiest(net, pipe, s) * (1 - 1 / k));
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
