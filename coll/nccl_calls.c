/* SPDX-License-Identifier: BSD-3-Clause */
/* A row per family of collectives says how NCCL does it: by the call of that name where there is one, else by sends and
 * receives in a group. What only moves goes as bytes, since ranks may have different datatypes of equal length. Ends of
 * messages without bytes are left out on both sides, and so are calls in which nothing moves anywhere. */
#include "coll/nccl_calls.h"

#include <stdint.h>
#include <string.h>

#include "cuda/driver.h"

const char *tt_nccl_lacks(const struct tt_job *job)
{
    struct tt_nccl_cell of;

    if (!(job->row->traits & TT_REDUCES))
        return NULL;
    return job->cell ? tt_nccl_cell_of(job->cell, &of) : "NCCL can only reduce what MPI predefines";
}

/* ---- a call as NCCL's functions see it ---- */

struct run {
    const struct tt_nccl *n;
    ncclComm_t comm;
    CUstream stream;
    const struct tt_shape *s;
    int rank;
    char *send, *recv, *spare;
    ncclDataType_t type;
    ncclRedOp_t op;
    size_t per;   /* of NCCL's elements in one of the shape's */
    size_t bytes; /* of the shape's */
};

/* Of so many of the shape's elements. */
static size_t count(const struct run *r, int64_t n)
{
    return (size_t)n * r->per;
}

/* A result after another one: the first that is bad counts. A communicator that does not block may say that it is in
 * progress, which is no end of what is in a group. */
static void note(ncclResult_t *all, ncclResult_t one)
{
    if (*all == ncclSuccess || *all == ncclInProgress)
        *all = one;
}

static void give(const struct run *r, ncclResult_t *all, const char *at, int64_t n, int peer)
{
    if (n > 0)
        note(all, r->n->Send(at, count(r, n), r->type, peer, r->comm, r->stream));
}

static void get(const struct run *r, ncclResult_t *all, char *at, int64_t n, int peer)
{
    if (n > 0)
        note(all, r->n->Recv(at, count(r, n), r->type, peer, r->comm, r->stream));
}

/* ---- one each ---- */

static ncclResult_t allreduce(const struct run *r)
{
    return r->n->AllReduce(r->send, r->recv, count(r, r->s->count), r->type, r->op, r->comm, r->stream);
}

static ncclResult_t reduce(const struct run *r)
{
    return r->n->Reduce(r->send, r->recv, count(r, r->s->count), r->type, r->op, r->s->root, r->comm, r->stream);
}

static ncclResult_t bcast(const struct run *r)
{
    return r->n->Broadcast(r->recv, r->recv, count(r, r->s->count), r->type, r->s->root, r->comm, r->stream);
}

static ncclResult_t allgather(const struct run *r)
{
    const char *own = r->send ? r->send : r->recv + (size_t)r->rank * (size_t)r->s->count * r->bytes;

    return r->n->AllGather(own, r->recv, count(r, r->s->count), r->type, r->comm, r->stream);
}

/* Blocks of their own lengths: each is broadcast by whose it is. */
static ncclResult_t allgatherv(const struct run *r)
{
    ncclResult_t all = r->n->GroupStart();
    char *at = r->recv;

    for (int i = 0; i < r->s->size; i++) {
        const char *from = i == r->rank && r->send ? r->send : at;

        if (tt_block(r->s, i) > 0)
            note(&all, r->n->Broadcast(from, at, count(r, tt_block(r->s, i)), r->type, i, r->comm, r->stream));
        at += (size_t)tt_block(r->s, i) * r->bytes;
    }
    note(&all, r->n->GroupEnd());
    return all;
}

static bool blocks_are_even(const struct tt_shape *s)
{
    for (int i = 1; s->counts && i < s->size; i++)
        if (s->counts[i] != s->counts[0])
            return false;
    return true;
}

