/* SPDX-License-Identifier: BSD-3-Clause */
/* State with a communicator. The private communicator is made by MPI_Comm_create over the same group, not by
 * MPI_Comm_dup: that would run the user's attribute copy functions. */
#include "coll/comm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "coll/agree.h"
#include "coll/aware.h"
#include "coll/check.h"
#include "coll/config.h"
#include "coll/exec.h"
#include "coll/hash.h"
#include "coll/job.h"
#include "coll/meet.h"
#include "coll/nccl_comm.h"
#include "coll/node.h"
#include "coll/report.h"
#include "coll/sizes.h"
#include "coll/topology.h"
#include "coll/watch.h"
#include "coll/world.h"

enum { MAX_SHARED = 64, MAX_SLOTS = 1024 };

static atomic_int keyval = MPI_KEYVAL_INVALID;

__thread struct tt_comm_last tt_comm_last;
atomic_uint tt_comm_frees;

/* What a communicator's decisions took, as far as they are still there. */
static void say_what_is_kept(const struct tt_comm *c)
{
    char bytes[32];

    tt_size_print(bytes, sizeof bytes, (int64_t)c->cache.bytes);
    if (c->cache.n > 0)
        tt_log(TT_DEBUG, "%d decisions kept, their plans take %s (at most %d and %d MiB)", c->cache.n, bytes,
               TT_CACHE_SLOTS, TT_CACHE_BYTES >> 20);
}

void tt_comm_forget(struct tt_comm *c)
{
    say_what_is_kept(c);
    tt_cache_free(&c->cache);
    tt_cache_free(&c->in_streams);
    tt_memos_free(c->memos);
    c->memos = NULL;
}

static void comm_free(struct tt_comm *c)
{
    tt_nccl_drop(c);
    if (c->wire_comm != MPI_COMM_NULL && !tt_checks_died(c))
        PMPI_Comm_free(&c->wire_comm);
    tt_comm_forget(c);
    tt_net_free(c->staged);
    tt_net_free(c->net);
    tt_topo_free(c->topo);
    tt_hints_free(c->hints);
    free(c->routes.channels);
    free(c->routes.near);
    tt_checks_free(c->checks);
    free(c->slot);
    free(c);
}

struct tt_comm *tt_comm_hold(struct tt_comm *c)
{
    atomic_fetch_add(&c->holders, 1);
    return c;
}

void tt_comm_release(struct tt_comm *c)
{
    if (atomic_fetch_sub(&c->holders, 1) == 1)
        comm_free(c);
}

/* The user frees the communicator, or MPI_Finalize does. */
static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    struct tt_comm *c = value;

    (void)comm;
    (void)key;
    (void)extra;
    atomic_fetch_add(&tt_comm_frees, 1);
    c->freed = true;
    tt_report_freed(c);
    tt_comm_release(c);
    return MPI_SUCCESS;
}

/* ---- the private communicator ---- */

static int private_comm(MPI_Comm comm, MPI_Comm *made)
{
    MPI_Group group;
    int error;

    PMPI_Comm_group(comm, &group);
    error = PMPI_Comm_create(comm, group, made);
    PMPI_Group_free(&group);
    if (error != MPI_SUCCESS)
        return error;
    return PMPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
}

/* With the user's error handler set aside: running out of contexts is no error of the user's, and every rank sees it.
 * MPI_COMM_NULL if there is none to be had. */
static MPI_Comm try_private_comm(MPI_Comm comm)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Errhandler theirs;

    PMPI_Comm_get_errhandler(comm, &theirs);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (private_comm(comm, &made) != MPI_SUCCESS) {
        made = MPI_COMM_NULL;
        tt_log(TT_WARN, "no private communicator to be had: this communicator's calls go to the MPI below");
    }
    PMPI_Comm_set_errhandler(comm, theirs);
    PMPI_Errhandler_free(&theirs);
    return made;
}

/* Has a group members that were not in this process's MPI_COMM_WORLD when the settings were compared (spawned, or
 * joined)? Frees it. */
