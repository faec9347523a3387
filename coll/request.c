/* SPDX-License-Identifier: BSD-3-Clause */
/* Tickets in a small hash table, stubs, and the list of what is under way. Each has a lock of its own, held for a few
 * instructions, but for the list's, which is held while it is polled: two threads that poll the same thing gain
 * nothing. */
#include "coll/request.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "coll/error.h"
#include "coll/pause.h"
#include "coll/progress.h"
#include "coll/world.h"

static atomic_int business; /* tickets, and what is under way */

bool tt_has_business(void)
{
    return atomic_load_explicit(&business, memory_order_relaxed) > 0;
}

/* ---- tickets ---- */

enum { SLOTS = 1024 };

static struct tt_ticket *tickets[SLOTS];
static pthread_mutex_t tickets_lock = PTHREAD_MUTEX_INITIALIZER;

static struct tt_ticket **slot_of(MPI_Request request)
{
    return &tickets[(uint64_t)(uintptr_t)request * UINT64_C(0x9E3779B97F4A7C15) >> 54];
}
_Static_assert(SLOTS == 1 << (64 - 54), "the hash's top bits are the slot");

void tt_ticket_open(struct tt_ticket *t, MPI_Request request, const struct tt_business *what, bool persistent)
{
    struct tt_ticket **slot = slot_of(request);

    *t = (struct tt_ticket){
        .request = request, .business = what, .persistent = persistent, .active = !persistent, .error = MPI_SUCCESS};
    pthread_mutex_lock(&tickets_lock);
    t->next = *slot;
    *slot = t;
    pthread_mutex_unlock(&tickets_lock);
    atomic_fetch_add(&business, 1);
}

static struct tt_ticket *find(MPI_Request request, bool take)
{
    struct tt_ticket *t;

    if (!tt_has_business() || request == MPI_REQUEST_NULL)
        return NULL;
    pthread_mutex_lock(&tickets_lock);
    t = *slot_of(request);
    while (t && (t->request != request || t->taken))
        t = t->next;
    if (t && take)
        t->taken = true;
    pthread_mutex_unlock(&tickets_lock);
    return t;
}

struct tt_ticket *tt_ticket_of(MPI_Request request)
{
    return find(request, false);
}

struct tt_ticket *tt_ticket_take(MPI_Request request)
{
    return find(request, true);
}

void tt_ticket_give(struct tt_ticket *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&tickets_lock);
    t->taken = false;
    pthread_mutex_unlock(&tickets_lock);
}

static void forget(struct tt_ticket *t)
{
    struct tt_ticket **at = slot_of(t->request);

    pthread_mutex_lock(&tickets_lock);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&tickets_lock);
    atomic_fetch_sub(&business, 1);
}

int tt_ticket_settle(struct tt_ticket *t, MPI_Status *status, int error)
{
    if (t->active && !t->settled) {
        t->settled = true;
        t->error = t->business->settle(t, status, error);
    }
    return t->error;
}

int tt_ticket_finish(struct tt_ticket *t, MPI_Status *status, int error)
{
    error = tt_ticket_settle(t, status, error);

    if (t->persistent) {
        t->active = t->settled = false;
        t->error = MPI_SUCCESS;
        tt_ticket_give(t);
    } else {
        forget(t);
        t->business->drop(t);
    }
    return error;
}

int tt_ticket_close(struct tt_ticket *t, const MPI_Request *request, MPI_Status *status, int error)
{
    const bool is_over = error == MPI_SUCCESS || t->persistent || *request == MPI_REQUEST_NULL;

    if (is_over)
        return tt_ticket_finish(t, status, error);
    tt_ticket_give(t);
    return error;
}

/* ---- what is under way ---- */

/* What is polled, and what has come since the last round: whoever polls may meet the user's code (ops, error handlers),
 * which may start more. */
struct list {
    struct tt_poll *first, **last;
    pthread_mutex_t lock;
};
static struct list polled = {NULL, &polled.first, PTHREAD_MUTEX_INITIALIZER};
static struct list arrived = {NULL, &arrived.first, PTHREAD_MUTEX_INITIALIZER};
static struct list outside = {NULL, &outside.first, PTHREAD_MUTEX_INITIALIZER}; /* those that call out */
atomic_int tt_polls;          /* in all; */
static atomic_int outsiders; /* of the last */

enum { PATIENCE_S = 10 };

