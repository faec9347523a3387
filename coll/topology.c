/* SPDX-License-Identifier: BSD-3-Clause */
/* Found anew for each communicator, because a program may start CUDA long after MPI_Init: one small allgather when its
 * private communicator is made. hwloc is asked once, and again only if the GPU has changed; where there is one node and
 * no GPU, there is nothing to ask it. NVML is not even loaded, but where a rank that shares its node sees one GPU. */
#include "coll/topology.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/agree.h"
#include "coll/beside.h"
#include "coll/config.h"
#include "coll/world.h"
#include "cuda/dev.h"
#include "selector/module.h"

/* This process among those of MPI_COMM_WORLD. */
static struct {
    int leader; /* the lowest rank on this node: it names the node */
    int turn, ranks;
    bool crowded, alone;  /* alone: there is no other node */
    struct tt_topo *told;    /* by TUTTI_TOPO */
    struct tt_topo *profile; /* TUTTI_PROFILE, of which only the speeds count */
} node;

/* ---- the module ---- */

static const struct tt_module *module;

static void open_module(void)
{
    char path[4200];
    void *handle;

    if (tt_find_beside("tutti/tutti-topo.so", "tutti-topo.so", path, sizeof path)) {
        tt_log(TT_INFO, "tutti-topo.so is not beside the library: the topology will be what MPI and the driver tell");
        return;
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    module = handle ? dlsym(handle, "tutti_module") : NULL;
    if (!module)
        tt_log(TT_INFO, "%s: the topology will be what MPI and the driver tell", dlerror());
}

static const struct tt_module *the_module(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_module);
    return module;
}

/* ---- at MPI_Init ---- */

/* The file that a variable names, as it is set; n ranks of it. */
static int read_file(const char *name, int64_t set, int n, struct tt_topo **t, char *why, size_t size)
{
    const char *file = getenv(name);

    if (!set || !file)
        return 0;
    if (!the_module()) {
        snprintf(why, size, "%s=%s: tutti-topo.so, which reads it, is missing beside libtutti.so", name, file);
        return -1;
    }
    return module->read(file, n, 0, NULL, t, why, size);
}

static int read_files(char *why, size_t size)
{
    int ranks;

    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return read_file("TUTTI_TOPO", tt_config.topo, ranks, &node.told, why, size) ||
                   read_file("TUTTI_PROFILE", tt_config.profile, 1, &node.profile, why, size)
               ? -1
               : 0;
}

static void look_at_node(MPI_Comm ours)
{
    cpu_set_t mine, all;
    int rank, size;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_rank(ours, &node.turn);
    PMPI_Comm_size(ours, &node.ranks);
    node.alone = node.ranks == size;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    PMPI_Allreduce(&rank, &node.leader, 1, MPI_INT, MPI_MIN, ours);
    if (PMPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, ours) == MPI_SUCCESS)
        node.crowded = node.ranks > CPU_COUNT(&all);
}

int tt_topology_open(char *why, size_t size)
{
    MPI_Comm ours;

    if (PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &ours) == MPI_SUCCESS) {
        look_at_node(ours);
        PMPI_Comm_free(&ours);
    }
    return read_files(why, size);
}

void tt_topology_close(void)
{
    tt_topo_free(node.told);
    tt_topo_free(node.profile);
    node.told = node.profile = NULL;
}

void tt_topology_lead(int leader)
{
    node.alone = false;
    node.leader = leader;
}

bool tt_node_is_crowded(void)
{
    return node.crowded;
}

/* ---- of a communicator ---- */

/* What hwloc says, which stays the same as long as the GPU does. */
static void ask_hwloc(const struct tt_gpu *gpu, struct tt_machine *machine)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct tt_machine known;
    static uint64_t known_for = UINT64_MAX;
    const struct tt_pci pci = {gpu->there, gpu->domain, gpu->bus, gpu->device};
    char why[256];

    pthread_mutex_lock(&lock);
    if (known_for != tt_gpu_id(gpu)) {
        known_for = tt_gpu_id(gpu);
        known = (struct tt_machine){.socket = -1, .gpu_socket = -1, .nic = -1, .nic_socket = -1};
        if (the_module() && module->look(&pci, node.turn, &known, why, sizeof why))
            tt_log(TT_INFO, "%s", why);
    }
    *machine = known;
    pthread_mutex_unlock(&lock);
}

