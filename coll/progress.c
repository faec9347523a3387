/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that polls what is under way, for programs that compute for long between the start of a call and its wait,
 * or that wait in calls which Tutti does not see. It sleeps a few microseconds between polls, and longer while there is
 * nothing: it shares the program's cores. */
#include "coll/progress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "coll/config.h"
#include "coll/request.h"

enum { NAP_NS = 5000, IDLE_NS = 100000, SLACK_NS = 1000 };

static pthread_t thread;
static bool runs;
static atomic_bool stops;

static void *work(void *nothing)
{
    prctl(PR_SET_TIMERSLACK, SLACK_NS); /* the kernel's 50 us would be ten naps */
    while (!atomic_load(&stops)) {
        const long ns = tt_has_business() ? NAP_NS : IDLE_NS;

        tt_progress();
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
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
