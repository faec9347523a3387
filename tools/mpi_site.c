/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the ranks of MPI_COMM_WORLD are: each looks, and rank 0 makes a topology of it. No rank touches a GPU: what is
 * asked about one needs no context. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/mpi_tools.h"
#include "tools/tools.h"

int tool_turn_on_node(int rank, int *leader)
{
    MPI_Comm ours;
    int turn;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &ours);
    MPI_Comm_rank(ours, &turn);
    MPI_Allreduce(&rank, leader, 1, MPI_INT, MPI_MIN, ours);
    MPI_Comm_free(&ours);
    return turn;
}

void tool_name_mpi(char *text, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    for (char *c = version; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    version[strcspn(version, "\r\n")] = '\0';
    snprintf(text, size, "%.120s", version);
}

/* The driver is loaded only where there is to be a look at GPUs. */
static void look(struct tool_seen *seen, int turn, bool gpus)
{
    const struct tt_driver_info driver = gpus ? tt_driver_look() : (struct tt_driver_info){0};
    char why[256];

    memset(seen, 0, sizeof *seen);
    gethostname(seen->host, sizeof seen->host - 1);
    seen->devices = driver.devices;
    seen->simulated = driver.simulated;
    if (driver.devices > 0)
        tt_gpu_look(turn % driver.devices, &seen->gpu, seen->gpu_name, sizeof seen->gpu_name);
    tt_gpu_look_around(&seen->gpu);
    seen->machine = (struct tt_machine){.socket = -1, .gpu_socket = -1, .nic = -1, .nic_socket = -1};
    tt_machine_look(&(struct tt_pci){seen->gpu.there, seen->gpu.domain, seen->gpu.bus, seen->gpu.device}, turn,
                    &seen->machine, why, sizeof why);
}

static struct tt_found found_of(const struct tool_seen *s, int leader)
{
    return (struct tt_found){.gpu = tt_gpu_id(&s->gpu),
                             .node = leader,
                             .socket = s->machine.socket,
                             .nic = s->machine.nic,
                             .sockets = s->machine.sockets,
                             .cores = s->machine.cores,
                             .nics = s->machine.nics,
                             .linked = tt_gpu_linked(&s->gpu)};
}

/* A node has the GPUs that its ranks are on, and those that any of them sees, or NVML or hwloc does. */
static void count_gpus(struct tt_topo *t, const struct tool_seen *seen)
{
    for (int r = 0; r < t->size; r++) {
        int *gpus = &t->kinds[t->seats[r].node].gpus;

        *gpus = seen[r].devices > *gpus ? seen[r].devices : *gpus;
        *gpus = seen[r].gpu.on_node > *gpus ? seen[r].gpu.on_node : *gpus;
        *gpus = seen[r].machine.gpus > *gpus ? seen[r].machine.gpus : *gpus;
    }
}

static struct tt_topo *picture(const struct tool_seen *seen, const int *leaders, int size)
{
    struct tt_found *found = malloc((size_t)size * sizeof *found);
    struct tt_topo *t = NULL;

    for (int r = 0; r < size && found; r++)
        found[r] = found_of(&seen[r], leaders[r]);
    if (found)
        t = tt_topo_found(found, size);
    free(found);
    if (t)
        count_gpus(t, seen);
    return t;
}

struct tt_topo *tool_find(bool gpus, struct tool_seen **seen)
{
    struct tool_seen ours;
    struct tt_topo *topo = NULL;
    int rank, size, turn, leader, *leaders;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    *seen = rank == 0 ? malloc((size_t)size * sizeof **seen) : NULL;
    leaders = rank == 0 ? malloc((size_t)size * sizeof *leaders) : NULL;
    turn = tool_turn_on_node(rank, &leader);
    look(&ours, turn, gpus);
    if (rank == 0 && (!*seen || !leaders))
        MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
    MPI_Gather(&ours, sizeof ours, MPI_BYTE, *seen, sizeof ours, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        topo = picture(*seen, leaders, size);
    free(leaders);
    return topo;
}