static void list_put(struct list *l, struct tt_poll *p)
{
    p->next = NULL;
    pthread_mutex_lock(&l->lock);
    *l->last = p;
    l->last = &p->next;
    pthread_mutex_unlock(&l->lock);
}

/* The first, or NULL. */
static struct tt_poll *list_take(struct list *l)
{
    struct tt_poll *p;

    pthread_mutex_lock(&l->lock);
    p = l->first;
    if (p)
        l->first = p->next;
    if (!l->first)
        l->last = &l->first;
    pthread_mutex_unlock(&l->lock);
    return p;
}

static void count_outside(int more)
{
    atomic_fetch_add(&outsiders, more);
    atomic_fetch_add(&tt_polls, more);
}

void tt_poll_add(struct tt_poll *p)
{
    list_put(p->calls_out ? &outside : &arrived, p);
    if (p->calls_out)
        count_outside(1);
    else
        atomic_fetch_add(&tt_polls, 1);
    atomic_fetch_add(&business, 1);
    tt_progress_thread_call();
}

static void take_arrived(void)
{
    pthread_mutex_lock(&arrived.lock);
    if (arrived.first) {
        *polled.last = arrived.first;
        polled.last = arrived.last;
        arrived.first = NULL;
        arrived.last = &arrived.first;
    }
    pthread_mutex_unlock(&arrived.lock);
}

static void poll_all(void)
{
    struct tt_poll **at = &polled.first;

    while (*at) {
        struct tt_poll *p = *at, *after = p->next;

        if (!p->poll(p)) {
            at = &p->next;
            continue;
        }
        *at = after;
        if (!after)
            polled.last = at;
        atomic_fetch_sub(&tt_polls, 1);
        atomic_fetch_sub(&business, 1);
    }
}

/* Each is in nobody's list while it is polled, so one thread has it; and in no count, lest one that does not come back
 * be waited for. */
static void poll_outside(void)
{
    struct tt_poll *p;

    for (int n = atomic_load_explicit(&outsiders, memory_order_relaxed); n > 0 && (p = list_take(&outside)); n--) {
        bool over;

        count_outside(-1);
        tt_inside++;
        over = p->poll(p);
        tt_inside--;
        if (over) {
            atomic_fetch_sub(&business, 1);
        } else {
            list_put(&outside, p);
            count_outside(1);
            tt_progress_thread_call(); /* which may have found nothing meanwhile */
        }
    }
}

void tt_progress_all(void)
{
    poll_outside();
    if (pthread_mutex_trylock(&polled.lock))
        return;
    take_arrived();
    tt_inside++;
    poll_all();
    tt_inside--;
    pthread_mutex_unlock(&polled.lock);
}

static bool is_over_or_late(void *deadline)
{
    tt_progress();
    return atomic_load(&tt_polls) == 0 || time(NULL) > *(time_t *)deadline;
}

bool tt_progress_to_end(void)
{
    time_t deadline = time(NULL) + PATIENCE_S;

    tt_wait(is_over_or_late, &deadline);
    return atomic_load(&tt_polls) == 0;
}

/* ---- stubs ----
 * MPI has generalised requests, which are not persistent. A persistent stub is a receive from this very process, which
 * is completed by sending to it. (MPICH 4.0.2 can miss such a completion in a PMPI_Waitall, past our wrappers, while
 * another thread sends; hence the former for all others.) */

enum { GENERALISED = -1 };

static struct {
    int *free; /* tags given back */
    int nfree, room, next;
    pthread_mutex_t lock;
} tags = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int tag_bound(void)
{
    int *bound, found;

    PMPI_Comm_get_attr(tt_world(), MPI_TAG_UB, &bound, &found);
    return found ? *bound : 32767;
}

/* -1 if there is none. */
static int tag_take(void)
{
    int tag = -1;

    pthread_mutex_lock(&tags.lock);
    if (tags.nfree > 0)
        tag = tags.free[--tags.nfree];
    else if (tags.next < tag_bound())
        tag = tags.next++;
    pthread_mutex_unlock(&tags.lock);
    return tag;
}

/* One for which there is no room in the list is not used again. */
static void tag_give(int tag)
{
    pthread_mutex_lock(&tags.lock);
    if (tags.nfree == tags.room) {
        const int room = tags.room ? 2 * tags.room : 64;
        int *more = realloc(tags.free, (size_t)room * sizeof *more);

        tags.free = more ? more : tags.free;
        tags.room = more ? room : tags.room;
    }
    if (tags.nfree < tags.room)
        tags.free[tags.nfree++] = tag;
    pthread_mutex_unlock(&tags.lock);
}

