/* SPDX-License-Identifier: BSD-3-Clause */
/* Where time is lost. Of each call that all ranks have left, what the last one to arrive is behind the median rank is
 * lateness: waiting that it has caused; what comes after its arrival is transfer. A rank is late in a call if it is
 * behind by at least half of its mean lateness over all calls: so in most of them, systematically, or in few,
 * sporadically; both are told only where the waiting is a good part of the time that there was, and much more than the
 * clocks may be wrong by. A call in which bytes are unevenly spread over the ranks (alltoallv) takes as long as its
 * busiest rank, which is told apart. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

/* What counts: a tenth of the time, half of what is waited for in all, and no less than 20 us a call. */
static const double PART = 0.1, SHARE = 0.5;
static const int64_t LEAST = 20000;
static const int64_t MOST_UNSURE = 1000000000;
enum { FEWEST = 10 };             /* calls */
static const double SKEWED = 1.5; /* the busiest rank against the mean */

/* Sums are doubles: what is spoilt may be any number. Nanoseconds. */
struct tally {
    double caused;  /* the median rank waited for this one, in calls in which it was the last */
    double between; /* from its leaving a call to its entering the next */
    int64_t worst;
    uint64_t late, calls; /* calls in which it was late by at least half of what it caused in the mean one */
};

struct sums {
    struct tally *of; /* each rank of MPI_COMM_WORLD */
    double transfer;
    uint64_t calls;
    int64_t first, last;
    int64_t unsure; /* the clocks may be wrong by so much */
};

/* ---- one call ---- */

struct arrival {
    int64_t at, left, left_before;
    int world;
};

static int by_time(const void *a, const void *b)
{
    const int64_t x = ((const struct arrival *)a)->at, y = ((const struct arrival *)b)->at;

    return (x > y) - (x < y);
}

/* All of them have left it, and were not only handing it over. */
static bool fill(const struct doctor_comm *c, uint64_t number, struct arrival *all)
{
    for (int m = 0; m < c->size; m++) {
        const struct tt_record_line *l = doctor_line(&c->members[m], number);
        const struct tt_record_line *before = doctor_line(&c->members[m], number - 1);

        if (!l || !l->left || l->handed || c->members[m].world < 0)
            return false;
        all[m] =
            (struct arrival){(int64_t)l->entered, (int64_t)l->left,
                             before && before->left ? (int64_t)before->left : (int64_t)l->entered, c->members[m].world};
    }
    return true;
}

static int64_t lateness(const struct arrival *all, int n, int i)
{
    return all[i].at - all[(n - 1) / 2].at;
}

/* `all` in the order of arrival, here and below. */
static void count(struct sums *s, const struct arrival *all, int n)
{
    const int64_t behind = lateness(all, n, n - 1);
    int64_t end = 0;

    for (int i = 0; i < n; i++) {
        struct tally *t = &s->of[all[i].world];

        end = all[i].left > end ? all[i].left : end;
        t->between += (double)(all[i].at - all[i].left_before);
        t->calls++;
    }
    s->of[all[n - 1].world].caused += (double)behind;
    if (behind > s->of[all[n - 1].world].worst)
        s->of[all[n - 1].world].worst = behind;
    s->transfer += (double)(end - all[n - 1].at);
    s->first = all[0].at < s->first ? all[0].at : s->first;
    s->last = end > s->last ? end : s->last;
    s->calls++;
}

/* When all are counted. One that is last by next to nothing in most calls, as chance has it, is late in those few that
 * make its mean. */
static void count_late(struct sums *s, const struct arrival *all, int n)
{
    for (int i = 0; i < n; i++) {
        struct tally *t = &s->of[all[i].world];
        const int64_t late = lateness(all, n, i);

        t->late += late > s->unsure && 2 * (double)late * (double)t->calls >= t->caused;
    }
}

/* False if there is no memory: then nothing is to be said. */
static bool each_call(struct sums *s, const struct doctor_comm *c,
                      void (*visit)(struct sums *, const struct arrival *, int))
{
    struct arrival *all = calloc((size_t)c->size, sizeof *all);
    const struct doctor_member *m = &c->members[0];

    if (!all)
        return false;
    for (uint64_t i = m->first; i < m->first + m->n; i++)
        if (fill(c, i, all)) {
            qsort(all, (size_t)c->size, sizeof *all, by_time);
            visit(s, all, c->size);
        }
    free(all);
    return true;
}

static bool each_call_of_all(struct sums *s, const struct doctor_job *job,
                             void (*visit)(struct sums *, const struct arrival *, int))
{
    bool visited = s->of;

    for (int i = 0; visited && i < job->ncomms; i++)
        visited = job->comms[i].inter || each_call(s, &job->comms[i], visit);
    return visited;
}

/* ---- stragglers ---- */

static bool is_behind(const struct sums *s, const struct tally *t, double of_all)
{
    const double span = (double)(s->last - s->first);

    return t->calls && t->caused > PART * span && t->caused > SHARE * of_all &&
           t->caused > (double)s->calls * (double)s->unsure / 4 && t->worst > LEAST;
}

static bool is_systematic(const struct tally *t)
{
    return 2 * t->late > t->calls;
}

