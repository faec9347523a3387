/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time. Two things have a next event: a message (it begins to flow; it has flowed) and a lane (its copies and
 * reductions are over); a heap knows the earliest. Who shares ports with what began or ended is shared out anew, and
 * nobody else: so a ring costs O(log p) per message, and p ranks that all send to all at once O(p^2) as often as
 * anything changes, which they do together. Events less than a billionth apart are one. */
#include "selector/price.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "coll/whole.h"
#include "selector/ports.h"

enum { NEAR_ENOUGH = 1000000000 }; /* a part of it is no difference */

enum state { WAITING, STARTED, FLOWING, OVER };

struct message {
    enum state state;
    int from, to, lane;
    enum tt_level level;
    struct tt_way way;
    int lands;   /* the step that receives it */
    bool posted; /* one of its ends is */
    double both; /* when the later of those that are was posted */
    double left; /* bytes, at `since` */
    double since, rate;
    bool shared_out; /* while rates are worked out: has its own */
};

/* Where a message stands in the list of what flows through a port. Link 2m is message m at its out-port, 2m + 1 at its
 * in-port; -1 ends the list. */
struct link {
    int next, previous;
};

struct port {
    int first;    /* link */
    int flows;    /* how many */
    bool touched; /* in the list of those to be shared out anew */
    double free;  /* while rates are worked out: bytes per second, and of how many who have no rate yet */
    int open;
};

struct lane {
    int next;      /* step to post next */
    int end;       /* one past its last */
    int under_way; /* messages, and one for local work */
    int from;      /* where the round that is posted begins */
    int arriving;  /* receives among its messages */
    bool local;    /* its event is the end of local work */
    bool done;
};

struct sim {
    const struct tt_topo *t;
    struct tt_plan *const *plans;
    struct tt_ports ports;
    double now;
    int *first_step; /* of each rank's among all ranks' steps */
    int *message_of; /* per step: the message it is an end of */
    int nmessages;
    struct message *messages;
    struct link *links;
    struct port *port;
    int *touched, ntouched;
    struct lane *lanes; /* TT_MAX_LANES per rank */
    int lanes_left;
    int *ready, nready;         /* lanes whose round is over */
    double *busy;               /* until when each rank copies and reduces */
    double *posting;            /* and until when it spends overhead on what it sends, whichever lane it is for */
    double *done;               /* when each rank's last lane was over */
    double *at;                 /* when things happen; messages first, then lanes: */
    int *heap, *place, waiting; /* those that have an event, earliest first; place in it, or -1 */
};

/* ---- the heap ---- */

static void put(struct sim *s, int place, int what)
{
    s->heap[place] = what;
    s->place[what] = place;
}

static void rise(struct sim *s, int place)
{
    const int what = s->heap[place];

    for (; place > 0 && s->at[s->heap[(place - 1) / 2]] > s->at[what]; place = (place - 1) / 2)
        put(s, place, s->heap[(place - 1) / 2]);
    put(s, place, what);
}

static void sink(struct sim *s, int place)
{
    const int what = s->heap[place];

    for (int child; (child = 2 * place + 1) < s->waiting; place = child) {
        child += child + 1 < s->waiting && s->at[s->heap[child + 1]] < s->at[s->heap[child]];
        if (s->at[s->heap[child]] >= s->at[what])
            break;
        put(s, place, s->heap[child]);
    }
    put(s, place, what);
}

static void schedule(struct sim *s, int what, double at)
{
    s->at[what] = at;
    if (s->place[what] < 0)
        put(s, s->waiting++, what);
    rise(s, s->place[what]);
    sink(s, s->place[what]);
}

static int take_first(struct sim *s)
{
    const int what = s->heap[0];

    s->place[what] = -1;
    if (--s->waiting > 0) {
        put(s, 0, s->heap[s->waiting]);
        sink(s, 0);
    }
    return what;
}

/* ---- ports ---- */

static int port_of(const struct sim *s, int link)
{
    const struct tt_way way = s->messages[link / 2].way;

    return link % 2 ? way.in : way.out;
}

static void touch(struct sim *s, int port)
{
    if (s->port[port].touched)
        return;
    s->port[port].touched = true;
    s->touched[s->ntouched++] = port;
}

