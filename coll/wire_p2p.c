/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire that every MPI has: nonblocking point-to-point on the private communicator. Completion is polled, never
 * waited for inside MPI: MPICH's blocking calls spin, and with more ranks than cores a spinning rank keeps the core
 * from the one it waits for (8 bytes on 4 ranks and 2 cores: 7 ms against a few microseconds). A batch's requests are
 * polled all at once, which is one pass of MPI's own progress. */
#include "coll/wire.h"

static int p2p_post(struct tt_batch *batch, struct tt_flight *f)
{
    const MPI_Comm comm = batch->routes->comm;
    MPI_Request *request = &batch->requests[batch->nrequests];
    const int error = f->incoming ? PMPI_Irecv(f->buf, (int)f->bytes, MPI_BYTE, f->peer, f->tag, comm, request)
                                  : PMPI_Isend(f->buf, (int)f->bytes, MPI_BYTE, f->peer, f->tag, comm, request);

    batch->nrequests += error == MPI_SUCCESS;
    return error;
}

static size_t length(const MPI_Status *status)
{
    int bytes = 0;

    PMPI_Get_count(status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : (size_t)bytes;
}

static void land(struct tt_batch *batch)
{
    const MPI_Status *status = batch->statuses;

    for (int i = 0; i < batch->n; i++) {
        struct tt_flight *f = &batch->flights[i];

        if (f->channel)
            continue;
        f->over = true;
        f->arrived = f->incoming ? length(status) : 0;
        status++;
    }
    batch->nrequests = 0;
}

/* Of the far flights, number i. */
static struct tt_flight *far_flight(const struct tt_batch *batch, int i)
{
    struct tt_flight *f = batch->flights;

    if (!batch->routes->channels)
        return &f[i];
    while (f->channel || i-- > 0)
        f++;
    return f;
}

/* Those that are over now. An error is one of a message: which, the statuses know, and the next poll will not. */
static int poll_some(struct tt_batch *batch, bool *done)
{
    int n = 0;
    const int error = PMPI_Testsome(batch->nrequests, batch->requests, &n, batch->indices, batch->statuses);

    *done = n == MPI_UNDEFINED;
    for (int i = 0; error == MPI_SUCCESS && n != MPI_UNDEFINED && i < n; i++) {
        struct tt_flight *f = far_flight(batch, batch->indices[i]);

        f->over = true;
        f->arrived = f->incoming ? length(&batch->statuses[i]) : 0;
    }
    if (*done)
        batch->nrequests = 0;
    return error;
}

static int p2p_poll(struct tt_batch *batch, bool *done)
{
    int flag = 0, error;

    if (batch->eager)
        return poll_some(batch, done);
    error = PMPI_Testall(batch->nrequests, batch->requests, &flag, batch->statuses);
    *done = flag && error == MPI_SUCCESS;
    if (*done)
        land(batch);
    return error;
}

const struct tt_wire tt_wire_p2p = {.name = "p2p", .post = p2p_post, .poll = p2p_poll};
