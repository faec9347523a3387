/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of a communicator. It is made and finalized by a thread of its own, which a blocking call waits for and a
 * nonblocking one does not. As NCCL's, making one ends when all ranks are there, or one of those that came has died; a
 * rank that never comes is waited for until ncclCommAbort. */
#include "tests/simcuda/nccl_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t MAGIC = UINT64_C(0x6c63636e6d6973);
enum { MANY_RANKS = 1024, SEVERAL_ON_A_GPU = 23000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ncclComm *handles; /* all there ever were */

/* ---- holding ---- */

void nccl_hold(struct nccl_comm *comm)
{
    atomic_fetch_add(&comm->refs, 1);
}

void nccl_drop(struct nccl_comm *comm)
{
    if (atomic_fetch_sub(&comm->refs, 1) > 1)
        return;
    nccl_board_forget(&comm->id);
    nccl_work_close(comm);
    nccl_board_close(comm);
    free(comm->shown);
    free(comm->taken);
    free(comm);
    __atomic_sub_fetch(&nccl_counts.alive, 1, __ATOMIC_RELAXED);
}

void nccl_async(struct nccl_comm *comm, ncclResult_t result)
{
    unsigned now = atomic_load(&comm->async);

    while (now == ncclSuccess || now == ncclInProgress)
        if (atomic_compare_exchange_weak(&comm->async, &now, result))
            break;
}

bool nccl_stopped(struct nccl_comm *comm, const bool *ending)
{
    return atomic_load(&comm->aborted) || (ending && __atomic_load_n(ending, __ATOMIC_ACQUIRE));
}

/* ---- handles ---- */

static const char *why_unusable(ncclComm_t handle)
{
    if (!handle)
        return "of a NULL communicator";
    if (handle->magic != MAGIC)
        return "of what is no communicator";
    return handle->state == HANDLE_DESTROYED ? "after CommDestroy"
           : handle->state == HANDLE_ABORTED ? "after CommAbort"
                                             : NULL;
}

struct nccl_comm *nccl_usable(ncclComm_t handle, const char *who, ncclResult_t *result)
{
    const char *why = nccl_version() ? why_unusable(handle) : "without a library";
    struct nccl_comm *comm = why ? NULL : handle->comm;

