/* SPDX-License-Identifier: BSD-3-Clause */
/* The calls that move data: what they ask for is checked, gathered until the group ends, and given to the stream, one
 * launch for each communicator in it. The checks are those that NCCL leaves to a crash, a hang or wrong data. */
#include "tests/simcuda/nccl_sim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC visibility push(default)
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "tests/simcuda/driver_more.def"
#pragma GCC visibility pop

/* A thread's, from the first ncclGroupStart to the last ncclGroupEnd. */
static _Thread_local struct group {
    int depth;
    ncclResult_t result; /* of the first call that failed */
    struct call {
        ncclComm_t handle;
        CUstream stream;
        struct nccl_task task;
    } * calls;
    size_t ncalls, room;
    ncclComm_t **making;
    size_t nmaking;
} group;

static pthread_mutex_t order_lock =
    PTHREAD_MUTEX_INITIALIZER; /* held from an order's number until it is in its stream */

/* ---- checks ---- */

/* What this rank's part of the call reads and writes, in elements; 0: nothing. */
struct extents {
    size_t send, recv;
};

static struct extents extents_of(const struct nccl_comm *comm, enum nccl_kind kind, bool root, size_t count)
{
    const size_t all = count * (size_t)comm->nranks;

    switch (kind) {
    case NCCL_REDUCE:
        return (struct extents){count, root ? count : 0};
    case NCCL_BROADCAST:
        return (struct extents){root ? count : 0, count};
    case NCCL_ALL_GATHER:
        return (struct extents){count, all};
    case NCCL_REDUCE_SCATTER:
        return (struct extents){all, count};
    case NCCL_ALL_TO_ALL:
        return (struct extents){all, all};
    case NCCL_GATHER:
        return (struct extents){count, root ? all : 0};
    case NCCL_SCATTER:
        return (struct extents){root ? all : 0, count};
    case NCCL_SEND:
        return (struct extents){count, 0};
    case NCCL_RECV:
        return (struct extents){0, count};
    default:
        return (struct extents){count, count};
    }
}

/* Where in the other buffer the one may begin. */
static bool in_place(const struct nccl_comm *comm, const struct nccl_card *card, const char *send, const char *recv)
{
    const size_t own = card->count * nccl_type_size(card->type) * (size_t)comm->rank;

    switch (card->kind) {
    case NCCL_ALL_GATHER:
    case NCCL_GATHER:
        return send == recv + own;
    case NCCL_REDUCE_SCATTER:
    case NCCL_SCATTER:
        return recv == send + own;
    case NCCL_ALL_TO_ALL:
        return false;
    default:
        return send == recv;
    }
}

static ncclResult_t find_memory(const struct nccl_comm *comm, const char *who, const void *at, size_t bytes,
                                char **real, struct nccl_piece *piece)
{
    struct simcuda_guest_memory memory;

    *piece = (struct nccl_piece){-1, 0};
    *real = NULL;
    if (!bytes)
        return ncclSuccess;
    if (!simcuda_guest_memory(at, bytes, &memory))
        return nccl_report(ncclInvalidArgument, "rank %d: %s: the %zu bytes at %p are not memory of a device",
                           comm->rank, who, bytes, at);
    if (memory.device != comm->home.device)
        return nccl_report(ncclInvalidArgument, "rank %d: %s: memory of device %d, but the communicator is device %d's",
                           comm->rank, who, memory.device, comm->home.device);
    *real = memory.real;
    *piece = (struct nccl_piece){memory.fd, memory.offset};
    return ncclSuccess;
}

static ncclResult_t check_memory(const struct nccl_comm *comm, struct nccl_task *t, const void *send, const void *recv)
{
    const char *who = nccl_kinds[t->card.kind].name;
    const size_t size = nccl_type_size(t->card.type);
    struct extents e = extents_of(comm, t->card.kind, t->card.root == comm->rank, t->card.count);
    ncclResult_t result;

    e.send *= size;
    e.recv *= size;
    result = find_memory(comm, who, send, e.send, &t->send, &t->card.send);
    if (!result)
        result = find_memory(comm, who, recv, e.recv, &t->recv, &t->card.recv);
    if (result || !t->send || !t->recv || t->send + e.send <= t->recv || t->recv + e.recv <= t->send)
        return result;
    if (!in_place(comm, &t->card, t->send, t->recv))
        return nccl_report(ncclInvalidArgument, "rank %d: %s: the buffers overlap, and not as in place", comm->rank,
                           who);
    return ncclSuccess;
}

