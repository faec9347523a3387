/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Init and MPI_Finalize. At Init the environment is read and compared across the ranks: what would be a hang later,
 * is an error now. TUTTI=off takes part in that one comparison, since a rank that is off among others that are on is
 * such a hang. */
#include "coll/init.h"

#include <config.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/agree.h"
#include "coll/beside.h"
#include "coll/comm.h"
#include "coll/config.h"
#include "coll/enqueue.h"
#include "coll/error.h"
#include "coll/front.h"
#include "coll/hook.h"
#include "coll/meet.h"
#include "coll/nccl_comm.h"
#include "coll/node.h"
#include "coll/pause.h"
#include "coll/progress.h"
#include "coll/request.h"
#include "coll/topology.h"
#include "coll/types.h"
#include "coll/watch.h"
#include "coll/world.h"
#include "cuda/dev.h"
#include "cuda/objects.h"

atomic_bool tt_is_loaded;
static bool init_seen; /* MPI_Init came through here, and says itself what is wrong */
static int config_error;
static char config_why[1024];

/* What MPI_Init does, nobody has done: of all that the user counts on it is to be said. One rank says it, where that
 * means something. */
static void point_out_no_init(void)
{
    const char *file = tt_in_front("MPI_Init");
    int rank = 0, initialized;

    PMPI_Initialized(&initialized);
    if (initialized)
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank > 0)
        return;
    if (file)
        tt_log(TT_WARN,
               "%s has MPI_Init before Tutti, which does without what it sets up there: ranks of a node pass messages "
               "through the MPI. libtutti.so should come first in LD_PRELOAD, or when linking",
               file);
    tt_config_point_out_idle(file ? "MPI_Init did not come to Tutti" : "it is read in MPI_Init, which was not called");
    tt_point_out_front();
}

static void load(void)
{
    config_error = tt_config_load(config_why, sizeof config_why);
    atomic_store(&tt_is_loaded, !config_error);
    if (init_seen)
        return;
    if (config_error)
        tt_log(TT_ERROR, "%s; Tutti stays off in this process", config_why);
    else if (tt_config.enabled)
        point_out_no_init();
}

bool tt_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load);
    return atomic_load(&tt_is_loaded);
}

/* What is wrong is the same on all ranks, or all know of it: one rank says it, and the others only return the error. */
static int refuse(const char *why)
{
    atomic_store(&tt_is_loaded, false);
    return tt_raise_together(MPI_COMM_WORLD, why);
}

/* Some rank's settings are wrong, which need not be everybody's: a file may be missing on one node only. The first such
 * rank says it, before anybody may abort the job. */
static int settings_are_sound(int rank, int size)
{
    const int first = tt_first_rank(MPI_COMM_WORLD, config_error);

    if (first == rank && rank != 0)
        tt_log(TT_ERROR, "rank %d: %s", rank, config_why);
    if (first != size && first != 0)
        snprintf(config_why, sizeof config_why, "the settings of rank %d are wrong", first);
    PMPI_Barrier(MPI_COMM_WORLD);
    return first == size;
}

/* The program may have been built for another MPI: then the PMPI_ functions are that one's, to which the handles that
 * this library was built with mean nothing. Nothing can be passed on to it either, so there is but one thing to do. */
static void insist_on_our_mpi(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    PMPI_Get_library_version(version, &length);
    if ((strncmp(version, "Open MPI", 8) == 0) == (strcmp(TT_MPI_NAME, "Open MPI") == 0))
        return;
    fprintf(
        stderr,
        "tutti: error: this Tutti was built for %s, and this program runs on %.*s. Build one of them for the other's "
        "MPI: ./bootstrap build --mpi=mpich or --mpi=openmpi, mpicc.mpich or mpicc.openmpi\n",
        TT_MPI_NAME, (int)strcspn(version, ",\n"), version);
    exit(EXIT_FAILURE);
}

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF, the last one set first: so this one, set at MPI_Init,
 * outlives the user's, whose callbacks may still use Tutti's datatypes. */
static int on_finalize(MPI_Comm self, int key, void *value, void *extra)
{
    (void)self;
    (void)key;
    (void)value;
    (void)extra;
    tt_types_close();
    tt_world_close();
    return MPI_SUCCESS;
}

static void await_finalize(void)
{
    int keyval;

    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &keyval, NULL) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    PMPI_Comm_free_keyval(&keyval);
}

