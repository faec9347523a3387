/* SPDX-License-Identifier: BSD-3-Clause */
/* What p2p.c, where each message is on its own, does not show: messages that must not overtake one another, requests
 * that are cancelled, freed, started again or waited for in arrays of all kinds, receives into interleaved parts of one
 * array, blocking calls while a nonblocking collective needs their rank, what all of it costs, and what an error of the
 * device becomes. Two ranks. */
#include "tests/mpi/harness.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 5, LARGE = 30000, ROUNDS = 5, TAG = 11 };

static int other;

static int number(int i, int salt)
{
    return (int)test_random((uint64_t)(salt * 1000003 + i));
}

static void fill(int *data, int n, int salt)
{
    for (int i = 0; i < n; i++)
        data[i] = number(i, salt);
}

static bool holds(const struct region *r, int n, int salt)
{
    static int want[LARGE];

    fill(want, n, salt);
    return region_holds(r, want);
}

/* A region of that memory which holds n numbers. */
static struct region *region_of(enum memory memory, int n, int salt)
{
    static int data[LARGE];
    struct region *r = malloc(sizeof *r);

    region_make(r, memory, sizeof data);
    fill(data, n, salt);
    region_set(r, 0, data, sizeof *data * (size_t)n);
    return r;
}

static void region_drop(struct region *r)
{
    region_free(r);
    free(r);
}

static enum memory first_device(void)
{
    return test_gpus > 0 ? DEVICE : HOST;
}

/* ---- order ---- */