static ncclResult_t check_home(const struct nccl_comm *comm, const char *who)
{
    struct simcuda_guest_context now;
    const CUresult error = simcuda_guest_context(&now);

    if (error)
        return nccl_fail(ncclUnhandledCudaError, "rank %d: %s: the current context is of no use (%u)", comm->rank, who,
                         error);
    if (now.context == comm->home.context && now.life != comm->home.life)
        return nccl_report(ncclUnhandledCudaError, "rank %d: %s after the device was reset", comm->rank, who);
    if (now.context != comm->home.context)
        return nccl_report(ncclInvalidUsage, "rank %d: %s: device %d's context is current, not the communicator's",
                           comm->rank, who, now.device);
    return ncclSuccess;
}

static ncclResult_t check_numbers(const struct nccl_comm *comm, const struct nccl_task *t)
{
    const struct nccl_kind_row *kind = &nccl_kinds[t->card.kind];

    if (!nccl_type_size(t->card.type))
        return nccl_report(ncclInvalidArgument, "rank %d: %s: type %u is none of version %d", comm->rank, kind->name,
                           t->card.type, nccl_version());
    if (kind->reduces && t->card.op > ncclAvg)
        return nccl_report(ncclInvalidArgument, "rank %d: %s: no op %u", comm->rank, kind->name, t->card.op);
    if (kind->rooted && (t->card.root < 0 || t->card.root >= comm->nranks))
        return nccl_report(ncclInvalidArgument, "rank %d: %s: no root %d", comm->rank, kind->name, t->card.root);
    if (t->card.kind >= NCCL_SEND && (t->peer < 0 || t->peer >= comm->nranks))
        return nccl_report(ncclInvalidArgument, "rank %d: %s: no peer %d", comm->rank, kind->name, t->peer);
    return ncclSuccess;
}

static struct nccl_comm *check_comm(ncclComm_t handle, const char *who, ncclResult_t *result)
{
    struct nccl_comm *comm = nccl_usable(handle, who, result);

    if (comm && handle->state != HANDLE_OPEN)
        *result = nccl_report(ncclInvalidUsage, "rank %d: %s after CommFinalize", comm->rank, who);
    if (!*result)
        *result = check_home(comm, who);
    return *result ? NULL : comm;
}

/* ---- launching ---- */

static void end_launch(void *data)
{
    struct nccl_launch *l = data;

    atomic_fetch_add(&l->comm->done, 1);
    nccl_ring(l->comm->board);
    nccl_drop(l->comm);
    free(l->tasks);
    free(l);
}

static ncclResult_t submit(struct nccl_launch *l)
{
    const CUresult error = simcuda_guest_submit(l->stream, nccl_run, end_launch, l);

    if (error)
        return nccl_fail(ncclUnhandledCudaError, "a launch failed (%u)", error);
    return ncclSuccess;
}

/* Connections are made by a thread of NCCL's, in which the launch then happens. */
static void *submit_late(void *data)
{
    const struct timespec nap = {0, 2000000};
    struct nccl_launch *l = data;
    struct nccl_comm *comm = l->comm;
    unsigned busy = ncclInProgress;
    ncclResult_t result = ncclUnhandledCudaError;

    nanosleep(&nap, NULL);
    nccl_hold(comm);
    if (cuCtxSetCurrent(comm->home.context) == CUDA_SUCCESS)
        result = submit(l);
    else
        end_launch(l);
    atomic_compare_exchange_strong(&comm->async, &busy, result);
    nccl_drop(comm);
    nccl_drop(comm);
    return NULL;
}

/* In a nonblocking communicator the first of each kind is late. */
static bool is_late(struct nccl_comm *comm, const struct nccl_launch *l)
{
    bool late = false;

    for (size_t i = 0; i < l->ntasks; i++) {
        bool *used = &comm->used[l->tasks[i].card.kind];

        late |= !comm->blocking && !*used;
        *used = true;
    }
    return late;
}

