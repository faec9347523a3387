/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks are the nodes of a binomial tree: each measures how far it is from its parent, who knows by then how far he is
 * from rank 0. The child asks, the parent answers with his time, and the quickest of a few such exchanges counts
 * (Cristian's method): the parent's time was read somewhere between asking and answer, so half of that is what it may
 * be wrong by. Ranks of one kernel share the clock, and need no measuring. */
#include "coll/clock.h"

#include "coll/comm.h"
#include "coll/exec.h"
#include "coll/request.h"
#include "coll/ticks.h"

enum { ROUNDS = 10 };

struct answer {
    uint64_t boot;
    int64_t now; /* the parent's */
    int64_t offset, error;
};

/* One message to a rank, or from it; by polling. */
static void pass(int (*start)(MPI_Request *, const struct tt_comm *, int, struct answer *), const struct tt_comm *w,
                 int peer, struct answer *a)
{
    MPI_Request request;

    if (start(&request, w, peer, a) == MPI_SUCCESS)
        tt_wait_for(&request, MPI_STATUS_IGNORE);
}

/* The last of those that are free: other kinds of messages count from the first. */
static int tag_of(const struct tt_comm *w)
{
    return tt_tag_beyond(w->slots) + TT_TAG_CLOCK;
}

static int to(MPI_Request *request, const struct tt_comm *w, int peer, struct answer *a)
{
    return PMPI_Isend(a, sizeof *a, MPI_BYTE, peer, tag_of(w), w->wire_comm, request);
}

static int from(MPI_Request *request, const struct tt_comm *w, int peer, struct answer *a)
{
    return PMPI_Irecv(a, sizeof *a, MPI_BYTE, peer, tag_of(w), w->wire_comm, request);
}

static int rounds(uint64_t ours, uint64_t theirs)
{
    return ours == theirs ? 1 : ROUNDS;
}

/* Both learn of the other's kernel in the first exchange, and so know how many there are. */
static void answer_child(const struct tt_comm *w, int child, uint64_t boot, const struct tt_clock_offset *own)
{
    struct answer question = {0}, a;
    int n = 1;

    for (int i = 0; i < n; i++) {
        pass(from, w, child, &question);
        a = (struct answer){boot, tt_nanoseconds(CLOCK_MONOTONIC), own->ns, own->error_ns};
        pass(to, w, child, &a);
        n = rounds(boot, question.boot);
    }
}

static void ask_parent(const struct tt_comm *w, int parent, uint64_t boot, struct tt_clock_offset *own)
{
    int64_t quickest = INT64_MAX;
    int n = 1;

    for (int i = 0; i < n; i++) {
        struct answer a = {.boot = boot};
        const int64_t before = tt_nanoseconds(CLOCK_MONOTONIC);
        int64_t trip;

        pass(to, w, parent, &a);
        pass(from, w, parent, &a);
        trip = tt_nanoseconds(CLOCK_MONOTONIC) - before;
        n = rounds(boot, a.boot);
        if (trip >= quickest)
            continue;
        quickest = trip;
        own->ns = n == 1 ? a.offset : a.offset + a.now - (before + trip / 2);
        own->error_ns = n == 1 ? a.error : a.error + trip / 2;
    }
}

struct tt_clock_offset tt_clock_align(void)
{
    const struct tt_comm *w = tt_comm_known(MPI_COMM_WORLD);
    struct tt_clock_offset own = {0, 0, 0};
    const uint64_t boot = tt_boot_hash();
    int far = 1;

    if (!w || !w->usable)
        return (struct tt_clock_offset){0, -1, 0};
    while (far < w->size)
        far *= 2;
    for (; far >= 1; far /= 2)
        if (w->rank % (2 * far) == far)
            ask_parent(w, w->rank - far, boot, &own);
        else if (w->rank % (2 * far) == 0 && w->rank + far < w->size)
            answer_child(w, w->rank + far, boot, &own);
    own.when = tt_nanoseconds(CLOCK_MONOTONIC);
    return own;
}
