/* SPDX-License-Identifier: BSD-3-Clause */
/* The watchdog (TUTTI_TIMEOUT): who stays in a collective for too long says what it waits for and from whom, once per
 * period; and any rank says where it is when it gets SIGUSR1. A thread only counts beats, one a second: who waits
 * notices between two polls that there was one, and tells of itself, since nobody else may look at what it is doing.
 * The thread speaks for those that do not poll: inside the MPI below, in set-up that does not end, or in no collective
 * at all. What goes into starting CUDA and NCCL is not counted. The beats are also what a record is seen alive by.
 * Costs a thread that sleeps, and a comparison for each poll in vain. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coll/config.h"
#include "coll/record.h"
#include "coll/watch.h"

enum { THREADS = 8, BEAT_MS = 1000, ANSWER_MS = 300, FRAMES = 32, TO_BE_NAMED = 8 };
enum action { WARN, DUMP, ABORT };

/* Where a thread of the program is, written by itself. Some threads share one. */
static struct place {
    atomic_ulong since; /* ticks; 0: outside. Stored last */
    const char *name;   /* "MPI_Allreduce", or "Recv", as in MPI_Recv */
    uint64_t number;
    const void *caller;
    bool is_spot;
    atomic_bool begun;
    atomic_uint answered; /* the beat for which it has told of itself */
    atomic_ulong told;    /* ticks: when it has last warned */
} places[THREADS];

static pthread_t thread;
static atomic_bool stops;
static int wake = -1;             /* an eventfd */
static atomic_uint asked;         /* how often SIGUSR1 has come */
static atomic_uint asked_at_beat; /* the beat at which who waits is to tell */
static int rank;
static struct tt_moment start; /* what a tick is */

static struct place *place(void)
{
    return &places[tt_thread_number() % THREADS];
}

static double seconds_since(uint64_t ticks, uint64_t less)
{
    const struct tt_moment now = tt_moment_now();

    return (double)(now.ns - tt_ticks_ns(ticks + less, &start, &now)) / 1e9;
}

/* ---- what a call waits for ---- */

struct words {
    char text[400];
    size_t used;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct words *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (w->used < sizeof w->text - 1)
        w->used += (size_t)vsnprintf(w->text + w->used, sizeof w->text - w->used, format, args);
    va_end(args);
}

/* The peers of a lane's messages one way, each once; of very many the first. */
static int add_peers(struct words *w, const struct tt_batch *batch, bool incoming, int named)
{
    int last = -1;

    for (int i = 0; i < batch->n; i++) {
        const struct tt_flight *f = &batch->flights[i];

        if (f->over || f->incoming != incoming || f->peer == last)
            continue;
        last = f->peer;
        if (named++ < TO_BE_NAMED)
            add(w, "%s%d", named == 1 ? (incoming ? "data from rank " : "its data to be taken by rank ") : ", ",
                f->peer);
    }
    return named;
}

static void add_plan(struct words *w, const struct tt_req *req)
{
    int from = 0, to = 0;

    for (int i = 0; i < req->plan->nlanes; i++)
        from = add_peers(w, &req->lanes[i].batch, true, from);
    if (from > TO_BE_NAMED)
        add(w, " and %d more", from - TO_BE_NAMED);
    for (int i = 0; i < req->plan->nlanes && !from; i++)
        to = add_peers(w, &req->lanes[i].batch, false, to);
    if (!from && !to)
        add(w, "its GPU");
}

static void add_wait(struct words *w, const struct tt_task *task)
{
    if (task->plan && task->posted)
        add_plan(w, &task->req);
    else if (task->plan)
        add(w, "its earlier calls on this communicator to end");
    else
        add(w, task->by_nccl.job ? "NCCL" : "the MPI below, which does not say what for");
}

/* ---- telling ---- */

/* "app+0x1234" */
static const char *piece_of(const void *address, char *text, size_t size)
{
    Dl_info at;
    const char *slash;

    if (!address || !dladdr(address, &at) || !at.dli_fname)
        return "an unknown place";
    slash = strrchr(at.dli_fname, '/');
    snprintf(text, size, "%s+0x%" PRIxPTR, slash ? slash + 1 : at.dli_fname,
             (uintptr_t)address - (uintptr_t)at.dli_fbase);
    return text;
}

static void say_frames(void)
{
    void *frames[FRAMES];

    backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
}

static void say(const struct tt_event *e, const struct tt_task *task, double seconds)
{
    char name[MPI_MAX_OBJECT_NAME] = "", caller[256];
    struct words w = {.used = 0};
    int length;

    PMPI_Comm_get_name(e->call->comm, name, &length);
    add_wait(&w, task);
    tt_log(TT_WARN, "rank %d has been in %s (call %" PRIu64 " on %s, from %s) for %.0f s: by %s it waits for %s", rank,
           tt_rows[e->call->coll].name, e->number + 1, *name ? name : "a communicator without a name",
           piece_of(e->caller, caller, sizeof caller), seconds, e->alg ? e->alg->name : "?", w.text);
}