/* From the device first, then from the host: the second must not come first, however long the first one takes. */
static void try_order(int n)
{
    struct region *first = region_of(first_device(), n, 1), *second = region_of(HOST, n, 2);
    struct region *in[2] = {region_of(HOST, n, 0), region_of(first_device(), n, 0)};
    MPI_Request requests[2];

    test_now("a message of %d ints from the device, then one from the host with the same tag", n);
    if (test_rank == 0) {
        test_success(MPI_Isend(first->at, n, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[0]));
        test_success(MPI_Isend(second->at, n, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[1]));
        test_success(MPI_Waitall(2, requests, no_statuses));
    } else {
        for (int i = 0; i < 2; i++)
            test_success(MPI_Recv(in[i]->at, n, MPI_INT, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        test_check(holds(in[0], n, 1) && holds(in[1], n, 2), "the messages came in the wrong order, or wrong");
    }
    region_drop(first);
    region_drop(second);
    region_drop(in[0]);
    region_drop(in[1]);
}

/* A buffered message is what was in the buffer when it was sent. */
static void try_buffered(void)
{
    static char room[LARGE * sizeof(int) + 4096];
    struct region *r = region_of(first_device(), LARGE, 3);
    static int later[LARGE];
    void *back;
    int size;

    test_now("a buffer that is written again after MPI_Bsend");
    MPI_Buffer_attach(room, (int)sizeof room);
    if (test_rank == 0) {
        test_success(MPI_Bsend(r->at, LARGE, MPI_INT, other, TAG, MPI_COMM_WORLD));
        region_set(r, 0, later, sizeof later);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 1) {
        region_set(r, 0, later, sizeof later);
        test_success(MPI_Recv(r->at, LARGE, MPI_INT, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        test_check(holds(r, LARGE, 3), "the message is not what was in the buffer at the time");
    }
    MPI_Buffer_detach(&back, &size);
    region_drop(r);
}

/* ---- cancelled, and freed ---- */

static void try_cancel(enum memory memory, bool persistent)
{
    struct region *r = region_of(memory, SMALL, 4);
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;

    test_now("a %s receive that is cancelled, %s memory", persistent ? "persistent" : "nonblocking",
             memory_names[memory]);
    test_success((persistent ? MPI_Recv_init : MPI_Irecv)(r->at, SMALL, MPI_INT, other, 999, MPI_COMM_WORLD, &request));
    if (persistent)
        test_success(MPI_Start(&request));
    test_success(MPI_Cancel(&request));
    test_success(MPI_Wait(&request, &status));
    PMPI_Test_cancelled(&status, &cancelled);
    test_check(cancelled, "it was not cancelled");
    test_check(holds(r, SMALL, 4), "the receive buffer was written");
    if (persistent)
        test_success(MPI_Request_free(&request));
    test_check(request == MPI_REQUEST_NULL, "the request is not null afterwards");
    region_drop(r);
}

/* Sends whose requests are freed while they are under way: all must arrive, and the receives too, in time. */
static void try_freed(void)
{
    struct region *out = region_of(first_device(), LARGE, 5), *in = region_of(first_device(), LARGE, 0);
    MPI_Request request;
    double start;

    test_now("requests that are freed while they are active");
    if (test_rank == 0) {
        test_success(MPI_Isend(out->at, LARGE, MPI_INT, other, TAG, MPI_COMM_WORLD, &request));
        test_success(MPI_Request_free(&request));
        test_check(request == MPI_REQUEST_NULL, "the request is not null afterwards");
        PMPI_Barrier(MPI_COMM_WORLD);
    } else {
        PMPI_Barrier(MPI_COMM_WORLD);
        test_success(MPI_Irecv(in->at, LARGE, MPI_INT, other, TAG, MPI_COMM_WORLD, &request));
        test_success(MPI_Request_free(&request));
    }
    for (start = MPI_Wtime(); test_rank == 1 && !holds(in, LARGE, 5) && MPI_Wtime() < start + 20;) {
        int flag;

        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    test_check(test_rank == 0 || holds(in, LARGE, 5), "what was received has not come in 20 seconds");
    PMPI_Barrier(MPI_COMM_WORLD);
    region_drop(out);
    region_drop(in);
}

/* ---- persistent ---- */

/* Both ways, in all kinds of memory, started again and again with other data. */
static void try_persistent(void)
{
    static int data[LARGE];
    struct region *out[NMEMORIES], *in[NMEMORIES];
    MPI_Request requests[2 * NMEMORIES];
    int n = 0;

    for (int m = 0; m < NMEMORIES; m++)
        if (memory_exists((enum memory)m)) {
            out[n] = region_of((enum memory)m, LARGE, 0);
            in[n] = region_of((enum memory)m, LARGE, 0);
            MPI_Send_init(out[n]->at, LARGE, MPI_INT, other, m, MPI_COMM_WORLD, &requests[2 * n]);
            MPI_Recv_init(in[n]->at, LARGE, MPI_INT, other, m, MPI_COMM_WORLD, &requests[2 * n + 1]);
            n++;
        }
    for (int round = 0; round < ROUNDS; round++) {
        test_now("persistent messages, round %d", round);
        for (int i = 0; i < n; i++) {
            fill(data, LARGE, 100 * round + 10 * i + test_rank);
            region_set(out[i], 0, data, sizeof data);
        }
        test_success(MPI_Startall(2 * n, requests));
        test_success(MPI_Waitall(2 * n, requests, no_statuses));
        for (int i = 0; i < n; i++)
            test_check(holds(in[i], LARGE, 100 * round + 10 * i + other), "message %d is wrong", i);
    }
    test_success(MPI_Waitall(2 * n, requests, no_statuses)); /* inactive ones are complete */
    for (int i = 0; i < n; i++) {
        test_success(MPI_Request_free(&requests[2 * i]));
        test_success(MPI_Request_free(&requests[2 * i + 1]));
        region_drop(out[i]);
        region_drop(in[i]);
    }
}

/* ---- arrays ---- */

enum how { WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME, TEST, NHOWS };
static const char *const how_names[] = {"Waitall", "Waitany", "Waitsome", "Testall", "Testany", "Testsome", "Test"};
enum { NREQUESTS = 2 * NMEMORIES + 2 };

/* Which of the requests are over, once: how many of them, their numbers in which. */
static int look(enum how how, MPI_Request *requests, int *which, MPI_Status *statuses)
{
    int k = 0, flag = 0;

    switch (how) {
    case WAITANY:
        test_success(MPI_Waitany(NREQUESTS, requests, which, statuses));
        return which[0] == MPI_UNDEFINED ? 0 : 1;
    case TESTANY:
        test_success(MPI_Testany(NREQUESTS, requests, which, &flag, statuses));
        return flag && which[0] != MPI_UNDEFINED;
    case WAITSOME:
    case TESTSOME:
        test_success((how == WAITSOME ? MPI_Waitsome : MPI_Testsome)(NREQUESTS, requests, &k, which, statuses));
        return k == MPI_UNDEFINED ? 0 : k;
    case TEST:
        for (int i = 0; i < NREQUESTS && !flag; i++) {
            which[0] = i;
            if (requests[i] != MPI_REQUEST_NULL)
                test_success(MPI_Test(&requests[i], &flag, statuses));
        }
        return flag;
    case WAITALL:
        flag = test_success(MPI_Waitall(NREQUESTS, requests, statuses));
        break;
    default:
        test_success(MPI_Testall(NREQUESTS, requests, &flag, statuses));
    }
    for (int i = 0; i < NREQUESTS; i++)
        which[i] = i;
    return flag ? NREQUESTS : 0;
}

/* Messages both ways in all kinds of memory, among null requests. Sizes grow, so that they do not all end at once. */
static void try_array(enum how how)
{
    struct region *out[NMEMORIES] = {NULL}, *in[NMEMORIES] = {NULL};
    MPI_Request requests[NREQUESTS];
    MPI_Status statuses[NREQUESTS];
    int which[NREQUESTS], left = 0, n[NMEMORIES];

    for (int i = 0; i < NREQUESTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int m = 0; m < NMEMORIES; m++) {
        n[m] = m % 2 ? LARGE : SMALL + m;
        if (!memory_exists((enum memory)m))
            continue;
        out[m] = region_of((enum memory)m, n[m], 10 * m + test_rank);
        in[m] = region_of((enum memory)m, n[m], 0);
        test_success(MPI_Irecv(in[m]->at, n[m], MPI_INT, other, m, MPI_COMM_WORLD, &requests[2 * m + 1]));
        left++;
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int m = NMEMORIES - 1; m >= 0; m--)
        if (out[m])
            test_success(MPI_Isend(out[m]->at, n[m], MPI_INT, other, m, MPI_COMM_WORLD, &requests[2 * m]));
    for (const double start = MPI_Wtime(); left > 0 && MPI_Wtime() < start + 20;) {
        const int k = look(how, requests, which, statuses);

        for (int i = 0; i < k; i++) {
            const int m = which[i] / 2;
            int got;

            if (which[i] % 2 == 0 || m >= NMEMORIES || !in[m])
                continue;
            PMPI_Get_count(&statuses[i], MPI_INT, &got);
            test_check(got == n[m] && statuses[i].MPI_TAG == m, "the status of message %d says %d ints, tag %d", m, got,
                       statuses[i].MPI_TAG);
            test_check(holds(in[m], n[m], 10 * m + other), "%s memory was not received into", memory_names[m]);
            left--;
        }
    }
    test_check(left == 0, "%d messages have not come in 20 seconds", left);
    test_success(MPI_Waitall(NREQUESTS, requests, no_statuses));
    for (int m = 0; m < NMEMORIES; m++)
        if (out[m]) {
            region_drop(out[m]);
            region_drop(in[m]);
        }
}

/* ---- parts of one array ---- */

enum { COLUMNS = 4, ROWS = 100 };

/* Each column is received on its own, the last one first; nothing but the columns may be written. */
static void try_columns(enum memory memory)
{
    static int matrix[ROWS * COLUMNS], got[ROWS * COLUMNS], column[ROWS];
    struct region r;
    MPI_Datatype type;
    MPI_Request requests[COLUMNS];
    bool right = true;

    test_now("columns of one matrix, %s memory", memory_names[memory]);
    PMPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &type);
    PMPI_Type_commit(&type);
    region_make(&r, memory, sizeof matrix);
    fill(matrix, ROWS * COLUMNS, 6);
    region_set(&r, 0, matrix, sizeof matrix);
    for (int c = 1; c < COLUMNS; c++)
        test_success(MPI_Irecv(r.at + 4 * c, 1, type, test_rank, c, MPI_COMM_WORLD, &requests[c]));
    for (int c = COLUMNS - 1; c > 0; c--) {
        fill(column, ROWS, c);
        PMPI_Send(column, ROWS, MPI_INT, test_rank, c, MPI_COMM_WORLD);
        if (c == 2) /* the others' own bytes are written while these receives are open */
            memory_put(memory, r.at, "new", 4);
        test_success(MPI_Wait(&requests[c], MPI_STATUS_IGNORE));
    }
    test_check(region_get(&r, got), "bytes around the matrix were written");
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        const int want = i % COLUMNS ? number(i / COLUMNS, i % COLUMNS) : matrix[i];

        right &= i == 0 ? memcmp(got, "new", 4) == 0 : got[i] == want;
    }
    test_check(right, "the matrix is wrong");
    PMPI_Type_free(&type);
    region_free(&r);
}

/* A datatype may be freed while a message that it describes is under way. */
static void try_freed_type(enum memory memory, bool persistent)
{
    static int blank[2 * SMALL], want[2 * SMALL], data[SMALL];
    struct region r;
    MPI_Datatype type;
    MPI_Request request;

    test_now("a datatype that is freed before its %s message comes, %s memory", persistent ? "persistent" : "",
             memory_names[memory]);
    region_make(&r, memory, sizeof blank);
    region_set(&r, 0, blank, sizeof blank);
    PMPI_Type_vector(SMALL, 1, 2, MPI_INT, &type);
    PMPI_Type_commit(&type);
    test_success((persistent ? MPI_Recv_init : MPI_Irecv)(r.at, 1, type, test_rank, TAG, MPI_COMM_WORLD, &request));
    PMPI_Type_free(&type);
    PMPI_Type_vector(2, SMALL, SMALL + 1, MPI_BYTE, &type); /* which may get the same handle */
    PMPI_Type_commit(&type);
    fill(data, SMALL, 12);
    for (int i = 0; i < SMALL; i++)
        want[2 * i] = data[i];
    for (int i = 0; i < (persistent ? 2 : 1); i++) {
        region_set(&r, 0, blank, sizeof blank);
        if (persistent)
            test_success(MPI_Start(&request));
        PMPI_Send(data, SMALL, MPI_INT, test_rank, TAG, MPI_COMM_WORLD);
        test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
        test_check(region_holds(&r, want), "what was received is wrong");
    }
    if (persistent)
        MPI_Request_free(&request);
    PMPI_Type_free(&type);
    region_free(&r);
}

/* By absolute addresses. */
static void try_bottom(enum memory memory)
{
    struct region *out = region_of(memory, SMALL, 7), *in = region_of(memory, SMALL, 0);
    const int lengths[] = {SMALL};
    const MPI_Aint at[] = {(MPI_Aint)(intptr_t)out->at, (MPI_Aint)(intptr_t)in->at};
    MPI_Datatype types[2];

    test_now("MPI_BOTTOM, %s memory", memory_names[memory]);
    for (int i = 0; i < 2; i++) {
        PMPI_Type_create_hindexed(1, lengths, &at[i], MPI_INT, &types[i]);
        PMPI_Type_commit(&types[i]);
    }
    test_success(MPI_Sendrecv(MPI_BOTTOM, 1, types[0], test_rank, 1, MPI_BOTTOM, 1, types[1], test_rank, 1,
                              MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    test_check(holds(in, SMALL, 7) && holds(out, SMALL, 7), "the buffers are wrong");
    for (int i = 0; i < 2; i++)
        PMPI_Type_free(&types[i]);
    region_drop(out);
    region_drop(in);
}

/* ---- as places of progress ---- */

enum blocking { RECV, SENDRECV, REPLACE, SSEND, PROBE, MPROBE, MRECV, NBLOCKING };
static const char *const blocking_names[] = {"Recv",   "Sendrecv", "Sendrecv_replace", "Ssend", "Probe",
                                             "Mprobe", "Mrecv"};

/* Rank 0's part: waits in that call until rank 1, which first needs it in a collective, does its own part. */
static void wait_in(enum blocking call, char *out, char *in)
{
    MPI_Message message;
    MPI_Status status;

    switch (call) {
    case SENDRECV:
        test_success(MPI_Sendrecv(out, SMALL, MPI_INT, 1, TAG, in, SMALL, MPI_INT, 1, TAG, MPI_COMM_WORLD, &status));
        return;
    case REPLACE:
        test_success(MPI_Sendrecv_replace(in, SMALL, MPI_INT, 1, TAG, 1, TAG, MPI_COMM_WORLD, &status));
        return;
    case SSEND:
        test_success(MPI_Ssend(out, SMALL, MPI_INT, 1, TAG, MPI_COMM_WORLD));
        return;
    case PROBE:
        test_success(MPI_Probe(1, TAG, MPI_COMM_WORLD, &status));
        break;
    case MPROBE:
    case MRECV:
        test_success(MPI_Mprobe(1, TAG, MPI_COMM_WORLD, &message, &status));
        test_success(MPI_Mrecv(in, SMALL, MPI_INT, &message, &status));
        return;
    default:
        break;
    }
    test_success(MPI_Recv(in, SMALL, MPI_INT, 1, TAG, MPI_COMM_WORLD, &status));
}

static void answer(enum blocking call, const int *data)
{
    int got[SMALL];

    if (call == SSEND || call == SENDRECV || call == REPLACE)
        PMPI_Recv(got, SMALL, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (call != SSEND)
        PMPI_Send(data, SMALL, MPI_INT, 0, TAG, MPI_COMM_WORLD);
}

static void try_progress(enum blocking call, enum memory memory)
{
    struct region *out = region_of(memory, SMALL, 8), *in = region_of(memory, SMALL, 8);
    static double mine[LARGE], sums[LARGE];
    MPI_Request request;
    int data[SMALL];

    test_now("%s, %s memory, while a nonblocking allreduce is under way", blocking_names[call], memory_names[memory]);
    fill(data, SMALL, 9);
    for (int i = 0; i < LARGE; i++)
        mine[i] = i + test_rank;
    test_success(MPI_Iallreduce(mine, sums, LARGE, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request));
    if (test_rank == 0) {
        wait_in(call, out->at, in->at);
        test_check(call == SSEND || holds(in, SMALL, 9), "what was received is wrong");
    } else {
        test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
        answer(call, data);
    }
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test_check(sums[0] == 1 && sums[LARGE - 1] == 2.0 * LARGE - 1, "the sums are wrong");
    region_drop(out);
    region_drop(in);
}

/* ---- costs, which only the simulated device counts ---- */

static void check_count(const char *what, unsigned long long counted, unsigned long long want)
{
    test_check(counted == want, "expected %llu %s, counted %llu", want, what, counted);
}

static void ping(char *out, char *in, int n, MPI_Datatype type)
{
    MPI_Request requests[2];

    test_success(MPI_Irecv(in, n, type, other, TAG, MPI_COMM_WORLD, &requests[0]));
    test_success(MPI_Isend(out, n, type, other, TAG, MPI_COMM_WORLD, &requests[1]));
    test_success(MPI_Waitall(2, requests, no_statuses));
}

static void try_costs(enum memory memory)
{
    const unsigned long long staged = memory != HOST, bytes = LARGE * sizeof(int);
    struct region *out = region_of(memory, LARGE, 1), *in = region_of(memory, LARGE, 0);
    struct simcuda_counters counted;

    ping(out->at, in->at, LARGE, MPI_INT);
    test_now("what a message each way costs, %s memory", memory_names[memory]);
    PMPI_Barrier(MPI_COMM_WORLD);
    simulator.reset();
    ping(out->at, in->at, LARGE, MPI_INT);
    simulator.counters(&counted);
    check_count("copies down", counted.copies[SIMCUDA_D2H], staged);
    check_count("copies up", counted.copies[SIMCUDA_H2D], staged);
    check_count("bytes down", counted.bytes[SIMCUDA_D2H], staged * bytes);
    check_count("bytes up", counted.bytes[SIMCUDA_H2D], staged * bytes);
    check_count("other copies", counted.copies[SIMCUDA_D2D], 0);
    check_count("allocations", counted.device_allocs + counted.pinned_allocs, 0);
    check_count("calls that wait for the device", counted.syncs, 0);
    check_count("pointer queries", counted.pointer_queries, 2);
    if (!staged)
        check_count("driver calls", counted.calls, 2);
    region_drop(out);
    region_drop(in);
}

/* Every other int: packed by a kernel, so that only the message itself is copied. */
static void try_costs_of_gaps(void)
{
    const unsigned long long bytes = LARGE / 2 * sizeof(int);
    struct region *out = region_of(DEVICE, LARGE, 1), *in = region_of(DEVICE, LARGE, 0);
    struct simcuda_counters counted;
    MPI_Datatype type;

    PMPI_Type_vector(LARGE / 2, 1, 2, MPI_INT, &type);
    PMPI_Type_commit(&type);
    ping(out->at, in->at, 1, type);
    test_now("what a message with gaps each way costs");
    PMPI_Barrier(MPI_COMM_WORLD);
    simulator.reset();
    ping(out->at, in->at, 1, type);
    simulator.counters(&counted);
    check_count("launches", counted.launches, 2);
    check_count("copies down", counted.copies[SIMCUDA_D2H], 1);
    check_count("copies up", counted.copies[SIMCUDA_H2D], 1);
    check_count("bytes down", counted.bytes[SIMCUDA_D2H], bytes);
    check_count("bytes up", counted.bytes[SIMCUDA_H2D], bytes);
    check_count("allocations", counted.device_allocs + counted.pinned_allocs, 0);
    check_count("calls that wait for the device", counted.syncs, 0);
    PMPI_Type_free(&type);
    region_drop(out);
    region_drop(in);
}

static void try_settings(void)
{
    static const char *const names[] = {"TUTTI_P2P", "TUTTI_MPI_CUDA"}, *const values[] = {"off", "yes"};
    struct region *out = region_of(HOST, LARGE, 1), *in = region_of(HOST, LARGE, 0);
    struct simcuda_counters counted;

    for (int i = 0; i < 2; i++) {
        test_now("messages from host memory with %s=%s", names[i], values[i]);
        test_set(names[i], values[i]);
        simulator.reset();
        ping(out->at, in->at, LARGE, MPI_INT);
        simulator.counters(&counted);
        check_count("driver calls", counted.calls, 0);
        test_set(names[i], i ? "no" : NULL);
    }
    region_drop(out);
    region_drop(in);
}

/* Where the MPI is said to take device memory, nothing is staged unless TUTTI_P2P=on. */
static void try_forced(void)
{
    test_set("TUTTI_MPI_CUDA", "yes");
    test_set("TUTTI_P2P", "on");
    try_costs(DEVICE);
    test_set("TUTTI_P2P", NULL);
    test_set("TUTTI_MPI_CUDA", "no");
}

/* ---- errors of the device ---- */

static int handled;

static void note(MPI_Comm *comm, int *error, ...)
{
    (void)comm;
    (void)error;
    handled++;
}

/* The copy up fails, in a blocking call and in a wait; the context is broken from then on, so this is the last. */
static void try_broken(bool waits)
{
    struct region *in = region_of(DEVICE, SMALL, 0);
    const int data[SMALL] = {0};
    char text[MPI_MAX_ERROR_STRING] = "";
    MPI_Request sent, request;
    MPI_Errhandler handler;
    int length, error;

    test_now("a device that fails when the message has come, in %s", waits ? "MPI_Wait" : "MPI_Recv");
    PMPI_Comm_create_errhandler(note, &handler);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    PMPI_Isend(data, SMALL, MPI_INT, test_rank, TAG, MPI_COMM_WORLD, &sent);
    handled = 0;
    if (waits)
        test_success(MPI_Irecv(in->at, SMALL, MPI_INT, test_rank, TAG, MPI_COMM_WORLD, &request));
    simulator.inject("sticky:after=1");
    error = waits ? MPI_Wait(&request, MPI_STATUS_IGNORE)
                  : MPI_Recv(in->at, SMALL, MPI_INT, test_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Error_string(error, text, &length);
    test_check(error != MPI_SUCCESS && strstr(text, "Tutti") && strstr(text, waits ? "MPI_Irecv" : "MPI_Recv"),
               "expected an error that names Tutti and the call, got %d: %s", error, text);
    test_check(handled == 1, "expected the error handler to be called once, it was called %d times", handled);
    PMPI_Wait(&sent, MPI_STATUS_IGNORE);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    PMPI_Errhandler_free(&handler);
}

int main(int argc, char **argv)
{
    double one = 1, sum;

    test_begin(&argc, &argv, 120);
    other = 1 - test_rank;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* or the first nonblocking one is not ours */
    try_order(SMALL);
    try_order(LARGE);
    try_buffered();
    for (int m = 0; m < NMEMORIES; m++)
        if (memory_exists((enum memory)m)) {
            try_cancel((enum memory)m, false);
            try_cancel((enum memory)m, true);
            try_columns((enum memory)m);
            try_freed_type((enum memory)m, false);
            try_freed_type((enum memory)m, true);
            try_bottom((enum memory)m);
        }
    try_freed();
    try_persistent();
    for (int how = 0; how < NHOWS; how++) {
        test_now("MPI_%s of messages in all kinds of memory", how_names[how]);
        try_array((enum how)how);
    }
    for (int call = 0; call < NBLOCKING; call++)
        for (int m = HOST; m <= DEVICE && memory_exists((enum memory)m); m += DEVICE - HOST)
            try_progress((enum blocking)call, (enum memory)m);
    if (simulator.counters && test_gpus > 0) {
        try_costs(HOST);
        try_costs(DEVICE);
        try_costs_of_gaps();
        try_settings();
        try_forced();
        try_broken(argc > 1 && strcmp(argv[1], "wait") == 0);
    }
    return test_end();
}