/* Otherwise each block is reduced to whose it is. */
static ncclResult_t reduce_scatter(const struct run *r)
{
    const char *from = r->send ? r->send : r->recv;
    char *to = r->spare ? r->spare : r->recv;
    ncclResult_t all;

    if (blocks_are_even(r->s))
        return r->n->ReduceScatter(from, to, count(r, tt_block(r->s, 0)), r->type, r->op, r->comm, r->stream);
    all = r->n->GroupStart();
    for (int i = 0; i < r->s->size; i++) {
        if (tt_block(r->s, i) > 0)
            note(&all, r->n->Reduce(from, to, count(r, tt_block(r->s, i)), r->type, r->op, i, r->comm, r->stream));
        from += (size_t)tt_block(r->s, i) * r->bytes;
    }
    note(&all, r->n->GroupEnd());
    return all;
}

/* The root's own block too goes by NCCL, unless it is in place. */
static ncclResult_t gather(const struct run *r)
{
    const bool is_root = r->rank == r->s->root;
    ncclResult_t all = r->n->GroupStart();
    char *at = r->recv;

    if (r->send)
        give(r, &all, r->send, is_root ? tt_block(r->s, r->rank) : r->s->count, r->s->root);
    for (int i = 0; is_root && i < r->s->size; i++) {
        if (i != r->rank || r->send)
            get(r, &all, at, tt_block(r->s, i), i);
        at += (size_t)tt_block(r->s, i) * r->bytes;
    }
    note(&all, r->n->GroupEnd());
    return all;
}

static ncclResult_t scatter(const struct run *r)
{
    const bool is_root = r->rank == r->s->root;
    ncclResult_t all = r->n->GroupStart();
    const char *at = r->send;

    if (r->recv)
        get(r, &all, r->recv, is_root ? tt_block(r->s, r->rank) : r->s->count, r->s->root);
    for (int i = 0; is_root && i < r->s->size; i++) {
        if (i != r->rank || r->recv)
            give(r, &all, at, tt_block(r->s, i), i);
        at += (size_t)tt_block(r->s, i) * r->bytes;
    }
    note(&all, r->n->GroupEnd());
    return all;
}

/* In place, what is sent is a copy of what the receive buffer held. */
static ncclResult_t alltoall(const struct run *r)
{
    const char *from = r->spare ? r->spare : r->send;
    ncclResult_t all = r->n->GroupStart();
    char *to = r->recv;

    for (int i = 0; i < r->s->size; i++) {
        give(r, &all, from, tt_send_block(r->s, i), i);
        get(r, &all, to, tt_block(r->s, i), i);
        from += (size_t)tt_send_block(r->s, i) * r->bytes;
        to += (size_t)tt_block(r->s, i) * r->bytes;
    }
    note(&all, r->n->GroupEnd());
    return all;
}

/* By family, whose shape it is. */
static const struct row {
    const char *name;
    ncclResult_t (*run)(const struct run *r);
} rows[TT_NCOLLS] = {
    [TT_COLL_allreduce] = {"ncclAllReduce", allreduce},
    [TT_COLL_reduce] = {"ncclReduce", reduce},
    [TT_COLL_bcast] = {"ncclBroadcast", bcast},
    [TT_COLL_allgather] = {"ncclAllGather", allgather},
    [TT_COLL_allgatherv] = {"a group of ncclBroadcast", allgatherv},
    [TT_COLL_reduce_scatter] = {"ncclReduceScatter", reduce_scatter},
    [TT_COLL_gather] = {"a gather by ncclSend and ncclRecv", gather},
    [TT_COLL_gatherv] = {"a gather by ncclSend and ncclRecv", gather},
    [TT_COLL_scatter] = {"a scatter by ncclSend and ncclRecv", scatter},
    [TT_COLL_scatterv] = {"a scatter by ncclSend and ncclRecv", scatter},
    [TT_COLL_alltoall] = {"an exchange by ncclSend and ncclRecv", alltoall},
    [TT_COLL_alltoallv] = {"an exchange by ncclSend and ncclRecv", alltoall},
};

