/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Wait and its siblings. While Tutti has no business with any request they are the MPI's own; else a wait is a
 * test, again and again, with progress in between. Tickets are looked up before the MPI is asked, since it takes the
 * handles away; then each that is complete is settled. */
#include <stdlib.h>

#include "coll/awaited.h"
#include "coll/error.h"
#include "coll/pause.h"
#include "coll/request.h"
#include "coll/watch.h"

#define TT_PUBLIC __attribute__((visibility("default")))

static bool passes_through(void)
{
    return tt_inside || !tt_has_business();
}

/* For a wrapper that is one expression, of a wait for n requests: all of them, or any. */
#define WATCHED(name, n, requests, all, call)                                                                          \
    struct tt_spot room, *spot = tt_watch_wait(&room, name, n, requests, all, __builtin_return_address(0));            \
    const int error = call;                                                                                            \
                                                                                                                       \
    tt_unwatch_spot(spot);                                                                                             \
    return error

/* Of a test: in vain, if it is not over. */
static int tested(int error, bool over, int n, const MPI_Request *requests, const void *caller)
{
    if (!over) {
        tt_watch_test(n, requests, caller);
        tt_wait_in_vain();
    }
    return error;
}

/* ---- one ---- */

TT_PUBLIC int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    WATCHED("Wait", 1, request, true, passes_through() ? PMPI_Wait(request, status) : tt_wait_for(request, status));
}

static int test(MPI_Request *request, int *flag, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
    struct tt_ticket *t;
    int error;

    if (passes_through())
        return PMPI_Test(request, flag, status);
    tt_progress();
    t = tt_ticket_take(*request);
    error = PMPI_Test(request, flag, seen);
    if (t && (*flag || error != MPI_SUCCESS))
        return tt_ticket_close(t, request, seen, error);
    tt_ticket_give(t);
    return error;
}

TT_PUBLIC int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const int error = test(request, flag, status);

    return tested(error, error != MPI_SUCCESS || *flag, 1, request, __builtin_return_address(0));
}

static int get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
    struct tt_ticket *t;
    int error;

    if (passes_through())
        return PMPI_Request_get_status(request, flag, status);
    tt_progress();
    t = tt_ticket_take(request);
    error = PMPI_Request_get_status(request, flag, seen);
    if (t && error == MPI_SUCCESS && *flag)
        error = tt_ticket_settle(t, seen, error);
    tt_ticket_give(t);
    return error;
}

TT_PUBLIC int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    const int error = get_status(request, flag, status);

    return tested(error, error != MPI_SUCCESS || *flag, 1, &request, __builtin_return_address(0));
}

/* ---- many ---- */

/* The tickets of an array of requests, and statuses for it: the user's, or own ones. */
struct many {
    int n;
    MPI_Request *requests;
    struct tt_ticket **tickets;
    MPI_Status *statuses;
    int *errors;
    bool ignored; /* the user wants no statuses */
    void *room;
    bool some; /* are there any tickets? */
};

static int many_open(struct many *m, int n, MPI_Request *requests, MPI_Status *statuses)
{
    const size_t each = sizeof *m->tickets + sizeof *statuses + sizeof *m->errors;

    *m = (struct many){.n = n, .requests = requests, .ignored = statuses == MPI_STATUSES_IGNORE};
    m->room = malloc((size_t)n * each + 1);
    if (!m->room)
        return MPI_ERR_NO_MEM;
    m->tickets = m->room;
    m->errors = (int *)((MPI_Status *)(m->tickets + n) + n);
    m->statuses = m->ignored ? (MPI_Status *)(m->tickets + n) : statuses;
    return MPI_SUCCESS;
}

static void many_take(struct many *m)
{
    m->some = false;
    for (int i = 0; i < m->n; i++) {
        m->tickets[i] = tt_ticket_take(m->requests[i]);
        m->some |= m->tickets[i] != NULL;
    }
}

/* Those that have been finished are not there any more. */
static void many_give(struct many *m)
{
    for (int i = 0; i < m->n && m->some; i++)
        tt_ticket_give(m->tickets[i]);
}

static void many_close(struct many *m)
{
    free(m->room);
}