static void link_in(struct sim *s, int link)
{
    struct port *p = &s->port[port_of(s, link)];

    s->links[link] = (struct link){p->first, -1};
    if (p->first >= 0)
        s->links[p->first].previous = link;
    p->first = link;
    p->flows++;
    touch(s, port_of(s, link));
}

static void link_out(struct sim *s, int link)
{
    struct port *p = &s->port[port_of(s, link)];
    const struct link *l = &s->links[link];

    if (l->previous >= 0)
        s->links[l->previous].next = l->next;
    else
        p->first = l->next;
    if (l->next >= 0)
        s->links[l->next].previous = l->previous;
    p->flows--;
    touch(s, port_of(s, link));
}

/* Links of a message: two, or one where both ports are the same bus. */
static int nlinks(const struct message *m)
{
    return m->way.out == m->way.in ? 1 : 2;
}

/* All ports that share messages with a touched one become touched, and what flows through them waits for a new rate. */
static void spread(struct sim *s)
{
    for (int i = 0; i < s->ntouched; i++) {
        struct port *p = &s->port[s->touched[i]];

        p->free = 1 / s->ports.beta[s->touched[i]];
        p->open = p->flows;
        for (int link = p->first; link >= 0; link = s->links[link].next) {
            struct message *m = &s->messages[link / 2];

            m->shared_out = false;
            touch(s, m->way.out);
            touch(s, m->way.in);
        }
    }
}

static void set_rate(struct sim *s, int message, double rate)
{
    struct message *m = &s->messages[message];

    m->shared_out = true;
    if (fabs(rate - m->rate) * NEAR_ENOUGH <= rate)
        return;
    m->left -= m->rate * (s->now - m->since);
    m->left = m->left > 0 ? m->left : 0;
    m->since = s->now;
    m->rate = rate;
    schedule(s, message, s->now + m->left / rate);
}

/* Everything that flows through port and has no rate yet gets this one, which its other port has less for the others.
 */
static void share_out(struct sim *s, int port, double rate)
{
    for (int link = s->port[port].first; link >= 0; link = s->links[link].next) {
        struct message *m = &s->messages[link / 2];

        if (m->shared_out)
            continue;
        set_rate(s, link / 2, rate);
        for (int end = 0; end < nlinks(m); end++) {
            struct port *p = &s->port[port_of(s, link / 2 * 2 + end)];

            p->free -= rate;
            p->open--;
        }
    }
}

/* Progressive filling: the ports where the share is least give it to theirs; and again with what is left. */
static void fill(struct sim *s)
{
    int left = s->ntouched;

    spread(s);
    left = s->ntouched;
    while (left > 0) {
        double least = INFINITY;

        for (int i = 0; i < left;) {
            const struct port *p = &s->port[s->touched[i]];

            if (p->open == 0) { /* goes behind those that count */
                const int port = s->touched[i];

                s->touched[i] = s->touched[--left];
                s->touched[left] = port;
                continue;
            }
            least = p->free / p->open < least ? p->free / p->open : least;
            i++;
        }
        for (int i = 0; i < left; i++) {
            const struct port *p = &s->port[s->touched[i]];

            if (p->open > 0 && p->free / p->open <= least + least / NEAR_ENOUGH)
                share_out(s, s->touched[i], least);
        }
    }
    while (s->ntouched > 0)
        s->port[s->touched[--s->ntouched]].touched = false;
}

/* ---- messages and lanes ---- */

static int lane_thing(const struct sim *s, int rank, int lane)
{
    return s->nmessages + rank * TT_MAX_LANES + lane;
}

/* One end is posted. The second one to be starts the message. */
static void post_end(struct sim *s, int message, double at)
{
    struct message *m = &s->messages[message];

    m->both = at > m->both ? at : m->both;
    if (m->posted) {
        m->state = STARTED;
        schedule(s, message, m->both + s->t->speed[m->level].alpha);
    }
    m->posted = true;
}

/* How long a copy or reduction takes at rank. gamma is of two operands: two reads and a write. */
static double local_time(const struct sim *s, int rank, const struct tt_step *step)
{
    const double launch = s->t->seats[rank].gpu >= 0 ? s->t->launch : 0;
    const double bytes = (double)step->n * (double)s->plans[rank]->unit;

    return launch + bytes * (step->verb == TT_COPY ? s->t->copy : s->t->gamma * (3 + step->more) / 3);
}

