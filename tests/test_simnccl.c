/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in for NCCL is itself tested: what other tests conclude from it is worth no more than this. The ranks of
 * each test are forked processes, each on a device of its own; what a rank finds wrong ends it, and the test with it.
 */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/cells.h"
#include "cuda/dev.h"
#include "cuda/nccl.h"
#include "cuda/nccl_abi.h"
#include "cuda/ops.h"
#include "tests/simcuda/simcuda.h"
#include "tests/simcuda/simnccl.h"

#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "tests/simcuda/driver_more.def"
#define TT_NCCL(name, result, need, since, params) result nccl##name params;
#include "cuda/nccl.def"

enum { RANKS = 4 };

/* ---- ranks ---- */

/* What the ranks of a test share. */
static struct shared {
    ncclUniqueId ids[2];
    atomic_int came, rounds;
} * shared;

static int rank, nranks;

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: rank %d: %s\n", __FILE__, __LINE__, rank, #condition);                             \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define GIVES(call, result)                                                                                            \
    do {                                                                                                               \
        const int got_ = (int)(call);                                                                                  \
        if (got_ != (int)(result)) {                                                                                   \
            fprintf(stderr, "%s:%d: rank %d: %s gives %d (%s)\n", __FILE__, __LINE__, rank, #call, got_,               \
                    ncclGetLastError(NULL));                                                                           \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call) GIVES(call, 0)

static void nap(void)
{
    const struct timespec time = {0, 1000000};

    nanosleep(&time, NULL);
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void barrier(void)
{
    const int round = atomic_load(&shared->rounds);

    if (atomic_fetch_add(&shared->came, 1) == nranks - 1) {
        atomic_store(&shared->came, 0);
        atomic_fetch_add(&shared->rounds, 1);
    }
    while (atomic_load(&shared->rounds) == round)
        nap();
}

static void use_device(int device)
{
    CUcontext context;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
}

/* Of the address sanitizer, if it is there: a rank ends with _exit, where it does not look by itself. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

/* Runs act as that many ranks, each in a process, on device rank; returns how many did not end with 0. */
static int run(int n, void (*act)(void))
{
    pid_t pids[16];
    int status, bad = 0;

    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    nranks = n;
    OK(ncclGetUniqueId(&shared->ids[0]));
    OK(ncclGetUniqueId(&shared->ids[1]));
    for (rank = 0; rank < n; rank++) {
        pids[rank] = fork();
        if (pids[rank] == 0) {
            alarm(100);
            use_device(rank);
            act();
            _exit(__lsan_do_recoverable_leak_check ? __lsan_do_recoverable_leak_check() : 0);
        }
    }
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        bad += status != 0;
    }
    return bad;
}

#define ALL_WELL(n, act) ck_assert_int_eq(run(n, act), 0)

static CUdeviceptr device_memory(size_t bytes)
{
    CUdeviceptr p;

    OK(cuMemAlloc_v2(&p, bytes ? bytes : 1));
    return p;
}

static CUstream new_stream(void)
{
    CUstream s;

    OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    return s;
}

static ncclComm_t make(int which)
{
    ncclComm_t comm;

    OK(ncclCommInitRank(&comm, nranks, shared->ids[which], rank));
    return comm;
}

static ncclResult_t async(ncclComm_t comm)
{
    ncclResult_t result;

    OK(ncclCommGetAsyncError(comm, &result));
    return result;
}

/* Polls, for at most a few seconds; what it is then. */
static ncclResult_t settled(ncclComm_t comm)
{
    const double end = seconds() + 60;

    while (async(comm) == ncclInProgress && seconds() < end)
        nap();
    return async(comm);
}

/* The error that comes in place of the end of an operation. */
static ncclResult_t broken(ncclComm_t comm)
{
    const double end = seconds() + 60;

    while (async(comm) == ncclSuccess && seconds() < end)
        nap();
    return async(comm);
}

static unsigned long long reports(void)
{
    struct simnccl_counters c;

    simnccl_counters(&c);
    return c.reports;
}

static void inject(const char *spec)
{
    MUST(simcuda_inject(spec) == 0);
}

/* ---- every type and op ---- */

