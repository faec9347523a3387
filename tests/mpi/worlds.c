/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that come and go, and those that join ranks of two worlds: worlds cycles | spawn. Thousands that are
 * made in every way, used by every flavour and freed, also while a call is under way, must leave no memory and no open
 * file behind and not use up the MPI's contexts; TUTTI_TEST_CYCLES says how many. Ranks that were spawned have
 * read their settings apart: where they are the same, Tutti serves the merged communicator; where they differ, all
 * ranks leave it to the MPI below. Spawning takes a launcher, so it is tested with 2 ranks and 2 spawned ones, twice.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/harness.h"
#include "tests/mpi/rows.h"

enum { COUNT = 3000, MAX_RANKS = 16 };

/* ---- made, used, freed ---- */

enum { WARM = 300, CYCLES = 2000, MAY_GROW = 256 << 10 };

static long resident(void)
{
    long pages = 0, all = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    if (f && fscanf(f, "%ld %ld", &all, &pages) != 2)
        pages = 0;
    if (f)
        fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

static int open_files(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static int halves(MPI_Comm *comm)
{
    return MPI_Comm_split(MPI_COMM_WORLD, test_rank % 2, test_rank, comm);
}

static int again(MPI_Comm *comm)
{
    return MPI_Comm_dup(MPI_COMM_WORLD, comm);
}

static int ring(MPI_Comm *comm)
{
    const int periodic = 1;

    return MPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &periodic, 0, comm);
}

static int graph(MPI_Comm *comm)
{
    const int right = (test_rank + 1) % test_size, left = (test_rank + test_size - 1) % test_size;

    return MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, no_weights(), 1, &right, no_weights(),
                                          MPI_INFO_NULL, 0, comm);
}

/* Between the first half and the others. */
static int inter(MPI_Comm *comm)
{
    const bool first = test_rank < test_size / 2;
    MPI_Comm part;
    int error;

    PMPI_Comm_split(MPI_COMM_WORLD, first, test_rank, &part);
    error = MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, first ? test_size / 2 : 0, 9, comm);
    MPI_Comm_free(&part);
    return error;
}

static int (*const makers[])(MPI_Comm *) = {halves, again, ring, graph, inter};
enum { NMAKERS = sizeof makers / sizeof *makers };

/* An allreduce of ones: how many there are, at the far side if there is one. */
static int due(MPI_Comm comm)
{
    int size, is_inter;

    PMPI_Comm_test_inter(comm, &is_inter);
    (is_inter ? PMPI_Comm_remote_size : PMPI_Comm_size)(comm, &size);
    return size;
}

static int use_blocking(const int *mine, int *all, MPI_Comm *comm)
{
    return MPI_Allreduce(mine, all, 1, MPI_INT, MPI_SUM, *comm);
}