/* A rank does one copy or reduction after the other; all of a lane's are over with the last one. */
static void do_local(struct sim *s, int rank, int lane, const struct tt_step *step)
{
    const int thing = lane_thing(s, rank, lane);

    s->busy[rank] = s->busy[rank] > s->now ? s->busy[rank] : s->now;
    s->busy[rank] += local_time(s, rank, step);
    s->lanes[rank * TT_MAX_LANES + lane].under_way += s->place[thing] < 0;
    schedule(s, thing, s->busy[rank]);
}

static void do_after(struct sim *s, int rank, int lane)
{
    const struct lane *l = &s->lanes[rank * TT_MAX_LANES + lane];

    for (int i = l->from; i < l->next - 1; i++)
        if (s->plans[rank]->steps[i].after)
            do_local(s, rank, lane, &s->plans[rank]->steps[i]);
}

static void post_round(struct sim *s, int rank, int lane)
{
    const struct tt_plan *p = s->plans[rank];
    struct lane *l = &s->lanes[rank * TT_MAX_LANES + lane];

    l->from = l->next;
    l->next = tt_round_end(p, l->next, l->end) + 1;
    s->posting[rank] = s->posting[rank] > s->now ? s->posting[rank] : s->now;
    for (int i = l->from; i < l->next - 1; i++) {
        const struct tt_step *step = &p->steps[i];

        if (tt_step_is_message(step)) {
            l->under_way++;
            l->arriving += tt_step_receives(step);
            s->posting[rank] += step->verb == TT_SEND ? s->t->overhead : 0;
            post_end(s, s->message_of[s->first_step[rank] + i], step->verb == TT_SEND ? s->posting[rank] : s->now);
        } else if (!step->after) {
            do_local(s, rank, lane, step);
        }
    }
}

/* Something of a lane's round is over. */
static void advance(struct sim *s, int rank, int lane)
{
    struct lane *l = &s->lanes[rank * TT_MAX_LANES + lane];

    while (l->under_way == 0 && l->next < l->end)
        post_round(s, rank, lane);
    if (l->under_way > 0 || l->done)
        return;
    l->done = true;
    s->lanes_left--;
    s->done[rank] = s->now;
}

static void release(struct sim *s, int rank, int lane)
{
    if (--s->lanes[rank * TT_MAX_LANES + lane].under_way == 0)
        s->ready[s->nready++] = rank * TT_MAX_LANES + lane;
}

/* Of a rank's lanes that are ready at the same time the first goes first, in whatever order their messages ended. */
static void advance_ready(struct sim *s)
{
    for (int lane = 0; lane < TT_MAX_LANES; lane++)
        for (int i = 0; i < s->nready; i++)
            if (s->ready[i] % TT_MAX_LANES == lane)
                advance(s, s->ready[i] / TT_MAX_LANES, lane);
    s->nready = 0;
}

/* What arrives may be reduced as it does, and may be the last that something waits for. */
static void arrive(struct sim *s, const struct message *m)
{
    const struct tt_step *step = &s->plans[m->to]->steps[m->lands];

    if (step->verb == TT_RECV_REDUCE)
        do_local(s, m->to, m->lane, step);
    if (--s->lanes[m->to * TT_MAX_LANES + m->lane].arriving == 0)
        do_after(s, m->to, m->lane);
    release(s, m->to, m->lane);
}

static void end_message(struct sim *s, struct message *m)
{
    m->state = OVER;
    release(s, m->from, m->lane);
    arrive(s, m);
}

static void message_event(struct sim *s, int message)
{
    struct message *m = &s->messages[message];

    if (m->state == STARTED && s->ports.beta[m->way.out] > 0) {
        m->state = FLOWING;
        m->since = s->now;
        m->rate = 0;
        for (int end = 0; end < nlinks(m); end++)
            link_in(s, 2 * message + end);
        return;
    }
    for (int end = 0; m->state == FLOWING && end < nlinks(m); end++)
        link_out(s, 2 * message + end);
    end_message(s, m);
}

static void event(struct sim *s, int what)
{
    const int lane = what - s->nmessages;

    if (lane < 0)
        message_event(s, what);
    else
        release(s, lane / TT_MAX_LANES, lane % TT_MAX_LANES);
}

