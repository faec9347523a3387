/* SPDX-License-Identifier: BSD-3-Clause */
/* A copy that MPI_Comm_idup makes has no private communicator until its first blocking collective, since nothing that
 * ranks do together can be waited for before. Only where calls are compared it gets one at once, lest its first
 * nonblocking call be left out: a copy of the original's, made in the same way at the same time. The user's request is
 * one of Tutti's that completes when both copies are there. Costs nothing where TUTTI_CHECK is not set. */
#include <stdbool.h>
#include <stdlib.h>

#include "coll/idup.h"

#include "coll/check.h"
#include "coll/config.h"
#include "coll/error.h"
#include "coll/init.h"
#include "coll/request.h"

struct copying {
    struct tt_ticket ticket; /* first: the ticket is the copying */
    struct tt_poll poll;
    struct tt_stub stub;
    struct tt_comm *original, *copy; /* held; what will be cached with it */
    MPI_Comm *to, now; /* the user's: where it is put, and what was there when the call was back */
    MPI_Comm twin;     /* of what the original's ranks meet on */
    MPI_Request requests[2];
    int error;
};

static struct copying *copying_of(const struct tt_ticket *t)
{
    return (struct copying *)t;
}

/* The MPI may call the user's error handler. */
static bool poll_copying(struct tt_poll *p)
{
    struct copying *w = (struct copying *)((char *)p - offsetof(struct copying, poll));
    const int inside = tt_inside;
    int done = 1;

    tt_inside = 0;
    for (int i = 0; i < 2 && done; i++) {
        const int error = PMPI_Test(&w->requests[i], &done, MPI_STATUS_IGNORE);

        w->error = w->error == MPI_SUCCESS ? error : w->error;
        done |= error != MPI_SUCCESS;
    }
    tt_inside = inside;
    if (done)
        tt_stub_complete(&w->stub);
    return done;
}

/* All MPIs so far give the handle at once, and Open MPI's Fortran counts on it: where it was put may be gone. */
static MPI_Comm made_by(const struct copying *w)
{
    return w->now != MPI_COMM_NULL ? w->now : *w->to;
}

static int settle(struct tt_ticket *t, MPI_Status *status, int error)
{
    struct copying *w = copying_of(t);

    (void)status;
    if (error == MPI_SUCCESS)
        error = w->error;
    if (error == MPI_SUCCESS)
        error = tt_comm_copy_end(w->original, w->copy, made_by(w), w->twin);
    if (error == MPI_SUCCESS)
        w->copy = NULL;
    return error;
}

static void copying_free(struct copying *w)
{
    if (w->copy)
        tt_comm_release(w->copy);
    tt_comm_release(w->original);
    free(w);
}

static void drop(struct tt_ticket *t)
{
    tt_stub_close(&copying_of(t)->stub);
    copying_free(copying_of(t));
}

static MPI_Comm handler_of(const struct tt_ticket *t)
{
    (void)t;
    return MPI_COMM_SELF;
}

static const struct tt_business business = {.settle = settle, .drop = drop, .comm = handler_of};

static struct copying *copying_new(MPI_Comm comm, struct tt_comm *original)
{
    struct copying *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->requests[0] = w->requests[1] = MPI_REQUEST_NULL;
    w->twin = MPI_COMM_NULL;
    w->original = tt_comm_hold(original);
    w->copy = tt_comm_copy_new(comm, original);
    if (w->copy && tt_stub_open(&w->stub, false) == MPI_SUCCESS)
        return w;
    copying_free(w);
    return NULL;
}

static bool is_followed(MPI_Comm comm)
{
    const bool looks = tt_config.check && comm != MPI_COMM_NULL && !tt_inside && tt_is_on();
    const struct tt_comm *c = looks ? tt_comm_known(comm) : NULL;

    return c && tt_checks(c) && tt_checks_party(c->checks)->size > 1;
}

int tt_idup(tt_idup_way *way, MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request)
{
    struct copying *w;
    int error;

    if (!is_followed(comm))
        return way(comm, info, made, request);
    w = copying_new(comm, tt_comm_known(comm));
    if (!w)
        return tt_raise(comm, "out of host memory, or of requests");
    *made = MPI_COMM_NULL;
    w->to = made;
    error = way(comm, info, made, &w->requests[0]);
    if (error != MPI_SUCCESS) {
        drop(&w->ticket);
        return error;
    }
    w->now = *made;
    w->error = PMPI_Comm_idup(tt_checks_party(w->original->checks)->comm, &w->twin, &w->requests[1]);
    *request = w->stub.request;
    tt_ticket_open(&w->ticket, *request, &business, false);
    w->poll = (struct tt_poll){.poll = poll_copying, .calls_out = true};
    tt_poll_add(&w->poll);
    return MPI_SUCCESS;
}

static int without_info(MPI_Comm comm, MPI_Info info, MPI_Comm *made, MPI_Request *request)
{
    (void)info;
    return PMPI_Comm_idup(comm, made, request);
}

__attribute__((visibility("default"))) int MPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return tt_idup(without_info, comm, MPI_INFO_NULL, newcomm, request);
}