static const struct {
    ncclDataType_t type;
    enum tt_type id;
    size_t bytes;
} types[] = {
#define TT_NCCL_TYPE(name, value, id, bytes, since) {name, TT_TYPE_##id, bytes},
#include "cuda/nccl.def"
};
enum { NTYPES = sizeof types / sizeof types[0] };

/* Small numbers, which each type has exactly, as has their sum, product and average. */
static void put(int type, void *at, size_t i, double value)
{
    switch (types[type].type) {
#define TT_NCCL_TYPE(name, number, id, bytes, since)                                                                   \
    case number:                                                                                                       \
        ((tt_elem_##id *)at)[i] = tt_narrow_##id((tt_acc_##id)value);                                                  \
        break;
#include "cuda/nccl.def"
    }
}

static double get(int type, const void *at, size_t i)
{
    switch (types[type].type) {
#define TT_NCCL_TYPE(name, number, id, bytes, since)                                                                   \
    case number:                                                                                                       \
        return (double)tt_widen_##id(((const tt_elem_##id *)at)[i]);
#include "cuda/nccl.def"
    }
    return NAN;
}

static double value_of(int of, size_t i)
{
    return (of + (int)i) % 4 == 0 ? 2 : 1;
}

static double expected(ncclRedOp_t op, size_t i)
{
    double sum = 0, prod = 1, max = 1, min = 2;

    for (int r = 0; r < nranks; r++) {
        const double v = value_of(r, i);

        sum += v;
        prod *= v;
        max = v > max ? v : max;
        min = v < min ? v : min;
    }
    return op == ncclSum ? sum : op == ncclProd ? prod : op == ncclMax ? max : op == ncclMin ? min : sum / nranks;
}

enum { COUNT = 1003 };
static ncclComm_t comm;
static CUstream stream;
static CUdeviceptr from, to;

static void *real(CUdeviceptr at)
{
    return simcuda_alias((void *)at);
}

static void begin(void)
{
    comm = make(0);
    stream = new_stream();
    from = device_memory(RANKS * COUNT * 8);
    to = device_memory(RANKS * COUNT * 8);
}

static void end(void)
{
    OK(cuStreamSynchronize(stream));
    OK(ncclCommFinalize(comm));
    OK(ncclCommDestroy(comm));
    MUST(reports() == 0);
}

static bool is_integer(int type)
{
    return types[type].type <= ncclUint64;
}

static void check_reduced(int type, ncclRedOp_t op, CUdeviceptr at, size_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double want = expected(op, first + i);

        want = is_integer(type) ? floor(want) : want;
        MUST(get(type, real(at), i) == want);
    }
}

static void fill(int type, size_t n)
{
    OK(cuStreamSynchronize(stream));
    for (size_t i = 0; i < n; i++)
        put(type, real(from), i, value_of(rank, i));
    memset(real(to), 0xff, n * types[type].bytes);
}

static void reductions(void)
{
    begin();
    for (int t = 0; t < NTYPES; t++)
        for (ncclRedOp_t op = ncclSum; op <= ncclAvg; op++) {
            const ncclDataType_t type = types[t].type;
            const int root = (t + (int)op) % nranks;

            if (op == ncclAvg && nranks == 3 && !is_integer(t))
                continue; /* which is not exact */
            fill(t, COUNT);
            OK(ncclAllReduce((void *)from, (void *)to, COUNT, type, op, comm, stream));
            OK(cuStreamSynchronize(stream));
            check_reduced(t, op, to, 0, COUNT);
            fill(t, COUNT);
            OK(ncclAllReduce((void *)from, (void *)from, COUNT, type, op, comm, stream));
            OK(cuStreamSynchronize(stream));
            check_reduced(t, op, from, 0, COUNT);
            fill(t, COUNT);
            OK(ncclReduce((void *)from, rank == root ? (void *)to : NULL, COUNT, type, op, root, comm, stream));
            OK(cuStreamSynchronize(stream));
            if (rank == root)
                check_reduced(t, op, to, 0, COUNT);
            fill(t, (size_t)nranks * 50);
            OK(ncclReduceScatter((void *)from, (void *)to, 50, type, op, comm, stream));
            OK(cuStreamSynchronize(stream));
            check_reduced(t, op, to, (size_t)rank * 50, 50);
        }
    end();
}

START_TEST(all_types_and_ops)
{
    ALL_WELL(RANKS, reductions);
    ALL_WELL(3, reductions);
    ALL_WELL(1, reductions);
}
END_TEST

/* ---- moving ---- */

static unsigned char byte_of(int source, int block, size_t i)
{
    return (unsigned char)(source * 31 + block * 7 + (int)i);
}

static void write_block(CUdeviceptr at, int source, int block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)real(at))[i] = byte_of(source, block, i);
}

