/* SPDX-License-Identifier: BSD-3-Clause */
/* A notice is one small message to each other member of the group, on the private communicator of MPI_COMM_WORLD, where
 * one receive for whoever may send is always posted: it needs no communicator of its own, and outlives the user's. It
 * names the group by its first member and by that one's number for it, so one that comes late is known as such. Who
 * learns of a failure by a notice does not tell it again. Nobody waits for a notice to leave: what is in it stays until
 * MPI is finalized, a few hundred bytes for each failure. */
#include "coll/nccl_notice.h"

#include <stdio.h>
#include <stdlib.h>

#include "coll/exec.h"

static struct tt_nccl_notice *sent; /* all that ever was */
static struct tt_nccl_notice incoming;
static MPI_Request receiving = MPI_REQUEST_NULL;
static struct tt_comm *host; /* MPI_COMM_WORLD's state, once it has been asked for */
static bool over;            /* MPI is being finalized */

static const struct tt_comm *world(void)
{
    if (!host && !over)
        host = tt_comm_known(MPI_COMM_WORLD);
    return host;
}

/* Beyond those of the plans that use the same communicator. */
static int tag(void)
{
    return tt_tag_beyond(world()->slots) + TT_TAG_NOTICE;
}

bool tt_nccl_notice_serves(void)
{
    const struct tt_comm *w = world();

    return w && w->usable;
}

static void listen(void)
{
    if (PMPI_Irecv(&incoming, sizeof incoming, MPI_BYTE, MPI_ANY_SOURCE, tag(), world()->wire_comm, &receiving) !=
        MPI_SUCCESS)
        receiving = MPI_REQUEST_NULL;
}

void tt_nccl_notice_open(void)
{
    if (receiving == MPI_REQUEST_NULL && tt_nccl_notice_serves() && world()->size > 1)
        listen();
}

static void send(const struct tt_nccl_group *g, const struct tt_nccl_notice *n)
{
    MPI_Request request;

    for (int r = 0; r < g->size; r++)
        if (r != g->rank &&
            PMPI_Isend(n, sizeof *n, MPI_BYTE, g->members[r], tag(), world()->wire_comm, &request) == MPI_SUCCESS)
            PMPI_Request_free(&request);
}

void tt_nccl_notice_tell(struct tt_nccl_group *g, const char *why, bool away)
{
    struct tt_nccl_notice *n = g->notice;

    if (g->told || g->size == 1 || !tt_nccl_notice_serves())
        return;
    *n = (struct tt_nccl_notice){
        .leader = g->members[0], .generation = g->generation, .rank = g->rank, .away = away, .next = sent};
    snprintf(n->why, sizeof n->why, "%s", why);
    sent = n;
    g->notice = NULL;
    g->told = true;
    send(g, n);
}

static void take_in(struct tt_nccl_notice *n)
{
    struct tt_nccl_group *g = tt_nccl_group_numbered(n->leader, n->generation);

    n->why[sizeof n->why - 1] = '\0';
    if (!g)
        return;
    g->told = true;
    g->away |= n->away;
    if (!g->failed)
        snprintf(g->why, sizeof g->why, "rank %d: %s", n->rank, n->why);
    g->failed = true;
}

void tt_nccl_notice_hear(void)
{
    int came = 1;

    while (!over && receiving != MPI_REQUEST_NULL) {
        if (PMPI_Test(&receiving, &came, MPI_STATUS_IGNORE) != MPI_SUCCESS || !came)
            return;
        take_in(&incoming);
        listen();
    }
}

void tt_nccl_notice_drop(const struct tt_comm *c)
{
    int came = 0;

    if (c != host)
        return;
    over = true;
    host = NULL;
    if (receiving != MPI_REQUEST_NULL)
        PMPI_Cancel(&receiving);
    for (int polls = 0; polls < 1000000 && receiving != MPI_REQUEST_NULL; polls++)
        PMPI_Test(&receiving, &came, MPI_STATUS_IGNORE);
}

void tt_nccl_notice_close(void)
{
    while (sent) {
        struct tt_nccl_notice *n = sent;

        sent = n->next;
        free(n);
    }
}
