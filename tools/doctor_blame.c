/* SPDX-License-Identifier: BSD-3-Clause */
/* Who keeps the others waiting. A rank in a collective waits for those that have not entered it; of these some wait
 * themselves, in another. Whoever is waited for, and waits for nobody, is to blame, and where he is says for what. If
 * there is nobody like that, they wait for each other in a circle. Errors come first: who failed often keeps others
 * waiting. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor.h"

static const int64_t SILENCE = 90000000000;
static const int64_t PATIENCE = 500000000; /* ns: what has lasted no longer, in a job that lives, is nothing yet */

/* ---- errors ---- */

static const struct tt_record_line *failed_line(const struct doctor_rank *rank)
{
    for (uint32_t i = rank->r ? rank->r->nlines : 0; i-- > 0;)
        if (rank->r->lines[i].own_fault)
            return &rank->r->lines[i];
    return NULL;
}

static void tell_error(struct doctor_job *job, int i, const struct tt_record_line *l)
{
    const struct doctor_rank *rank = &job->ranks[i];
    struct doctor_finding *f = doctor_find(job, DOCTOR_FAULT, "error", NULL, record_name(rank->r, l->collective));
    const char *why = record_fault(rank->r, l->fault);

    if (!f)
        return;
    f->blame.has[i] = 1;
    snprintf(f->text, sizeof f->text, "%s failed in %s: %s", doctor_ranks(&f->blame), doctor_call_on(job, rank, l),
             *why ? why : "the MPI below has refused it");
}

/* Of a rank that has called MPI_Abort, it is the last that is known. */
static void find_aborts(struct doctor_job *job)
{
    for (int i = 0; i < job->size; i++) {
        const struct doctor_rank *rank = &job->ranks[i];
        struct doctor_finding *f = rank->spot && strcmp(rank->spot->name, "Abort") == 0
                                       ? doctor_find(job, DOCTOR_FAULT, "abort", NULL, "MPI_Abort")
                                       : NULL;

        if (!f)
            continue;
        f->blame.has[i] = 1;
        snprintf(f->text, sizeof f->text, "%s has ended the job: it is %s", doctor_ranks(&f->blame),
                 doctor_where(job, rank, false));
    }
}

static void find_errors(struct doctor_job *job)
{
    for (int i = 0; i < job->size; i++) {
        const struct tt_record_line *l = failed_line(&job->ranks[i]);

        if (l)
            tell_error(job, i, l);
    }
}

/* ---- who waits for whom ---- */

/* In what: a collective; one that has failed for want of the others, so that they wait no more; another call. */
enum wait { IN_COLLECTIVE, IN_FAILED, IN_OTHER };

struct waits {
    enum wait in;
    struct doctor_set waiting, awaited; /* in a collective, for somebody; by somebody */
    int64_t longest;
    int oldest;                        /* the rank that has waited longest; -1: nobody waits */
    const struct tt_record_line *line; /* in what */
};

/* Members that have not entered it yet. */
static int count_behind(const struct doctor_comm *c, uint64_t number, struct doctor_set *awaited)
{
    int n = 0;

    for (int m = 0; m < c->size; m++)
        if (doctor_calls(&c->members[m]) <= number) {
            n++;
            if (c->members[m].world >= 0 && awaited)
                awaited->has[c->members[m].world] = 1;
        }
    return n;
}

/* The last call of a rank that has failed because another did; NULL: there is none. */
static const struct tt_record_line *spoilt_line(const struct doctor_rank *rank)
{
    for (uint32_t i = rank->r ? rank->r->nlines : 0; i-- > 0;)
        if (rank->r->lines[i].error && rank->r->lines[i].left)
            return rank->r->lines[i].own_fault ? NULL : &rank->r->lines[i];
    return NULL;
}

