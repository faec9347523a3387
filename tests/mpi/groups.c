/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators of all sizes, and of all topologies: Cartesian ones, with ends and as rings (where a rank may be its
 * own neighbour, or the same one twice), graphs and distributed graphs with edges that lead back to where they come
 * from, several edges between two ranks, and a rank without any. */
#include "tests/mpi/cases.h"

static struct group group_of(MPI_Comm comm)
{
    struct group g = {.comm = comm, .topology = ""};

    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(comm, &g.rank);
    PMPI_Comm_size(comm, &g.size);
    return g;
}

struct group group_make(int at)
{
    MPI_Comm comm;

    if (at == 0)
        PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        PMPI_Comm_split(MPI_COMM_WORLD, test_rank >= at, test_rank >= at ? -test_rank : test_rank, &comm);
    return group_of(comm);
}

void group_free(struct group *g)
{
    MPI_Comm_free(&g->comm);
}

/* ---- Cartesian ---- */

static struct group ring(const struct group *g)
{
    const int periodic = 1;
    struct group made;
    MPI_Comm comm;

    PMPI_Cart_create(g->comm, 1, &g->size, &periodic, 0, &comm);
    made = group_of(comm);
    made.topology = "ring";
    made.narrow = g->size <= 2;
    made.nsources = made.ndestinations = 2;
    PMPI_Cart_shift(comm, 0, 1, &made.sources[0], &made.sources[1]);
    PMPI_Cart_shift(comm, 0, 1, &made.destinations[0], &made.destinations[1]);
    return made;
}

/* Periodic in one dimension; in the other the outer ranks have MPI_PROC_NULL for a neighbour. */
static struct group grid(const struct group *g)
{
    const int periodic[] = {0, 1};
    int dims[] = {0, 0};
    struct group made;
    MPI_Comm comm;

    PMPI_Dims_create(g->size, 2, dims);
    PMPI_Cart_create(g->comm, 2, dims, periodic, 0, &comm);
    made = group_of(comm);
    made.topology = "grid";
    made.narrow = dims[1] <= 2;
    made.nsources = made.ndestinations = 4;
    for (int d = 0; d < 2; d++) {
        PMPI_Cart_shift(comm, d, 1, &made.sources[2 * d], &made.sources[2 * d + 1]);
        PMPI_Cart_shift(comm, d, 1, &made.destinations[2 * d], &made.destinations[2 * d + 1]);
    }
    return made;
}

/* ---- graphs ---- */

enum { MAX_EDGES = MAX_RANKS * CASE_BLOCKS };

/* How many edges lead from one rank to the other: up to two, also to itself; none from or to the last of several. */
static int edges_between(const struct group *g, int from, int to)
{
    const int most = g->size > 8 ? 2 : 3;

    if (g->size > 1 && (from == g->size - 1 || to == g->size - 1))
        return 0;
    return (int)(test_random((uint64_t)(g->size * 4096 + from * 64 + to)) % (unsigned)most);
}

/* A graph of MPI-1, which must be symmetric here. */
static struct group graph(const struct group *g)
{
    int index[MAX_RANKS], edges[MAX_EDGES], n = 0;
    struct group made;
    MPI_Comm comm;

    for (int i = 0; i < g->size; i++) {
        for (int j = 0; j < g->size; j++)
            for (int k = edges_between(g, i < j ? i : j, i < j ? j : i); k > 0; k--)
                edges[n++] = j;
        index[i] = n;
    }
    edges[n] = 0;
    PMPI_Graph_create(g->comm, g->size, index, edges, 0, &comm);
    made = group_of(comm);
    made.topology = "graph";
    PMPI_Graph_neighbors_count(comm, made.rank, &made.nsources);
    PMPI_Graph_neighbors(comm, made.rank, made.nsources, made.sources);
    made.ndestinations = made.nsources;
    for (int i = 0; i < made.nsources; i++)
        made.destinations[i] = made.sources[i];
    return made;
}

/* What the MPI says that the neighbours are, in its order. Never asked for more than there are: MPICH 4.0.2 copies as
 * many as are asked for. */
static struct group distributed(MPI_Comm comm, const char *topology)
{
    struct group made = group_of(comm);
    int weighted, weights[2][CASE_BLOCKS];

    made.topology = topology;
    made.lopsided = true;
    PMPI_Dist_graph_neighbors_count(comm, &made.nsources, &made.ndestinations, &weighted);
    PMPI_Dist_graph_neighbors(comm, made.nsources, made.sources, weights[0], made.ndestinations, made.destinations,
                              weights[1]);
    return made;
}

/* Every rank tells its own edges, the sources from the last to the first. */
static struct group adjacent(const struct group *g)
{
    int sources[CASE_BLOCKS], destinations[CASE_BLOCKS], in = 0, out = 0;
    MPI_Comm comm;

    for (int i = g->size - 1; i >= 0; i--)
        for (int k = edges_between(g, i, g->rank); k > 0; k--)
            sources[in++] = i;
    for (int j = 0; j < g->size; j++)
        for (int k = edges_between(g, g->rank, j); k > 0; k--)
            destinations[out++] = j;
    PMPI_Dist_graph_create_adjacent(g->comm, in, sources, no_weights(), out, destinations, no_weights(), MPI_INFO_NULL,
                                    0, &comm);
    return distributed(comm, "distributed graph");
}

/* Rank 0 tells all edges. */
static struct group told(const struct group *g)
{
    int sources[MAX_RANKS], degrees[MAX_RANKS], destinations[MAX_EDGES], n = 0;
    const int tells = g->rank == 0 ? g->size : 0;
    MPI_Comm comm;

    for (int i = 0; i < tells; i++) {
        sources[i] = i;
        degrees[i] = 0;
        for (int j = 0; j < g->size; j++)
            for (int k = edges_between(g, j, i); k > 0; k--, degrees[i]++)
                destinations[n++] = j;
    }
    PMPI_Dist_graph_create(g->comm, tells, sources, degrees, destinations, no_weights(), MPI_INFO_NULL, 0, &comm);
    return distributed(comm, "distributed graph that rank 0 tells");
}

static struct group nobody(const struct group *g)
{
    int none[1] = {0};
    MPI_Comm comm;

    PMPI_Dist_graph_create_adjacent(g->comm, 0, none, no_weights(), 0, none, no_weights(), MPI_INFO_NULL, 0, &comm);
    return distributed(comm, "graph without an edge");
}

struct group group_arrange(const struct group *g, int topology)
{
    static struct group (*const makers[NTOPOLOGIES])(const struct group *) = {ring,     grid, graph,
                                                                              adjacent, told, nobody};

    return makers[topology](g);
}
