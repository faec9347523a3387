/* SPDX-License-Identifier: BSD-3-Clause */
/* One segment per process and node, made in MPI_Init for MPI_COMM_WORLD: as many communicators as there may be, they
 * use the same channels. Ranks of another world (spawned, connected) have none, and stay far. */
#include "coll/node.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "coll/agree.h"
#include "coll/config.h"
#include "coll/node_channel.h"
#include "coll/node_read.h"
#include "coll/node_segment.h"

/* The words of TUTTI_NODE. */
enum { TT_NODE_OFF, TT_NODE_ON, TT_NODE_READ };

/* The ranks of the segment, this one among them. */
static struct {
    struct tt_segment segment;
    int n, mine;
    int *world;                  /* the rank in MPI_COMM_WORLD of each, upwards */
    pid_t *pids;                 /* 0: not to be asked after */
    struct tt_channel *channels; /* one of them is to nobody */
    bool wakes;                  /* all rouse who sleeps in his line of the segment */
    bool used;                   /* by anybody of MPI_COMM_WORLD */
    bool threaded;
    int leader;
    pthread_mutex_t lock;
} node = {.lock = PTHREAD_MUTEX_INITIALIZER, .leader = -1};

/* ---- who ---- */

/* False: no memory. */
static bool make_lists(void)
{
    node.world = malloc((size_t)node.n * sizeof *node.world);
    node.pids = calloc((size_t)node.n, sizeof *node.pids);
    node.channels = calloc((size_t)node.n, sizeof *node.channels);
    return node.world && node.pids && node.channels;
}

static bool open_channels(void)
{
    for (int i = 0; i < node.n; i++)
        if (i != node.mine && tt_channel_open(&node.channels[i], tt_segment_piece(&node.segment, node.n, node.mine, i),
                                              tt_segment_piece(&node.segment, node.n, i, node.mine), node.segment.pair))
            return false;
    return true;
}

/* A rank, and its process, whose number means something to those that count processes in the same space. */
struct name {
    int rank; /* of MPI_COMM_WORLD */
    pid_t pid;
    ino_t space; /* 0: it is not known */
};

static struct name own_name(void)
{
    struct name name = {.pid = getpid()};
    struct stat space;

    PMPI_Comm_rank(MPI_COMM_WORLD, &name.rank);
    if (stat("/proc/self/ns/pid", &space) == 0)
        name.space = space.st_ino;
    return name;
}

/* Collective over the segment's members. pids is 0 of those whose number means nothing here. */
static void learn_names(MPI_Comm members, struct name *names)
{
    const struct name own = own_name();

    PMPI_Allgather(&own, sizeof own, MPI_BYTE, names, sizeof own, MPI_BYTE, members);
    for (int i = 0; i < node.n; i++) {
        node.world[i] = names[i].rank;
        if (names[i].space && names[i].space == own.space)
            node.pids[i] = names[i].pid;
    }
}

/* For long messages to be read where they are. Collective. Where that is not allowed, long messages go through shared
 * memory as short ones do. */
static void see_each_other(MPI_Comm members)
{
    pid_t *pids = calloc((size_t)node.n, sizeof *pids);
    bool *is_read = calloc((size_t)node.n, sizeof *is_read);
    const bool can = tt_all_have(members, pids && is_read);
    const bool all_may = can && tt_memory_probe(members, pids, is_read);

    for (int i = 0; can && i < node.n; i++)
        if (i != node.mine)
            tt_channel_see(&node.channels[i], pids[i], is_read[i]);
    if (can && !all_may && node.mine == 0)
        tt_log(TT_INFO,
               "not all ranks of the node may read each other's memory (process_vm_readv): long messages of those "
               "pass through memory that they share");
    free(pids);
    free(is_read);
}

/* Collective. Where not all can, who waits for long sleeps for fixed times. */
static void share_parkings(MPI_Comm members)
{
    node.wakes = tt_all_have(members, tt_park_open());
    for (int i = 0; node.wakes && i < node.n; i++)
        if (i != node.mine)
            tt_channel_unpark_at(&node.channels[i], tt_segment_line(&node.segment, i));
    if (!node.wakes && node.mine == 0)
        tt_log(TT_INFO,
               "not all ranks of the node may wake each other (membarrier, futex): who waits for long looks every "
               "50 us");
}

static void close_lists(void)
{
    for (int i = 0; node.channels && i < node.n; i++)
        if (i != node.mine)
            tt_channel_close(&node.channels[i]);
    free(node.world);
    free(node.pids);
    free(node.channels);
    node.world = NULL;
    node.pids = NULL;
    node.channels = NULL;
    node.wakes = false;
    node.n = 0;
}

static void join(MPI_Comm members)
{
    struct name *names;

    PMPI_Comm_size(members, &node.n);
    PMPI_Comm_rank(members, &node.mine);
    names = calloc((size_t)node.n, sizeof *names);
    if (!tt_all_have(members, make_lists() && names) || !tt_all_have(members, open_channels())) {
        free(names);
        close_lists();
        tt_segment_close(&node.segment);
        tt_log(TT_INFO, "no memory for what the ranks of a node share: they pass messages by MPI");
        return;
    }
    learn_names(members, names);
    free(names);
    share_parkings(members);
    if (tt_config.node == TT_NODE_READ)
        see_each_other(members);
}

