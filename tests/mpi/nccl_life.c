/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of NCCL communicators, by the stand-in of the simulated device: nccl_life PART. Whatever goes wrong, every
 * rank comes back from every call, within TUTTI_NCCL_TIMEOUT where it waits for others; with the right result or an
 * error, and later calls work without NCCL. Parts that break something are launches of their own, and those in which
 * one rank finds another libnccl than the others arrange that before anything looks for it. */
#include <dlfcn.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/tutti.h"
#include "tests/mpi/harness.h"
#include "tests/simcuda/simnccl.h"

enum { ODD = 1, N = 1000, MANY = 12 }; /* the rank with which something is the matter */

static double *send, *recv; /* device memory */

/* ---- the stand-in ---- */

static void *nccl_function(const char *name)
{
    void *library = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);

    return library ? dlsym(library, name) : NULL;
}

/* All zero, as long as nobody has loaded it. */
static struct simnccl_counters count(void)
{
    struct simnccl_counters n = {0};
    void (*counters)(struct simnccl_counters *);

    *(void **)&counters = nccl_function("simnccl_counters");
    if (counters)
        counters(&n);
    return n;
}

/* So many have been made here, and so many of them are there now: those that go may take a moment. */
static void check_made(unsigned made, unsigned alive)
{
    struct simnccl_counters n = count();

    test_check(n.CommInitRankConfig == made, "expected %u calls of ncclCommInitRankConfig, counted %llu", made,
               n.CommInitRankConfig);
    test_check(n.alive == alive, "expected %u communicators, counted %llu", alive, n.alive);
}

static void check_reports(void)
{
    test_check(count().reports == 0, "NCCL was misused %llu times", count().reports);
}

/* ---- calls ---- */

static void prepare(MPI_Comm comm)
{
    static int (*function)(MPI_Comm);

    if (!function)
        *(void **)&function = dlsym(RTLD_DEFAULT, "tutti_comm_prepare");
    test_success(function(comm));
}

static void fill(MPI_Comm comm)
{
    double numbers[N];
    int rank;

    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < N; i++)
        numbers[i] = rank + i;
    memory_put(DEVICE, (char *)send, numbers, sizeof numbers);
    memset(numbers, 0, sizeof numbers);
    memory_put(DEVICE, (char *)recv, numbers, sizeof numbers);
}

static void check_sums(MPI_Comm comm)
{
    double numbers[N];
    int size, wrong = 0;

    MPI_Comm_size(comm, &size);
    memory_get(DEVICE, numbers, (const char *)recv, sizeof numbers);
    for (int i = 0; i < N; i++)
        wrong += numbers[i] != size * i + size * (size - 1) / 2.0;
    test_check(wrong == 0, "%d of %d sums are wrong", wrong, N);
}

/* Whatever it says is true. */
static int sum(MPI_Comm comm)
{
    int error;

    fill(comm);
    error = MPI_Allreduce(send, recv, N, MPI_DOUBLE, MPI_SUM, comm);
    if (error == MPI_SUCCESS)
        check_sums(comm);
    return error;
}

static bool by_nccl(MPI_Comm comm)
{
    return strncmp(test_choice(comm, "allreduce"), "nccl", 4) == 0;
}

static void sum_by_nccl(MPI_Comm comm)
{
    test_success(sum(comm));
    test_check(by_nccl(comm), "expected NCCL, but it was %s", test_choice(comm, "allreduce"));
}

static void sum_without(MPI_Comm comm)
{
    test_success(sum(comm));
    test_check(!by_nccl(comm), "expected another way, but it was %s", test_choice(comm, "allreduce"));
}

static MPI_Comm split(int color, int key)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* ---- in order ---- */