static ncclResult_t launch(ncclComm_t handle, struct nccl_launch *l)
{
    struct nccl_comm *comm = l->comm;

    nccl_hold(comm);
    l->ticket = atomic_fetch_add(&comm->issued, 1);
    COUNT(launches);
    if (!is_late(comm, l))
        return submit(l);
    nccl_join(handle);
    atomic_store(&comm->async, ncclInProgress);
    nccl_hold(comm);
    if (nccl_thread(&comm->thread, submit_late, l)) {
        nccl_drop(comm);
        end_launch(l);
        return nccl_fail(ncclSystemError, "no thread");
    }
    comm->threaded = true;
    return ncclInProgress;
}

/* ---- groups ---- */

static bool overlap(const struct nccl_task *a, const struct nccl_task *b)
{
    const size_t a_bytes = a->card.count * nccl_type_size(a->card.type);
    const size_t b_bytes = b->card.count * nccl_type_size(b->card.type);
    const char *other = b->send ? b->send : b->recv;

    return a->recv && other && a != b && a->recv < other + b_bytes && other < a->recv + a_bytes;
}

/* Sends and receives of one group happen at the same time. */
static ncclResult_t check_apart(const struct nccl_launch *l)
{
    for (size_t i = 0; i < l->ntasks; i++)
        for (size_t j = 0; j < l->ntasks; j++)
            if (l->tasks[i].card.kind >= NCCL_SEND && l->tasks[j].card.kind >= NCCL_SEND &&
                overlap(&l->tasks[i], &l->tasks[j]))
                return nccl_report(ncclInvalidArgument, "rank %d: a Recv writes what another call of its group uses",
                                   l->comm->rank);
    return ncclSuccess;
}

/* The calls of the group on that communicator, from the first on. */
static struct nccl_launch *collect(size_t first, uint64_t order)
{
    ncclComm_t handle = group.calls[first].handle;
    struct nccl_launch *l = calloc(1, sizeof *l);
    struct nccl_task *tasks = malloc((group.ncalls - first) * sizeof *tasks);

    if (!l || !tasks) {
        free(tasks);
        free(l);
        return NULL;
    }
    *l = (struct nccl_launch){handle->comm, group.calls[first].stream, 0, 0, tasks};
    for (size_t i = first; i < group.ncalls; i++) {
        struct call *c = &group.calls[i];

        if (c->handle != handle)
            continue;
        if (c->stream != l->stream)
            group.result =
                nccl_report(ncclInvalidUsage, "rank %d: two streams for one communicator in a group", handle->rank);
        c->task.card.order = order;
        tasks[l->ntasks++] = c->task;
        c->handle = NULL;
    }
    return l;
}

static ncclResult_t launch_next(size_t first, uint64_t order)
{
    ncclComm_t handle = group.calls[first].handle;
    struct nccl_launch *l = collect(first, order);
    ncclResult_t result = l ? group.result : nccl_fail(ncclSystemError, "no memory");

    if (!result)
        result = check_apart(l);
    if (!result)
        return launch(handle, l);
    free(l ? l->tasks : NULL);
    free(l);
    return result;
}

static ncclResult_t launch_all(void)
{
    static uint64_t orders;
    ncclResult_t result = ncclSuccess;

    pthread_mutex_lock(&order_lock);
    orders += group.ncalls > 0;
    for (size_t i = 0; i < group.ncalls && (!result || result == ncclInProgress); i++)
        if (group.calls[i].handle) {
            const ncclResult_t one = launch_next(i, orders);

            result = one ? one : result;
        }
    pthread_mutex_unlock(&order_lock);
    return result;
}

static ncclResult_t await_making(void)
{
    ncclResult_t result = ncclSuccess;

    for (size_t i = 0; i < group.nmaking; i++) {
        const ncclResult_t one = nccl_join(*group.making[i]);

        result = one ? one : result;
    }
    return result;
}

static ncclResult_t group_end(void)
{
    ncclResult_t result = group.result;

    if (--group.depth)
        return ncclSuccess;
    if (!result)
        result = await_making();
    if (!result)
        result = launch_all();
    free(group.calls);
    free(group.making);
    group = (struct group){0};
    return result;
}

bool nccl_group_takes(ncclComm_t *handle)
{
    ncclComm_t **making = group.depth ? realloc(group.making, (group.nmaking + 1) * sizeof *making) : NULL;

    if (!making)
        return false;
    group.making = making;
    making[group.nmaking++] = handle;
    return true;
}