static bool has_foreigners(MPI_Group group)
{
    MPI_Group world;
    int here, there, size;
    bool found = false;

    PMPI_Comm_group(tt_world(), &world);
    PMPI_Group_size(group, &size);
    for (here = 0; here < size && !found; here++) {
        PMPI_Group_translate_ranks(group, 1, &here, world, &there);
        found = there == MPI_UNDEFINED;
    }
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    return found;
}

/* If one rank finds so, all do: each is foreign to some other. */
static bool crosses_worlds(MPI_Comm comm)
{
    MPI_Group ours, theirs;
    int inter = 0;
    bool crosses;

    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_group(comm, &ours);
    if (inter)
        PMPI_Comm_remote_group(comm, &theirs);
    crosses = has_foreigners(ours);
    return inter ? has_foreigners(theirs) || crosses : crosses;
}

/* ---- making ---- */

/* How many calls at a time the tags can tell apart. */
static unsigned count_slots(void)
{
    int *bound = NULL, found = 0;
    unsigned slots;

    PMPI_Comm_get_attr(tt_world(), MPI_TAG_UB, &bound, &found);
    slots = tt_slots_below((found ? *bound : 32767) - TT_TAGS_BEYOND);
    return slots < MAX_SLOTS ? slots : MAX_SLOTS;
}

/* Two threads' calls of NCCL on two communicators could meet in another order on another rank. */
static bool has_threads(void)
{
    int level = MPI_THREAD_SINGLE;

    PMPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

/* A number that nobody else comes to, nor this process twice; never 0. */
static uint64_t new_id(void)
{
    static atomic_uint made;
    uint64_t id;

    if (getentropy(&id, sizeof id))
        id = ((uint64_t)gethostid() << 32 ^ (uint64_t)getpid()) * UINT64_C(0x9e3779b97f4a7c15) +
             atomic_fetch_add(&made, 1);
    return id >> 2 | 1;
}

/* Calls can be compared as soon as there is a private communicator to meet on. */
static void begin_checks(struct tt_comm *c)
{
    if (c->checks && c->usable)
        tt_checks_begin(c->checks, &(struct tt_party){.comm = c->wire_comm, .rank = c->rank, .size = c->size}, false);
}

/* Is there nothing for its ranks to do together? Those of an intercommunicator need one to meet on if their calls are
 * compared; but spawned ones may be in no call of Tutti's while those that have spawned them make theirs ready. */
static bool is_ready_at_once(MPI_Comm comm, const struct tt_comm *c)
{
    return c->inter ? !tt_config.check || crosses_worlds(comm) : c->size == 1;
}

/* What a rank can do by itself. NULL: out of memory. */
static struct tt_comm *comm_new(MPI_Comm comm)
{
    struct tt_comm *c = calloc(1, sizeof *c);
    int inter = 0;

    if (!c)
        return NULL;
    c->wire_comm = MPI_COMM_NULL;
    c->routes = (struct tt_routes){.comm = MPI_COMM_NULL, .wire = {&tt_wire_node, &tt_wire_p2p}};
    c->slots = count_slots();
    c->in_order = c->slots - c->slots / 4;
    c->slot = calloc(c->slots, sizeof *c->slot);
    atomic_init(&c->holders, 1);
    PMPI_Comm_rank(comm, &c->rank);
    PMPI_Comm_size(comm, &c->size);
    PMPI_Comm_test_inter(comm, &inter);
    c->inter = inter;
    c->peers = c->size;
    if (inter)
        PMPI_Comm_remote_size(comm, &c->peers);
    c->stage = is_ready_at_once(comm, c) ? TT_LOCATED : TT_KNOWN;
    c->usable = !inter && c->size == 1;
    c->id = c->usable ? new_id() : 0;
    c->known.threads = has_threads();
    c->checks = tt_config.check ? tt_checks_new(c->slots) : NULL;
    if (!c->slot || (tt_config.check && !c->checks)) {
        comm_free(c);
        return NULL;
    }
    begin_checks(c);
    return c;
}

/* What a rank says of itself when the ranks are located; of all, what holds for each. */
enum { HAS_NET = 1 << 0, HAS_NCCL = 1 << 1, HAS_ONE_THREAD = 1 << 2, IS_DIRECT = 1 << 3 };

/* The links as they are where GPU memory goes by way of the host: those between GPUs are no use then. NULL if there is no
 * memory for it. */
static struct tt_net *staged_net(const struct tt_topo *topo)
{
    struct tt_topo staged = *topo;
    const struct tt_speed host = {topo->speed[TT_LEVEL_HOST].alpha + 2 * topo->launch, topo->speed[TT_LEVEL_HOST].beta};

    staged.speed[TT_LEVEL_GPU] = staged.speed[TT_LEVEL_LINK] = staged.speed[TT_LEVEL_HOST] = host;
    staged.speed[TT_LEVEL_NIC].alpha += 2 * topo->launch;
    return tt_net_make(&staged);
}

/* Of all ranks, in one small allreduce; 0 if it failed. Whether the MPI below takes GPU memory is asked only where there is
 * something to compare with. */
static int say_for_all(const struct tt_net *net, const struct tt_net *staged, MPI_Comm comm)
{
    const int mine = (net ? HAS_NET : 0) | (staged ? HAS_NCCL : 0) | (has_threads() ? 0 : HAS_ONE_THREAD) |
                     (staged && tt_mpi_takes_device_memory() ? IS_DIRECT : 0);
    int all = 0;

    return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_BAND, comm) == MPI_SUCCESS ? all : 0;
}