static void run_share(void)
{
    MPI_Comm same, turned;

    test_now("communicators with the same ranks in the same order share one");
    prepare(MPI_COMM_WORLD);
    check_made(1, 1);
    prepare(MPI_COMM_WORLD);
    same = split(0, test_rank);
    prepare(same);
    check_made(1, 1);
    sum_by_nccl(MPI_COMM_WORLD);
    sum_by_nccl(same);
    check_made(1, 1);
    test_now("in another order they do not");
    turned = split(0, -test_rank);
    sum_by_nccl(turned);
    check_made(2, 2);
    test_now("it goes with the last");
    MPI_Comm_free(&same);
    sum_by_nccl(MPI_COMM_WORLD);
    check_made(2, 2);
    MPI_Comm_free(&turned);
    for (int i = 0; i < 200 && count().alive > 1; i++) {
        usleep(10000);
        prepare(MPI_COMM_SELF); /* whoever deals with NCCL sees to those that go */
    }
    test_check(count().CommDestroy == 1 && count().CommAbort == 0, "expected one to be destroyed, none aborted");
    sum_by_nccl(MPI_COMM_WORLD);
    sum_by_nccl(MPI_COMM_SELF);
}

static int count_files(void)
{
    DIR *files = opendir("/proc/self/fd");
    int n = 0;

    while (files && readdir(files))
        n++;
    if (files)
        closedir(files);
    return n;
}

static void use_and_free(void)
{
    MPI_Comm comm = split(0, -test_rank);

    sum_by_nccl(comm);
    MPI_Comm_free(&comm);
}

static int cycles(void)
{
    const char *set = getenv("TUTTI_TEST_CYCLES");

    return set ? atoi(set) : 60;
}

static void run_loop(void)
{
    int files, left;

    for (int i = 0; i < 10; i++)
        use_and_free();
    files = count_files();
    for (int i = 0; i < cycles(); i++) {
        test_now("communicator %d of a loop", i);
        use_and_free();
    }
    left = count_files() - files;
    test_check(count().alive <= 4, "%llu communicators are left", count().alive);
    test_check(left <= 16, "%d files were left open", left);
    check_made((unsigned)cycles() + 10, (unsigned)count().alive);
}

/* Rank 0 is in more of them than it may keep, the others are not, so it alone has to give some up. */
static void run_cap(void)
{
    MPI_Comm pairs[MANY];
    const int n = test_size - 1;

    for (int i = 0; i < n; i++)
        pairs[i] = split(test_rank == 0 || test_rank == i + 1 ? 0 : MPI_UNDEFINED, test_rank);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < n; i++) {
            test_now("rank 0 and rank %d, round %d", i + 1, round);
            if (pairs[i] != MPI_COMM_NULL)
                sum_by_nccl(pairs[i]);
        }
    if (test_rank == 0)
        test_check(count().CommFinalize >= 3, "expected some to be given up, counted %llu", count().CommFinalize);
    for (int i = 0; i < n; i++)
        if (pairs[i] != MPI_COMM_NULL)
            MPI_Comm_free(&pairs[i]);
}

/* Calls that go without a vote count on what they have: it is not given up, and others do without. */
static void run_keep(void)
{
    MPI_Comm comms[4];

    for (int i = 0; i < 4; i++)
        comms[i] = split(0, (test_rank + i) % test_size);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 4; i++) {
            test_now("communicator %d, round %d", i, round);
            test_success(sum(comms[i]));
            test_check(by_nccl(comms[i]) == (i < 2), "it was %s", test_choice(comms[i], "allreduce"));
        }
    check_made(2, 2);
    for (int i = 0; i < 4; i++)
        MPI_Comm_free(&comms[i]);
}

