/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of fixed size, by the handle: a request that finds another in its place takes it, so that what is told of a
 * request is right or, seldom, missing. A handle that the MPI has given out again for something that is not noted here
 * (a file's, a window's) would be taken for the old one: so who has waited for a request strikes it out. Kept only
 * where somebody listens. Costs a lock that nobody else holds, and some stores, for each nonblocking message. */
#include "coll/awaited.h"

#include <pthread.h>

#include "coll/request.h"

enum { SLOTS = 1024, LOOKED_AT = 64 };

struct awaited {
    MPI_Request request;
    struct tt_awaited what;
    bool lasts; /* it will be started again */
};

static struct awaited table[SLOTS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct awaited *slot_of(MPI_Request request)
{
    return &table[(uint64_t)(uintptr_t)request * UINT64_C(0x9E3779B97F4A7C15) >> 54];
}
_Static_assert(SLOTS == 1 << (64 - 54), "the hash's top bits are the slot");

static void note(MPI_Request request, const struct tt_awaited *what, bool lasts)
{
    pthread_mutex_lock(&lock);
    *slot_of(request) = (struct awaited){request, *what, lasts};
    pthread_mutex_unlock(&lock);
}

void tt_awaited_message(MPI_Request request, const struct tt_p2p *c, bool lasts)
{
    const struct tt_p2p_row *row = &tt_p2p_rows[c->id];
    const struct tt_p2p_end *end = row->traits & TT_RECEIVES ? &c->recv : &c->send;

    if (__builtin_expect(tt_listening, 0))
        note(request, &(struct tt_awaited){row->id, c->comm, end->peer, end->tag, NULL}, lasts);
}

void tt_awaited_collective(MPI_Request request, const struct tt_event *e)
{
    if (e)
        note(request, &(struct tt_awaited){.comm = MPI_COMM_NULL, .line = e->of[TT_LISTENER_record]}, false);
}

/* False: it is not known. A collective's own ticket says more than the table. strike: nobody will ask again. */
static bool find(MPI_Request request, bool strike, struct tt_awaited *what)
{
    const struct tt_ticket *t = tt_ticket_of(request);
    const struct tt_event *e = t && t->business->event ? t->business->event(t) : NULL;
    struct awaited *at = slot_of(request);
    bool known;

    *what = (struct tt_awaited){.comm = MPI_COMM_NULL, .line = e ? e->of[TT_LISTENER_record] : NULL};
    if (t && t->business->event)
        return e && !e->left;
    pthread_mutex_lock(&lock);
    known = at->request == request && (at->what.kind || at->what.line);
    if (known)
        *what = at->what;
    if (known && strike && !at->lasts)
        at->what = (struct tt_awaited){.comm = MPI_COMM_NULL};
    pthread_mutex_unlock(&lock);
    return known;
}

/* Is it under way? Not asked of what may come to the user's code when it is over. */
static bool is_open(MPI_Request request, const struct tt_awaited *what)
{
    int flag = 0;

    return !what->kind || (PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
}

static void describe(struct tt_spot *s, int n, const MPI_Request *requests, bool strike)
{
    struct tt_awaited what;

    for (int i = 0; i < n; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        const bool known = i < LOOKED_AT && find(requests[i], strike, &what);

        if (s->awaited.kind || s->awaited.line)
            s->more++;
        else if (known && is_open(requests[i], &what))
            s->awaited = what;
    }
    if (s->awaited.kind) {
        s->comm = s->awaited.comm;
        s->peer = s->awaited.peer;
        s->tag = s->awaited.tag;
    }
}

static struct tt_spot spot_of(const char *name, const void *caller)
{
    return (struct tt_spot){.name = name, .comm = MPI_COMM_NULL, .peer = TT_NOBODY, .tag = TT_NOBODY, .caller = caller};
}

struct tt_spot *tt_watch_wait(struct tt_spot *s, const char *name, int n, const MPI_Request *requests, bool all,
                              const void *caller)
{
    if (__builtin_expect(!tt_listening, 1) || tt_inside)
        return NULL;
    *s = spot_of(name, caller);
    s->beat = tt_beats;
    describe(s, n, requests, all && n == 1); /* of several it may be asked again */
    tt_spot_enter(s);
    return s;
}

void tt_watch_wait_on(struct tt_spot *s, int n, const MPI_Request *requests)
{
    const unsigned beat = atomic_load_explicit(&tt_beats, memory_order_relaxed);

    if (!s || s->beat == beat)
        return;
    s->beat = beat;
    s->awaited = (struct tt_awaited){.comm = MPI_COMM_NULL};
    s->more = 0;
    describe(s, n, requests, false);
    tt_spot_renew(s);
}

void tt_watch_test(int n, const MPI_Request *requests, const void *caller)
{
    struct tt_spot s;

    if (__builtin_expect(!tt_listening, 1) || tt_inside)
        return;
    s = spot_of("Test", caller);
    describe(&s, n, requests, false);
    tt_spot_ask(&s);
}