/* Takes a topology, and the links that the model reads of it, if every rank has both; else things stay as they are. */
static void adopt(struct tt_comm *c, struct tt_topo *topo, bool located)
{
    struct tt_net *net = topo ? tt_net_make(topo) : NULL;
    const bool nccl = located && net && tt_driver_present() && (tt_nccl_standing(c, NULL) & TT_NCCL_CAN);
    struct tt_net *staged = nccl ? staged_net(topo) : NULL;
    const int all = say_for_all(net, staged, c->wire_comm);

    if (!(all & HAS_NCCL) || (all & IS_DIRECT)) {
        tt_net_free(staged);
        staged = NULL;
    }
    c->known.there = all & HAS_NCCL;
    c->known.threads = !(all & HAS_ONE_THREAD);
    if (!(all & HAS_NET)) {
        tt_net_free(staged);
        tt_net_free(net);
        tt_topo_free(topo);
        return;
    }
    tt_comm_forget(c);
    tt_net_free(c->staged);
    tt_net_free(c->net);
    tt_topo_free(c->topo);
    c->topo = topo;
    c->net = net;
    c->staged = staged;
}

/* Have all ranks a state? Then it gets rank 0's number. (By MPI_BAND: MPICH 4.0 takes MPI_UINT64_T for signed in MPI_MIN.) */
static bool agree_on_id(MPI_Comm comm, struct tt_comm *c)
{
    const uint64_t mine[] = {c != NULL, c && c->rank == 0 ? new_id() : UINT64_MAX};
    uint64_t all[] = {0, 0};

    if (PMPI_Allreduce(mine, all, 2, MPI_UINT64_T, MPI_BAND, comm) != MPI_SUCCESS || !all[0])
        return false;
    c->id = all[1];
    return true;
}

/* NULL if there is no memory. */
static bool *mark_near(const struct tt_comm *c, struct tt_channel **channels, bool *all_near)
{
    bool *near = malloc((size_t)c->size * sizeof *near);

    *all_near = near;
    for (int r = 0; near && r < c->size; r++) {
        near[r] = channels && channels[r];
        *all_near &= near[r] || r == c->rank;
    }
    return near;
}

/* All ranks have theirs, or nobody uses any. */
static void find_channels(struct tt_comm *c)
{
    struct tt_channel **channels;
    const bool found = tt_node_channels(c->wire_comm, c->size, &channels) == 0;
    struct tt_routes *routes = &c->routes;

    routes->near = found ? mark_near(c, channels, &routes->all_near) : NULL;
    if (tt_all_have(c->wire_comm, routes->near)) {
        routes->channels = channels;
        routes->context = c->id;
        return;
    }
    free(channels);
    free(routes->near);
    routes->near = NULL;
    routes->all_near = false;
}

