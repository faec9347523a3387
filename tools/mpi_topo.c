/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti topo under mpiexec: each rank looks at where it runs (mpi_site.c), and rank 0 tells. Where TUTTI_TOPO names a
 * file, that is what programs would be told, so it is what is told here. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "tools/mpi_tools.h"
#include "tools/site.h"
#include "tools/tools.h"

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
                      int size)
{
    char from[256];
    int status = TOOL_FAILED;

    write_from(from, sizeof from, seen, size);
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
    struct tool_seen *seen;
    int status = TOOL_OK;

    site->topo = tool_find(true, &seen);
    if (rank == 0)
        status = tell_found(a, site, seen, size);
    free(seen);
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
