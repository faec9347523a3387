/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that have sessions in place of MPI_Init, or beside it: sessions alone | both | outlive. Alone: two lives of
 * MPI one after the other, in each of which collectives of all flavours are right on host and device memory, of derived
 * types too, on communicators made from a session, duplicates of them, and one of this rank alone. Both: sessions begin
 * before MPI_Init. Outlive: a communicator made from a session goes on after MPI_Finalize. Not linked with the harness,
 * which begins by MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mpi/mapped.h"

int cudaMalloc(void **address, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaGetDeviceCount(int *count);

enum { N = 1000, STRIDE = 3, ANY_KIND = 4 };

static int failures;
static double *on_device[2];

static void expect(int ok, const char *what)
{
    if (ok)
        return;
    failures++;
    fprintf(stderr, "FAIL: %s\n", what);
}

static MPI_Comm comm_from(MPI_Session session, const char *set)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static MPI_Session open_session(void)
{
    MPI_Session session;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    return session;
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n * STRIDE; i += STRIDE)
        ((double *)inout)[i] += ((double *)in)[i];
}

/* Sums of every STRIDE-th number, by a user's op on a user's type: from `from` into `to`, wherever they are. */
static void sum_with_gaps(MPI_Comm comm, double *from, double *to)
{
    MPI_Datatype type;
    MPI_Op op;

    MPI_Type_create_resized(MPI_DOUBLE, 0, STRIDE * sizeof(double), &type);
    MPI_Type_commit(&type);
    MPI_Op_create(add, 1, &op);
    MPI_Allreduce(from, to, N / STRIDE, type, op, comm);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static int wrong_in(const double *numbers, int n, int step)
{
    int wrong = 0;

    for (int i = 0; i < N / STRIDE * STRIDE; i += step)
        wrong += numbers[i] != (double)n * i;
    return wrong;
}

static void try_sums(MPI_Comm comm, double *from, double *to, const char *where)
{
    double numbers[N];
    MPI_Request request;
    int n;

    MPI_Comm_size(comm, &n);
    for (int i = 0; i < N; i++)
        numbers[i] = i;
    cudaMemcpy(from, numbers, sizeof numbers, ANY_KIND);
    MPI_Allreduce(from, to, N, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Iallreduce(MPI_IN_PLACE, to, N, MPI_DOUBLE, MPI_MAX, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    cudaMemcpy(numbers, to, sizeof numbers, ANY_KIND);
    expect(wrong_in(numbers, n, 1) == 0, where);
    memset(numbers, 0, sizeof numbers);
    cudaMemcpy(to, numbers, sizeof numbers, ANY_KIND);
    sum_with_gaps(comm, from, to);
    cudaMemcpy(numbers, to, sizeof numbers, ANY_KIND);
    expect(wrong_in(numbers, n, STRIDE) == 0, where);
}

static void try_persistent(MPI_Comm comm)
{
    double mine = 1, all = 0;
    MPI_Request request;
    int n;

    MPI_Comm_size(comm, &n);
    MPI_Allreduce_init(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request);
    for (int turn = 1; turn < 4; turn++) {
        mine = turn;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(all == turn * n, "a persistent sum");
    }
    MPI_Request_free(&request);
}

static void try_all(MPI_Comm comm)
{
    static double host[2][N];
    int gpus = 0;

    try_sums(comm, host[0], host[1], "sums of host memory");
    try_persistent(comm);
    if (!on_device[0] && cudaGetDeviceCount(&gpus) == 0 && gpus > 0)
        for (int i = 0; i < 2; i++)
            cudaMalloc((void **)&on_device[i], sizeof(double) * N);
    if (on_device[0])
        try_sums(comm, on_device[0], on_device[1], "sums of device memory");
}

/* What a program gets wrong is an error that comes back, though there is no MPI_COMM_WORLD whose handler could have it.
 */
static void try_error(MPI_Comm comm)
{
    double number = 0;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    expect(MPI_Bcast(on_device[0] ? on_device[0] : &number, 1, MPI_DOUBLE, -5, comm) != MPI_SUCCESS, "a negative root");
}

static void try_session(MPI_Session session)
{
    MPI_Comm comm = comm_from(session, "mpi://WORLD"), self = comm_from(session, "mpi://SELF"), twin;

    try_all(comm);
    MPI_Comm_dup(comm, &twin);
    try_all(twin);
    try_error(twin);
    MPI_Comm_free(&twin);
    try_all(self);
    MPI_Comm_free(&self);
    MPI_Comm_free(&comm);
}

/* MPICH 4.0 does not survive a second. */
static int lives(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    MPI_Get_library_version(version, &length);
    return strncmp(version, "MPICH", 5) == 0 && strstr(version, "4.0.") ? 1 : 2;
}

static void go_alone(void)
{
    for (int life = 0; life < lives(); life++) {
        MPI_Session first = open_session(), second = open_session();

        try_session(first);
        MPI_Session_finalize(&first);
        try_session(second);
        MPI_Session_finalize(&second);
    }
}

static void go_both(void)
{
    MPI_Session session = open_session();

    try_session(session);
    MPI_Init(NULL, NULL);
    try_all(MPI_COMM_WORLD);
    try_session(session);
    /* a session may have threads that MPI_Init did not ask for */
    expect(!mapped_file("tutti-last"), "nothing watches what is loaded, which one thread alone may do");
    MPI_Session_finalize(&session);
    try_all(MPI_COMM_WORLD);
    MPI_Finalize();
}

static void go_outlive(void)
{
    MPI_Session session;
    MPI_Comm comm;

    MPI_Init(NULL, NULL);
    session = open_session();
    comm = comm_from(session, "mpi://WORLD");
    try_all(MPI_COMM_WORLD);
    try_all(comm);
    MPI_Finalize();
    try_all(comm);
    MPI_Comm_free(&comm);
    try_session(session);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    alarm(60);
    if (strcmp(mode, "alone") == 0)
        go_alone();
    else if (strcmp(mode, "both") == 0)
        go_both();
    else if (strcmp(mode, "outlive") == 0)
        go_outlive();
    if (failures == 0)
        printf("sessions: all as it should be\n");
    return failures > 0;
}