static void check_block(CUdeviceptr at, int source, int block, size_t n)
{
    for (size_t i = 0; i < n; i++)
        MUST(((unsigned char *)real(at))[i] == byte_of(source, block, i));
}

static void moves_of(size_t n)
{
    const int root = nranks - 1;
    const CUdeviceptr mine = to + (size_t)rank * n;

    write_block(from, rank, 0, n);
    OK(ncclAllGather((void *)from, (void *)to, n, ncclUint8, comm, stream));
    OK(cuStreamSynchronize(stream));
    for (int r = 0; r < nranks; r++)
        check_block(to + (size_t)r * n, r, 0, n);
    write_block(mine, rank, 5, n);
    OK(ncclAllGather((void *)mine, (void *)to, n, ncclUint8, comm, stream));
    OK(cuStreamSynchronize(stream));
    for (int r = 0; r < nranks; r++)
        check_block(to + (size_t)r * n, r, 5, n);
    OK(ncclBroadcast(rank == root ? (void *)from : NULL, (void *)to, n, ncclInt8, root, comm, stream));
    OK(cuStreamSynchronize(stream));
    check_block(to, root, 0, n);
    for (int r = 0; r < nranks; r++)
        write_block(from + (size_t)r * n, rank, r, n);
    OK(ncclAlltoAll((void *)from, (void *)to, n, ncclUint8, comm, stream));
    OK(cuStreamSynchronize(stream));
    for (int r = 0; r < nranks; r++)
        check_block(to + (size_t)r * n, r, rank, n);
    OK(ncclScatter(rank == root ? (void *)from : NULL, (void *)to, n, ncclUint8, root, comm, stream));
    OK(ncclGather((void *)to, rank == root ? (void *)from : NULL, n, ncclUint8, root, comm, stream));
    OK(cuStreamSynchronize(stream));
    check_block(to, root, rank, n);
    for (int r = 0; r < nranks && rank == root; r++)
        check_block(from + (size_t)r * n, root, r, n);
}

static void moves(void)
{
    begin();
    moves_of(1);
    moves_of(0);
    moves_of(1000);
    end();
}

START_TEST(data_movers)
{
    ALL_WELL(RANKS, moves);
    ALL_WELL(1, moves);
}
END_TEST

/* Each sends a different length to each, itself included, all in one group. */
static void exchange(void)
{
    size_t at[RANKS + 1] = {0};

    begin();
    for (int turn = 0; turn < 20; turn++) {
        OK(cuStreamSynchronize(stream));
        barrier();
        OK(ncclGroupStart());
        for (int r = 0; r < nranks; r++) {
            const size_t out = (size_t)(rank + 2 * r), in = (size_t)(r + 2 * rank);

            write_block(from + (size_t)r * 100, rank, r, out);
            OK(ncclSend((void *)(from + (size_t)r * 100), out, ncclUint8, r, comm, stream));
            OK(ncclRecv((void *)(to + at[r]), in, ncclUint8, r, comm, stream));
            at[r + 1] = at[r] + in;
        }
        OK(ncclGroupEnd());
        OK(cuStreamSynchronize(stream));
        for (int r = 0; r < nranks; r++)
            check_block(to + at[r], r, rank, at[r + 1] - at[r]);
    }
    end();
}

START_TEST(grouped_sends_and_receives)
{
    ALL_WELL(RANKS, exchange);
}
END_TEST

/* Collectives, and groups in which each sends to some, in any order, all given to the stream at once: nothing is taken
 * for a mismatch that is none. */