/* In MPI_Finalize a rank waits for all that have not come to it. */
static int await_end(const struct doctor_job *job, struct doctor_set *awaited)
{
    int n = 0;

    for (int k = 0; k < job->size; k++)
        if (job->ranks[k].r && (job->ranks[k].r->head.phase == TT_RUNNING || job->ranks[k].life == DOCTOR_ENDED)) {
            awaited->has[k] = 1;
            n++;
        }
    return n;
}

/* In a call for which all come together, for those that are not in such a one. */
static int await_all(const struct doctor_job *job, const struct doctor_comm *c, const char *name,
                     struct doctor_set *awaited)
{
    int n = 0;

    for (int k = 0; k < job->size; k++) {
        const struct doctor_rank *rank = &job->ranks[k];
        bool is_member = !c;

        for (int m = 0; c && m < c->size && !is_member; m++)
            is_member = c->members[m].world == k;
        if (!is_member || (rank->spot && strcmp(rank->spot->name, name) == 0))
            continue;
        awaited->has[k] = 1;
        n++;
    }
    return n;
}

/* Is it in a call for which all come together, and that is no collective? */
static bool is_among_all(const struct doctor_rank *rank)
{
    return rank->spot && !rank->inside && !rank->asks && rank->spot->peer == DOCTOR_NOBODY &&
           strncmp(rank->spot->name, "Wait", 4) != 0;
}

/* Does it wait for somebody, but nobody can know for whom? */
static bool waits_for_any(const struct doctor_rank *rank)
{
    return rank->spot && !rank->inside &&
           (rank->spot->peer == DOCTOR_SOMEBODY || (rank->spot->peer < 0 && rank->spot->peer != DOCTOR_NOBODY));
}

/* For how many ranks this one waits in another call than a collective: in one for a message, for its peer. One that has
 * come to its end sends nothing more: who waits for it has made the mistake. */
static int await_others(struct doctor_job *job, int i, struct doctor_set *awaited)
{
    const struct doctor_rank *rank = &job->ranks[i];
    const struct tt_record_spot *s = rank->spot;
    int peer;

    if (rank->r && rank->r->head.phase == TT_FINALIZING)
        return await_end(job, awaited);
    if (is_among_all(rank))
        return await_all(job, doctor_comm_of(job, rank, s->comm), s->name, awaited);
    peer = s && !rank->inside ? doctor_peer(job, rank) : -1;
    if (peer < 0 || doctor_has_finished(&job->ranks[peer]))
        return 0;
    awaited->has[peer] = 1;
    return 1;
}

static int await_members(struct doctor_job *job, int i, const struct tt_record_line *l, struct doctor_set *awaited)
{
    const struct doctor_comm *c = l ? doctor_comm_of(job, &job->ranks[i], l->comm) : NULL;

    return c ? count_behind(c, l->number, awaited) : 0;
}

static void find_waits(struct doctor_job *job, struct waits *w, enum wait in)
{
    *w = (struct waits){
        .in = in, .waiting = doctor_set_make(job->size), .awaited = doctor_set_make(job->size), .oldest = -1};
    for (int i = 0; i < job->size && w->waiting.has && w->awaited.has; i++) {
        const struct doctor_rank *rank = &job->ranks[i];
        const struct tt_record_line *l = in == IN_FAILED ? spoilt_line(rank) : in == IN_OTHER ? NULL : rank->inside;
        int64_t since;

        if (!(in == IN_OTHER ? await_others(job, i, &w->awaited) : await_members(job, i, l, &w->awaited)))
            continue;
        since = job->now - (l ? (int64_t)l->entered : doctor_since(rank));
        w->waiting.has[i] = 1;
        if (w->oldest < 0 || since > w->longest) {
            w->longest = since;
            w->oldest = i;
            w->line = l;
        }
    }
}

static void end_waits(struct waits *w)
{
    free(w->waiting.has);
    free(w->awaited.has);
}

/* ---- telling ---- */

static bool all_are_gone(const struct doctor_job *job)
{
    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].r && job->ranks[i].life != DOCTOR_IS_GONE && job->ranks[i].life != DOCTOR_ENDED)
            return false;
    return true;
}