static int run(struct sim *s)
{
    for (int rank = 0; rank < s->t->size; rank++)
        for (int lane = 0; lane < s->plans[rank]->nlanes; lane++)
            advance(s, rank, lane);
    while (s->waiting > 0) {
        s->now = s->at[s->heap[0]];
        while (s->waiting > 0 && s->at[s->heap[0]] <= s->now + s->now / NEAR_ENOUGH)
            event(s, take_first(s));
        advance_ready(s);
        fill(s);
    }
    return s->lanes_left > 0 ? EPROTO : 0;
}

/* ---- bringing the two ends of each message together ---- */

/* Messages are numbered by who receives, then by who sends, then in the order of the sender's plan, in which the
 * receiver's plan has them too. first: of each receiver's. */
static void number_messages(struct sim *s, int *first)
{
    for (int rank = 0; rank < s->t->size; rank++)
        for (int i = 0; i < s->plans[rank]->nsteps; i++)
            if (s->plans[rank]->steps[i].verb == TT_SEND)
                first[s->plans[rank]->steps[i].peer + 1]++;
    for (int rank = 0; rank < s->t->size; rank++)
        first[rank + 1] += first[rank];
    s->nmessages = first[s->t->size];
}

/* The sender's ends. next: of each receiver's, the number that its next message gets. */
static void add_sends(struct sim *s, int rank, int lane, int *next)
{
    const struct tt_plan *p = s->plans[rank];

    for (int i = p->lanes[lane].first; i < p->lanes[lane].first + p->lanes[lane].count; i++) {
        const struct tt_step *step = &p->steps[i];
        struct message *m;

        if (step->verb != TT_SEND)
            continue;
        s->message_of[s->first_step[rank] + i] = next[step->peer];
        m = &s->messages[next[step->peer]++];
        *m = (struct message){.from = rank, .to = step->peer, .lane = lane, .left = (double)step->n * (double)p->unit};
        m->level = tt_topo_level(s->t, rank, step->peer);
        m->way = tt_ports_between(&s->ports, m->level, rank, step->peer);
    }
}

/* The receiver's ends. next: of each sender's, the number of its next message; -1: it has none. How many; -1 if one
 * does not fit. */
static int match_receives(struct sim *s, int rank, int lane, int *next)
{
    const struct tt_plan *p = s->plans[rank];
    int matched = 0;

    for (int i = p->lanes[lane].first; i < p->lanes[lane].first + p->lanes[lane].count; i++) {
        const struct tt_step *step = &p->steps[i];
        struct message *m;

        if (!tt_step_receives(step))
            continue;
        m = next[step->peer] < 0 || next[step->peer] >= s->nmessages ? NULL : &s->messages[next[step->peer]];
        if (!m || m->to != rank || m->from != step->peer || m->lane != lane ||
            m->left != (double)step->n * (double)p->unit)
            return -1;
        m->lands = i;
        s->message_of[s->first_step[rank] + i] = next[step->peer]++;
        matched++;
    }
    return matched;
}

/* All receives of a rank, to which messages first .. end - 1 are sent. next: room for a number per rank. */
static int match_rank(struct sim *s, int rank, int first, int end, int *next)
{
    int left = end - first;

    for (int r = 0; r < s->t->size; r++)
        next[r] = -1;
    for (int m = end - 1; m >= first; m--)
        next[s->messages[m].from] = m;
    for (int lane = 0; lane < s->plans[rank]->nlanes; lane++) {
        const int matched = match_receives(s, rank, lane, next);

        if (matched < 0)
            return EPROTO;
        left -= matched;
    }
    return left ? EPROTO : 0;
}

static int bring_together(struct sim *s, const int *first, int *next)
{
    int error = 0;

    for (int rank = 0; rank < s->t->size; rank++)
        next[rank] = first[rank];
    for (int rank = 0; rank < s->t->size; rank++)
        for (int lane = 0; lane < s->plans[rank]->nlanes; lane++)
            add_sends(s, rank, lane, next);
    for (int rank = 0; !error && rank < s->t->size; rank++)
        error = match_rank(s, rank, first[rank], first[rank + 1], next);
    return error;
}

/* ---- making and asking ---- */