    *result = why ? nccl_report(ncclInvalidArgument, "%s %s", who, why) : atomic_load(&comm->async);
    if (*result == ncclInProgress)
        *result = nccl_report(ncclInvalidArgument, "rank %d: %s while the call before is in progress", comm->rank, who);
    return *result ? NULL : comm;
}

static ncclComm_t handle_new(struct nccl_comm *comm)
{
    ncclComm_t handle = calloc(1, sizeof *handle);

    if (!handle)
        return NULL;
    handle->magic = MAGIC;
    handle->rank = comm->rank;
    handle->comm = comm;
    pthread_mutex_lock(&lock);
    handle->next = handles;
    handles = handle;
    pthread_mutex_unlock(&lock);
    return handle;
}

ncclResult_t nccl_join(ncclComm_t handle)
{
    struct nccl_comm *comm = handle->comm;

    if (comm->threaded)
        pthread_join(comm->thread, NULL);
    comm->threaded = false;
    return atomic_load(&comm->async);
}

/* The thread ends soon: it looks at `aborted`, or has done all. */
static void handle_close(ncclComm_t handle, int state)
{
    struct nccl_comm *comm = handle->comm;

    nccl_join(handle);
    handle->state = state;
    handle->comm = NULL;
    nccl_drop(comm);
}

/* ---- making one ---- */

/* Until all seats have come that far. Who died after taking its seat is noticed. */
static ncclResult_t await_seats(struct nccl_comm *comm, unsigned state, bool dead_noticed)
{
    struct nccl_board *b = comm->board;

    for (int i = 0; i < comm->nranks;) {
        const unsigned heard = nccl_listen(b), there = atomic_load(&b->seats[i].state);

        if (there >= state) {
            i++;
            continue;
        }
        if (nccl_stopped(comm, NULL))
            return nccl_fail(ncclRemoteError, "aborted");
        for (int j = 0; dead_noticed && j < comm->nranks; j++)
            if (atomic_load(&b->seats[j].state) == SEAT_TAKEN && !nccl_board_held(comm, j) &&
                atomic_load(&b->seats[j].state) == SEAT_TAKEN)
                return nccl_fail(ncclRemoteError, "rank %d: rank %d has died while the communicator was made",
                                 comm->rank, j);
        nccl_sleep(b, heard);
    }
    return ncclSuccess;
}

static ncclResult_t take_seat(struct nccl_comm *comm)
{
    struct nccl_board *b = comm->board;
    struct nccl_seat *seat = &b->seats[comm->rank];
    unsigned nobody = 0, is_free = SEAT_FREE;

    if (!atomic_compare_exchange_strong(&b->nranks, &nobody, (unsigned)comm->nranks) &&
        nobody != (unsigned)comm->nranks)
        return nccl_report(ncclInvalidArgument, "rank %d: a communicator of %d ranks, but others make it of %u",
                           comm->rank, comm->nranks, nobody);
    if (!nccl_board_hold(comm) || atomic_load(&seat->state) != SEAT_FREE)
        return nccl_report(ncclInvalidUsage, "rank %d takes part twice in a communicator", comm->rank);
    seat->pid = getpid();
    seat->version = nccl_version();
    seat->process = nccl_process();
    seat->gpu = comm->home.uuid;
    atomic_compare_exchange_strong(&seat->state, &is_free, SEAT_TAKEN);
    nccl_ring(b);
    return ncclSuccess;
}

/* Facts that all see alike. */
static ncclResult_t compare_seats(struct nccl_comm *comm)
{
    const struct nccl_seat *seats = comm->board->seats;
    const char *allowed = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    const bool several = nccl_version() >= SEVERAL_ON_A_GPU && allowed && strcmp(allowed, "1") == 0;

    for (int i = 0; i < comm->nranks; i++)
        for (int j = 0; j < i; j++) {
            if (seats[i].version != seats[j].version)
                return nccl_report(ncclSystemError, "rank %d has version %d, rank %d has %d", j, seats[j].version, i,
                                   seats[i].version);
            if (!several && memcmp(&seats[i].gpu, &seats[j].gpu, sizeof seats[i].gpu) == 0)
                return nccl_report(ncclInvalidUsage, "duplicate GPU: ranks %d and %d are on the same", j, i);
        }
    return ncclSuccess;
}

static void wait_out(struct nccl_comm *comm, unsigned long ms)
{
    const struct timespec nap = {0, 1000000};

    while (ms-- && !nccl_stopped(comm, NULL))
        nanosleep(&nap, NULL);
}

static ncclResult_t meet(struct nccl_comm *comm)
{
    ncclResult_t result;

    wait_out(comm, comm->absent ? ~0ul : simcuda_guest_delay_ms());
    if (nccl_stopped(comm, NULL))
        return ncclRemoteError;
    result = nccl_board_open(comm, &comm->id);
    if (!result)
        result = take_seat(comm);
    if (!result)
        result = await_seats(comm, SEAT_TAKEN, true);
    if (comm->exits)
        _exit(1);
    if (!result)
        result = compare_seats(comm);
    if (result)
        return result;
    atomic_store(&comm->board->seats[comm->rank].state, SEAT_READY);
    nccl_ring(comm->board);
    return await_seats(comm, SEAT_READY, true);
}

static void *make(void *arg)
{
    struct nccl_comm *comm = arg;
    const ncclResult_t result = meet(comm);
    unsigned busy = ncclInProgress;

    nccl_board_forget(&comm->id);
    if (comm->file >= 0)
        close(comm->file);
    comm->file = -1;
    atomic_compare_exchange_strong(&comm->async, &busy, result);
    nccl_drop(comm);
    return NULL;
}

static struct nccl_comm *comm_new(int nranks, const ncclUniqueId *id, int rank, bool blocking)
{
    struct nccl_comm *comm = calloc(1, sizeof *comm);