/* What became of a process: a word for programs, and how to say it of one and of several. Where the process itself is
 * named, that comes between the two parts. */
struct fate {
    const char *what;
    bool names_process;
    const char *one[2], *several[2];
};

static const struct fate behind = {"behind", false, {"it is ", ""}, {"they are ", ""}};
static const struct fate absent = {"absent", false, {"it is ", ""}, {"they are ", ""}};
static const struct fate was_behind = {
    "behind", false, {"when the job ended it was ", ""}, {"when the job ended they were ", ""}};
static const struct fate ended = {"ended",
                                  false,
                                  {"it ended without MPI_Finalize, when it was ", ""},
                                  {"they ended without MPI_Finalize, when they were ", ""}};
static const struct fate killed = {"gone",
                                   true,
                                   {"its process", " was killed or crashed, when it was "},
                                   {"their processes", " were killed or crashed, when they were "}};
static const struct fate stopped = {
    "stopped",
    true,
    {"its process", " has been stopped by a signal or a debugger, when it was "},
    {"their processes", " have been stopped by a signal or a debugger, when they were "}};

static const struct fate silent = {
    "silent",
    true,
    {"its process", " has given no sign of life for more than 90 s, when it was "},
    {"their processes", " have given no sign of life for more than 90 s, when they were "}};

/* On another host, whose file may come late by as long as a network's file system takes. */
static bool is_silent(const struct doctor_job *job, const struct doctor_rank *rank)
{
    return rank->life == DOCTOR_UNKNOWN && job->now - rank->seen > SILENCE;
}

static const struct fate *fate_of(const struct doctor_job *job, const struct doctor_rank *rank)
{
    if (!rank->r)
        return &absent;
    if (is_silent(job, rank))
        return &silent;
    switch (rank->life) {
    case DOCTOR_IS_GONE:
        return all_are_gone(job) ? &was_behind : &killed;
    case DOCTOR_ENDED:
        return &ended;
    case DOCTOR_STOPPED:
        return &stopped;
    default:
        return &behind;
    }
}

/* Of several, the first process is named. */
static const char *say_fate(const struct fate *f, const struct doctor_rank *rank, int n)
{
    static char text[256];
    const char *const *words = n == 1 ? f->one : f->several;
    char process[128] = "";

    if (f->names_process)
        snprintf(process, sizeof process, ", %d on %.64s%s,", rank->r->head.pid, rank->r->head.host,
                 n == 1 ? "" : " and others");
    snprintf(text, sizeof text, "%s%s%s", words[0], process, words[1]);
    return text;
}

/* Where calls have failed for want of a rank, it was gone before the job was over. */
static const struct fate *fate_in(const struct doctor_job *job, const struct waits *w, int i)
{
    return w->in == IN_FAILED && job->ranks[i].life == DOCTOR_IS_GONE ? &killed : fate_of(job, &job->ranks[i]);
}

/* Ranks of which the same is said, from i on, are told of together. */
static void gather(struct doctor_job *job, const struct waits *w, const struct doctor_set *from, int i,
                   struct doctor_set *told, struct doctor_set *same)
{
    const struct fate *fate = fate_in(job, w, i);
    char place[512];

    snprintf(place, sizeof place, "%s", doctor_where(job, &job->ranks[i], false));
    for (int k = i; k < job->size; k++) {
        if (!from->has[k] || told->has[k])
            continue;
        if (fate_in(job, w, k) == fate && strcmp(place, doctor_where(job, &job->ranks[k], false)) == 0)
            same->has[k] = told->has[k] = 1;
    }
}

/* "MPI_Allreduce"; NULL: it is in another call. */
static const char *call_name(const struct doctor_rank *rank, const struct tt_record_line *l)
{
    static char text[64];

    if (l)
        return record_name(rank->r, l->collective);
    snprintf(text, sizeof text, "MPI_%s", rank->spot ? rank->spot->name : "Finalize");
    return text;
}