/* Whoever asks for the status of a collective learns that nothing was received and nothing cancelled. */
static int query_stub(void *nothing, MPI_Status *status)
{
    (void)nothing;
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int free_stub(void *nothing)
{
    (void)nothing;
    return MPI_SUCCESS;
}

static int cancel_stub(void *nothing, int complete)
{
    (void)nothing;
    (void)complete;
    return MPI_ERR_REQUEST;
}

static int open_persistent(struct tt_stub *stub)
{
    int error;

    stub->tag = tag_take();
    if (stub->tag < 0)
        return MPI_ERR_NO_MEM;
    error = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, stub->tag, tt_quiet_self(), &stub->request);
    if (error != MPI_SUCCESS)
        tag_give(stub->tag);
    return error;
}

int tt_stub_open(struct tt_stub *stub, bool persistent)
{
    if (persistent)
        return open_persistent(stub);
    stub->tag = GENERALISED;
    return PMPI_Grequest_start(query_stub, free_stub, cancel_stub, NULL, &stub->request);
}

int tt_stub_complete(const struct tt_stub *stub)
{
    MPI_Request sent;
    int error;

    if (stub->tag == GENERALISED)
        return PMPI_Grequest_complete(stub->request);
    error = PMPI_Isend(NULL, 0, MPI_BYTE, 0, stub->tag, tt_quiet_self(), &sent);
    return error == MPI_SUCCESS ? PMPI_Request_free(&sent) : error;
}

void tt_stub_close(struct tt_stub *stub)
{
    if (stub->tag != GENERALISED)
        tag_give(stub->tag);
}

/* ---- freed while active ---- */

struct orphan {
    struct tt_poll poll;
    struct tt_ticket *ticket;
    MPI_Request request;
};

static bool poll_orphan(struct tt_poll *p)
{
    struct orphan *o = (struct orphan *)p;
    const int inside = tt_inside;
    MPI_Status status;
    int flag = 0, error;

    tt_inside = 0;
    error = PMPI_Test(&o->request, &flag, &status);
    tt_inside = inside;
    if (error == MPI_SUCCESS && !flag)
        return false;
    tt_unheard++;
    tt_ticket_settle(o->ticket, &status, error);
    tt_unheard--;
    if (o->request != MPI_REQUEST_NULL)
        PMPI_Request_free(&o->request);
    o->ticket->business->drop(o->ticket);
    free(o);
    return true;
}

int tt_ticket_free(struct tt_ticket *t)
{
    struct orphan *o;
    MPI_Request request = t->request;

    if (!t->active) {
        forget(t);
        t->business->drop(t);
        return PMPI_Request_free(&request);
    }
    o = malloc(sizeof *o);
    if (!o)
        return MPI_ERR_NO_MEM;
    forget(t);
    *o = (struct orphan){.poll = {.poll = poll_orphan, .calls_out = true}, .ticket = t, .request = request};
    tt_poll_add(&o->poll);
    return MPI_SUCCESS;
}

/* ---- waiting for one ---- */

struct waiting {
    MPI_Request *request;
    MPI_Status *status;
    struct tt_ticket *ticket;
    int error;
};

static bool waited(void *what)
{
    struct waiting *w = what;
    int flag = 0;

    tt_progress();
    w->ticket = tt_ticket_take(*w->request);
    w->error = PMPI_Test(w->request, &flag, w->status);
    if (flag || w->error != MPI_SUCCESS)
        return true;
    tt_ticket_give(w->ticket);
    return false;
}

int tt_wait_for(MPI_Request *request, MPI_Status *status)
{
    MPI_Status own;
    struct waiting w = {.request = request, .status = status == MPI_STATUS_IGNORE ? &own : status};

    tt_wait(waited, &w);
    return w.ticket ? tt_ticket_close(w.ticket, request, w.status, w.error) : w.error;
}

bool tt_test_for(MPI_Request *request, int *error)
{
    struct tt_ticket *t = tt_ticket_take(*request);
    MPI_Status status;
    int flag = 0;

    *error = PMPI_Test(request, &flag, &status);
    if (!flag && *error == MPI_SUCCESS) {
        tt_ticket_give(t);
        return false;
    }
    if (t)
        *error = tt_ticket_close(t, request, &status, *error);
    return true;
}
