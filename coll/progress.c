/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that polls what is under way, for programs that compute for long between the start of a call and its wait,
 * or that wait in calls which Tutti does not see. It shares the program's cores, so that there is a rate to be found.
 * Within a node a message moves only while one of its two ranks polls, and a long one takes several turns: an offer, a
 * read, an answer. A nap in each of them, and in the other rank's, would be most of its time. So while polls move
 * something, and for a moment after, the thread polls without a pause; when they do not, it naps, longer each time.
 * While another thread waits, which polls as fast as can be, or there is nothing, it sleeps until it is called: a nap
 * takes little of a core, but its timer and its waking disturb who runs there, on a virtual machine for some 15 us. So
 * no nap is shorter than that: else the thread is back before who shares its core has come to do anything, again and
 * again, until the kernel's next tick. And it naps first when it is called: who calls it is in the middle of a call
 * that is to return at once, and on whose core it wakes. If he then waits himself at once it has been called in vain,
 * and naps longer the next time.
 *
 * That a poll moved something is told by the time it took: bytes are copied in it, whichever wire, or the MPI below,
 * has them. What it costs is that time, which is what copying the bytes takes, as much again at most for the other
 * rank's turn, a tenth of a core for a flight that does not move at all, and a call and a nap when one begins. */
#include "coll/progress.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "coll/config.h"
#include "coll/pause.h"
#include "coll/request.h"
#include "coll/ticks.h"
#include "coll/topology.h"

enum {
    MOVED_NS = 2000,      /* a poll that took longer has moved bytes */
    MOMENT_NS = 20000,    /* in which the other rank may answer, */
    PATIENCE_NS = 500000, /* or as long as this rank's own turn took, up to that */
    NAP_NS = 20000,       /* the first, and the shortest, */
    LONGEST_NS = 200000,
    VAIN_NS = 1000000,  /* where who called has waited himself at once, again and again */
    WATCH_NS = 1000000, /* between polls while another thread waits, who may poll something else */
    SLACK_NS = 1000,
    TURN_NS = 100000 /* the least that the kernel takes */
};

static pthread_t thread;
static bool runs;
static atomic_bool stops;

/* What the kernel's sched_setattr takes, in its first version. */
struct turns {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Who asks for short turns (Linux 6.12 and later) gets his turn as he wakes, and as much in all as ever; else a thread
 * that wakes waits until the other's turn of some milliseconds is over. */
static void ask_for_short_turns(void)
{
    struct turns t = {.size = sizeof t, .policy = SCHED_OTHER, .runtime = TURN_NS};

    errno = 0;
    t.nice = getpriority(PRIO_PROCESS, 0);
    if (sched_getscheduler(0) == SCHED_OTHER && errno == 0)
        syscall(SYS_sched_setattr, 0, &t, 0);
}

struct pace {
    int64_t moved;  /* when something did */
    int64_t moment; /* to go on for, after that, */
    int64_t least;  /* and the least that it is */
    long nap;       /* the last */
};

/* The other rank's turn is about as long as this one's was. Where ranks outnumber cores he may need this very core for
 * it, and a thread that has lost its core for long in a poll has no turn that long. */
static void note_move(struct pace *p, int64_t now, int64_t took)
{
    p->moved = now;
    p->nap = 0;
    p->moment = p->least == 0 || took < p->least || took > PATIENCE_NS ? p->least : took;
}

/* Polls until nothing has moved for a moment; at first, until it has not begun to. */
static void poll_on(struct pace *p, bool is_first)
{
    int64_t before = tt_nanoseconds(CLOCK_MONOTONIC), now;

    if (is_first)
        note_move(p, before, 0);

    do {
        tt_progress();
        now = tt_nanoseconds(CLOCK_MONOTONIC);
        if (now - before > MOVED_NS)
            note_move(p, now, now - before);
        before = now;
    } while (now - p->moved < p->moment && tt_is_under_way() && !tt_is_waiting());
}

/* ---- sleeping until called ---- */

static sem_t bell;
static atomic_bool sleeps;

static bool has_something(void)
{
    return tt_is_under_way() || atomic_load(&stops);
}

static bool is_needed(void)
{
    return has_something() && !tt_is_waiting();
}

/* The thread is called by each call that starts something, and naps first. Is that started and waited for at once, or
 * is there time between for the thread to be of use? */
static _Atomic int64_t called; /* when, last */
static atomic_bool is_useful;

void tt_progress_thread_note_wait(void)
{
    if (tt_nanoseconds(CLOCK_MONOTONIC) - atomic_load_explicit(&called, memory_order_relaxed) > NAP_NS)
        atomic_store_explicit(&is_useful, true, memory_order_relaxed);
}

/* Whoever has something for the thread first makes that known, and then looks whether it sleeps; the thread first says
 * that it does, and then looks whether there is anything. So one of the two sees the other. */
void tt_progress_thread_call(void)
{
    if (!runs)
        return;
    atomic_store_explicit(&called, tt_nanoseconds(CLOCK_MONOTONIC), memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&sleeps, memory_order_relaxed) && has_something() && atomic_exchange(&sleeps, false))
        sem_post(&bell);
}

/* The bell has rung, or the time is over. Who rings has put out `sleeps` before. */
static void await_bell(bool for_ever)
{
    struct timespec until;
    int error;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WATCH_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    do
        error = for_ever ? sem_wait(&bell) : sem_timedwait(&bell, &until);
    while (error && errno == EINTR);
    if (error && !atomic_exchange(&sleeps, false))
        sem_wait(&bell); /* it has been rung just now */
}

static void sleep_until_called(void)
{
    atomic_store(&sleeps, true);
    atomic_thread_fence(memory_order_seq_cst);
    if (!is_needed())
        await_bell(!has_something());
    else if (!atomic_exchange(&sleeps, false))
        sem_wait(&bell);
}

/* ---- the thread ---- */

static void nap(struct pace *p, long longest)
{
    p->nap = p->nap ? 2 * p->nap : NAP_NS;
    p->nap = p->nap < longest ? p->nap : longest;
    nanosleep(&(struct timespec){.tv_nsec = p->nap}, NULL);
}

static void *work(void *nothing)
{
    struct pace p = {.least = tt_node_is_crowded() ? 0 : MOMENT_NS};
    bool is_first = false;

    prctl(PR_SET_TIMERSLACK, SLACK_NS); /* the kernel's 50 us would be ten naps */
    ask_for_short_turns();
    while (!atomic_load(&stops)) {
        if (is_needed())
            poll_on(&p, is_first);
        is_first = !is_needed();
        if (is_first)
            sleep_until_called();
        if (is_first && atomic_exchange(&is_useful, false))
            p.nap = 0;
        nap(&p, is_first ? VAIN_NS : LONGEST_NS);
    }
    return nothing;
}

void tt_progress_thread_start(void)
{
    int error;

    if (runs)
        return;
    atomic_store(&stops, false);
    atomic_store(&sleeps, false);
    sem_init(&bell, 0, 0);
    error = pthread_create(&thread, NULL, work, NULL);
    runs = error == 0;
    if (error)
        tt_log(TT_WARN, "TUTTI_PROGRESS=thread: no thread to be had (%s): calls progress from other calls alone",
               strerror(error));
}

void tt_progress_thread_stop(void)
{
    if (!runs)
        return;
    atomic_store(&stops, true);
    tt_progress_thread_call();
    pthread_join(thread, NULL);
    runs = false;
}

bool tt_progress_thread_runs(void)
{
    return runs;
}

void tt_progress_in_passing(void)
{
    if (!runs)
        tt_progress();
}