static void tell(struct doctor_job *job, const struct waits *w, struct doctor_set *same, int i)
{
    const struct doctor_rank *oldest = &job->ranks[w->oldest];
    const struct fate *fate = fate_in(job, w, i);
    const int n = doctor_set_count(same);
    const bool failed = w->in == IN_FAILED, lasts = job->lives && !failed;
    struct doctor_finding *f = doctor_find(job, DOCTOR_FAULT, fate->what, same, call_name(oldest, w->line));
    char call[512];

    if (!f)
        return;
    if (w->line)
        snprintf(call, sizeof call, "in %s", doctor_call_on(job, oldest, w->line));
    else
        snprintf(call, sizeof call, "%s", doctor_where(job, oldest, false));
    snprintf(f->text, sizeof f->text, "%s %s %s %s %s%s%s: %s%s", doctor_ranks(same),
             failed ? (n == 1 ? "has made" : "have made") : (n == 1 ? "keeps" : "keep"), doctor_ranks(&w->waiting),
             failed ? "fail" : "waiting", call, lasts ? ", for " : "", lasts ? doctor_time((double)w->longest) : "",
             say_fate(fate, &job->ranks[i], n), doctor_where(job, &job->ranks[i], job->lives));
}

/* Who waits for somebody is no culprit where another is. */
static void drop_waiters(const struct doctor_job *job, struct doctor_set *culprits)
{
    bool others = false;

    for (int i = 0; i < job->size; i++)
        others |= culprits->has[i] && !waits_for_any(&job->ranks[i]);
    for (int i = 0; i < job->size && others; i++)
        culprits->has[i] &= !waits_for_any(&job->ranks[i]);
}

/* Where one has ended of itself, those that were killed were so on its account, some before they came to wait. */
static void find_culprits(const struct doctor_job *job, const struct waits *w, struct doctor_set *culprits)
{
    bool ended = false;

    for (int i = 0; i < job->size; i++) {
        culprits->has[i] =
            w->awaited.has[i] && !w->waiting.has[i] &&
            (w->in != IN_FAILED || job->ranks[i].life == DOCTOR_IS_GONE || job->ranks[i].life == DOCTOR_ENDED);
        ended |= culprits->has[i] && job->ranks[i].life == DOCTOR_ENDED;
    }
    for (int i = 0; i < job->size && ended; i++)
        culprits->has[i] &= job->ranks[i].life != DOCTOR_IS_GONE;
    drop_waiters(job, culprits);
}

/* Whom a rank that is not in the collective waits for in the end, from message to message: the first that waits for
 * none. The rank itself, if the way leads back to who waits for it, or if it is not its own doing that it is away. */
static int end_of_way(struct doctor_job *job, const struct waits *w, int i)
{
    const struct fate *fate = fate_in(job, w, i);
    int at = i;

    for (int steps = 0; steps < job->size && (fate == &behind || fate == &was_behind); steps++) {
        const struct doctor_rank *rank = &job->ranks[at];
        const int peer = rank->spot && !rank->inside ? doctor_peer(job, rank) : -1;

        if (peer < 0)
            return at;
        if (w->waiting.has[peer] || job->ranks[peer].inside || doctor_has_finished(&job->ranks[peer]))
            return i;
        at = peer;
    }
    return i;
}

/* Rank `last` has not sent, or taken, what rank i waits for, and so the others wait. */
static void tell_way_to(struct doctor_job *job, const struct waits *w, int i, int last)
{
    const struct doctor_rank *oldest = &job->ranks[w->oldest];
    struct doctor_finding *f =
        doctor_find(job, DOCTOR_FAULT, fate_of(job, &job->ranks[last])->what, NULL, call_name(&job->ranks[i], NULL));

    if (!f)
        return;
    f->blame.has[last] = 1;
    snprintf(f->text, sizeof f->text, "%s keeps rank %d waiting %s, and so %s in %s%s%s: %s%s", doctor_ranks(&f->blame),
             i, doctor_where(job, &job->ranks[i], false), doctor_ranks(&w->waiting),
             doctor_call_on(job, oldest, w->line), job->lives ? ", for " : "",
             job->lives ? doctor_time((double)w->longest) : "",
             say_fate(fate_of(job, &job->ranks[last]), &job->ranks[last], 1),
             doctor_where(job, &job->ranks[last], job->lives));
}