/* Settles those that the MPI says are complete: k of them, the i-th being number which[i], or i where which is NULL;
 * statuses go with i. If one fails, MPI_ERR_IN_STATUS is returned and every status says how its own went, as the
 * standard wants; else their errors are left alone. */
static int many_finish(struct many *m, int k, const int *which, int error)
{
    bool failed = error != MPI_SUCCESS;

    for (int i = 0; i < k; i++) {
        struct tt_ticket **t = &m->tickets[which ? which[i] : i];

        m->errors[i] = error == MPI_SUCCESS ? MPI_SUCCESS : m->statuses[i].MPI_ERROR;
        if (*t && m->errors[i] != MPI_ERR_PENDING) {
            m->errors[i] = tt_ticket_finish(*t, &m->statuses[i], m->errors[i]);
            *t = NULL;
        }
        failed |= m->errors[i] != MPI_SUCCESS;
    }
    for (int i = 0; i < k && failed; i++)
        m->statuses[i].MPI_ERROR = m->errors[i];
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

static bool are_complete(int error, int flag)
{
    return flag || error == MPI_ERR_IN_STATUS;
}

static int test_all(struct many *m, int *flag)
{
    int error;

    many_take(m);
    error = PMPI_Testall(m->n, m->requests, flag, m->some || !m->ignored ? m->statuses : MPI_STATUSES_IGNORE);
    if (m->some && are_complete(error, *flag))
        error = many_finish(m, m->n, NULL, error);
    many_give(m);
    return error;
}

static int test_any(struct many *m, int *index, int *flag, MPI_Status *status)
{
    MPI_Status own, *seen = status == MPI_STATUS_IGNORE ? &own : status;
    int error;

    *index = MPI_UNDEFINED;
    many_take(m);
    error = PMPI_Testany(m->n, m->requests, index, flag, seen);
    if ((error != MPI_SUCCESS || *flag) && *index >= 0 && *index < m->n && m->tickets[*index]) {
        error = tt_ticket_close(m->tickets[*index], &m->requests[*index], seen, error);
        m->tickets[*index] = NULL;
    }
    many_give(m);
    return error;
}

static int test_some(struct many *m, int *k, int *which)
{
    int error;

    many_take(m);
    error = PMPI_Testsome(m->n, m->requests, k, which, m->some || !m->ignored ? m->statuses : MPI_STATUSES_IGNORE);
    if (m->some && *k != MPI_UNDEFINED && are_complete(error, *k > 0))
        error = many_finish(m, *k, which, error);
    many_give(m);
    return error;
}

/* A wait for many: one of the three tests, and what it said last. */
struct wait {
    struct many *many;
    int flag, error;
    int *index; /* of any; of some: how many */
    int *which;
    MPI_Status *status;
    struct tt_spot *spot; /* NULL: nobody listens */
};

/* Not yet: who listens is told what it is that is not. */
static bool go_on(struct wait *w, bool done)
{
    if (!done)
        tt_watch_wait_on(w->spot, w->many->n, w->many->requests);
    return done;
}

static bool all_done(void *what)
{
    struct wait *w = what;

    tt_progress();
    w->error = test_all(w->many, &w->flag);
    return go_on(w, w->flag || w->error != MPI_SUCCESS);
}

static bool any_done(void *what)
{
    struct wait *w = what;

    tt_progress();
    w->error = test_any(w->many, w->index, &w->flag, w->status);
    return go_on(w, w->flag || w->error != MPI_SUCCESS);
}

static bool some_done(void *what)
{
    struct wait *w = what;

    tt_progress();
    w->error = test_some(w->many, w->index, w->which);
    return go_on(w, *w->index != 0 || w->error != MPI_SUCCESS);
}

/* With several of which one may not come, it is worth while to poll: the first that is not over as the wait begins need
 * not be that. */
static bool polls(struct wait *w, int n, struct tt_spot *spot)
{
    w->spot = n > 1 ? spot : NULL;
    return n > 0 && (w->spot || !passes_through());
}

/* Until it is done; or asks once. */
static int many_ask(struct wait *w, int n, MPI_Request *requests, MPI_Status *statuses, bool (*done)(void *),
                    bool waits)
{
    struct many m;
    int error = many_open(&m, n, requests, statuses);

    if (error != MPI_SUCCESS)
        return error;
    w->many = &m;
    if (waits)
        tt_wait(done, w);
    else
        done(w);
    many_close(&m);
    return w->error;
}

TT_PUBLIC int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[])
{
    struct wait w = {0};

    WATCHED("Waitall", n, requests, true,
            !polls(&w, n, spot) ? PMPI_Waitall(n, requests, statuses)
                                : many_ask(&w, n, requests, statuses, all_done, true));
}