static int use_nonblocking(const int *mine, int *all, MPI_Comm *comm)
{
    MPI_Request request;
    const int error = MPI_Iallreduce(mine, all, 1, MPI_INT, MPI_SUM, *comm, &request);

    return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

static bool alone; /* the MPI below, without Tutti */

/* Under way when the communicator is freed; a blocking call has come before. Where the call is the MPI's own, as on an
 * intercommunicator, Open MPI crashes. */
static int use_after_free(const int *mine, int *all, MPI_Comm *comm)
{
    MPI_Request request;
    int error, is_inter;

    PMPI_Comm_test_inter(*comm, &is_inter);
    if ((is_inter || alone) && test_open_mpi)
        return use_nonblocking(mine, all, comm);
    error = MPI_Barrier(*comm);
    if (error == MPI_SUCCESS)
        error = MPI_Iallreduce(mine, all, 1, MPI_INT, MPI_SUM, *comm, &request);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_free(comm);
    return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

static int use_twice(const int *mine, int *all, MPI_Comm *comm)
{
    const struct row *allreduce = row_named("allreduce");
    struct tt_call c = row_call(allreduce, 1, MPI_INT, *comm, false);
    MPI_Request request;
    int error;

    if (!allreduce->persistent.ours)
        return use_nonblocking(mine, all, comm);
    c.send.buf = mine;
    c.recv.out = all;
    error = allreduce->persistent.ours(&c, &request);
    for (int i = 0; i < 2 && error == MPI_SUCCESS; i++) {
        error = MPI_Start(&request);
        if (error == MPI_SUCCESS)
            error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return error == MPI_SUCCESS ? MPI_Request_free(&request) : error;
}

static int (*const uses[])(const int *, int *, MPI_Comm *) = {use_blocking, use_nonblocking, use_after_free, use_twice};
enum { NUSES = sizeof uses / sizeof *uses };

/* Every combination in turn; now and then the numbers are on a device. */
static bool cycle(int i, int *mine, int *all)
{
    const int one = 1, none = 0, make = i % NMAKERS, use = i / NMAKERS % NUSES;
    const enum memory memory = test_gpus > 0 && !alone && make != NMAKERS - 1 && i % 7 == 0 ? DEVICE : HOST;
    int own[2] = {1, 0}, got = 0, want;
    MPI_Comm comm;

    test_now("cycle %d: communicator %d, used in way %d, %s memory", i, make, use, memory_names[memory]);
    if (!test_success(makers[make](&comm)))
        return false;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    want = due(comm);
    if (memory == HOST)
        mine = &own[0], all = &own[1];
    memory_put(memory, (char *)mine, &one, sizeof one);
    memory_put(memory, (char *)all, &none, sizeof none);
    if (!test_success(uses[use](mine, all, &comm)))
        return false;
    memory_get(memory, &got, (char *)all, sizeof got);
    return test_check(got == want, "expected %d, got %d", want, got) &&
           (comm == MPI_COMM_NULL || test_success(MPI_Comm_free(&comm)));
}

/* Messages go round the memory that ranks of a node share, which is theirs once it is written: all of it, by such as
 * are too long for a record, each of which begins in another page. */
static bool go_round(void)
{
    enum { TURNS = 600, BYTES = 64 };
    static char from[MAX_RANKS * BYTES], to[MAX_RANKS * BYTES];
    bool ok = true;

    for (int i = 0; ok && i < TURNS; i++)
        ok = test_success(MPI_Alltoall(from, BYTES, MPI_BYTE, to, BYTES, MPI_BYTE, MPI_COMM_WORLD));
    return ok;
}

/* By how much memory grew, in bytes, and open files in number. False if something went wrong. */
static bool measure(int cycles, int *numbers, long *grown, int *opened)
{
    const int warm = WARM < cycles ? WARM : cycles;
    long before;
    int files;

    for (int i = 0; i < warm; i++)
        if (!cycle(i, &numbers[0], &numbers[1]))
            return false;
    before = resident();
    files = open_files();
    for (int i = 0; i < cycles; i++)
        if (!cycle(i, &numbers[0], &numbers[1]))
            return false;
    *grown = resident() - before;
    *opened = open_files() - files;
    return test_check(before > 0, "cannot tell how large this process is");
}

/* The MPI below may itself lose memory with each communicator, as MPICH 5.0.2 does: a quarter as many cycles without
 * Tutti show how much. */
static void run_cycles(int cycles)
{
    const enum memory memory = test_gpus > 0 ? DEVICE : HOST;
    int *numbers = (int *)memory_take(memory, 2 * sizeof(int)), opened = 0;
    long theirs = 0, grown = 0;
    bool ok;

    alone = true;
    test_set("TUTTI", "off");
    ok = measure(cycles / 4, numbers, &theirs, &opened);
    test_set("TUTTI", NULL);
    alone = false;
    ok = ok && go_round() && measure(cycles, numbers, &grown, &opened);
    test_now("after %d cycles", cycles);
    if (ok) {
        test_check(grown <= MAY_GROW + 5 * theirs,
                   "memory grew by %ld bytes, in a quarter as many without Tutti by %ld", grown, theirs);
        test_check(opened <= 0, "%d more files are open", opened);
    }
    memory_give(memory, (char *)numbers);
}

/* ---- two worlds ---- */

static bool sound = true; /* what the spawned ranks found, which no one else counts */

static void expect(bool ok, const char *what)
{
    sound &= test_check(ok, "%s", what);
}

static void try_sum(MPI_Comm comm, enum memory memory)
{
    static double numbers[COUNT];
    struct region r;
    int rank, size, wrong = 0;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT; i++)
        numbers[i] = rank + i;
    region_make(&r, memory, sizeof numbers);
    region_set(&r, 0, numbers, sizeof numbers);
    expect(MPI_Allreduce(MPI_IN_PLACE, r.at, COUNT, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS, "expected MPI_SUCCESS");
    expect(region_get(&r, numbers), "bytes around the buffer were written");
    for (int i = 0; i < COUNT; i++)
        wrong += numbers[i] != size * (size - 1) / 2.0 + (double)size * i;
    expect(wrong == 0, "the sums are wrong");
    region_free(&r);
}

static void try_gather(MPI_Comm comm, enum memory memory)
{
    static int numbers[COUNT * MAX_RANKS];
    struct region r;
    int rank, size, wrong = 0;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    for (int i = 0; i < COUNT * size; i++)
        numbers[i] = i / COUNT == rank ? i : -1;
    region_make(&r, memory, sizeof numbers);
    region_set(&r, 0, numbers, sizeof *numbers * (size_t)(COUNT * size));
    expect(MPI_Allgather(MPI_IN_PLACE, COUNT, MPI_INT, r.at, COUNT, MPI_INT, comm) == MPI_SUCCESS,
           "expected MPI_SUCCESS");
    expect(region_get(&r, numbers), "bytes around the buffer were written");
    for (int i = 0; i < COUNT * size; i++)
        wrong += numbers[i] != i;
    expect(wrong == 0, "the blocks are wrong");
    region_free(&r);
}

/* Who added? Tutti adds what is on a device by kernels. */
static void check_launches(MPI_Comm comm, bool served)
{
    struct simcuda_counters counted;
    unsigned long long ours, all = 0;

    if (!simulator.counters || test_gpus == 0)
        return;
    simulator.reset();
    try_sum(comm, DEVICE);
    simulator.counters(&counted);
    ours = counted.launches;
    PMPI_Allreduce(&ours, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm);
    expect((all > 0) == served, served ? "expected kernels of Tutti's" : "expected the MPI below to add");
}

/* On both sides. same: the settings are equal. Returns whether all ranks of both found all sound. */
static bool try_merged(MPI_Comm inter, bool spawned, bool same)
{
    int ours, all = 0;
    MPI_Comm merged;

    test_now("collectives with %s ranks, %s settings", spawned ? "the spawning" : "spawned", same ? "equal" : "other");
    MPI_Intercomm_merge(inter, spawned, &merged);
    MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
    try_sum(merged, HOST);
    try_gather(merged, HOST);
    if (test_gpus > 0) {
        try_gather(merged, DEVICE);
        check_launches(merged, same);
    }
    expect(MPI_Barrier(merged) == MPI_SUCCESS, "expected MPI_SUCCESS");
    ours = sound;
    PMPI_Allreduce(&ours, &all, 1, MPI_INT, MPI_MIN, merged);
    MPI_Comm_free(&merged);
    return all;
}

/* Not every MPI can spawn: MPICH over UCX cannot. */
static bool can_spawn(int error)
{
    if (error == MPI_SUCCESS)
        return test_check(true, " ");
    if (test_rank == 0)
        printf("skipped: this MPI cannot spawn\n");
    return false;
}

/* The spawned ranks get this process's preloads and the chunk by env(1): a launcher need not hand them on. */
static void spawn(const char *program, bool same)
{
    char preload[4096], chunk[64], mode[] = "same", other[] = "other";
    char *arguments[] = {preload, chunk, (char *)program, same ? mode : other, NULL};
    char command[] = "env";
    MPI_Comm inter;

    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", getenv("LD_PRELOAD"));
    snprintf(chunk, sizeof chunk, "TUTTI_CHUNK=%s", same ? "1M" : "1K");
    test_now("MPI_Comm_spawn");
    if (!can_spawn(
            MPI_Comm_spawn(command, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE)))
        return;
    test_check(try_merged(inter, false, same), "the spawned ranks found something wrong");
    MPI_Comm_disconnect(&inter);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "cycles", *given = getenv("TUTTI_TEST_CYCLES");
    const int cycles = given ? atoi(given) : CYCLES;
    MPI_Comm parent;

    test_begin(&argc, &argv, 60 + (unsigned)cycles / 50);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        try_merged(parent, true, strcmp(mode, "same") == 0);
        MPI_Comm_disconnect(&parent);
    } else if (strcmp(mode, "spawn") == 0) {
        test_check(test_size > 1, "2 ranks are needed");
        spawn(argv[0], true);
        spawn(argv[0], false);
    } else {
        run_cycles(cycles);
    }
    return test_end();
}