/* Some are in a collective for which others do not come, and these in another call for which the former do not. The
 * fewer are told of first. */
static void tell_apart(struct doctor_job *job, const struct waits *w, const struct doctor_set *same, int i)
{
    const bool fewer = doctor_set_count(same) < doctor_set_count(&w->waiting);
    const struct doctor_set *odd = fewer ? same : &w->waiting, *most = fewer ? &w->waiting : same;
    const struct doctor_rank *in_odd = &job->ranks[fewer ? i : w->oldest],
                             *in_most = &job->ranks[fewer ? w->oldest : i];
    struct doctor_finding *f = doctor_find(job, DOCTOR_FAULT, "apart", odd, call_name(in_odd, in_odd->inside));

    if (f)
        snprintf(f->text, sizeof f->text, "%s %s not match: %s %s, where %s %s %s, and they wait for one another%s%s",
                 doctor_ranks(odd), doctor_set_count(odd) == 1 ? "does" : "do",
                 doctor_set_count(odd) == 1 ? "it is" : "they are", doctor_where(job, in_odd, false),
                 doctor_ranks(most), doctor_set_count(most) == 1 ? "is" : "are", doctor_where(job, in_most, false),
                 job->lives ? ", for " : "", job->lives ? doctor_time((double)w->longest) : "");
}

/* Of the culprits that are at one place, i being the first. */
static void tell_group(struct doctor_job *job, const struct waits *w, struct doctor_set *same, int i,
                       struct doctor_set *told)
{
    const int last = w->in == IN_COLLECTIVE ? end_of_way(job, w, i) : i;

    if (last != i && !told->has[last])
        tell_way_to(job, w, i, last);
    else if (last == i && w->in == IN_FAILED && spoilt_line(&job->ranks[i]))
        tell_error(job, i, spoilt_line(&job->ranks[i]));
    else if (last == i && w->in == IN_COLLECTIVE && is_among_all(&job->ranks[i]))
        tell_apart(job, w, same, i);
    else if (last == i)
        tell(job, w, same, i);
    told->has[last] = 1;
}

static void tell_culprits(struct doctor_job *job, const struct waits *w)
{
    struct doctor_set culprits = doctor_set_make(job->size), told = doctor_set_make(job->size), same;

    if (culprits.has)
        find_culprits(job, w, &culprits);
    for (int i = 0; i < job->size && culprits.has && told.has; i++)
        if (culprits.has[i] && !told.has[i]) {
            same = doctor_set_make(job->size);
            if (same.has) {
                gather(job, w, &culprits, i, &told, &same);
                tell_group(job, w, &same, i, &told);
            }
            free(same.has);
        }
    free(culprits.has);
    free(told.has);
}

/* ---- a circle ---- */

/* The fewest that are in one and the same call. */
static void find_fewest(struct doctor_job *job, const struct doctor_set *waiting, struct doctor_set *fewest)
{
    int least = job->size + 1;

    for (int i = 0; i < job->size; i++) {
        const struct tt_record_line *l = job->ranks[i].inside;
        int n = 0;

        for (int k = 0; k < job->size && waiting->has[i]; k++)
            n += waiting->has[k] && doctor_comm_of(job, &job->ranks[k], job->ranks[k].inside->comm) ==
                                        doctor_comm_of(job, &job->ranks[i], l->comm);
        if (!n || n >= least)
            continue;
        least = n;
        for (int k = 0; k < job->size; k++)
            fewest->has[k] = waiting->has[k] && doctor_comm_of(job, &job->ranks[k], job->ranks[k].inside->comm) ==
                                                    doctor_comm_of(job, &job->ranks[i], l->comm);
    }
}