static void act(bool may_call_mpi)
{
    if (tt_config.timeout_action != ABORT)
        return;
    tt_log(TT_ERROR, "rank %d ends the job, as TUTTI_TIMEOUT_ACTION=abort says", rank);
    poll(NULL, 0, ANSWER_MS); /* a launcher that ends the job may lose what it has not passed on by then */
    if (may_call_mpi)
        PMPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Is it due to warn again? */
static bool is_due(struct place *p, uint64_t since, uint64_t setup)
{
    const uint64_t last = p->told > since ? p->told : since;

    if (!tt_config.timeout || seconds_since(last, last == since ? setup : 0) < (double)tt_config.timeout)
        return false;
    p->told = tt_ticks();
    return true;
}

/* A nonblocking call counts only for who waits. */
static void beat(struct tt_event *e, const struct tt_task *task)
{
    struct place *p = place();
    const bool is_asked = asked_at_beat == e->beat, waits = e->flavour == TT_BLOCKING || p->is_spot;
    const bool due = waits && is_due(p, e->flavour == TT_BLOCKING ? e->entered : p->since, e->setup);

    p->answered = e->beat;
    if (is_asked || due)
        say(e, task, seconds_since(e->entered, 0));
    if (is_asked || (due && tt_config.timeout_action == DUMP))
        say_frames();
    if (due)
        act(true);
}

/* For a thread that does not: it is somewhere where nobody polls for it. */
static void say_for(struct place *p, bool is_asked)
{
    const uint64_t since = p->since;
    char caller[256];

    if (!since || (!is_asked && (p->is_spot || (!p->begun && tt_setups > 0) || !is_due(p, since, 0))))
        return;
    tt_log(TT_WARN, "rank %d has been in %s%s (from %s) for %.0f s%s", rank, p->is_spot ? "MPI_" : "", p->name,
           piece_of(p->caller, caller, sizeof caller), seconds_since(since, 0),
           p->is_spot  ? ""
           : p->begun  ? ": the MPI below does it, and does not say what it waits for"
           : tt_setups ? ": CUDA or NCCL is being started"
                       : ": it waits for the other ranks to come to it");
    if (!is_asked)
        act(false);
}

static void say_outside(void)
{
    for (int i = 0; i < THREADS; i++)
        if (places[i].since)
            return;
    tt_log(TT_WARN, "rank %d is in no call of MPI that Tutti sees", rank);
}

/* ---- where threads are ---- */

static void go_in(struct place *p, const char *name, uint64_t number, const void *caller, bool is_spot, uint64_t since)
{
    p->name = name;
    p->number = number;
    p->caller = caller;
    p->is_spot = is_spot;
    p->begun = false;
    p->since = since;
}

static void enter(struct tt_event *e)
{
    if (e->flavour == TT_BLOCKING)
        go_in(place(), tt_rows[e->call->coll].name, e->number, e->caller, false, e->entered);
}

static void begin(struct tt_event *e)
{
    if (e->flavour == TT_BLOCKING)
        place()->begun = true;
}

static void leave(struct tt_event *e)
{
    if (e->flavour == TT_BLOCKING)
        place()->since = 0;
}

static void enter_spot(const struct tt_spot *s)
{
    go_in(place(), s->name, 0, s->caller, true, s->entered);
}

static void leave_spot(const struct tt_spot *s)
{
    (void)s;
    place()->since = 0;
}

/* ---- the thread ---- */

/* Whose it was before: MPICH has a handler of its own for it. */
static struct sigaction theirs;

static void on_signal(int signal, siginfo_t *info, void *context)
{
    const int error = errno;
    const uint64_t one = 1;

    asked++;
    if (write(wake, &one, sizeof one) < 0)
        errno = error; /* then the next beat will do */
    if (theirs.sa_flags & SA_SIGINFO)
        theirs.sa_sigaction(signal, info, context);
    else if (theirs.sa_handler != SIG_DFL && theirs.sa_handler != SIG_IGN)
        theirs.sa_handler(signal);
    errno = error;
}

/* Waits; returns whether it was woken. */
static bool doze(int ms)
{
    struct pollfd fd = {.fd = wake, .events = POLLIN};
    uint64_t n;

    return poll(&fd, 1, ms) > 0 && read(wake, &n, sizeof n) > 0;
}

/* Who waits is given some time to tell of itself. */
static void answer(void)
{
    const unsigned now = tt_beats + 1;

    asked_at_beat = now;
    tt_beats = now;
    doze(ANSWER_MS);
    for (int i = 0; i < THREADS; i++)
        if (places[i].answered != now)
            say_for(&places[i], true);
    say_outside();
}

static void *work(void *nothing)
{
    unsigned answered = 0;

    while (!stops) {
        const unsigned before = tt_beats;

        doze(BEAT_MS);
        if (tt_record_is_on())
            tt_record_beat();
        if (answered != asked) {
            answered = asked;
            answer();
            continue;
        }
        for (int i = 0; i < THREADS && !stops; i++)
            if (places[i].answered != before)
                say_for(&places[i], false);
        tt_beats = before + 1;
    }
    return nothing;
}

/* The program's signals are not for this thread. */
static int begin_thread(void)
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, NULL, work, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void take_signal(void)
{
    const struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_RESTART | SA_SIGINFO};

    sigaction(SIGUSR1, NULL, &theirs);
    sigaction(SIGUSR1, &ours, NULL);
}

static bool open_watchdog(void)
{
    void *frame;

    if (!tt_config.timeout && !tt_record_is_on())
        return false;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    start = tt_moment_now();
    backtrace(&frame, 1); /* loads what it needs now, and not when something is wrong */
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    stops = false;
    if (wake < 0 || begin_thread()) {
        tt_log(TT_WARN, "TUTTI_TIMEOUT: no thread to be had, so nobody watches");
        return false;
    }
    take_signal();
    return true;
}

static void end_watchdog(void)
{
    const uint64_t one = 1;

    stops = true;
    if (write(wake, &one, sizeof one) > 0)
        pthread_join(thread, NULL);
    sigaction(SIGUSR1, &theirs, NULL);
}

const struct tt_listener tt_listen_watchdog = {.open = open_watchdog,
                                               .end = end_watchdog,
                                               .enter = enter,
                                               .begin = begin,
                                               .beat = beat,
                                               .leave = leave,
                                               .enter_spot = enter_spot,
                                               .leave_spot = leave_spot};
