/* SPDX-License-Identifier: BSD-3-Clause */
/* How a process ends, and goes on: ends reset | callbacks | fork | exit | exit3. After cudaDeviceReset the host goes on
 * and MPI_Finalize comes back; what MPI_Finalize calls back, first of all, may still do collectives of all flavours; a
 * child that is forked off can end by itself, or become another program; leaving without MPI_Finalize ends as it does
 * without Tutti, which run.sh compares. Not linked with the harness: what ends here is looked at from outside, by the
 * exit status and what is said. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaDeviceReset(void);
int cudaGetDeviceCount(int *count);

enum { N = 1000, ANY_KIND = 4 };

static int rank, size, failures;
static double *on_device[2];

static void expect(int ok, const char *what)
{
    if (ok)
        return;
    failures++;
    fprintf(stderr, "FAIL rank %d: %s\n", rank, what);
}

/* ---- sums ---- */

static void sum_on_host(MPI_Comm comm, const char *when)
{
    double mine = 1, all[2] = {0};
    MPI_Request request;
    int n;

    MPI_Comm_size(comm, &n);
    MPI_Allreduce(&mine, &all[0], 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Iallreduce(&mine, &all[1], 1, MPI_DOUBLE, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(all[0] == n && all[1] == n, when);
}

static void sum_on_device(MPI_Comm comm, const char *when)
{
    double numbers[N];
    MPI_Request request;
    int n, wrong = 0;

    if (!on_device[0])
        return;
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    MPI_Comm_size(comm, &n);
    cudaMemcpy(on_device[0], numbers, sizeof numbers, ANY_KIND);
    MPI_Allreduce(on_device[0], on_device[1], N, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Iallreduce(MPI_IN_PLACE, on_device[1], N, MPI_DOUBLE, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    cudaMemcpy(numbers, on_device[1], sizeof numbers, ANY_KIND);
    for (int i = 0; i < N; i++)
        wrong += numbers[i] != (double)n * i;
    expect(wrong == 0, when);
}

static void take_device(void)
{
    int gpus = 0;

    if (cudaGetDeviceCount(&gpus) != 0 || gpus == 0)
        return;
    for (int i = 0; i < 2; i++)
        cudaMalloc((void **)&on_device[i], sizeof(double) * N);
}

/* ---- endings: each returns the exit status, and has MPI_Finalize called if it returns at all ---- */

static int after_reset(void)
{
    sum_on_device(MPI_COMM_WORLD, "the sum before cudaDeviceReset");
    cudaDeviceReset();
    on_device[0] = NULL;
    sum_on_host(MPI_COMM_WORLD, "the sum of host memory after cudaDeviceReset");
    return 0;
}

static int called;

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    called++;
    sum_on_host(MPI_COMM_WORLD, "a sum in MPI_Finalize");
    sum_on_host(MPI_COMM_SELF, "a sum on MPI_COMM_SELF in MPI_Finalize");
    sum_on_device(MPI_COMM_WORLD, "a sum of device memory in MPI_Finalize");
    return MPI_SUCCESS;
}

/* One attribute is set before MPI_COMM_SELF has been used, one after. */
static int from_callbacks(void)
{
    for (int i = 0; i < 2; i++) {
        int key;

        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
        sum_on_host(MPI_COMM_SELF, "a sum on MPI_COMM_SELF");
        sum_on_device(MPI_COMM_WORLD, "a sum of device memory");
    }
    MPI_Finalize();
    expect(called == 2, "expected two callbacks in MPI_Finalize");
    return 0;
}

/* A child ends by _exit, by exit, or as another program, into which Tutti is loaded too. */
static void fork_one(int how)
{
    char program[] = "true", *const arguments[] = {program, NULL};
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        if (how == 0)
            _exit(7);
        if (how == 1)
            exit(7);
        execvp(program, arguments);
        _exit(1);
    }
    waitpid(child, &status, 0);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == (how < 2 ? 7 : 0), "the end of a forked child");
}

static int among_forks(void)
{
    sum_on_device(MPI_COMM_WORLD, "the sum before fork");
    for (int how = 0; how < 3; how++) {
        fork_one(how);
        sum_on_host(MPI_COMM_WORLD, "the sum after fork");
        sum_on_device(MPI_COMM_WORLD, "the sum of device memory after fork");
    }
    return 0;
}

static int leave(int status)
{
    sum_on_host(MPI_COMM_WORLD, "the sum");
    exit(status);
}

static int without_finalize(void)
{
    return leave(0);
}

static int without_finalize_in_error(void)
{
    return leave(3);
}

static const struct {
    const char *name;
    int (*go)(void);
} endings[] = {
    {"reset", after_reset},     {"callbacks", from_callbacks},        {"fork", among_forks},
    {"exit", without_finalize}, {"exit3", without_finalize_in_error},
};

int main(int argc, char **argv)
{
    int finalized, status = 1;

    alarm(60);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    take_device();
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (argc > 1 && strcmp(argv[1], endings[i].name) == 0)
            status = endings[i].go();
    MPI_Finalized(&finalized);
    if (!finalized)
        MPI_Finalize();
    if (status == 0 && failures == 0 && rank == 0)
        printf("ends: all as it should be\n");
    return status || failures;
}