static double between_of_others(const struct sums *s, const struct doctor_job *job, const struct doctor_set *blame)
{
    double sum = 0;
    uint64_t calls = 0;

    for (int i = 0; i < job->size; i++)
        if (!blame->has[i]) {
            sum += s->of[i].between;
            calls += s->of[i].calls;
        }
    return calls ? sum / (double)calls : 0;
}

static void tell_straggler(struct doctor_job *job, const struct sums *s, int rank)
{
    const struct tally *t = &s->of[rank];
    const bool systematic = is_systematic(t);
    struct doctor_finding *f = doctor_find(job, DOCTOR_SLOW, systematic ? "straggler" : "jitter", NULL, "");

    if (!f)
        return;
    f->blame.has[rank] = 1;
    snprintf(f->text, sizeof f->text,
             "%s is %s late: in %" PRIu64 " of %" PRIu64
             " collectives, by up to %s; the others have waited %s for it, %.0f %% of "
             "the time. Between two collectives it takes %s on average, others %s; moving data took %s in all",
             doctor_ranks(&f->blame), systematic ? "systematically" : "sporadically", t->late, t->calls,
             doctor_time((double)t->worst), doctor_time(t->caused), 100 * t->caused / (double)(s->last - s->first),
             doctor_time(t->between / (double)t->calls), doctor_time(between_of_others(s, job, &f->blame)),
             doctor_time(s->transfer));
}

static void find_stragglers(struct doctor_job *job, const struct sums *s, bool systematic)
{
    double all = 0;

    for (int i = 0; i < job->size; i++)
        all += s->of[i].caused;
    for (int i = 0; i < job->size; i++)
        if (is_systematic(&s->of[i]) == systematic && is_behind(s, &s->of[i], all))
            tell_straggler(job, s, i);
}

/* The most that two ranks' clocks may differ by, unknown to us. */
static int64_t uncertainty(const struct doctor_job *job)
{
    int64_t most = 0;

    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].r && job->ranks[i].r->head.offset_error_ns > most)
            most = job->ranks[i].r->head.offset_error_ns;
    return 2 * (most < MOST_UNSURE ? most : MOST_UNSURE) + LEAST;
}

/* ---- routing ---- */

struct load {
    int64_t sent, received;
};

static int64_t busy(const struct load *l)
{
    return l->sent > l->received ? l->sent : l->received;
}

static bool is_listed(const struct doctor_member *m, const struct tt_record_line *l)
{
    const char *name = record_name(m->rank->r, l->collective);

    return strcmp(name, "MPI_Alltoallv") == 0 || strcmp(name, "MPI_Alltoallw") == 0;
}

/* Adds up what each member has sent and received in such calls. Returns how many there were. */
static uint64_t add_loads(const struct doctor_comm *c, struct load *loads)
{
    uint64_t calls = 0;

    for (int m = 0; m < c->size; m++)
        for (size_t i = 0; i < c->members[m].n; i++) {
            const struct tt_record_line *l = c->members[m].lines[i];

            if (!l || !is_listed(&c->members[m], l) || l->sent < 0 || l->received < 0 || l->sent > INT64_MAX / 8192 ||
                l->received > INT64_MAX / 8192)
                continue;
            loads[m].sent += l->sent;
            loads[m].received += l->received;
            calls += m == 0;
        }
    return calls;
}

static void tell_routing(struct doctor_job *job, const struct doctor_comm *c, const struct load *loads, uint64_t calls)
{
    double mean = 0;
    int most = 0;
    struct doctor_finding *f;

    for (int m = 0; m < c->size; m++) {
        mean += (double)busy(&loads[m]) / c->size;
        most = busy(&loads[m]) > busy(&loads[most]) ? m : most;
    }
    if (mean <= 0 || (double)busy(&loads[most]) < SKEWED * mean || c->members[most].world < 0)
        return;
    f = doctor_find(job, DOCTOR_SLOW, "routing", NULL, "MPI_Alltoallv");
    if (!f)
        return;
    f->blame.has[c->members[most].world] = 1;
    snprintf(f->text, sizeof f->text,
             "%s has the most to move in MPI_Alltoallv on %s: it sends %s and receives %s a call, %.1f times the mean "
             "rank's %s; each of these %" PRIu64 " calls takes as long as if all ranks moved as much",
             doctor_ranks(&f->blame), c->name, doctor_bytes(loads[most].sent / (int64_t)calls),
             doctor_bytes(loads[most].received / (int64_t)calls), (double)busy(&loads[most]) / mean,
             doctor_bytes((int64_t)(mean / (double)calls)), calls);
}

static void find_routing(struct doctor_job *job, const struct doctor_comm *c)
{
    struct load *loads = calloc((size_t)c->size, sizeof *loads);
    const uint64_t calls = loads ? add_loads(c, loads) : 0;

    if (calls)
        tell_routing(job, c, loads, calls);
    free(loads);
}

void doctor_slow(struct doctor_job *job)
{
    struct sums s = {.of = calloc((size_t)job->size, sizeof *s.of), .first = INT64_MAX, .unsure = uncertainty(job)};
    const bool counted = each_call_of_all(&s, job, count) && each_call_of_all(&s, job, count_late);

    if (counted && s.calls >= FEWEST)
        find_stragglers(job, &s, true);
    for (int i = 0; i < job->ncomms; i++)
        if (!job->comms[i].inter)
            find_routing(job, &job->comms[i]);
    if (counted && s.calls >= FEWEST)
        find_stragglers(job, &s, false);
    free(s.of);
}
