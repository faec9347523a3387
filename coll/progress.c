/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that polls what is under way, for programs that compute for long between the start of a call and its wait,
 * or that wait in calls which Tutti does not see. It shares the program's cores, so that there is a rate to be found.
 * Within a node a message moves only while one of its two ranks polls, and a long one takes several turns: an offer, a
 * read, an answer. A nap in each of them, and in the other rank's, would be most of its time. So while polls move
 * something, and for a moment after, the thread polls without a pause; when they do not, it naps, longer each time; and
 * it leaves polling to any other thread that waits for what is under way, and so polls as fast as can be.
 *
 * That a poll moved something is told by the time it took: bytes are copied in it, whichever wire, or the MPI below,
 * has them. What it costs is that time, which is what copying the bytes takes, the moment after, and of a flight that
 * does not move at all a thirtieth of a core. */
#include "coll/progress.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "coll/config.h"
#include "coll/request.h"
#include "coll/ticks.h"
#include "coll/topology.h"

enum {
    MOVED_NS = 2000,   /* a poll that took longer has moved bytes */
    MOMENT_NS = 20000, /* in which the other rank may answer */
    NAP_NS = 5000,     /* the first, */
    LONGEST_NS = 50000,
    IDLE_NS = 100000, /* while there is nothing under way */
    SLACK_NS = 1000,
    TURN_NS = 100000, /* the least that the kernel takes */
    WAITS = 4         /* so many polls by others, in one nap, are somebody's who waits */
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
    int64_t moved;   /* when something did */
    int64_t moment;  /* to go on for, after that */
    long nap;        /* the last */
    unsigned others; /* polls by other threads, in all */
};

static bool others_poll(struct pace *p)
{
    const unsigned polls = tt_polls_by_others(), since = polls - p->others;

    p->others = polls;
    return since >= WAITS;
}

/* Polls until nothing has moved for a moment. */
static void poll_on(struct pace *p)
{
    int64_t before = tt_nanoseconds(CLOCK_MONOTONIC), now;

    do {
        tt_progress();
        now = tt_nanoseconds(CLOCK_MONOTONIC);
        if (now - before > MOVED_NS) {
            p->moved = now;
            p->nap = 0;
        }
        before = now;
    } while (now - p->moved < p->moment && tt_has_business() && !others_poll(p));
}

/* What has just ended may soon be followed by another: so naps grow from the shortest then, too. */
static long next_nap(struct pace *p)
{
    const long longest = tt_has_business() ? LONGEST_NS : IDLE_NS;

    p->nap = p->nap ? 2 * p->nap : NAP_NS;
    p->nap = p->nap < longest ? p->nap : longest;
    return p->nap;
}

static void *work(void *nothing)
{
    struct pace p = {.moment = tt_node_is_crowded() ? 0 : MOMENT_NS};

    prctl(PR_SET_TIMERSLACK, SLACK_NS); /* the kernel's 50 us would be ten naps */
    ask_for_short_turns();
    tt_polls_for_others();
    while (!atomic_load(&stops)) {
        if (!others_poll(&p))
            poll_on(&p);
        nanosleep(&(struct timespec){.tv_nsec = next_nap(&p)}, NULL);
    }
    return nothing;
}

void tt_progress_thread_start(void)
{
    int error;

    if (runs)
        return;
    atomic_store(&stops, false);
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
    pthread_join(thread, NULL);
    runs = false;
}

bool tt_progress_thread_runs(void)
{
    return runs;
}