    if (!comm)
        return NULL;
    comm->refs = 1;
    comm->rank = rank;
    comm->nranks = nranks;
    comm->blocking = blocking;
    comm->id = *id;
    comm->file = comm->bounce = -1;
    comm->async = ncclInProgress;
    comm->shown = calloc((size_t)nranks, sizeof *comm->shown);
    comm->taken = calloc((size_t)nranks, sizeof *comm->taken);
    COUNT(alive);
    return comm;
}

/* What NCCL does in the runtime's context, which is the device's primary one. */
static ncclResult_t find_home(struct simcuda_guest_context *home, int rank)
{
    const CUresult error = simcuda_guest_context(home);

    if (error)
        return nccl_fail(ncclUnhandledCudaError, "rank %d: no context in which to make a communicator (%u)", rank,
                         error);
    if (!home->primary)
        return nccl_report(ncclUnhandledCudaError, "rank %d: the current context is not its device's primary one",
                           rank);
    return ncclSuccess;
}

static ncclResult_t check_config(const ncclConfig_t *config)
{
    const bool known = !config || (config->magic == 0xcafebeef && config->version >= 21400 && config->size >= 20);

    if (!known)
        return nccl_report(ncclInvalidArgument, "a configuration not made by NCCL_CONFIG_INITIALIZER");
    if (config && config->blocking != NCCL_CONFIG_UNDEF_INT && config->blocking != 0 && config->blocking != 1)
        return nccl_report(ncclInvalidArgument, "a configuration with blocking = %d", config->blocking);
    return ncclSuccess;
}

static ncclResult_t start(ncclComm_t *out, struct nccl_comm *comm)
{
    comm->absent = simcuda_guest_due(GUEST_ABSENT);
    comm->exits = simcuda_guest_due(GUEST_EXIT);
    *out = handle_new(comm);
    nccl_hold(comm);
    if (!*out || !comm->shown || !comm->taken || nccl_thread(&comm->thread, make, comm))
        return nccl_fail(ncclSystemError, "no memory, or no thread");
    comm->threaded = true;
    if (!comm->blocking)
        return ncclInProgress;
    return nccl_group_takes(out) ? ncclSuccess : nccl_join(*out);
}

static ncclResult_t init(ncclComm_t *out, int nranks, const ncclUniqueId *id, int rank, const ncclConfig_t *config)
{
    struct simcuda_guest_context home;
    ncclResult_t result = nccl_version() ? check_config(config) : ncclSystemError;
    struct nccl_comm *comm;

    if (!result && (!out || nranks < 1 || nranks > MANY_RANKS || rank < 0 || rank >= nranks))
        result = nccl_report(ncclInvalidArgument, "a communicator for rank %d of %d", rank, nranks);
    if (!result)
        result = find_home(&home, rank);
    if (!result && simcuda_guest_due(GUEST_INIT))
        result = nccl_fail(ncclSystemError, "rank %d: the communicator was not made, as TUTTI_SIM_FAULT wants", rank);
    if (result)
        return result;
    *out = NULL;
    comm = comm_new(nranks, id, rank, !config || config->blocking != 0);
    if (!comm)
        return nccl_fail(ncclSystemError, "no memory");
    comm->home = home;
    result = start(out, comm);
    if (comm->blocking && result && *out) {
        handle_close(*out, HANDLE_DESTROYED);
        *out = NULL;
    }
    return result;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    COUNT(GetUniqueId);
    if (!nccl_version())
        return ncclSystemError;
    return id ? nccl_board_new(id) : nccl_report(ncclInvalidArgument, "GetUniqueId of NULL");
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    COUNT(CommInitRank);
    return init(comm, nranks, &id, rank, NULL);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    COUNT(CommInitRankConfig);
    return init(comm, nranks, &id, rank, config);
}

/* The ids are for speed; the first will do. */
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int nids, ncclUniqueId *ids,
                                      ncclConfig_t *config)
{
    COUNT(CommInitRankScalable);
    if (nids < 1 || nids > nranks || !ids)
        return nccl_report(ncclInvalidArgument, "%d ids for %d ranks", nids, nranks);
    return init(comm, nranks, ids, rank, config);
}