static int number_of_comms(struct doctor_job *job, const struct doctor_set *waiting)
{
    int n = 0;

    for (int i = 0; i < job->ncomms; i++)
        for (int k = 0; k < job->size; k++)
            if (waiting->has[k] && doctor_comm_of(job, &job->ranks[k], job->ranks[k].inside->comm) == &job->comms[i]) {
                n++;
                break;
            }
    return n;
}

/* One of those that a rank waits for; -1: it is not known who that is. */
static int next_of(struct doctor_job *job, int i)
{
    struct doctor_set awaited = doctor_set_make(job->size);
    int next = -1;

    if (awaited.has)
        await_members(job, i, job->ranks[i].inside, &awaited);
    for (int k = job->size - 1; k >= 0 && awaited.has; k--)
        next = awaited.has[k] ? k : next;
    free(awaited.has);
    return next;
}

/* From any that waits the way leads into the circle, and then around it. */
static void tell_way(struct doctor_job *job, const struct waits *w)
{
    struct doctor_finding *f =
        doctor_find(job, DOCTOR_FAULT, "circle", NULL, call_name(&job->ranks[w->oldest], w->line));
    int at = w->oldest;
    size_t used = 0;

    for (int k = 0; f && k < job->size && at >= 0; k++)
        at = next_of(job, at);
    for (; f && at >= 0 && !f->blame.has[at]; at = next_of(job, at)) {
        f->blame.has[at] = 1;
        if (used < sizeof f->text)
            used += (size_t)snprintf(f->text + used, sizeof f->text - used, "%s %d waits for rank %d in %s",
                                     used ? "; rank" : "ranks wait for one another in a circle: rank", at,
                                     next_of(job, at), doctor_call_on(job, &job->ranks[at], job->ranks[at].inside));
    }
}

static void tell_circle(struct doctor_job *job, const struct waits *w)
{
    struct doctor_finding *f = doctor_find(job, DOCTOR_FAULT, "order", NULL, "");
    struct doctor_set others = doctor_set_make(job->size);
    int one = -1, other = -1;

    if (!f || !others.has)
        return;
    find_fewest(job, &w->waiting, &f->blame);
    for (int i = job->size - 1; i >= 0; i--) {
        others.has[i] = w->waiting.has[i] && !f->blame.has[i];
        one = f->blame.has[i] ? i : one;
        other = others.has[i] ? i : other;
    }
    if (other < 0) /* nor is it known who else is in it */
        snprintf(f->text, sizeof f->text, "%s wait%s in %s for ranks that have called nothing on it",
                 doctor_ranks(&w->waiting), doctor_set_count(&w->waiting) == 1 ? "s" : "",
                 doctor_call_on(job, &job->ranks[w->oldest], w->line));
    if (one >= 0 && other >= 0) {
        snprintf(f->call, sizeof f->call, "%s", record_name(job->ranks[one].r, job->ranks[one].inside->collective));
        snprintf(
            f->text, sizeof f->text,
            "%s made calls on two communicators in another order than others: it waits in %s, while %s wait%s in %s",
            doctor_ranks(&f->blame), doctor_call_on(job, &job->ranks[one], job->ranks[one].inside),
            doctor_ranks(&others), doctor_set_count(&others) == 1 ? "s" : "",
            doctor_call_on(job, &job->ranks[other], job->ranks[other].inside));
    }
    free(others.has);
}

/* ---- all are in it ---- */

