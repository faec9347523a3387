/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls cost, counted by the simulated device: costs staged | direct. Staged: a ring allreduce moves its
 * 2(P-1)/P n bytes down and up and nothing else, launches P-1 kernels, and from the second call on allocates
 * nothing; a direct one launches a single kernel, whatever P is; while a chunk is on the wire the next is copied down;
 * host memory costs one pointer query a buffer; the caller's device and context stay as they were. TUTTI_SYNC=1 costs
 * waiting for the program's own work, and gives what that writes. Direct, over an MPI below that takes device pointers:
 * no byte is copied between host and device at all. What is set while the program runs counts from then on. */
#include "tests/mpi/harness.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/rows.h"

enum { ROOM = 4 << 20, MAX_RANKS = 16 };

static struct simcuda_counters counted;

static void begin_counting(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    simulator.reset();
}

static void end_counting(void)
{
    simulator.counters(&counted);
}

static void check_count(const char *what, unsigned long long got, unsigned long long want)
{
    test_check(got == want, "expected %llu %s, counted %llu", want, what, got);
}

static void check_at_most(const char *what, unsigned long long got, unsigned long long want)
{
    test_check(got <= want, "expected at most %llu %s, counted %llu", want, what, got);
}

static unsigned long long sum_of_all(unsigned long long ours)
{
    unsigned long long all = 0;

    PMPI_Allreduce(&ours, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* ---- a ring ---- */

static void fill(char *at, int n)
{
    double *numbers = malloc(sizeof(double) * (size_t)n);

    for (int i = 0; i < n; i++)
        numbers[i] = test_rank + i % 5;
    memory_put(DEVICE, at, numbers, sizeof(double) * (size_t)n);
    free(numbers);
}

static void check_sums(const char *at, int n)
{
    double *numbers = malloc(sizeof(double) * (size_t)n);
    int wrong = 0;

    memory_get(DEVICE, numbers, at, sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++)
        wrong += numbers[i] != test_size * (i % 5) + test_size * (test_size - 1) / 2.0;
    test_check(wrong == 0, "%d of %d sums are wrong", wrong, n);
    free(numbers);
}

static void nothing_new(void)
{
    check_count("allocations of device memory", counted.device_allocs, 0);
    check_count("allocations of pinned memory", counted.pinned_allocs, 0);
    check_count("frees", counted.device_frees + counted.pinned_frees, 0);
    check_count("streams", counted.streams, 0);
    check_count("contexts", counted.contexts, 0);
    check_count("calls that wait for the device", counted.syncs, 0);
}

/* staged: whether messages pass through the host. */
static void check_ring(int n, bool staged)
{
    const unsigned long long p = (unsigned)test_size, bytes = sizeof(double) * (unsigned)n;
    const unsigned long long all = staged ? 2 * (p - 1) * bytes : 0;

    check_count("bytes from device to host on all ranks", sum_of_all(counted.bytes[SIMCUDA_D2H]), all);
    check_count("bytes from host to device on all ranks", sum_of_all(counted.bytes[SIMCUDA_H2D]), all);
    if ((unsigned)n % p == 0) {
        check_count("bytes from device to host", counted.bytes[SIMCUDA_D2H], all / p);
        check_count("bytes from host to device", counted.bytes[SIMCUDA_H2D], all / p);
    } else { /* blocks differ by at most one element */
        check_at_most("bytes from device to host", counted.bytes[SIMCUDA_D2H], all / p + 2 * sizeof(double));
        check_at_most("bytes from host to device", counted.bytes[SIMCUDA_H2D], all / p + 2 * sizeof(double));
    }
    check_count("kernels", counted.launches, p - 1);
    nothing_new();
}

static void try_ring(char *a, char *b, int n, bool staged)
{
    const char *how = staged ? "staged" : "direct";

    test_now("first allreduce in place by ring of %d doubles, %s", n, how);
    fill(a, n);
    test_success(MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    check_sums(a, n);
    test_now("second allreduce in place by ring of %d doubles, %s", n, how);
    fill(a, n);
    begin_counting();
    test_success(MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    end_counting();
    check_ring(n, staged);
    check_count("copies within the device", counted.copies[SIMCUDA_D2D], 0);
    check_sums(a, n);
    test_now("allreduce by ring of %d doubles, %s", n, how);
    fill(a, n);
    fill(b, n);
    begin_counting();
    test_success(MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    end_counting();
    check_ring(n, staged);
    check_at_most("bytes copied within the device", counted.bytes[SIMCUDA_D2D], sizeof(double) * (unsigned)n);
    check_sums(b, n);
}

/* ---- all operands at once ---- */

/* Each rank reduces its slice of what all have in one launch, whatever the number of ranks. */
static void try_direct(char *a, char *b, int n, bool staged)
{
    test_pin("allreduce", "direct");
    fill(a, n);
    test_success(MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    test_now("allreduce by direct of %d doubles, %s", n, staged ? "staged" : "direct");
    begin_counting();
    test_success(MPI_Allreduce(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    end_counting();
    check_count("kernels", counted.launches, 1);
    check_count("copies within the device", counted.copies[SIMCUDA_D2D], 0);
    nothing_new();
    check_sums(b, n);
    test_now("allreduce in place by direct of %d doubles, %s", n, staged ? "staged" : "direct");
    fill(a, n);
    begin_counting();
    test_success(MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    end_counting();
    check_count("kernels", counted.launches, 1);
    check_sums(a, n);
}

/* ---- a broadcast ---- */

static void try_bcast(char *a, int n)
{
    const unsigned long long bytes = sizeof(double) * (unsigned)n;

    test_pin("bcast", "binomial");
    MPI_Bcast(a, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    test_now("bcast by binomial of %d doubles, staged", n);
    begin_counting();
    test_success(MPI_Bcast(a, n, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    end_counting();
    check_count("bytes from host to device", counted.bytes[SIMCUDA_H2D], test_rank ? bytes : 0);
    check_count("kernels", counted.launches, 0);
    check_count("copies within the device", counted.copies[SIMCUDA_D2D], 0);
    nothing_new();
    test_pin("bcast", NULL);
}

/* ---- a pipeline ---- */

enum { CHUNK = 1 << 20, CHUNKS = 3 };

/* The receiver does not come, so the first chunk stays on its way: meanwhile the second is copied down, and no third,
 * for which there is no room. No time matters. */
static void try_overlap(char *a)
{
    MPI_Comm two;
    MPI_Request request = MPI_REQUEST_NULL;
    int over = 0;

    test_pin("bcast", "binomial");
    MPI_Comm_split(MPI_COMM_WORLD, test_rank < 2, 0, &two);
    MPI_Bcast(a, CHUNKS * CHUNK, MPI_BYTE, 0, two);
    test_now("bcast of %d chunks, for which the receiver comes late", CHUNKS);
    begin_counting();
    if (test_rank == 0) {
        test_success(MPI_Ibcast(a, CHUNKS * CHUNK, MPI_BYTE, 0, two, &request));
        do {
            MPI_Test(&request, &over, MPI_STATUS_IGNORE);
            end_counting();
        } while (!over && counted.bytes[SIMCUDA_D2H] < 2 * CHUNK);
        for (int i = 0; i < 1000 && !over; i++)
            MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        end_counting();
        test_check(!over, "a broadcast was over before its receiver came");
        check_count("bytes from device to host while one chunk is on the wire", counted.bytes[SIMCUDA_D2H], 2 * CHUNK);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    if (test_rank == 1)
        test_success(MPI_Ibcast(a, CHUNKS * CHUNK, MPI_BYTE, 0, two, &request));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    end_counting();
    check_count("bytes from device to host", counted.bytes[SIMCUDA_D2H], test_rank == 0 ? CHUNKS * CHUNK : 0);
    check_count("bytes from host to device", counted.bytes[SIMCUDA_H2D], test_rank == 1 ? CHUNKS * CHUNK : 0);
    MPI_Comm_free(&two);
    test_pin("bcast", NULL);
}

/* ---- host memory ---- */

static unsigned significant(const struct row *row, bool inplace)
{
    const bool root = test_rank == 0;
    const bool here = inplace && (row->traits & TT_INPLACE_ALL || root);
    const bool sends = !(row->traits & (TT_NO_BUFFER | TT_ONE_BUFFER)) && (!(row->traits & TT_SEND_AT_ROOT) || root) &&
                       (!here || row->traits & TT_SEND_AT_ROOT);
    const bool receives = !(row->traits & TT_NO_BUFFER) && (!(row->traits & TT_RECV_AT_ROOT) || root) &&
                          !(here && row->traits & TT_SEND_AT_ROOT);

    return sends + receives;
}

static MPI_Comm ring; /* where every rank has neighbours */

static void try_host(const struct row *row, bool inplace, double *send, double *recv)
{
    struct tt_call c = row_call(row, 3, MPI_DOUBLE, row->traits & TT_NEIGHBOURS ? ring : MPI_COMM_WORLD, false);

    c.send.buf = send;
    c.recv.out = recv;
    if (inplace && (row->traits & TT_INPLACE_ALL || test_rank == 0)) {
        if (row->traits & TT_SEND_AT_ROOT)
            c.recv.out = MPI_IN_PLACE;
        else
            c.send.buf = MPI_IN_PLACE;
    }
    test_now("%s%s on host memory", row->id, inplace ? " in place" : "");
    row->ours(&c);
    begin_counting();
    test_success(row->ours(&c));
    end_counting();
    check_at_most("pointer queries", counted.pointer_queries, significant(row, inplace));
    check_count("driver calls that are no pointer queries", counted.calls - counted.pointer_queries, 0);
}

static void try_all_on_host(void)
{
    static double send[3 * MAX_RANKS], recv[3 * MAX_RANKS];
    const int periodic = 1;

    PMPI_Cart_create(MPI_COMM_WORLD, 1, &test_size, &periodic, 0, &ring);
    for (int r = 0; r < NROWS; r++)
        for (int inplace = 0; inplace < 2; inplace++)
            if (!inplace || rows[r].traits & (TT_INPLACE_ALL | TT_INPLACE_ROOT))
                try_host(&rows[r], inplace, send, recv);
    MPI_Comm_free(&ring);
}

/* ---- the caller's context ---- */

typedef int context_function(void *context);

/* What is current before is current after: another device, or nothing at all. */
static void try_context(char *a, context_function *get, context_function *set, int (*make)(void *), const char *what)
{
    void *before = NULL, *after = NULL, *ours = NULL;
    int device = -1, later = -1;

    test_now("an allreduce of device memory while %s is current", what);
    get(&ours);
    make(set);
    get(&before);
    cudaGetDevice(&device);
    if (!strstr(what, "nothing"))
        test_check(before != ours || test_gpus == 1, "the test did not change the current context");
    else
        set(NULL);
    get(&before);
    test_success(MPI_Allreduce(MPI_IN_PLACE, a, 1000, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD));
    get(&after);
    test_check(before == after, "expected context %p to be current afterwards, it is %p", before, after);
    cudaGetDevice(&later);
    test_check(device == later, "expected device %d to be current afterwards, it is %d", device, later);
    set(ours);
}

static int next_device(void *unused)
{
    (void)unused;
    return cudaSetDevice((test_rank + 1) % test_gpus);
}

static int same_device(void *unused)
{
    (void)unused;
    return 0;
}

static void try_contexts(char *a)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    context_function *get, *set;

    *(void **)&get = dlsym(driver, "cuCtxGetCurrent");
    *(void **)&set = dlsym(driver, "cuCtxSetCurrent");
    try_context(a, get, set, next_device, "another device");
    cudaSetDevice(test_rank % test_gpus);
    try_context(a, get, set, same_device, "nothing");
    cudaSetDevice(test_rank % test_gpus);
}

/* ---- work of the program's own that is still under way ---- */

enum { LATE = 3000, LAYERS = 10, NON_BLOCKING = 1, COPY_DEFAULT = 4 };

/* What is sent: as long doubles, as doubles, or as doubles with a gap behind each. */
static const struct late {
    const char *what;
    bool wide, gapped, moves, elsewhere; /* moves: allgather, not allreduce; elsewhere: sent from another device */
} lates[] = {
    {"an allreduce of doubles", false, false, false, false},
    {"an allreduce of long doubles", true, false, false, false},
    {"an allgather of doubles", false, false, true, false},
    {"an allgather of doubles with gaps", false, true, true, false},
    {"an allreduce of doubles on another device", false, false, false, true},
};

static void put_number(char *at, const struct late *l, int i, double number)
{
    const long double wide = number;

    if (l->wide)
        memcpy(at + (size_t)i * sizeof wide, &wide, sizeof wide);
    else
        memcpy(at + (size_t)i * (l->gapped ? 16 : 8), &number, sizeof number);
}

static double get_number(const char *at, const struct late *l, int i)
{
    long double wide;
    double number;

    if (l->wide) {
        memcpy(&wide, at + (size_t)i * sizeof wide, sizeof wide);
        return (double)wide;
    }
    memcpy(&number, at + (size_t)i * 8, sizeof number);
    return number;
}

static MPI_Datatype double_with_gap(void)
{
    MPI_Datatype made;

    PMPI_Type_create_resized(MPI_DOUBLE, 0, 16, &made);
    PMPI_Type_commit(&made);
    return made;
}

static int call_late(const struct late *l, const char *send, char *recv)
{
    MPI_Datatype gapped = double_with_gap();
    const int error =
        l->moves ? MPI_Allgather(send, LATE, l->gapped ? gapped : MPI_DOUBLE, recv, LATE, MPI_DOUBLE, MPI_COMM_WORLD)
                 : MPI_Allreduce(send, recv, LATE, l->wide ? MPI_LONG_DOUBLE : MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);

    PMPI_Type_free(&gapped);
    return error;
}

static void check_late(const struct late *l, const char *recv)
{
    static char got[16 * LATE * MAX_RANKS];
    int wrong = 0, n = l->moves ? LATE * test_size : LATE;

    memory_get(DEVICE, got, recv, (size_t)n * (l->wide ? 16 : 8));
    for (int i = 0; i < n; i++) {
        const double want = l->moves ? i / LATE + i % LATE : test_size * (i % 7) + test_size * (test_size - 1) / 2.0;

        wrong += get_number(got, l, i) != want;
    }
    test_check(wrong == 0, "%d of %d elements are wrong", wrong, n);
}

/* The send buffer is filled several times over, on a stream of the program's, the last time with the right numbers,
 * while every piece of work takes its time; nothing waits for it but Tutti. Without TUTTI_SYNC nothing waits, but for
 * the one copy into memory that is not pinned where the host has to have the data. */
static void try_late(const struct late *l, char *recv)
{
    const size_t bytes = (size_t)LATE * 16;
    const enum memory memory = l->elsewhere ? OTHER_DEVICE : DEVICE;
    char *send = memory_take(memory, bytes), *pinned = memory_take(PINNED, 2 * bytes);
    unsigned long long waits;
    void *stream;

    test_now("%s whose send buffer is not written yet, with TUTTI_SYNC=1", l->what);
    memset(pinned, 0, 2 * bytes);
    for (int i = 0; i < LATE; i++)
        put_number(pinned + bytes, l, i, test_rank + (l->moves ? i : i % 7));
    memory_put(memory, send, pinned, bytes);
    cudaSetDevice((test_rank + l->elsewhere) % test_gpus);
    cudaStreamCreateWithFlags(&stream, NON_BLOCKING);
    begin_counting();
    simulator.inject("delay:us=3000");
    for (int i = 0; i < LAYERS; i++)
        test_check(cudaMemcpyAsync(send, i < LAYERS - 1 ? pinned : pinned + bytes, bytes, COPY_DEFAULT, stream) == 0,
                   "the test's own copy failed");
    cudaSetDevice(test_rank % test_gpus);
    test_success(call_late(l, send, recv));
    end_counting();
    waits = counted.syncs;
    simulator.reset();
    check_late(l, recv);
    test_now("%s whose send buffer has been written, without TUTTI_SYNC", l->what);
    test_set("TUTTI_SYNC", NULL);
    call_late(l, send, recv);
    begin_counting();
    test_success(call_late(l, send, recv));
    end_counting();
    test_check(waits > counted.syncs, "expected fewer calls that wait for the device than with it, %llu, counted %llu",
               waits, counted.syncs);
    check_at_most("calls that wait for the device", counted.syncs, l->wide || l->gapped);
    test_set("TUTTI_SYNC", "1");
    cudaStreamDestroy(stream);
    memory_give(memory, send);
    memory_give(PINNED, pinned);
}

static void try_sync(char *recv)
{
    test_set("TUTTI_SYNC", "1");
    for (size_t i = 0; i < sizeof lates / sizeof *lates; i++)
        if (!lates[i].elsewhere || memory_exists(OTHER_DEVICE))
            try_late(&lates[i], recv);
    test_set("TUTTI_SYNC", NULL);
}

/* ---- settings ---- */

static unsigned long long queries_of_an_allreduce(void)
{
    double mine = test_rank + 1, all = 0;

    begin_counting();
    test_success(MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    end_counting();
    test_check(all == test_size * (test_size + 1) / 2.0, "wrong sum: %g", all);
    return counted.pointer_queries;
}

static void try_switch(void)
{
    for (int i = 0; i < 3; i++) {
        test_now("an allreduce with TUTTI=off, set while the program runs");
        test_set("TUTTI", "off");
        check_count("pointer queries", queries_of_an_allreduce(), 0);
        test_now("an allreduce with TUTTI=on again");
        test_set("TUTTI", i ? "on" : NULL);
        check_count("pointer queries", queries_of_an_allreduce(), 2);
    }
}

/* Over an MPI below that takes device pointers. */
static void try_direct_settings(char *a, char *b)
{
    static const char *const values[] = {"no", "yes", "no", "probe"};

    for (int i = 0; i < 4; i++) {
        test_set("TUTTI_MPI_CUDA", values[i]);
        try_ring(a, b, 1200, strcmp(values[i], "no") == 0);
    }
}

int main(int argc, char **argv)
{
    const bool staged = argc < 2 || strcmp(argv[1], "direct") != 0;
    char *a, *b;

    test_begin(&argc, &argv, 60);
    if (!simulator.counters) {
        fprintf(stderr, "FAIL: the simulated device is needed: only it counts\n");
        return 1;
    }
    a = memory_take(DEVICE, ROOM);
    b = memory_take(DEVICE, ROOM);
    test_set("TUTTI_MPI_CUDA", staged ? "no" : "probe");
    test_pin("allreduce", "ring");
    try_ring(a, b, 120000, staged);
    try_ring(a, b, 100003, staged);
    try_contexts(a);
    try_direct(a, b, 30000, staged);
    test_pin("allreduce", "ring");
    if (!staged)
        try_direct_settings(a, b);
    test_pin("allreduce", NULL);
    if (staged) {
        try_bcast(a, 100003);
        try_overlap(a);
    }
    try_all_on_host();
    try_switch();
    if (staged)
        try_sync(b);
    memory_give(DEVICE, a);
    memory_give(DEVICE, b);
    return test_end();
}