static void mixed(void)
{
    unsigned state = 12345; /* the same on all ranks */

    begin();
    memset(real(from), 1, 4000);
    for (int turn = 0; turn < 400; turn++) {
        state = state * 1103515245 + 12345;
        if (state >> 30 == 0)
            OK(ncclBroadcast((void *)from, (void *)from, 100, ncclUint8, (int)(state >> 20) % nranks, comm, stream));
        if (state >> 30 == 1)
            OK(ncclAllReduce((void *)to, (void *)to, 7, ncclInt32, ncclMax, comm, stream));
        OK(ncclGroupStart());
        for (int r = 0; r < nranks; r++) {
            if (state >> (r * 4 + rank) & 1)
                OK(ncclSend((void *)from, 10 + (size_t)r, ncclUint8, r, comm, stream));
            if (state >> (rank * 4 + r) & 1)
                OK(ncclRecv((void *)(to + 100 * (size_t)r), 10 + (size_t)rank, ncclUint8, r, comm, stream));
        }
        if (state >> 29 & 1)
            OK(ncclAllReduce((void *)to, (void *)to, 9, ncclInt32, ncclMax, comm, stream));
        OK(ncclGroupEnd());
    }
    OK(cuStreamSynchronize(stream));
    GIVES(async(comm), ncclSuccess);
    end();
}

START_TEST(collectives_among_groups)
{
    ALL_WELL(RANKS, mixed);
}
END_TEST

/* Managed memory, which others cannot map, serves as well. */
static void managed(void)
{
    CUdeviceptr in, out;

    begin();
    OK(cuMemAllocManaged(&in, 4000, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocManaged(&out, 4000, CU_MEM_ATTACH_GLOBAL));
    for (int i = 0; i < 1000; i++)
        ((int *)in)[i] = rank + i;
    OK(ncclAllReduce((void *)in, (void *)out, 1000, ncclInt32, ncclSum, comm, stream));
    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < 1000; i++)
        MUST(((int *)out)[i] == RANKS * i + 6);
    end();
}

START_TEST(managed_memory)
{
    ALL_WELL(RANKS, managed);
}
END_TEST

/* ---- in the order of streams, without the host ---- */

static void asynchronous(void)
{
    const double start = (begin(), barrier(), seconds());

    if (rank == 0) {
        nap();
        inject("hold");
    }
    OK(cuMemsetD32Async(from, 5, 100, stream));
    OK(ncclAllReduce((void *)from, (void *)to, 100, ncclInt32, ncclSum, comm, stream));
    OK(ncclAllReduce((void *)to, (void *)to, 100, ncclInt32, ncclSum, comm, stream));
    MUST(seconds() - start < 5);
    barrier();
    GIVES(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    barrier();
    if (rank == 0)
        inject("release");
    OK(cuStreamSynchronize(stream));
    MUST(((int *)real(to))[99] == 5 * RANKS * RANKS);
    end();
}

START_TEST(work_of_a_stream)
{
    ALL_WELL(RANKS, asynchronous);
}
END_TEST

/* Two streams: operations of one communicator keep their order. */
static void two_streams(void)
{
    CUstream other = (begin(), new_stream());

    for (int i = 0; i < 50; i++) {
        ((int *)real(from))[0] = 1;
        OK(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, i % 2 ? stream : other));
        OK(ncclAllReduce((void *)to, (void *)to, 1, ncclInt32, ncclSum, comm, i % 2 ? other : stream));
        OK(cuStreamSynchronize(stream));
        OK(cuStreamSynchronize(other));
        MUST(((int *)real(to))[0] == RANKS * RANKS);
    }
    end();
}

START_TEST(streams_of_one_communicator)
{
    ALL_WELL(RANKS, two_streams);
}
END_TEST

/* ---- nonblocking ---- */

static ncclComm_t make_nonblocking(void)
{
    ncclConfig_t config = tt_nccl_config(false);
    ncclComm_t c;

    GIVES(ncclCommInitRankConfig(&c, nranks, shared->ids[0], rank, &config), ncclInProgress);
    return c;
}

