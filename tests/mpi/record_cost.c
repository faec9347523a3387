/* SPDX-License-Identifier: BSD-3-Clause */
/* What a record costs, in what can be counted on any machine however busy it is: the instructions of one small
 * MPI_Allreduce, how many of them read the clock or call the kernel, and how many lines of the cache (64 bytes) of the
 * record's file have changed after it. A child steps through the call, an instruction at a time; run.sh runs this with
 * and without a record and compares. On two ranks, record_cost COLLECTIVE: what rank 0 does in a small call when the
 * other's message is there, which run.sh holds against what calls in one breath may take. Prints "counted: ..."; or
 * "not counted: " and why, where stepping is not allowed, or the processor is another. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM = 100, LINE = 64, MOST = 1 << 20 };

/* Between the program and the child that steps it. */
static struct shared {
    volatile int phase; /* 1: to be counted, 2: over */
    volatile int ready; /* the child steps; -1: it cannot */
    long instructions, clocks, system_calls;
} * shared;

static int rank, size;

static const char *collective = "allreduce";

/* Not on the stack, of which it is known that no GPU has it. */
static double in[2] = {1, 1}, out[2];

static void call(void)
{
    const MPI_Comm comm = size > 1 ? MPI_COMM_WORLD : MPI_COMM_SELF;

    if (strcmp(collective, "reduce") == 0)
        MPI_Reduce(in, out, 1, MPI_DOUBLE, MPI_SUM, 0, comm);
    else if (strcmp(collective, "allgather") == 0)
        MPI_Allgather(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, comm);
    else if (strcmp(collective, "bcast") == 0)
        MPI_Bcast(in, 1, MPI_DOUBLE, 1, comm);
    else if (strcmp(collective, "barrier") == 0)
        MPI_Barrier(comm);
    else
        MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, comm);
}

/* Before the call that is counted: of two ranks, the other is in it, or has made it. */
static void prepare(void)
{
    char word = 0;

    if (size == 1)
        return;
    PMPI_Recv(&word, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(50000);
}

/* The other rank, whose calls are not counted. */
static int serve(void)
{
    char word = 0;

    for (int i = 0; i < WARM; i++)
        call();
    PMPI_Send(&word, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    call();
    MPI_Finalize();
    return 0;
}

/* ---- stepping ---- */

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
static void count(pid_t pid)
{
    struct user_regs_struct at;
    unsigned long code;

    ptrace(PTRACE_GETREGS, pid, NULL, &at);
    code = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid, (void *)at.rip, NULL);
    shared->instructions++;
    shared->clocks += (code & 0xffff) == 0x310f || (code & 0xffffff) == 0xf9010f; /* rdtsc, rdtscp */
    shared->system_calls += (code & 0xffff) == 0x050f;
}

static void step(pid_t pid)
{
    int status;

    if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid) {
        shared->ready = -1;
        return;
    }
    shared->ready = 1;
    for (long i = 0; shared->phase < 2 && i < MOST; i++) {
        if (shared->phase == 1)
            count(pid);
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
            return;
    }
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
}
#else
static void step(pid_t pid)
{
    (void)pid;
    shared->ready = -1;
}
#endif

/* ---- the file ---- */

/* Maps the record, if there is one. */
static const char *map_record(size_t *bytes)
{
    const char *directory = getenv("TUTTI_RECORD");
    DIR *d = directory ? opendir(directory) : NULL;
    char path[512] = "";
    int fd;

    for (const struct dirent *e; d && (e = readdir(d));)
        if (strncmp(e->d_name, "rank-", 5) == 0)
            snprintf(path, sizeof path, "%s/%.255s", directory, e->d_name);
    if (d)
        closedir(d);
    fd = *path ? open(path, O_RDONLY) : -1;
    *bytes = fd < 0 ? 0 : (size_t)lseek(fd, 0, SEEK_END);
    return fd < 0 ? NULL : mmap(NULL, *bytes, PROT_READ, MAP_SHARED, fd, 0);
}

static int count_lines(const char *map, const char *before, size_t bytes)
{
    int n = 0;

    for (size_t at = 0; at + LINE <= bytes; at += LINE)
        n += memcmp(map + at, before + at, LINE) != 0;
    return n;
}

int main(int argc, char **argv)
{
    size_t bytes;
    const char *map;
    char *before;
    pid_t child, self = getpid();

    MPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    collective = argc > 1 ? argv[1] : collective;
    if (rank > 0)
        return serve();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    map = map_record(&bytes);
    before = malloc(bytes + 1);
    if (shared == MAP_FAILED || !before)
        return 1;
    for (int i = 0; i < WARM; i++)
        call();
    prepare();
    if (map)
        memcpy(before, map, bytes);
    child = fork();
    if (child == 0) {
        step(self);
        _exit(0);
    }
    prctl(PR_SET_PTRACER, child);
    while (child > 0 && !shared->ready)
        ;
    shared->phase = 1;
    call();
    shared->phase = 2;
    waitpid(child, NULL, 0);
    if (child > 0 && shared->ready > 0)
        printf("counted: %ld instructions, %ld clock readings, %ld system calls, %d cache lines\n",
               shared->instructions, shared->clocks, shared->system_calls, map ? count_lines(map, before, bytes) : 0);
    else
        puts("not counted: a child cannot step through its parent here, or this is not an optimised build");
    free(before);
    MPI_Finalize();
    return 0;
}