/* While it is made, what else is under way goes on. */
static void run_progress(void)
{
    MPI_Comm other = split(0, -test_rank);
    const double begun = PMPI_Wtime();
    MPI_Request request;
    int flag = 0;

    test_now("a nonblocking sum while NCCL is set up");
    fill(other);
    test_success(MPI_Iallreduce(send, recv, N, MPI_DOUBLE, MPI_SUM, other, &request));
    if (test_rank == ODD)
        simulator.inject("nccl-delay:ms=1500");
    prepare(MPI_COMM_WORLD);
    test_check(PMPI_Wtime() - begun > 1, "it should have taken more than a second");
    test_success(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    test_check(flag, "the sum is not there yet");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_sums(other);
    simulator.reset();
    sum_by_nccl(MPI_COMM_WORLD);
    MPI_Comm_free(&other);
}

/* ---- none to be had: all know it alike ---- */

static void run_without(void)
{
    test_now("a sum without NCCL");
    prepare(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        sum_without(MPI_COMM_WORLD);
    test_check(count().CommInitRankConfig == 0, "NCCL was tried all the same");
}

static void run_shared_gpu(void)
{
    test_now("ranks share GPUs, and NCCL allows it");
    prepare(MPI_COMM_WORLD);
    sum_by_nccl(MPI_COMM_WORLD);
}

/* ---- what fails ---- */

/* Rank ODD meets it while NCCL is set up: nobody may wait longer than that. */
static void fail_in_setup(const char *fault, double at_least, double at_most)
{
    double begun, took;

    test_now("setting NCCL up, with %s", fault);
    if (test_rank == ODD)
        simulator.inject(fault);
    PMPI_Barrier(MPI_COMM_WORLD);
    begun = PMPI_Wtime();
    sum_without(MPI_COMM_WORLD);
    took = PMPI_Wtime() - begun;
    test_check(took >= at_least && took <= at_most, "it took %.1f seconds, not %g to %g", took, at_least, at_most);
    simulator.reset();
    test_now("after %s", fault);
    for (int i = 0; i < 3; i++)
        sum_without(MPI_COMM_WORLD);
    check_made(1, 0);
    test_now("another communicator after %s", fault);
    {
        MPI_Comm other = split(0, -test_rank);

        sum_by_nccl(other);
        MPI_Comm_free(&other);
    }
}

static void run_init(void)
{
    fail_in_setup("nccl-init:after=1", 0, 2.5);
}

static void run_absent(void)
{
    fail_in_setup("nccl-absent:after=1", 2.5, 4);
}

static void run_late(void)
{
    fail_in_setup("nccl-delay:ms=6000", 2.5, 4);
}

/* The one is gone for good, so no agreement is to be had: the others get an error, in time. MPI does not end after
 * that. */
static void run_exit(void)
{
    const double begun = PMPI_Wtime();
    int error;

    if (test_rank == ODD)
        simulator.inject("nccl-exit:after=1");
    test_now("a rank exits while NCCL is set up");
    error = sum(MPI_COMM_WORLD);
    printf("rank %d %s %s\n", test_rank, error != MPI_SUCCESS ? "got an error" : "went on",
           PMPI_Wtime() - begun < 5 ? "in time" : "too late");
    error = sum(MPI_COMM_WORLD);
    printf("rank %d then %s\n", test_rank, error != MPI_SUCCESS ? "got an error" : "went on");
    fflush(stdout);
    _exit(0);
}

/* In the midst of calls: some ranks get an error, perhaps not all; from the next vote on nobody uses NCCL. */
/* On any rank: all know it alike. One is ended in a call's polls, which may be those of a call later. */
static bool any_are_left(void)
{
    unsigned long long mine = count().alive, most;

    PMPI_Allreduce(&mine, &most, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    return most > 0;
}

static void run_async(void)
{
    int any = 0, error;

    for (int i = 0; i < 3; i++)
        sum_by_nccl(MPI_COMM_WORLD);
    test_now("an asynchronous error on rank %d", ODD);
    if (test_rank == ODD)
        simulator.inject("nccl-error:after=1");
    PMPI_Barrier(MPI_COMM_WORLD);
    error = sum(MPI_COMM_WORLD) != MPI_SUCCESS;
    PMPI_Allreduce(&error, &any, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    test_check(any, "expected an error on every rank");
    simulator.reset();
    test_now("after an asynchronous error");
    for (int i = 0; i < 10 || (i < 1000 && any_are_left()); i++)
        sum_without(MPI_COMM_WORLD);
    test_check(count().alive == 0, "%llu communicators are left", count().alive);
    test_now("on another communicator with the same ranks, after an asynchronous error");
    {
        MPI_Comm same = split(0, test_rank);

        sum_by_nccl(same);
        MPI_Comm_free(&same);
    }
}

/* The root of a broadcast may have ended long before another fails: it learns of it in its next call. */
static void run_late_notice(void)
{
    const int root = test_rank == 0;
    int error;

    test_pin("bcast", "nccl");
    prepare(MPI_COMM_WORLD);
    test_now("broadcasts of which one fails on the last rank");
    if (test_rank == test_size - 1)
        simulator.inject("nccl-error:after=2");
    for (int i = 0; i < 6; i++) {
        double numbers[N];
        int wrong = 0;

        for (int j = 0; j < N; j++)
            numbers[j] = root ? i + j : -1;
        memory_put(DEVICE, (char *)send, numbers, sizeof numbers);
        error = MPI_Bcast(send, N, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        memory_get(DEVICE, numbers, (const char *)send, sizeof numbers);
        for (int j = 0; j < N; j++)
            wrong += numbers[j] != i + j;
        test_check(error != MPI_SUCCESS || wrong == 0, "MPI_SUCCESS, but %d elements are wrong", wrong);
        test_check(error == MPI_SUCCESS || i < 4, "an error in broadcast %d", i);
    }
    simulator.reset();
    sum_without(MPI_COMM_WORLD);
}

/* One rank's context is reset between calls: an error, or no NCCL, and then it works again. */
static void run_lost(void)
{
    sum_by_nccl(MPI_COMM_WORLD);
    test_now("a sum after rank %d has reset its device", ODD);
    if (test_rank == ODD) {
        cudaDeviceReset();
        send = (double *)memory_take(DEVICE, sizeof *send * N);
        recv = (double *)memory_take(DEVICE, sizeof *recv * N);
    }
    for (int i = 0; i < 2; i++)
        sum(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        test_success(sum(MPI_COMM_WORLD));
    test_check(count().alive == 1 + (test_rank == ODD), "%llu communicators are left", count().alive);
}

/* All contexts go before MPI_Finalize does. */
static void run_gone(void)
{
    sum_by_nccl(MPI_COMM_WORLD);
    test_now("the end, without a context");
    cudaDeviceReset();
}

/* ---- ---- */

static const struct part {
    const char *name;
    void (*run)(void);
    const char *odd; /* TUTTI_SIM_NCCL_VERSION on rank ODD */
} parts[] = {
    {"share", run_share, NULL},       {"loop", run_loop, NULL},
    {"cap", run_cap, NULL},           {"keep", run_keep, NULL},
    {"progress", run_progress, NULL}, {"without", run_without, NULL},
    {"old", run_without, "21701"},    {"other", run_without, "22703"},
    {"none", run_without, "none"},    {"shared-gpu", run_shared_gpu, NULL},
    {"init", run_init, NULL},         {"absent", run_absent, NULL},
    {"late", run_late, NULL},         {"exit", run_exit, NULL},
    {"async", run_async, NULL},       {"late-notice", run_late_notice, NULL},
    {"lost", run_lost, NULL},         {"gone", run_gone, NULL},
};
enum { NPARTS = sizeof parts / sizeof *parts };

static const struct part *find_part(const char *name)
{
    for (int i = 0; name && i < NPARTS; i++)
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    fprintf(stderr, "FAIL: no part %s\n", name ? name : "is named");
    exit(2);
}

/* What mpiexec tells a process of its rank, before MPI does. */
static void arrange(const struct part *p)
{
    const char *mpich = getenv("PMI_RANK"), *open_mpi = getenv("OMPI_COMM_WORLD_RANK");
    const char *rank = mpich ? mpich : open_mpi;

    if (p->odd && rank && atoi(rank) == ODD)
        setenv("TUTTI_SIM_NCCL_VERSION", p->odd, 1);
}

int main(int argc, char **argv)
{
    const struct part *p = find_part(argv[1]);

    arrange(p);
    test_begin(&argc, &argv, 100 + (unsigned)cycles() / 8);
    send = (double *)memory_take(DEVICE, sizeof *send * N);
    recv = (double *)memory_take(DEVICE, sizeof *recv * N);
    test_pin("allreduce", "nccl");
    p->run();
    check_reports();
    return test_end();
}