static ncclResult_t add(ncclComm_t handle, CUstream stream, const struct nccl_task *task)
{
    if (group.ncalls == group.room) {
        const size_t room = group.room ? 2 * group.room : 16;
        struct call *calls = realloc(group.calls, room * sizeof *calls);

        if (!calls)
            return nccl_fail(ncclSystemError, "no memory");
        group.calls = calls;
        group.room = room;
    }
    group.calls[group.ncalls++] = (struct call){handle, stream, *task};
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    COUNT(GroupStart);
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    COUNT(GroupEnd);
    return group.depth ? group_end() : nccl_report(ncclInvalidUsage, "GroupEnd without GroupStart");
}

/* ---- the calls ---- */

static ncclResult_t ask(ncclComm_t handle, CUstream stream, struct nccl_task *t, const void *send, const void *recv)
{
    ncclResult_t result;
    struct nccl_comm *comm = check_comm(handle, nccl_kinds[t->card.kind].name, &result);

    if (!result)
        result = check_numbers(comm, t);
    if (!result)
        result = check_memory(comm, t, send, recv);
    if (result || (!t->card.count && t->card.kind < NCCL_SEND))
        return result; /* a collective on nothing is none */
    t->stuck = simcuda_guest_due(GUEST_STUCK);
    t->fails = simcuda_guest_due(GUEST_ERROR);
    if (t->card.kind >= NCCL_SEND)
        t->number = (t->card.kind == NCCL_SEND ? comm->shown : comm->taken)[t->peer]++;
    return add(handle, stream, t);
}

/* A call alone is a group of one. */
static ncclResult_t call(ncclComm_t handle, CUstream stream, struct nccl_task t, const void *send, const void *recv,
                         int since)
{
    ncclResult_t result;

    group.depth++;
    result = since > nccl_version() ? nccl_report(ncclInvalidUsage, "%s came later than version %d",
                                                  nccl_kinds[t.card.kind].name, nccl_version())
                                    : ask(handle, stream, &t, send, recv);
    if (result && !group.result)
        group.result = result;
    return group.depth > 1 ? (group.depth--, result) : group_end();
}

enum {
#define TT_NCCL(name, result, need, since, params) SINCE_##name = since,
#include "cuda/nccl.def"
};

#define TASK(kind, type, op, root, count) ((struct nccl_task){.card = {kind, type, op, root, count, 0, {0, 0}, {0, 0}}})

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, CUstream stream)
{
    COUNT(AllReduce);
    return call(comm, stream, TASK(NCCL_ALL_REDUCE, type, op, -1, count), send, recv, SINCE_AllReduce);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, CUstream stream)
{
    COUNT(Reduce);
    return call(comm, stream, TASK(NCCL_REDUCE, type, op, root, count), send, recv, SINCE_Reduce);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           CUstream stream)
{
    COUNT(Broadcast);
    return call(comm, stream, TASK(NCCL_BROADCAST, type, 0, root, count), send, recv, SINCE_Broadcast);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           CUstream stream)
{
    COUNT(AllGather);
    return call(comm, stream, TASK(NCCL_ALL_GATHER, type, 0, -1, count), send, recv, SINCE_AllGather);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, CUstream stream)
{
    COUNT(ReduceScatter);
    return call(comm, stream, TASK(NCCL_REDUCE_SCATTER, type, op, -1, count), send, recv, SINCE_ReduceScatter);
}

ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                          CUstream stream)
{
    COUNT(AlltoAll);
    return call(comm, stream, TASK(NCCL_ALL_TO_ALL, type, 0, -1, count), send, recv, SINCE_AlltoAll);
}

ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        CUstream stream)
{
    COUNT(Gather);
    return call(comm, stream, TASK(NCCL_GATHER, type, 0, root, count), send, recv, SINCE_Gather);
}

ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         CUstream stream)
{
    COUNT(Scatter);
    return call(comm, stream, TASK(NCCL_SCATTER, type, 0, root, count), send, recv, SINCE_Scatter);
}

static ncclResult_t between(enum nccl_kind kind, const void *send, const void *recv, size_t count, ncclDataType_t type,
                            int peer, ncclComm_t comm, CUstream stream)
{
    struct nccl_task t = TASK(kind, type, 0, -1, count);

    t.peer = peer;
    return call(comm, stream, t, send, recv, SINCE_Send);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
    COUNT(Send);
    return between(NCCL_SEND, send, NULL, count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, CUstream stream)
{
    COUNT(Recv);
    return between(NCCL_RECV, NULL, recv, count, type, peer, comm, stream);
}
