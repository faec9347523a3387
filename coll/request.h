/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests. What the user holds is always a request of the MPI's own, so that the MPI's waiting, testing and choosing
 * among many serve all kinds mixed. Tutti keeps a ticket for each request that it has business with: a staged message,
 * which is to be copied up once it has arrived; a collective, whose request is a stub that Tutti completes. A wait for
 * a collective that comes past Tutti's wrappers may so be late, but never early. */
#ifndef TT_REQUEST_H
#define TT_REQUEST_H

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

struct tt_event;
struct tt_ticket;

/* What is to be done with a kind of tickets. Functions return MPI error codes, the error handler having seen them. */
struct tt_business {
    /* MPI_Start of a persistent one that is not active. */
    int (*start)(struct tt_ticket *t);
    /* The MPI has completed it, with that error or MPI_SUCCESS: does what is left. status is the MPI's, and may be
     * changed. Called once per start. Returns what the user's wait is to return: error, if that is one. */
    int (*settle)(struct tt_ticket *t, MPI_Status *status, int error);
    /* The request is gone, completed or freed: frees t, which nobody knows any more. */
    void (*drop)(struct tt_ticket *t);
    /* Through whose error handler misuse goes. */
    MPI_Comm (*comm)(const struct tt_ticket *t);
    bool cancels; /* MPI_Cancel may be passed on */
    /* Of a collective: what listeners know of it (watch.h), or NULL. NULL: it is none. */
    const struct tt_event *(*event)(const struct tt_ticket *t);
};

/* The first member of its owner's struct. */
struct tt_ticket {
    MPI_Request request;
    const struct tt_business *business;
    bool persistent, active, settled;
    bool taken; /* a thread is asking the MPI whether it is complete */
    int error; /* what settle returned */
    struct tt_ticket *next;
};

/* From now on the MPI's request has this ticket; one that is not persistent is active. */
void tt_ticket_open(struct tt_ticket *t, MPI_Request request, const struct tt_business *business, bool persistent);

/* The ticket of a request, or NULL. Once the MPI has completed a request its handle may be another's at once, in another
 * thread: so who asks the MPI takes the ticket before, when nobody else finds it any more, and gives it back unless he
 * has finished it. NULL may be given. */
struct tt_ticket *tt_ticket_of(MPI_Request request);
struct tt_ticket *tt_ticket_take(MPI_Request request);
void tt_ticket_give(struct tt_ticket *t);

/* Settles an active one that the MPI says is complete, if that has not been done; for MPI_Request_get_status. */
int tt_ticket_settle(struct tt_ticket *t, MPI_Status *status, int error);

/* The MPI says that a ticket's request is complete (not so: inactive): settles it, if need be, and drops it unless it
 * is persistent. Returns what the user's wait returns for it. */
int tt_ticket_finish(struct tt_ticket *t, MPI_Status *status, int error);

/* The same after PMPI_Test of the one request has said so, or returned an error: then it is complete only if the MPI
 * took the handle away, or keeps it for the next start. */
int tt_ticket_close(struct tt_ticket *t, const MPI_Request *request, MPI_Status *status, int error);

/* The user frees the request: at once if it is inactive; else it goes on unseen, and is settled and dropped in time. */
int tt_ticket_free(struct tt_ticket *t);

/* ---- requests that Tutti completes ---- */

/* A request of the MPI's, inactive if persistent, that completes when tt_stub_complete says so. */
struct tt_stub {
    MPI_Request request;
    int tag; /* of the persistent ones */
};
int tt_stub_open(struct tt_stub *stub, bool persistent);
int tt_stub_complete(const struct tt_stub *stub);
void tt_stub_close(struct tt_stub *stub); /* the request itself is the user's to complete or free */

/* ---- progress ---- */

/* Something that is under way, polled by whoever calls tt_progress. */
struct tt_poll {
    bool (*poll)(struct tt_poll *p); /* true: over, and p no longer known (it may have been freed) */
    bool calls_out; /* the MPI below may call the user's error handler, which may not come back: no lock is held then */
    struct tt_poll *next;
};
void tt_poll_add(struct tt_poll *p);

/* Polls all that is under way, in the order in which it began, unless another thread is at it. A load where there is
 * nothing. */
static inline void tt_progress(void);

/* Is there anything for it to poll, in this process? A load. */
static inline bool tt_is_under_way(void);

extern atomic_int tt_polls; /* how much that is */
void tt_progress_all(void);

static inline bool tt_is_under_way(void)
{
    return atomic_load_explicit(&tt_polls, memory_order_relaxed) > 0;
}

static inline void tt_progress(void)
{
    if (tt_is_under_way())
        tt_progress_all();
}

/* Before MPI is finalised: moves on what is under way until all is over, or for some seconds, for a program may have
 * freed requests of messages that are still to leave. False if something is left. */
bool tt_progress_to_end(void);

/* Are there tickets, or is anything under way, in this process? A load. */
bool tt_has_business(void);

/* Waits for one request by polling, all that is under way moving on meanwhile. For wrappers of blocking calls. */
int tt_wait_for(MPI_Request *request, MPI_Status *status);

/* The same, asked once, and nothing else moving on: is it over? Then *error is what a wait would return. */
bool tt_test_for(MPI_Request *request, int *error);

#endif