/* Both groups of an intercommunicator in one; MPI_COMM_NULL, on all ranks, if the MPI has no context left for it. */
static MPI_Comm try_merge(MPI_Comm comm)
{
    MPI_Comm both;
    MPI_Errhandler theirs;

    PMPI_Comm_get_errhandler(comm, &theirs);
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (PMPI_Intercomm_merge(comm, 0, &both) != MPI_SUCCESS)
        both = MPI_COMM_NULL;
    else
        PMPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    PMPI_Comm_set_errhandler(comm, theirs);
    PMPI_Errhandler_free(&theirs);
    return both;
}

/* False, on all ranks, if one of them has no memory for its state. */
static bool make_party_across(MPI_Comm comm, struct tt_comm *c)
{
    struct tt_party all = {.comm = try_merge(comm)};

    if (all.comm == MPI_COMM_NULL)
        return c;
    if (!tt_all_have(all.comm, c)) {
        PMPI_Comm_free(&all.comm);
        return false;
    }
    PMPI_Comm_rank(all.comm, &all.rank);
    PMPI_Comm_size(all.comm, &all.size);
    all.here = all.rank - c->rank;
    all.there = all.here ? 0 : c->size;
    tt_checks_begin(c->checks, &all, true);
    return true;
}

/* What all ranks do together, even one that has no memory for the state: c is NULL there. Then nobody makes it ready,
 * lest that rank's next call begin by making what the others have: false, on all ranks. */
static bool make_ready(MPI_Comm comm, struct tt_comm *c)
{
    int inter = 0;

    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        return make_party_across(comm, c);
    if (!agree_on_id(comm, c))
        return false;
    tt_comm_forget(c);
    c->stage = TT_READY;
    c->routes.comm = c->wire_comm = try_private_comm(comm);
    c->usable = c->wire_comm != MPI_COMM_NULL;
    if (c->usable && crosses_worlds(comm))
        c->usable = tt_comm_agree(c->wire_comm) == MPI_SUCCESS;
    else if (c->usable && tt_node_is_used())
        find_channels(c);
    begin_checks(c);
    return true;
}

/* Ranks of several worlds cannot know it of each other, and stay where they are assumed to be: on one node. So are all,
 * until they are located. */
static void locate(MPI_Comm comm, enum tt_stage stage, struct tt_comm *c)
{
    const bool look = stage >= TT_LOCATED && c->usable && !crosses_worlds(comm);

    if (c->usable && (look || !c->net))
        adopt(c, look ? tt_topology_of(c->wire_comm) : tt_topo_assumed(c->size), look);
    c->stage = stage;
}

/* False, on all ranks, if one of them had no memory for its state; c is NULL there. */
static bool advance(MPI_Comm comm, enum tt_stage stage, struct tt_comm *c)
{
    const enum tt_stage now = c ? c->stage : TT_KNOWN;
    uint64_t begun;
    bool ready;

    if (now >= stage)
        return true;
    begun = tt_setup_begin(TT_SETUP_SHARED);
    tt_meet(comm);
    ready = now >= TT_READY || make_ready(comm, c);
    if (ready)
        locate(comm, stage, c);
    tt_setup_end(TT_SETUP_SHARED, begun);
    return ready;
}

static int comm_make(MPI_Comm comm, enum tt_stage stage, struct tt_comm **state)
{
    struct tt_comm *c = comm_new(comm);
    int inter, size, error = MPI_ERR_NO_MEM;

    PMPI_Comm_test_inter(comm, &inter);
    PMPI_Comm_size(comm, &size);
    if ((inter ? tt_config.check : size > 1) && stage >= TT_READY && !advance(comm, stage, c)) {
        if (c)
            comm_free(c);
        return error;
    }
    if (!c)
        return error;
    *state = c;
    error = PMPI_Comm_set_attr(comm, keyval, c);
    if (error != MPI_SUCCESS)
        comm_free(c);
    return error;
}

