/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that come and go, and those that join ranks of two worlds: worlds cycles | spawn. Thousands that are
 * split off, used and freed must leave no memory behind and not use up the MPI's contexts. Ranks that were spawned have
 * read their settings apart: where they are the same, Tutti serves the merged communicator; where they differ, all
 * ranks leave it to the MPI below. Spawning takes a launcher, so it is tested with 2 ranks and 2 spawned ones, twice.
 */
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 3000, MAX_RANKS = 16 };

/* ---- split, use, free ---- */

enum { WARM = 300, CYCLES = 5000, MAY_GROW = 256 << 10 };

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

/* Every other time the ranks split into odd and even ones. */
static bool cycle(int i)
{
    const int color = i % 2 ? test_rank % 2 : 0;
    int mine = 1, all = 0, size = 0;
    MPI_Comm part;
    bool ok;

    ok = test_success(MPI_Comm_split(MPI_COMM_WORLD, color, test_rank, &part));
    if (!ok)
        return false;
    ok = test_success(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, part));
    PMPI_Comm_size(part, &size);
    ok &= test_check(all == size, "cycle %d: expected %d, got %d", i, size, all);
    return test_success(MPI_Comm_free(&part)) && ok;
}

static void run_cycles(void)
{
    long before, grown;

    test_now("split, allreduce and free");
    for (int i = 0; i < WARM; i++)
        if (!cycle(i))
            return;
    before = resident();
    for (int i = 0; i < CYCLES; i++)
        if (!cycle(i))
            return;
    grown = resident() - before;
    test_check(before > 0 && grown <= MAY_GROW, "memory grew by %ld bytes in %d cycles", grown, CYCLES);
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
    const char *mode = argc > 1 ? argv[1] : "cycles";
    MPI_Comm parent;

    test_begin(&argc, &argv, 60);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        try_merged(parent, true, strcmp(mode, "same") == 0);
        MPI_Comm_disconnect(&parent);
    } else if (strcmp(mode, "spawn") == 0) {
        test_check(test_size > 1, "2 ranks are needed");
        spawn(argv[0], true);
        spawn(argv[0], false);
    } else {
        run_cycles();
    }
    return test_end();
}