/* ---- before and after ---- */

static size_t received(const struct tt_shape *s)
{
    int64_t n = 0;

    for (int i = 0; i < s->size; i++)
        n += tt_block(s, i);
    return (size_t)n * s->unit;
}

size_t tt_nccl_spare(const struct tt_job *job)
{
    const struct tt_shape *s = &job->shape;

    if (!job->inplace)
        return 0;
    if (s->coll == TT_COLL_reduce_scatter)
        return (size_t)tt_block(s, job->comm->rank) * s->unit;
    return s->coll == TT_COLL_alltoall || s->coll == TT_COLL_alltoallv ? received(s) : 0;
}

static int copy_in_stream(CUstream stream, char *to, const char *from, size_t bytes)
{
    const struct tt_driver *d = tt_driver_find();

    return tt_driver_check(d, d->cuMemcpyAsync((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes, stream),
                           "cuMemcpyAsync of %zu bytes", bytes);
}

/* In the stream of NCCL's call, so that one waits for the other. */
static int copy(const struct tt_nccl_call *call, char *to, const char *from)
{
    struct tt_place *place = call->use->place;
    const size_t bytes = tt_nccl_spare(call->job);
    int error;

    if (call->stream != call->use->stream)
        return copy_in_stream(call->stream, to, from, bytes);
    if (place->dev->enter(place))
        return -1;
    error = place->dev->copy(place, TT_NCCL_QUEUE, to, from, bytes);
    place->dev->leave(place);
    return error;
}

/* Does nothing move, as all ranks know? Where lengths are local nobody does. */
static bool is_empty(const struct tt_shape *s)
{
    return !tt_coll_lengths_local(s->coll) && received(s) == 0;
}

/* Reductions in the type's own elements; what only moves, in bytes. */
static struct run run_of(const struct tt_nccl_call *call)
{
    const struct tt_job *job = call->job;
    struct tt_nccl_cell cell = {ncclUint8, ncclSum, (int)job->shape.unit};

    if (job->cell)
        tt_nccl_cell_of(job->cell, &cell);
    return (struct run){.n = call->use->nccl,
                        .comm = call->use->comm,
                        .stream = call->stream,
                        .s = &job->shape,
                        .rank = job->comm->rank,
                        .send = call->send,
                        .recv = call->recv,
                        .spare = call->spare,
                        .type = cell.type,
                        .op = cell.op,
                        .per = (size_t)cell.parts,
                        .bytes = job->shape.unit};
}

/* In place: send is NULL, and these take it for the receive buffer. */
static void lay_in_place(struct run *r)
{
    if (!r->send && (r->s->coll == TT_COLL_allreduce || r->s->coll == TT_COLL_reduce))
        r->send = r->recv;
}

int tt_nccl_start(const struct tt_nccl_call *call)
{
    struct run r = run_of(call);
    const bool sends_spare = call->spare && r.s->coll != TT_COLL_reduce_scatter;

    if (is_empty(r.s))
        return 0;
    lay_in_place(&r);
    if (sends_spare && copy(call, call->spare, call->recv))
        return -1;
    return tt_nccl_error(r.n, r.comm, rows[r.s->coll].run(&r), "%s", rows[r.s->coll].name);
}

int tt_nccl_taken(const struct tt_nccl_use *use)
{
    ncclResult_t state = ncclSuccess;

    if (tt_nccl_error(use->nccl, use->comm, use->nccl->CommGetAsyncError(use->comm, &state), "ncclCommGetAsyncError"))
        return -1;
    return state != ncclInProgress;
}

int tt_nccl_finish(const struct tt_nccl_call *call)
{
    return call->spare && call->job->shape.coll == TT_COLL_reduce_scatter ? copy(call, call->recv, call->spare) : 0;
}