/* Said by one rank: the lowest of those that it concerns. */
static void tell(const char *why)
{
    const int first = tt_first_rank(MPI_COMM_WORLD, why[0]);
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (first == rank)
        tt_log(TT_INFO, "rank %d: %s: such ranks pass messages by MPI", rank, why);
}

/* Collective over the ranks that the MPI says are of this node. */
static int find_leader(MPI_Comm ours)
{
    int rank, leader, all[3];

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    leader = node.n > 1 ? node.world[0] : rank;
    PMPI_Allreduce((int[3]){node.n > 1, leader, -leader}, all, 3, MPI_INT, MPI_MAX, ours);
    return all[0] && all[1] != -all[2] ? leader : -1;
}

static void open_among(MPI_Comm ours, char *why, size_t size)
{
    node.segment = tt_segment_open(ours, why, size);
    if (node.segment.memory) {
        join(node.segment.members);
        PMPI_Comm_free(&node.segment.members);
    }
    node.leader = find_leader(ours);
}

int tt_node_leader(void)
{
    return node.leader;
}

void tt_node_open(void)
{
    MPI_Comm ours = MPI_COMM_NULL;
    char why[160] = "";
    int level = MPI_THREAD_SINGLE, mine, any = 0;

    if (tt_config.node == TT_NODE_OFF)
        return;
    PMPI_Query_thread(&level);
    node.threaded = level == MPI_THREAD_MULTIPLE;
    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &ours) == MPI_SUCCESS) {
        open_among(ours, why, sizeof why);
        PMPI_Comm_free(&ours);
    }
    mine = node.n > 1;
    PMPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    node.used = any;
    tell(why);
}

void tt_node_close(void)
{
    close_lists();
    tt_segment_close(&node.segment);
}

bool tt_node_is_used(void)
{
    return node.used;
}

/* ---- of a communicator ---- */

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* NULL: far, or this rank itself. */
static struct tt_channel *channel_to(int world)
{
    const int *at = node.n ? bsearch(&world, node.world, (size_t)node.n, sizeof world, compare) : NULL;

    return at && at - node.world != node.mine ? &node.channels[at - node.world] : NULL;
}

static void name_all(MPI_Comm comm, int n, int *here, int *world)
{
    MPI_Group ours, all;

    for (int i = 0; i < n; i++)
        here[i] = i;
    PMPI_Comm_group(comm, &ours);
    PMPI_Comm_group(MPI_COMM_WORLD, &all);
    PMPI_Group_translate_ranks(ours, n, here, all, world);
    PMPI_Group_free(&ours);
    PMPI_Group_free(&all);
}

int tt_node_channels(MPI_Comm comm, int size, struct tt_channel ***channels)
{
    struct tt_channel **list = malloc((size_t)size * sizeof *list);
    int *names = malloc(2 * (size_t)size * sizeof *names);
    bool any = false;

    *channels = NULL;
    if (list && names) {
        name_all(comm, size, names, names + size);
        for (int i = 0; i < size; i++)
            any |= (list[i] = channel_to(names[size + i])) != NULL;
        if (any)
            *channels = list;
        free(names);
        if (!any)
            free(list);
        return 0;
    }
    free(names);
    free(list);
    return ENOMEM;
}

/* ---- in use ---- */

void tt_node_lock(void)
{
    if (node.threaded)
        pthread_mutex_lock(&node.lock);
}

void tt_node_unlock(void)
{
    if (node.threaded)
        pthread_mutex_unlock(&node.lock);
}

bool tt_node_locks(void)
{
    return node.threaded;
}

bool tt_node_wakes(void)
{
    return node.wakes;
}

bool tt_node_sleep(bool (*done)(void *), void *what, long ns)
{
    struct tt_parking *parking = node.wakes ? tt_segment_line(&node.segment, node.mine) : NULL;
    uint32_t wakes;
    bool over;

    if (!parking) {
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
        return false;
    }
    wakes = tt_park_enter(parking);
    over = done(what);
    if (!over)
        tt_park_wait(parking, wakes, ns);
    tt_park_leave(parking);
    return over;
}

/* Gone, or ended and not yet taken leave of by its parent, which may take until all others have ended. */
static bool is_dead(pid_t pid)
{
    char path[32], stat[512] = "";
    const char *state;
    FILE *f;

    if (kill(pid, 0) && errno == ESRCH)
        return true;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    f = fopen(path, "r");
    if (f && !fgets(stat, sizeof stat, f))
        stat[0] = '\0';
    if (f)
        fclose(f);
    state = strrchr(stat, ')'); /* behind its name */
    return state && (state[2] == 'Z' || state[2] == 'X');
}

/* What it sent before it died is there; so it is looked at after it was found dead. */
void tt_node_look_after(void)
{
    tt_node_lock();
    for (int i = 0; i < node.n; i++)
        if (i != node.mine && node.pids[i] && !node.channels[i].broken && is_dead(node.pids[i]))
            tt_channel_break(&node.channels[i]);
    tt_node_unlock();
}