static void make_keyval(void)
{
    static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
    int made;

    pthread_mutex_lock(&making);
    if (keyval == MPI_KEYVAL_INVALID &&
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &made, NULL) == MPI_SUCCESS)
        keyval = made;
    pthread_mutex_unlock(&making);
}

void tt_comms_end(void)
{
    keyval = MPI_KEYVAL_INVALID;
    atomic_fetch_add(&tt_comm_frees, 1);
}

/* The attribute, if there is one. */
static int comm_look(MPI_Comm comm, struct tt_comm **state, int *found)
{
    if (atomic_load_explicit(&keyval, memory_order_acquire) == MPI_KEYVAL_INVALID)
        make_keyval();
    return PMPI_Comm_get_attr(comm, keyval, state, found);
}

struct tt_comm *tt_comm_known(MPI_Comm comm)
{
    struct tt_comm *state;
    int found = 0;

    return comm_look(comm, &state, &found) == MPI_SUCCESS && found ? state : NULL;
}

/* Copies are made in the same order on all ranks. */
struct tt_comm *tt_comm_copy_new(MPI_Comm comm, struct tt_comm *original)
{
    struct tt_comm *copy = comm_new(comm);

    original->copies++;
    if (copy && original->id)
        copy->id = tt_hash(original->id, &original->copies, sizeof original->copies) >> 2 | 1;
    return copy;
}

int tt_comm_copy_end(const struct tt_comm *original, struct tt_comm *copy, MPI_Comm made, MPI_Comm twin)
{
    struct tt_party all = *tt_checks_party(original->checks);

    PMPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
    all.comm = twin;
    tt_checks_begin(copy->checks, &all, copy->inter);
    copy->stage = copy->inter ? TT_LOCATED : TT_READY;
    copy->usable = !copy->inter;
    if (copy->usable)
        copy->wire_comm = copy->routes.comm = twin;
    return PMPI_Comm_set_attr(made, keyval, copy);
}

static int comm_find(MPI_Comm comm, enum tt_stage stage, struct tt_comm **state)
{
    int found = 0;
    const int error = comm_look(comm, state, &found);

    if (error == MPI_SUCCESS && !found)
        return comm_make(comm, stage, state);
    if (error == MPI_SUCCESS)
        return advance(comm, stage, *state) ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    return error;
}

int tt_comm_of_another(MPI_Comm comm, enum tt_stage stage, struct tt_comm **state)
{
    const unsigned now = atomic_load_explicit(&tt_comm_frees, memory_order_acquire);
    const int error = comm_find(comm, stage, state);

    tt_comm_last = (struct tt_comm_last){comm, error == MPI_SUCCESS ? *state : NULL, now};
    return error;
}

/* Rank 0, and the first rank that differs from it, say what they have. Collective. */
static void say_difference(MPI_Comm comm, int i, uint64_t ours)
{
    const char *name = tt_config_shared_name(i);
    char value[512];
    uint64_t theirs = ours;
    int rank, first;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Bcast(&theirs, 1, MPI_UINT64_T, 0, comm);
    first = tt_first_rank(comm, ours != theirs);
    if (rank == 0 || rank == first)
        tt_log(TT_ERROR, "%s must be equal on all ranks: rank %d has %s. Set it for all (mpiexec -genv, or -x)", name,
               rank, tt_config_shared_value(i, value, sizeof value));
    PMPI_Barrier(comm); /* nobody may abort the job before it has been said */
}

int tt_comm_agree(MPI_Comm comm)
{
    uint64_t ours[2 * MAX_SHARED], most[2 * MAX_SHARED];
    const int n = tt_config_shared(ours, MAX_SHARED);
    int error, differ = 0;

    for (int i = 0; i < n; i++)
        ours[n + i] = ~ours[i]; /* the greatest complement is the complement of the least */
    error = PMPI_Allreduce(ours, most, 2 * n, MPI_UINT64_T, MPI_MAX, comm);
    for (int i = 0; i < n && error == MPI_SUCCESS; i++)
        if (most[i] != ~most[n + i]) {
            say_difference(comm, i, ours[i]);
            differ = 1;
        }
    return differ ? MPI_ERR_OTHER : error;
}