static struct tt_found find(void)
{
    struct tt_machine machine = {.socket = -1, .nic = -1};
    struct tt_gpu gpu;

    tt_gpu_here(&gpu);
    if (gpu.peers == 0 && node.ranks > 1)
        tt_gpu_look_around(&gpu);
    if (gpu.there || !node.alone)
        ask_hwloc(&gpu, &machine);
    return (struct tt_found){.gpu = tt_gpu_id(&gpu),
                             .node = node.leader,
                             .socket = machine.socket,
                             .nic = machine.nic,
                             .sockets = machine.sockets,
                             .cores = machine.cores,
                             .nics = machine.nics,
                             .linked = tt_gpu_linked(&gpu)};
}

static struct tt_topo *gather(MPI_Comm comm, int size)
{
    const struct tt_found ours = find();
    struct tt_found *all = malloc((size_t)size * sizeof *all);
    struct tt_topo *t = NULL;

    if (tt_all_have(comm, all) &&
        PMPI_Allgather(&ours, sizeof ours, MPI_BYTE, all, sizeof ours, MPI_BYTE, comm) == MPI_SUCCESS)
        t = tt_topo_found(all, size);
    free(all);
    return t;
}

static struct tt_topo *part_of_told(MPI_Comm comm, int size)
{
    int *here = malloc(2 * (size_t)size * sizeof *here), *there = here + size;
    struct tt_topo *t = NULL;
    MPI_Group ours, world;

    if (!here)
        return NULL;
    for (int r = 0; r < size; r++)
        here[r] = r;
    PMPI_Comm_group(comm, &ours);
    PMPI_Comm_group(tt_world(), &world);
    if (PMPI_Group_translate_ranks(ours, size, here, world, there) == MPI_SUCCESS)
        t = tt_topo_part(node.told, there, size);
    PMPI_Group_free(&ours);
    PMPI_Group_free(&world);
    free(here);
    return t;
}

/* A seat as node.socket.gpu.nic, where "-" is what there is not, or nobody knows. Returns how long it is. */
static int write_seat(char *text, size_t size, const struct tt_seat *seat)
{
    const int places[] = {seat->node, seat->socket, seat->gpu, seat->nic};
    int used = 0;

    for (int i = 0; i < 4; i++)
        used += snprintf(text + used, size - (size_t)used, places[i] < 0 ? "%s-" : "%s%d", i ? "." : " ", places[i]);
    return used;
}

/* For people, and tests: what the choices on this communicator are made from. */
static void tell(MPI_Comm comm, const struct tt_topo *t)
{
    enum { MOST = 64, SEAT = 50 };
    char seats[MOST * SEAT] = "";
    int rank, used = 0, linked = 0;

    PMPI_Comm_rank(comm, &rank);
    if (rank != 0 || tt_config.log < TT_DEBUG || !t)
        return;
    for (int r = 0; r < t->size && r < MOST; r++)
        used += write_seat(seats + used, sizeof seats - (size_t)used, &t->seats[r]);
    for (int i = 0; i < t->nodes.n; i++)
        linked += t->kinds[i].linked;
    tt_log(TT_DEBUG,
           "topology of %d ranks on %d nodes, %d of them with NVLink, %s, speeds %s, ranks at node.socket.gpu.nic%s%s",
           t->size, t->nodes.n, linked, node.told ? "as TUTTI_TOPO says" : "as found",
           t->measured ? "measured" : "assumed", seats, t->size > MOST ? " ..." : "");
}

struct tt_topo *tt_topology_of(MPI_Comm comm)
{
    struct tt_topo *t;
    int size;

    PMPI_Comm_size(comm, &size);
    t = node.told ? part_of_told(comm, size) : gather(comm, size);
    if (t && node.profile)
        tt_topo_take_speeds(t, node.profile);
    tell(comm, t);
    return t;
}