/* Room for one more than n, so that there is always some. */
static void *room(int n, size_t size)
{
    return calloc((size_t)n + 1, size);
}

static void set_out(struct sim *s)
{
    for (int rank = 0; rank < s->t->size; rank++) {
        const struct tt_plan *p = s->plans[rank];

        for (int lane = 0; lane < p->nlanes; lane++)
            s->lanes[rank * TT_MAX_LANES + lane] =
                (struct lane){.next = p->lanes[lane].first, .end = p->lanes[lane].first + p->lanes[lane].count};
        s->lanes_left += p->nlanes;
    }
    for (int i = 0; i < s->nmessages + s->t->size * TT_MAX_LANES; i++)
        s->place[i] = -1;
    for (int i = 0; i < s->ports.n; i++)
        s->port[i].first = -1;
}

/* Everything whose length is known once messages are counted. */
static int open_sim(struct sim *s)
{
    const int size = s->t->size, things = s->nmessages + size * TT_MAX_LANES;

    s->message_of = room(s->first_step[size], sizeof *s->message_of);
    s->messages = room(s->nmessages, sizeof *s->messages);
    s->links = room(2 * s->nmessages, sizeof *s->links);
    s->port = room(s->ports.n, sizeof *s->port);
    s->touched = room(s->ports.n, sizeof *s->touched);
    s->lanes = room(size * TT_MAX_LANES, sizeof *s->lanes);
    s->ready = room(size * TT_MAX_LANES, sizeof *s->ready);
    s->busy = room(size, sizeof *s->busy);
    s->posting = room(size, sizeof *s->posting);
    s->done = room(size, sizeof *s->done);
    s->at = room(things, sizeof *s->at);
    s->heap = room(things, sizeof *s->heap);
    s->place = room(things, sizeof *s->place);
    if (!s->message_of || !s->messages || !s->links || !s->port || !s->touched || !s->lanes || !s->ready || !s->busy ||
        !s->posting || !s->done || !s->at || !s->heap || !s->place)
        return ENOMEM;
    set_out(s);
    return 0;
}

static void close_sim(struct sim *s)
{
    tt_ports_free(&s->ports);
    free(s->first_step);
    free(s->message_of);
    free(s->messages);
    free(s->links);
    free(s->port);
    free(s->touched);
    free(s->lanes);
    free(s->ready);
    free(s->busy);
    free(s->posting);
    free(s->done);
    free(s->at);
    free(s->heap);
    free(s->place);
}

static int play(struct sim *s, int *first, int *next)
{
    int error;

    for (int rank = 0; rank < s->t->size; rank++)
        s->first_step[rank + 1] = s->first_step[rank] + s->plans[rank]->nsteps;
    number_messages(s, first);
    error = open_sim(s);
    if (!error)
        error = bring_together(s, first, next);
    return error ? error : run(s);
}

double tt_price_plans(const struct tt_topo *t, struct tt_plan *const *plans, double *each)
{
    struct sim s = {.t = t, .plans = plans, .first_step = room(t->size, sizeof *s.first_step)};
    int *first = room(t->size, sizeof *first), *next = room(t->size, sizeof *next);
    int error = tt_ports_make(&s.ports, t);
    double last = 0;

    if (!error)
        error = first && next && s.first_step ? play(&s, first, next) : ENOMEM;
    for (int rank = 0; !error && rank < t->size; rank++) {
        last = s.done[rank] > last ? s.done[rank] : last;
        if (each)
            each[rank] = s.done[rank];
    }
    free(first);
    free(next);
    close_sim(&s);
    errno = error;
    return error ? -1 : last;
}

double tt_price_call(const struct tt_topo *t, const struct tt_alg *alg, const struct tt_shape *whole, double *each)
{
    struct tt_plan **plans = room(t->size, sizeof *plans);
    double seconds = -1;
    int built = 0, error = ENOMEM;

    while (plans && built < t->size && (plans[built] = tt_whole_plan(alg, whole, built)))
        built++;
    if (plans)
        error = errno;
    if (plans && built == t->size) {
        seconds = tt_price_plans(t, plans, each);
        error = errno;
    }
    for (int rank = 0; rank < built; rank++)
        tt_plan_free(plans[rank]);
    free(plans);
    errno = error;
    return seconds;
}