/* A rank that is gone in the midst of a call, while others are still in it; or a call that does not end. */
static void find_stuck(struct doctor_job *job)
{
    struct doctor_set away = doctor_set_make(job->size);
    const struct fate *fate = NULL;
    int first = -1;

    for (int i = job->size - 1; i >= 0 && away.has && !all_are_gone(job); i--) {
        const struct doctor_rank *rank = &job->ranks[i];

        if (!rank->r || !fate_of(job, rank)->names_process || rank->r->head.phase != TT_RUNNING)
            continue;
        first = i;
        fate = fate_of(job, rank);
    }
    for (int i = 0; i < job->size && fate; i++)
        away.has[i] = fate_of(job, &job->ranks[i]) == fate;
    if (fate) {
        struct doctor_finding *f = doctor_find(job, DOCTOR_FAULT, fate->what, &away, "");

        if (f)
            snprintf(f->text, sizeof f->text, "%s: %s%s", doctor_ranks(&away),
                     say_fate(fate, &job->ranks[first], doctor_set_count(&away)),
                     doctor_where(job, &job->ranks[first], false));
    }
    free(away.has);
}

static void find_endless(struct doctor_job *job)
{
    struct doctor_finding *f;
    int oldest = -1;

    for (int i = 0; i < job->size; i++)
        if (job->ranks[i].inside && (oldest < 0 || job->ranks[i].inside->entered < job->ranks[oldest].inside->entered))
            oldest = i;
    if (oldest < 0 || (job->lives && job->now - (int64_t)job->ranks[oldest].inside->entered < PATIENCE))
        return;
    f = doctor_find(job, DOCTOR_REMARK, "inside", NULL,
                    record_name(job->ranks[oldest].r, job->ranks[oldest].inside->collective));
    if (f)
        snprintf(
            f->text, sizeof f->text,
            "nobody is behind: all that take part are in %s%s%s, which does not end: its data are still under way, "
            "or the MPI below, or the network, has lost some",
            doctor_call_on(job, &job->ranks[oldest], job->ranks[oldest].inside), job->lives ? ", since " : "",
            job->lives ? doctor_time((double)(job->now - (int64_t)job->ranks[oldest].inside->entered)) : "");
}

/* In a job that lives some wait for a while for others that come; for those that are not there, or do not run, forever.
 */
static bool is_serious(const struct doctor_job *job, const struct waits *w)
{
    bool away = !job->lives || w->longest >= PATIENCE;

    for (int i = 0; i < job->size; i++)
        away |= w->awaited.has[i] && !w->waiting.has[i] && job->ranks[i].life > DOCTOR_LIVES;
    return away && w->oldest >= 0;
}

/* Ranks of a node notice that one of them has died, and their calls fail. */
static void find_deaths(struct doctor_job *job)
{
    struct waits w;

    find_waits(job, &w, IN_FAILED);
    if (w.oldest >= 0)
        tell_culprits(job, &w);
    end_waits(&w);
}

/* Messages, and calls that make communicators, windows and files: looked at where no collective says more. */
static void tell_ring(struct doctor_job *job, const struct waits *w)
{
    const struct doctor_rank *oldest = &job->ranks[w->oldest];
    struct doctor_finding *f = doctor_find(job, DOCTOR_FAULT, "circle", &w->waiting, call_name(oldest, NULL));

    if (f)
        snprintf(f->text, sizeof f->text, "%s wait for one another%s%s: rank %d is %s", doctor_ranks(&w->waiting),
                 job->lives ? ", for " : "", job->lives ? doctor_time((double)w->longest) : "", w->oldest,
                 doctor_where(job, oldest, false));
}

static void find_laggards(struct doctor_job *job, enum wait in)
{
    const int before = job->nfindings;
    struct waits w;

    find_waits(job, &w, in);
    if (is_serious(job, &w)) {
        tell_culprits(job, &w);
        if (job->nfindings == before)
            (in == IN_OTHER ? tell_ring : number_of_comms(job, &w.waiting) > 2 ? tell_way : tell_circle)(job, &w);
    }
    end_waits(&w);
}

void doctor_blame(struct doctor_job *job)
{
    const int before = job->nfindings;

    find_aborts(job);
    find_errors(job);
    find_deaths(job);
    find_laggards(job, IN_COLLECTIVE);
    if (job->nfindings == before)
        find_laggards(job, IN_OTHER);
    if (job->nfindings == before)
        find_stuck(job);
    if (job->nfindings == before && before == 0)
        find_endless(job);
}
