/* SPDX-License-Identifier: BSD-3-Clause */
/* The topology that Tutti makes of a communicator, as its line at TUTTI_LOG=debug tells it: of all ranks, of parts of
 * them and of ranks in another order, found on the simulated device, or told by TUTTI_TOPO. That of MPI_COMM_WORLD is
 * no other's: it is made by the first collective, since in MPI_Init a program has no GPU yet. topology MODE [GPUS]:
 * "linked" or "apart", what the GPUs are expected to be to each other; or "told", as two nodes of two GPUs each, ranks
 * dealt out in turn, which is what the file that run.sh wrote says. GPUS: on the node, of which each rank sees one
 * only, that of its number. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/harness.h"

enum { MOST = 16 };

static const char *mode;
static bool told;
static int gpus; /* on the node; 0: those that every rank sees */

struct seat {
    int node, socket, gpu, nic; /* -1: "-" */
};

/* ---- what Tutti says ---- */

/* Standard error goes to a file for as long as a communicator has its first collective. */
static void hear_first_call(MPI_Comm comm, char *text, size_t size)
{
    FILE *heard = tmpfile();
    const int before = dup(2);
    size_t got;

    dup2(fileno(heard), 2);
    MPI_Barrier(comm);
    dup2(before, 2);
    close(before);
    rewind(heard);
    got = fread(text, 1, size - 1, heard);
    text[got] = '\0';
    fclose(heard);
}

static int read_place(const char **at)
{
    char *end;
    int n = -1;

    if (**at == '-')
        (*at)++;
    else {
        n = (int)strtol(*at, &end, 10);
        *at = end;
    }
    *at += **at == '.';
    return n;
}

/* The seats of a line; how many, and how many of the nodes have NVLink. */
static int read_line(const char *text, struct seat *seats, int *nodes, int *linked)
{
    static const char mark[] = "ranks at node.socket.gpu.nic";
    const char *line = strstr(text, "tutti: topology of "), *at = line ? strstr(line, mark) : NULL;
    int n = 0;

    if (!test_check(at != NULL, "expected a line of the topology, heard \"%s\"", text))
        return 0;
    test_check(sscanf(line, "tutti: topology of %*d ranks on %d nodes, %d", nodes, linked) == 2, "line \"%s\"", text);
    test_check(strstr(line, told ? "as TUTTI_TOPO says" : "as found") != NULL, "line \"%s\"", text);
    for (at += sizeof mark - 1; *at == ' ' && n < MOST; n++) {
        at++;
        seats[n].node = read_place(&at);
        seats[n].socket = read_place(&at);
        seats[n].gpu = read_place(&at);
        seats[n].nic = read_place(&at);
    }
    return n;
}

/* ---- what is expected ---- */

/* Where a rank of MPI_COMM_WORLD sits, in numbers that tell places apart. */
static int node_of(int rank)
{
    return told ? rank % 2 : 0;
}

static int gpu_of(int rank)
{
    const int n = gpus ? gpus : test_gpus;

    return told ? rank / 2 % 2 : n ? rank % n : -1;
}

static bool same_gpu(int a, int b)
{
    return node_of(a) == node_of(b) && gpu_of(a) >= 0 && gpu_of(a) == gpu_of(b);
}

/* Nodes are numbered anew in each communicator, by their lowest ranks; GPUs may be. */
static void check_seats(const struct seat *seats, const int *world, int size)
{
    int nodes = 0;

    for (int r = 0; r < size; r++) {
        int first = 0;

        while (node_of(world[first]) != node_of(world[r]))
            first++;
        nodes += first == r;
        test_check(seats[r].node == (first == r ? nodes - 1 : seats[first].node), "rank %d is on node %d", r,
                   seats[r].node);
        test_check((seats[r].gpu >= 0) == (gpu_of(world[r]) >= 0), "rank %d has GPU %d", r, seats[r].gpu);
        for (int o = 0; o < r; o++)
            test_check((seats[o].node == seats[r].node && seats[o].gpu >= 0 && seats[o].gpu == seats[r].gpu) ==
                           same_gpu(world[o], world[r]),
                       "ranks %d and %d are on GPUs %d and %d", o, r, seats[o].gpu, seats[r].gpu);
        test_check(!told || (seats[r].socket == gpu_of(world[r]) && seats[r].nic == 0), "rank %d at socket %d, NIC %d",
                   r, seats[r].socket, seats[r].nic);
    }
}

/* ---- communicators ---- */

static void check_comm(MPI_Comm comm, const char *name)
{
    char text[4096];
    struct seat seats[MOST];
    int rank, size, nodes = 0, linked = 0, world[MOST], n, expected = 1;

    test_now("%s, %s", mode, name);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    PMPI_Allgather(&test_rank, 1, MPI_INT, world, 1, MPI_INT, comm);
    hear_first_call(comm, text, sizeof text);
    if (rank != 0 || size == 1) {
        test_check(strstr(text, "topology") == NULL || size == 1, "only rank 0 speaks, heard \"%s\"", text);
        return;
    }
    n = read_line(text, seats, &nodes, &linked);
    if (!test_check(n == size, "expected %d seats, heard \"%s\"", size, text))
        return;
    check_seats(seats, world, size);
    for (int r = 1; r < size; r++)
        expected = node_of(world[r]) != node_of(world[0]) ? 2 : expected;
    test_check(nodes == expected, "%d nodes, expected %d", nodes, expected);
    test_check(linked == (strcmp(mode, "apart") ? expected : 0), "NVLink on %d nodes, expected %s", linked, mode);
}

/* NVML must have been asked where CUDA shows one GPU of several, and must not have been loaded where it shows all. */
static void check_nvml(void)
{
    void *nvml = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_NOLOAD);

    test_now("%s, at the end", mode);
    test_check((nvml != NULL) == (gpus > 0), "NVML is %sloaded", nvml ? "" : "not ");
    test_check(!gpus || test_gpus == 1, "rank %d sees %d GPUs", test_rank, test_gpus);
}

/* What is read in MPI_Init alone cannot be set now, and a setting that does nothing must not look like one that does.
 */
static void check_too_late(void)
{
    static const char *const names[] = {"TUTTI_TOPO", "TUTTI_PROFILE", "TUTTI_PROGRESS"};

    for (int i = 0; i < 3; i++) {
        const char *before = getenv(names[i]);

        test_now("tutti_set of %s", names[i]);
        test_check(test_try_set(names[i], i < 2 ? "none" : "calls") == MPI_ERR_ARG, "expected MPI_ERR_ARG");
        test_check(getenv(names[i]) == before, "the environment was changed");
    }
}

static void check_split(int colour, int key, const char *name)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, colour, key, &comm);
    check_comm(comm, name);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "linked";
    told = strcmp(mode, "told") == 0;
    gpus = argc > 2 ? atoi(argv[2]) : 0;
    test_begin(&argc, &argv, 60);
    test_set("TUTTI_LOG", "debug");
    check_comm(MPI_COMM_WORLD, "the world");
    check_split(0, test_rank, "all");
    check_split(0, -test_rank, "the other way round");
    check_split(test_rank % 2, test_rank, "every other");
    check_split(test_rank / 2, test_rank, "halves");
    check_split(test_rank == 0, test_rank, "all but the first");
    test_set("TUTTI_LOG", "warn");
    check_nvml();
    check_too_late();
    return test_end();
}
