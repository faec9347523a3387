/* SPDX-License-Identifier: BSD-3-Clause */
/* A preload for tests with more ranks than cores: a rank of MPICH that waits polls UCX without end, and so keeps the
 * core from the rank it waits for (8 bytes, 4 ranks, 2 cores: 7 ms). Here a poll that found nothing yields the core.
 * Only the speed of the MPI below changes: it is what results are compared with, not what is tested. */
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static unsigned (*real)(void *);
    unsigned events;

    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "ucp_worker_progress");
    events = real(worker);
    if (!events)
        sched_yield();
    return events;
}