static void nonblocking(void)
{
    inject(rank == 1 ? "nccl-delay:ms=1500" : "release");
    barrier();
    const double start = seconds();
    comm = make_nonblocking();
    MUST(seconds() - start < 1.2);
    stream = new_stream();
    from = device_memory(400);
    MUST(async(comm) == ncclInProgress);
    GIVES(ncclAllReduce((void *)from, (void *)from, 1, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(settled(comm), ncclSuccess);
    MUST(seconds() - start > 1.0);
    ((int *)real(from))[0] = 1;
    GIVES(ncclAllReduce((void *)from, (void *)from, 1, ncclInt32, ncclSum, comm, stream), ncclInProgress);
    GIVES(settled(comm), ncclSuccess);
    OK(ncclAllReduce((void *)from, (void *)from, 1, ncclInt32, ncclSum, comm, stream));
    OK(cuStreamSynchronize(stream));
    MUST(((int *)real(from))[0] == RANKS * RANKS);
    GIVES(ncclCommFinalize(comm), ncclInProgress);
    GIVES(settled(comm), ncclSuccess);
    OK(ncclCommDestroy(comm));
    MUST(reports() == 1);
}

START_TEST(nothing_blocks)
{
    ALL_WELL(RANKS, nonblocking);
}
END_TEST

/* Two hundred, one after the other: no file, mapping or memory stays. */
static void many(void)
{
    struct simnccl_counters c;
    int fd_before, fd_after;

    stream = new_stream();
    from = device_memory(400);
    fd_before = dup(0);
    close(fd_before);
    for (int i = 0; i < 200; i++) {
        if (rank == 0)
            OK(ncclGetUniqueId(&shared->ids[0]));
        barrier();
        comm = make(0);
        OK(ncclAllReduce((void *)from, (void *)from, 1, ncclInt32, ncclSum, comm, stream));
        OK(cuStreamSynchronize(stream));
        OK(ncclCommDestroy(comm));
        barrier();
    }
    fd_after = dup(0);
    simnccl_counters(&c);
    MUST(fd_after <= fd_before + 1); /* the arena's file came meanwhile */
    MUST(c.alive == 0 && c.CommInitRank == 200 && c.AllReduce == 200 && c.launches == 200 && c.reports == 0);
}

START_TEST(one_after_the_other)
{
    ALL_WELL(2, many);
}
END_TEST

/* ---- what is reported ---- */

/* Each rank says so, hangs, and is freed by ncclCommAbort; the stream is of use again. */
static void ends_by_abort(ncclResult_t error)
{
    GIVES(broken(comm), error);
    GIVES(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    GIVES(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, stream), error);
    OK(ncclCommAbort(comm));
    OK(cuStreamSynchronize(stream));
    OK(cuMemsetD32Async(from, 5, 100, stream));
    OK(cuStreamSynchronize(stream));
}

static void counts_differ(void)
{
    begin();
    OK(ncclAllReduce((void *)from, (void *)to, rank == 2 ? 4 : 3, ncclInt32, ncclSum, comm, stream));
    ends_by_abort(ncclInvalidUsage);
    MUST(reports() == 1);
}

static void types_differ(void)
{
    begin();
    OK(ncclAllGather((void *)from, (void *)to, 3, rank == 2 ? ncclUint32 : ncclInt32, comm, stream));
    ends_by_abort(ncclInvalidUsage);
}

static void ops_differ(void)
{
    begin();
    OK(ncclReduceScatter((void *)from, (void *)to, 3, ncclInt32, rank ? ncclMax : ncclMin, comm, stream));
    ends_by_abort(ncclInvalidUsage);
}

static void roots_differ(void)
{
    begin();
    OK(ncclBroadcast((void *)from, (void *)to, 3, ncclInt32, rank == 3, comm, stream));
    ends_by_abort(ncclInvalidUsage);
}

static void calls_differ(void)
{
    begin();
    if (rank == 1)
        OK(ncclAllGather((void *)from, (void *)to, 3, ncclInt32, comm, stream));
    else
        OK(ncclAllReduce((void *)from, (void *)to, 3, ncclInt32, ncclSum, comm, stream));
    ends_by_abort(ncclInvalidUsage);
}

static void pairs_differ(void)
{
    begin();
    if (rank == 0)
        OK(ncclSend((void *)from, 3, ncclInt32, 1, comm, stream));
    else
        OK(ncclRecv((void *)to, 4, ncclInt32, 0, comm, stream));
    ends_by_abort(ncclInvalidUsage);
}

static void collective_and_pair(ncclResult_t (*pair)(void), bool both)
{
    begin();
    if (rank == 0)
        OK(ncclAllReduce((void *)from, (void *)to, 3, ncclInt32, ncclSum, comm, stream));
    else
        OK(pair());
    if (rank == 1 || both)
        ends_by_abort(ncclInvalidUsage);
    barrier();
}

static ncclResult_t send_to_0(void)
{
    return ncclSend((void *)from, 3, ncclInt32, 0, comm, stream);
}

static ncclResult_t recv_from_0(void)
{
    return ncclRecv((void *)from, 3, ncclInt32, 0, comm, stream);
}

static void collective_and_send(void)
{
    collective_and_pair(send_to_0, true);
}

static void collective_and_recv(void)
{
    collective_and_pair(recv_from_0, false);
}

START_TEST(mismatches)
{
    ALL_WELL(RANKS, counts_differ);
    ALL_WELL(RANKS, types_differ);
    ALL_WELL(RANKS, ops_differ);
    ALL_WELL(RANKS, roots_differ);
    ALL_WELL(RANKS, calls_differ);
    ALL_WELL(2, pairs_differ);
    ALL_WELL(2, collective_and_send);
    ALL_WELL(2, collective_and_recv);
}
END_TEST

/* Each on a stream of its own, so nothing hangs; on a device with no room it would. */
static void orders_differ(void)
{
    ncclComm_t comms[2] = {make(0), make(1)};
    CUstream streams[2] = {new_stream(), new_stream()};

    from = device_memory(800);
    for (int i = 0; i < 2; i++) {
        const int which = rank ? 1 - i : i;

        OK(ncclAllReduce((void *)(from + 400 * which), (void *)(from + 400 * which), 1, ncclInt32, ncclSum,
                         comms[which], streams[which]));
    }
    while (async(comms[0]) == ncclSuccess && async(comms[1]) == ncclSuccess)
        nap();
    barrier();
    MUST(reports() >= 1);
    OK(ncclCommAbort(comms[0]));
    OK(ncclCommAbort(comms[1]));
}

START_TEST(orders_of_communicators)
{
    ALL_WELL(2, orders_differ);
}
END_TEST

static void bad_memory(void)
{
    int host[100];
    void *pinned;
    CUdeviceptr small = (begin(), device_memory(512));
    CUcontext other, ours;

    OK(cuMemHostAlloc(&pinned, 400, 0));
    GIVES(ncclAllReduce(host, (void *)to, 100, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAllReduce((void *)from, host, 100, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAllReduce(pinned, (void *)to, 100, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAllReduce(NULL, (void *)to, 100, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAllReduce((void *)small, (void *)to, 200, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAllReduce((void *)from, (void *)(from + 4), 100, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAlltoAll((void *)from, (void *)from, 1, ncclInt32, comm, stream), ncclInvalidArgument);
    OK(ncclGroupStart());
    OK(ncclSend((void *)from, 10, ncclInt32, 1 - rank, comm, stream));
    OK(ncclRecv((void *)(from + 36), 10, ncclInt32, 1 - rank, comm, stream));
    GIVES(ncclGroupEnd(), ncclInvalidArgument);
    OK(cuCtxGetCurrent(&ours));
    OK(cuDevicePrimaryCtxRetain(&other, 2));
    OK(cuCtxSetCurrent(other));
    GIVES(ncclAllReduce((void *)from, (void *)to, 100, ncclInt32, ncclSum, comm, stream), ncclInvalidUsage);
    small = device_memory(512);
    OK(cuCtxSetCurrent(ours));
    GIVES(ncclAllReduce((void *)small, (void *)to, 100, ncclInt32, ncclSum, comm, stream), ncclInvalidArgument);
    MUST(reports() == 10);
    OK(cuStreamQuery(stream));
}

static void bad_numbers(void)
{
    begin();
    GIVES(ncclAllReduce((void *)from, (void *)to, 1, 12, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclAllReduce((void *)from, (void *)to, 1, ncclInt8, 5, comm, stream), ncclInvalidArgument);
    GIVES(ncclReduce((void *)from, (void *)to, 1, ncclInt8, ncclSum, nranks, comm, stream), ncclInvalidArgument);
    GIVES(ncclSend((void *)from, 1, ncclInt8, -1, comm, stream), ncclInvalidArgument);
    GIVES(ncclGroupEnd(), ncclInvalidUsage);
    GIVES(ncclAllReduce((void *)from, (void *)to, 1, ncclInt8, ncclSum, NULL, stream), ncclInvalidArgument);
    MUST(reports() == 6);
    OK(ncclCommDestroy(comm));
    GIVES(ncclAllReduce((void *)from, (void *)to, 1, ncclInt8, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclCommAbort(comm), ncclInvalidArgument);
    comm = make(1);
    OK(ncclCommAbort(comm));
    GIVES(ncclAllReduce((void *)from, (void *)to, 1, ncclInt8, ncclSum, comm, stream), ncclInvalidArgument);
    GIVES(ncclCommDestroy(comm), ncclInvalidArgument);
    MUST(reports() == 10);
}

START_TEST(misuse)
{
    ALL_WELL(2, bad_memory);
    ALL_WELL(2, bad_numbers);
}
END_TEST

static void shared_gpu(void)
{
    use_device(0);
    GIVES(ncclCommInitRank(&comm, nranks, shared->ids[0], rank), ncclInvalidUsage);
    MUST(!comm && reports() == 1);
}

static void shared_gpu_allowed(void)
{
    use_device(0);
    begin();
    OK(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, stream));
    end();
}

static void own_context(void)
{
    CUcontext context;

    OK(cuCtxCreate_v2(&context, 0, rank));
    GIVES(ncclCommInitRank(&comm, nranks, shared->ids[0], rank), ncclUnhandledCudaError);
}

START_TEST(gpus_of_ranks)
{
    ALL_WELL(2, shared_gpu);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    ALL_WELL(2, shared_gpu);
    ALL_WELL(2, own_context);
}
END_TEST

START_TEST(a_gpu_shared_by_ranks)
{
    setenv("TUTTI_SIM_NCCL_VERSION", "23004", 1);
    ALL_WELL(2, shared_gpu);
    setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
    ALL_WELL(2, shared_gpu_allowed);
}
END_TEST

/* ---- what goes wrong as told ---- */

/* Makes a communicator that somebody does not come to, until this rank gives up. */
static void wait_in_vain(void)
{
    comm = make_nonblocking();
    for (int i = 0; i < 100; i++)
        nap();
    MUST(async(comm) == ncclInProgress);
    barrier();
    OK(ncclCommAbort(comm));
}

/* One fails at once; the others wait for it until they give up. */
static void init_fails(void)
{
    ncclConfig_t config = tt_nccl_config(false);

    inject(rank == 1 ? "nccl-init:after=1" : "release");
    if (rank == 1) {
        GIVES(ncclCommInitRankConfig(&comm, nranks, shared->ids[0], rank, &config), ncclSystemError);
        barrier();
        return;
    }
    wait_in_vain();
}

static void one_is_absent(void)
{
    inject(rank == 1 ? "nccl-absent:after=1" : "release");
    wait_in_vain();
}

static void one_exits(void)
{
    inject(rank == 1 ? "nccl-exit:after=1" : "release");
    comm = make_nonblocking();
    MUST(settled(comm) == ncclRemoteError);
    OK(ncclCommAbort(comm));
}

static void one_is_stuck(void)
{
    begin();
    inject(rank == 1 ? "nccl-stuck:after=2" : "release");
    OK(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, stream));
    OK(cuStreamSynchronize(stream));
    OK(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, stream));
    for (int i = 0; i < 100; i++)
        nap();
    GIVES(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    MUST(async(comm) == ncclSuccess);
    OK(ncclCommAbort(comm));
    OK(cuStreamSynchronize(stream));
}

static void one_fails(void)
{
    begin();
    inject(rank == 1 ? "nccl-error:after=1" : "release");
    OK(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, stream));
    if (rank == 1)
        ends_by_abort(ncclRemoteError);
    barrier();
    if (rank == 1)
        return;
    GIVES(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(ncclCommAbort(comm));
    OK(cuStreamSynchronize(stream));
}

/* The context's end does not wait for what others keep from ending. */
static void context_ends(void)
{
    begin();
    if (rank == 0) {
        OK(ncclAllReduce((void *)from, (void *)to, 1, ncclInt32, ncclSum, comm, stream));
        OK(cuDevicePrimaryCtxReset_v2(0));
    }
    barrier();
    OK(ncclCommAbort(comm));
}

START_TEST(injected_faults)
{
    ALL_WELL(3, init_fails);
    ALL_WELL(3, one_is_absent);
    ck_assert_int_eq(run(3, one_exits), 1);
    ALL_WELL(3, one_is_stuck);
    ALL_WELL(3, one_fails);
    ALL_WELL(3, context_ends);
}
END_TEST

/* ---- as Tutti opens it ---- */

START_TEST(opened)
{
    const struct tt_nccl *n = tt_nccl_open();

    ck_assert_ptr_nonnull(n);
    ck_assert(n->simulated);
    ck_assert_int_eq(n->version, 22809);
    ck_assert_ptr_nonnull(n->AlltoAll);
    ck_assert_ptr_eq(tt_nccl_open(), n);
    ck_assert_int_eq(tt_nccl_error(n, NULL, ncclSuccess, "x"), 0);
    ck_assert_int_eq(tt_nccl_error(n, NULL, ncclInProgress, "x"), 0);
    ck_assert_int_eq(
        tt_nccl_error(n, NULL, n->AllReduce(NULL, NULL, 1, ncclInt8, ncclSum, NULL, NULL), "ncclAllReduce"), -1);
    ck_assert_str_eq(tt_fault(),
                     "ncclAllReduce: invalid argument (ncclInvalidArgument): AllReduce of a NULL communicator");
}
END_TEST

START_TEST(opened_as_an_older_one)
{
    setenv("TUTTI_SIM_NCCL_VERSION", "21803", 1);
    const struct tt_nccl *n = tt_nccl_open();

    ck_assert_ptr_nonnull(n);
    ck_assert_ptr_null(n->AlltoAll);
    ck_assert_ptr_null(n->CommInitRankScalable);
    ck_assert_ptr_nonnull(n->AllReduce);
}
END_TEST

START_TEST(too_old)
{
    setenv("TUTTI_SIM_NCCL_VERSION", "21701", 1);
    ck_assert_ptr_null(tt_nccl_open());
    ck_assert_str_eq(tt_fault(), "libnccl.so.2 is NCCL 2.17.1, and 2.18 is the oldest that serves");
    tt_fault_set("something else");
    ck_assert_ptr_null(tt_nccl_open());
    ck_assert_str_eq(tt_fault(), "libnccl.so.2 is NCCL 2.17.1, and 2.18 is the oldest that serves");
}
END_TEST

START_TEST(of_no_use)
{
    setenv("TUTTI_SIM_NCCL_VERSION", "none", 1);
    ck_assert_ptr_null(tt_nccl_open());
    ck_assert_str_eq(tt_fault(), "libnccl.so.2 does not tell its version");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulated NCCL");
    SRunner *runner = srunner_create(suite);
    int failed;
    const TTest *const tests[] = {
        all_types_and_ops, data_movers, grouped_sends_and_receives, collectives_among_groups, managed_memory,
        work_of_a_stream, streams_of_one_communicator, nothing_blocks, one_after_the_other, mismatches,
        orders_of_communicators, misuse, gpus_of_ranks, a_gpu_shared_by_ranks, injected_faults, opened,
        opened_as_an_older_one, too_old, of_no_use,
    };

    setenv("TUTTI_SIM_GPUS", "4", 1);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        TCase *tcase = tcase_create(tests[i]->name);

        tcase_set_timeout(tcase, 240);
        tcase_add_test(tcase, tests[i]);
        suite_add_tcase(suite, tcase);
    }
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