/* A thread of ours calls MPI too, if it may. */
static bool wants_thread(void)
{
    enum { CALLS, THREAD };

    return tt_is_on() && tt_config.progress == THREAD;
}

static void start_thread(int provided)
{
    if (!wants_thread())
        return;
    if (provided == MPI_THREAD_MULTIPLE)
        tt_progress_thread_start();
    else
        tt_log(TT_WARN, "TUTTI_PROGRESS=thread: the MPI below has no MPI_THREAD_MULTIPLE: calls progress from other "
                        "calls alone");
}

/* What the program loads: it might be the driver of its GPUs. */
static void watch_objects(void)
{
    char path[4200];
    int level = MPI_THREAD_MULTIPLE;

    PMPI_Query_thread(&level); /* which is more than was asked for, if a session or the MPI's settings want more */
    if (level != MPI_THREAD_MULTIPLE && tt_find_beside("tutti/tutti-last.so", "tutti-last.so", path, sizeof path) == 0)
        tt_objects_watch(path);
}

/* After the MPI below has been initialised. */
static int start(int provided)
{
    struct tt_comm *world;
    int rank, size, error;

    tt_is_on();
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        tt_config_point_out_unknown();
        tt_log(TT_INFO, "Tutti %s, %d ranks%s", PACKAGE_VERSION, size, tt_config.enabled ? "" : ", off (TUTTI=off)");
    }
    if (!settings_are_sound(rank, size))
        return refuse(config_why);
    if (tt_comm_agree(MPI_COMM_WORLD) != MPI_SUCCESS)
        return refuse("the TUTTI_ settings differ between ranks");
    await_finalize();
    if (!tt_config.enabled)
        return MPI_SUCCESS;
    config_error = tt_topology_open(config_why, sizeof config_why);
    if (!settings_are_sound(rank, size))
        return refuse(config_why);
    tt_wait_open(tt_node_is_crowded());
    watch_objects();
    tt_node_open();
    if (tt_node_leader() >= 0)
        tt_topology_lead(tt_node_leader());
    start_thread(provided);
    tt_hook_install();
    if (rank == 0)
        tt_point_out_front();
    tt_meet_open();
    error = tt_comm_of(MPI_COMM_WORLD, TT_READY, &world);
    if (error == MPI_SUCCESS)
        tt_watch_open();
    return error;
}

__attribute__((visibility("default"))) int MPI_Init(int *argc, char ***argv)
{
    int error, provided = MPI_THREAD_SINGLE;

    insist_on_our_mpi();
    init_seen = true;
    error = wants_thread() ? PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) : PMPI_Init(argc, argv);
    return error == MPI_SUCCESS ? start(provided) : error;
}

__attribute__((visibility("default"))) int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int error;

    insist_on_our_mpi();
    init_seen = true;
    error = PMPI_Init_thread(argc, argv, wants_thread() ? MPI_THREAD_MULTIPLE : required, provided);
    return error == MPI_SUCCESS ? start(*provided) : error;
}

/* What communicators use, and must not go before all of them have. */
static void end(void)
{
    tt_enqueue_close();
    tt_nccl_close();
    tt_places_close();
    tt_node_close();
    tt_topology_close();
}

/* What stays: a session may be opened again, and memory of a GPU be given to a call on one of its communicators. */
void tt_last_session_ends(void)
{
    int finalized;

    if (tt_world() == MPI_COMM_WORLD)
        return;
    tt_progress_to_end();
    tt_types_close();
    tt_world_close();
    tt_comms_end();
    PMPI_Finalized(&finalized);
    if (finalized)
        end();
}

/* Communicators' state goes by their attributes, inside PMPI_Finalize; user callbacks may still communicate there, so
 * the places stay until after; and communicators that come from sessions may outlive it all. */
__attribute__((visibility("default"))) int MPI_Finalize(void)
{
    int error;

    tt_progress_thread_stop(); /* first: what that thread polls is in no count */
    if (!tt_progress_to_end())
        tt_log(TT_WARN, "MPI_Finalize was called before all that was begun was over");
    tt_watch_close();
    error = PMPI_Finalize();
    tt_world_gone();
    tt_watch_end();
    if (!tt_has_sessions()) {
        tt_comms_end();
        end();
    }
    return error;
}