TT_PUBLIC int MPI_Waitany(int n, MPI_Request requests[], int *index, MPI_Status *status)
{
    struct wait w = {.index = index, .status = status};

    WATCHED("Waitany", n, requests, false,
            !polls(&w, n, spot) ? PMPI_Waitany(n, requests, index, status)
                                : many_ask(&w, n, requests, MPI_STATUSES_IGNORE, any_done, true));
}

TT_PUBLIC int MPI_Waitsome(int n, MPI_Request requests[], int *k, int which[], MPI_Status statuses[])
{
    struct wait w = {.index = k, .which = which};

    WATCHED("Waitsome", n, requests, false,
            !polls(&w, n, spot) ? PMPI_Waitsome(n, requests, k, which, statuses)
                                : many_ask(&w, n, requests, statuses, some_done, true));
}

TT_PUBLIC int MPI_Testall(int n, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    struct wait w = {0};
    int error;

    if (passes_through() || n <= 0) {
        error = PMPI_Testall(n, requests, flag, statuses);
    } else {
        error = many_ask(&w, n, requests, statuses, all_done, false);
        *flag = w.flag;
    }
    return tested(error, error != MPI_SUCCESS || *flag, n, requests, __builtin_return_address(0));
}

TT_PUBLIC int MPI_Testany(int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    struct wait w = {.index = index, .status = status};
    int error;

    if (passes_through() || n <= 0) {
        error = PMPI_Testany(n, requests, index, flag, status);
    } else {
        error = many_ask(&w, n, requests, MPI_STATUSES_IGNORE, any_done, false);
        *flag = w.flag;
    }
    return tested(error, error != MPI_SUCCESS || *flag, n, requests, __builtin_return_address(0));
}

TT_PUBLIC int MPI_Testsome(int n, MPI_Request requests[], int *k, int which[], MPI_Status statuses[])
{
    struct wait w = {.index = k, .which = which};
    const int error = passes_through() || n <= 0 ? PMPI_Testsome(n, requests, k, which, statuses)
                                                 : many_ask(&w, n, requests, statuses, some_done, false);

    return tested(error, error != MPI_SUCCESS || *k, n, requests, __builtin_return_address(0));
}

/* ---- starting and freeing ---- */

static int misuse(const struct tt_ticket *t)
{
    tt_call_handler(t->business->comm(t), MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
}

static int start(struct tt_ticket *t)
{
    int error;

    if (!t->persistent || t->active)
        return misuse(t);
    t->active = true;
    error = t->business->start(t);
    t->active = error == MPI_SUCCESS;
    return error;
}

static int start_any(MPI_Request *request)
{
    struct tt_ticket *t = passes_through() ? NULL : tt_ticket_of(*request);

    return t ? start(t) : PMPI_Start(request);
}

TT_PUBLIC int MPI_Start(MPI_Request *request)
{
    return start_any(request);
}

TT_PUBLIC int MPI_Startall(int n, MPI_Request requests[])
{
    int error = MPI_SUCCESS;

    if (passes_through())
        return PMPI_Startall(n, requests);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++)
        error = start_any(&requests[i]);
    return error;
}

TT_PUBLIC int MPI_Request_free(MPI_Request *request)
{
    struct tt_ticket *t = passes_through() ? NULL : tt_ticket_of(*request);
    int error;

    if (!t)
        return PMPI_Request_free(request);
    error = tt_ticket_free(t);
    if (error == MPI_SUCCESS)
        *request = MPI_REQUEST_NULL;
    return error;
}

TT_PUBLIC int MPI_Cancel(MPI_Request *request)
{
    struct tt_ticket *t = passes_through() ? NULL : tt_ticket_of(*request);

    return t && !t->business->cancels ? misuse(t) : PMPI_Cancel(request);
}
