/* SPDX-License-Identifier: BSD-3-Clause */
/* An NCCL communicator that is in order is finalized, which NCCL does aside, and destroyed when that is done; one that
 * has failed, or does not get through with that in time, is aborted. One whose context is gone is forgotten as it is:
 * all that it had on the GPU went with the context, and NCCL could only stumble. Those that are leaving are looked at
 * whenever another is made or dropped; no thread and no progress of other calls is needed for it. */
#include "coll/nccl_group.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/config.h"

/* Seconds that one may take to leave; and at the end, when the program waits for it. */
static const double patience = 10, last_patience = 2;

static struct tt_nccl_group *groups; /* the last added comes first */
static unsigned long uses;

static pthread_mutex_t lock;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_lock(void)
{
    pthread_mutexattr_t how;

    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &how);
    pthread_mutexattr_destroy(&how);
}

void tt_nccl_lock(void)
{
    pthread_once(&once, make_lock);
    pthread_mutex_lock(&lock);
}

bool tt_nccl_trylock(void)
{
    pthread_once(&once, make_lock);
    return pthread_mutex_trylock(&lock) == 0;
}

void tt_nccl_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

double tt_nccl_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct tt_nccl_group *tt_nccl_group_new(int *members, int size, int rank)
{
    struct tt_nccl_group *g = calloc(1, sizeof *g);
    struct tt_nccl_notice *notice = calloc(1, sizeof *notice);

    if (!g || !notice) {
        free(g);
        free(notice);
        return NULL;
    }
    *g = (struct tt_nccl_group){.size = size, .rank = rank, .members = members, .notice = notice};
    return g;
}

void tt_nccl_group_free(struct tt_nccl_group *g)
{
    if (!g)
        return;
    free(g->notice);
    free(g->members);
    free(g);
}

void tt_nccl_group_add(struct tt_nccl_group *g)
{
    g->next = groups;
    groups = g;
    tt_nccl_group_touch(g);
}

static void unlink_group(struct tt_nccl_group *g)
{
    struct tt_nccl_group **at = &groups;

    while (*at && *at != g)
        at = &(*at)->next;
    if (*at)
        *at = g->next;
    tt_nccl_group_free(g);
}

static bool same_members(const struct tt_nccl_group *g, const int *members, int size)
{
    return g->size == size && memcmp(g->members, members, (size_t)size * sizeof *members) == 0;
}

struct tt_nccl_group *tt_nccl_group_find(const int *members, int size, const struct tt_place *place)
{
    for (struct tt_nccl_group *g = groups; g; g = g->next)
        if (tt_nccl_group_lives(g) && g->use.place == place && same_members(g, members, size))
            return g;
    return NULL;
}

struct tt_nccl_group *tt_nccl_group_numbered(int leader, uint32_t generation)
{
    for (struct tt_nccl_group *g = groups; g; g = g->next)
        if (g->generation == generation && g->members[0] == leader)
            return g;
    return NULL;
}

bool tt_nccl_group_lives(const struct tt_nccl_group *g)
{
    return g->use.comm && !g->failed && !g->leaving && !tt_place_is_stale(g->use.place);
}

/* ---- going ---- */

/* Calls of NCCL's are made with its context current, and none without. */
static bool enter(const struct tt_nccl_group *g)
{
    struct tt_place *place = g->use.place;

    return tt_place_lives(place) && place->dev->enter(place) == 0;
}

static void leave(const struct tt_nccl_group *g)
{
    g->use.place->dev->leave(g->use.place);
}

void tt_nccl_group_abort(struct tt_nccl_group *g)
{
    if (g->use.comm && enter(g)) {
        g->use.nccl->CommAbort(g->use.comm);
        leave(g);
    }
    g->use.comm = NULL;
    g->leaving = false;
}

static void begin_leaving(struct tt_nccl_group *g)
{
    ncclResult_t result = ncclSystemError;

    if (!g->use.comm || g->leaving)
        return;
    if (!g->failed && enter(g)) {
        result = g->use.nccl->CommFinalize(g->use.comm);
        leave(g);
    }
    if (result != ncclSuccess && result != ncclInProgress) {
        tt_nccl_group_abort(g);
        return;
    }
    g->leaving = true;
    g->deadline = tt_nccl_now() + patience;
}

/* One that is leaving: destroyed when it is done, aborted if it is late or fails. */
static void poll_leaving(struct tt_nccl_group *g)
{
    ncclResult_t state = ncclSystemError;

    g->use.nccl->CommGetAsyncError(g->use.comm, &state);
    if (state == ncclInProgress && !g->failed && tt_nccl_now() < g->deadline)
        return;
    if (state == ncclSuccess && !g->failed && enter(g)) {
        g->use.nccl->CommDestroy(g->use.comm);
        leave(g);
        g->use.comm = NULL;
    }
    tt_nccl_group_abort(g);
}

void tt_nccl_groups_poll(void)
{
    for (struct tt_nccl_group *g = groups, *next; g; g = next) {
        next = g->next;
        if (g->leaving)
            poll_leaving(g);
        if (g->users == 0 && !g->use.comm)
            unlink_group(g);
    }
}

void tt_nccl_groups_close(void)
{
    const double end = tt_nccl_now() + last_patience;

    for (struct tt_nccl_group *g = groups; g; g = g->next) {
        begin_leaving(g);
        g->deadline = end;
    }
    for (struct tt_nccl_group *g = groups; g; g = g->next)
        while (g->leaving) {
            sched_yield();
            poll_leaving(g);
        }
    while (groups)
        unlink_group(groups);
}

/* ---- users ---- */

void tt_nccl_group_hold(struct tt_nccl_group *g)
{
    g->users++;
}

void tt_nccl_group_touch(struct tt_nccl_group *g)
{
    g->used = ++uses;
}

void tt_nccl_group_drop(struct tt_nccl_group *g)
{
    if (--g->users == 0)
        begin_leaving(g);
    tt_nccl_groups_poll();
}

/* ---- room ---- */

/* Those that are leaving have what they have until they are gone; but none of them can be hastened. */
static int count_made(void)
{
    int n = 0;

    for (const struct tt_nccl_group *g = groups; g; g = g->next)
        n += g->use.comm && !g->leaving;
    return n;
}

static struct tt_nccl_group *least_used(void)
{
    struct tt_nccl_group *least = NULL;

    for (struct tt_nccl_group *g = groups; g; g = g->next)
        if (g->use.comm && !g->leaving && g->keepers == 0 && (!least || g->used < least->used))
            least = g;
    return least;
}

bool tt_nccl_group_has_room(void)
{
    return count_made() < tt_config.nccl_comms || least_used();
}

void tt_nccl_group_make_room(void)
{
    struct tt_nccl_group *least;

    while (count_made() >= tt_config.nccl_comms && (least = least_used()))
        begin_leaving(least);
    tt_nccl_groups_poll();
}