/* ---- its end ---- */

static void *finalize(void *arg)
{
    struct nccl_comm *comm = arg;
    ncclResult_t result = ncclSuccess;
    unsigned busy = ncclInProgress;

    while (atomic_load(&comm->done) != atomic_load(&comm->issued) && !nccl_stopped(comm, NULL))
        nccl_sleep(comm->board, nccl_listen(comm->board));
    atomic_store(&comm->board->seats[comm->rank].state, SEAT_LEAVING);
    nccl_ring(comm->board);
    result = await_seats(comm, SEAT_LEAVING, false);
    atomic_compare_exchange_strong(&comm->async, &busy, result);
    nccl_drop(comm);
    return NULL;
}

ncclResult_t ncclCommFinalize(ncclComm_t handle)
{
    ncclResult_t result;
    struct nccl_comm *comm = nccl_usable(handle, "CommFinalize", &result);

    COUNT(CommFinalize);
    if (!comm)
        return result;
    if (handle->state == HANDLE_FINALIZED)
        return nccl_report(ncclInvalidArgument, "rank %d: CommFinalize for the second time", comm->rank);
    nccl_join(handle);
    handle->state = HANDLE_FINALIZED;
    atomic_store(&comm->async, ncclInProgress);
    nccl_hold(comm);
    if (nccl_thread(&comm->thread, finalize, comm))
        return nccl_fail(ncclSystemError, "no thread");
    comm->threaded = true;
    return comm->blocking ? nccl_join(handle) : ncclInProgress;
}

/* What is under way is waited for, where the communicator is a blocking one. */
static ncclResult_t destroy(ncclComm_t handle, struct nccl_comm *comm)
{
    while (comm->blocking && atomic_load(&comm->done) != atomic_load(&comm->issued))
        nccl_sleep(comm->board, nccl_listen(comm->board));
    handle_close(handle, HANDLE_DESTROYED);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle)
{
    const char *why = why_unusable(handle);
    unsigned async;

    COUNT(CommDestroy);
    if (!handle)
        return ncclSuccess;
    if (why)
        return nccl_report(ncclInvalidArgument, "CommDestroy %s", why);
    async = atomic_load(&handle->comm->async);
    if (async == ncclInProgress)
        return nccl_report(ncclInvalidUsage, "rank %d: CommDestroy while the call before is in progress", handle->rank);
    if (async)
        return nccl_report(ncclInvalidUsage, "rank %d: CommDestroy after an error: only CommAbort will do",
                           handle->rank);
    return destroy(handle, handle->comm);
}

ncclResult_t ncclCommAbort(ncclComm_t handle)
{
    const char *why = why_unusable(handle);

    COUNT(CommAbort);
    if (!handle)
        return ncclSuccess;
    if (why)
        return nccl_report(ncclInvalidArgument, "CommAbort %s", why);
    atomic_store(&handle->comm->aborted, true);
    handle_close(handle, HANDLE_ABORTED);
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *error)
{
    const char *why = why_unusable(handle);

    COUNT(CommGetAsyncError);
    if (why || !error)
        return nccl_report(ncclInvalidArgument, "CommGetAsyncError %s", why ? why : "to NULL");
    *error = atomic_load(&handle->comm->async);
    return ncclSuccess;
}
