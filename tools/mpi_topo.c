/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti topo under mpiexec: each rank looks at where it runs, rank 0 gathers and tells. No rank touches a GPU: what is
 * asked about one needs no context. Where TUTTI_TOPO names a file, that is what programs would be told, so it is what
 * is told here. */
#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "tools/mpi_tools.h"
#include "tools/site.h"
#include "tools/tools.h"

/* The place of this rank among those of its node, and the lowest rank there, which names it. */
static int turn_on_node(int rank, int *leader)
{
    MPI_Comm ours;
    int turn;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &ours);
    MPI_Comm_rank(ours, &turn);
    MPI_Allreduce(&rank, leader, 1, MPI_INT, MPI_MIN, ours);
    MPI_Comm_free(&ours);
    return turn;
}

static void look(struct tool_seen *seen, int turn)
{
    const struct tt_driver_info driver = tt_driver_look();
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

static void write_from(char *from, size_t size, const struct tool_seen *seen, int ranks)
{
    int gpus = 0;

    for (int r = 0; r < ranks; r++)
        gpus += seen[r].gpu.there;
    snprintf(from, size, "as found%s%s%s",
             gpus == 0 ? "; no GPU was" : "; each on the GPU of its number on the node, by assumption",
             gpus > 0 && seen[0].simulated ? "; GPUs are SIMULATED" : "",
             ranks == 1 ? "; mpiexec -n 4 tutti topo shows where 4 ranks would be" : "");
}

static int tell_found(const struct tool_topo_arguments *a, struct tool_site *site, const struct tool_seen *seen,
                      const int *leaders, int size)
{
    char from[256];
    int status = TOOL_FAILED;

    write_from(from, sizeof from, seen, size);
    site->topo = picture(seen, leaders, size);
    site->seen = seen;
    site->from = from;
    if (site->topo)
        status = tool_topo_tell(a, site);
    else
        fputs("tutti topo: out of memory\n", stderr);
    tt_topo_free(site->topo);
    return status;
}

static int find_and_tell(const struct tool_topo_arguments *a, struct tool_site *site, int rank, int size)
{
    struct tool_seen seen, *all = rank == 0 ? malloc((size_t)size * sizeof *all) : NULL;
    int leader, *leaders = rank == 0 ? malloc((size_t)size * sizeof *leaders) : NULL, status = TOOL_OK;

    look(&seen, turn_on_node(rank, &leader));
    if (rank == 0 && (!all || !leaders))
        MPI_Abort(MPI_COMM_WORLD, TOOL_FAILED);
    MPI_Gather(&seen, sizeof seen, MPI_BYTE, all, sizeof seen, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gather(&leader, 1, MPI_INT, leaders, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0)
        status = tell_found(a, site, all, leaders, size);
    free(all);
    free(leaders);
    return status;
}

static int tell_file(const struct tool_topo_arguments *a, struct tool_site *site, const char *file, int size)
{
    char why[1024], from[512];
    int status;

    if (tt_topo_read(file, size, 0, NULL, &site->topo, why, sizeof why)) {
        fprintf(stderr, "tutti topo: %s\n", why);
        return TOOL_FAILED;
    }
    snprintf(from, sizeof from, "as TUTTI_TOPO=%.480s says", file);
    site->from = from;
    status = tool_topo_tell(a, site);
    tt_topo_free(site->topo);
    return status;
}

int tool_mpi_topo(int argc, char **argv)
{
    struct tool_site site = {.open_mpi = strcmp(TT_MPI_NAME, "Open MPI") == 0};
    const char *file = getenv("TUTTI_TOPO");
    struct tool_topo_arguments a;
    int rank, size;

    tool_topo_parse(argc, argv, &a);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!file || !*file || strcmp(file, "none") == 0)
        return find_and_tell(&a, &site, rank, size);
    return rank == 0 ? tell_file(&a, &site, file, size) : TOOL_OK;
}
