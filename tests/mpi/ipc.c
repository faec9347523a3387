/* SPDX-License-Identifier: BSD-3-Clause */
/* GPU memory between ranks of one node: ipc counts | mixes | refused | half | apart. Counts: with CUDA IPC no byte goes
 * through the host, a rank reads 2(P-1)/P n bytes of its peers' memory in a direct allreduce and reduces its slice by
 * one launch, which reads their memory itself; so does the one of a one-shot. Mixes: whatever memory each rank has, of
 * pools and on another GPU too, and freed and allocated anew between the calls, the results are right. Refused: where
 * IPC is not to be had, on all ranks, on half of them, or because their GPUs are apart, they are as right, and each
 * byte sent goes down once and each received up once. */
#include "tests/mpi/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 8 << 20, MOST = 1 << 19, TRIES = 12 };

int cudaMallocAsync(void **address, size_t bytes, void *stream);
int cudaFreeAsync(void *address, void *stream);

static struct simcuda_counters counted;

static void begin_counting(void)
{
    PMPI_Barrier(MPI_COMM_WORLD);
    simulator.reset();
}

static void end_counting(void)
{
    simulator.counters(&counted);
    PMPI_Barrier(MPI_COMM_WORLD);
}

static void check_count(const char *what, unsigned long long got, unsigned long long want)
{
    test_check(got == want, "expected %llu %s, counted %llu", want, what, got);
}

/* ---- what is in the buffers ---- */

static int number(int rank, int i, int salt)
{
    return (i + salt) % 1000 * (rank + 1) + rank;
}

static void fill(enum memory memory, char *at, int n, int salt)
{
    static int numbers[MOST];

    for (int i = 0; i < n; i++)
        numbers[i] = number(test_rank, i, salt);
    memory_put(memory, at, numbers, sizeof(int) * (size_t)n);
}

static int sum_at(int i, int salt)
{
    int sum = 0;

    for (int r = 0; r < test_size; r++)
        sum += number(r, i, salt);
    return sum;
}

static void check_sums(enum memory memory, const char *at, int n, int salt)
{
    static int numbers[MOST];
    int wrong = 0;

    memory_get(memory, numbers, at, sizeof(int) * (size_t)n);
    for (int i = 0; i < n; i++)
        wrong += numbers[i] != sum_at(i, salt);
    test_check(wrong == 0, "%d of %d sums are wrong", wrong, n);
}

static void check_all(enum memory memory, const char *at, int n, int salt)
{
    static int numbers[MOST];
    int wrong = 0;

    memory_get(memory, numbers, at, sizeof(int) * (size_t)n * (size_t)test_size);
    for (int i = 0; i < n * test_size; i++)
        wrong += numbers[i] != number(i / n, i % n, salt);
    test_check(wrong == 0, "%d of %d elements are wrong", wrong, n * test_size);
}

/* ---- counts ---- */

static void nothing_through_the_host(void)
{
    check_count("bytes from device to host", counted.bytes[SIMCUDA_D2H], 0);
    check_count("bytes from host to device", counted.bytes[SIMCUDA_H2D], 0);
    check_count("allocations of device memory", counted.device_allocs, 0);
    check_count("allocations of pinned memory", counted.pinned_allocs, 0);
    check_count("handles got", counted.exports, 0);
    check_count("handles opened", counted.opens, 0);
    check_count("calls that wait for the device", counted.syncs, 0);
}

/* The second call counts: the first one makes acquaintance. */
static void count_allreduce(const char *algorithm, bool blocking, char *a, char *b, int n)
{
    MPI_Request request = MPI_REQUEST_NULL;

    test_pin("allreduce", algorithm);
    for (int again = 0; again < 2; again++) {
        test_now("%s by %s of %d ints on GPUs%s", blocking ? "allreduce" : "iallreduce", algorithm, n,
                 again ? ", again" : "");
        fill(DEVICE, a, n, again);
        fill(DEVICE, b, n, 7);
        begin_counting();
        if (blocking)
            test_success(MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        else
            test_success(MPI_Iallreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
        end_counting();
        check_sums(DEVICE, b, n, again);
    }
    nothing_through_the_host();
    test_pin("allreduce", NULL);
}

static void try_counts(bool blocking)
{
    const unsigned long long p = (unsigned)test_size;
    const int n = 1200 * test_size;
    const unsigned long long bytes = sizeof(int) * (unsigned)n;
    char *a = memory_take(DEVICE, ROOM), *b = memory_take(DEVICE, ROOM);

    count_allreduce("direct", blocking, a, b, n);
    check_count("bytes of peers' memory", counted.peer_bytes, 2 * (p - 1) * bytes / p);
    check_count("launches", counted.launches, 1);
    check_count("copies", counted.copies[SIMCUDA_D2D], p - 1);
    count_allreduce("oneshot", blocking, a, b, 2);
    check_count("bytes of peers' memory", counted.peer_bytes, (p - 1) * 2 * sizeof(int));
    check_count("launches", counted.launches, 1);
    check_count("copies", counted.copies[SIMCUDA_D2D], 0);
    count_allreduce("ring", blocking, a, b, n);
    check_count("bytes of peers' memory", counted.peer_bytes, 2 * (p - 1) * bytes / p);
    check_count("launches", counted.launches, p - 1);
    check_count("copies", counted.copies[SIMCUDA_D2D], p - 1); /* what is reduced is read where it is */
    memory_give(DEVICE, a);
    memory_give(DEVICE, b);
}

/* ---- mixes ---- */

enum { POOL = NMEMORIES, NKINDS };

struct block {
    int kind;
    enum memory memory; /* as the harness reaches it */
    char *at;
};

static int kind_for(uint64_t key)
{
    const int kind = (int)(test_random(key) % NKINDS);

    return kind == POOL ? (test_gpus ? POOL : HOST) : memory_exists((enum memory)kind) ? kind : DEVICE;
}

static struct block take(int kind, size_t bytes)
{
    struct block b = {kind, kind == POOL ? DEVICE : (enum memory)kind, NULL};
    void *at = NULL;

    if (kind != POOL) {
        b.at = memory_take(b.memory, bytes);
        return b;
    }
    test_check(cudaMallocAsync(&at, bytes, NULL) == 0, "the test's own cudaMallocAsync failed");
    b.at = at;
    return b;
}

static void give(const struct block *b)
{
    if (b->kind == POOL)
        cudaFreeAsync(b->at, NULL);
    else
        memory_give(b->memory, b->at);
}

static void try_sums(const char *algorithm, int n, const struct block *a, const struct block *b, int salt)
{
    test_pin("allreduce", algorithm);
    fill(a->memory, a->at, n, salt);
    test_success(MPI_Allreduce(a->at, b->at, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check_sums(b->memory, b->at, n, salt);
    fill(b->memory, b->at, n, salt + 1);
    test_success(MPI_Allreduce(MPI_IN_PLACE, b->at, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check_sums(b->memory, b->at, n, salt + 1);
    test_pin("allreduce", NULL);
}

static void try_blocks(const char *algorithm, int n, const struct block *a, const struct block *b, int salt)
{
    test_pin("allgather", algorithm);
    fill(a->memory, a->at, n, salt);
    test_success(MPI_Allgather(a->at, n, MPI_INT, b->at, n, MPI_INT, MPI_COMM_WORLD));
    check_all(b->memory, b->at, n, salt);
    test_pin("allgather", NULL);
}

/* Allocated for this and freed after it: addresses come back as other memory, and other kinds of it. */
static void try_mix(int n, int try)
{
    const uint64_t key = ((uint64_t)(unsigned)n << 16 | (unsigned)try << 8 | (unsigned)test_rank) * 2;
    const size_t bytes = sizeof(int) * (size_t)n;
    const struct block a = take(kind_for(key), bytes), b = take(kind_for(key + 1), bytes * (size_t)test_size);
    static const char *const names[] = {"direct", "oneshot", "ring", "doubling"};

    for (int i = 0; i < 4; i++) {
        test_now("try %d: allreduce by %s of %d ints from memory of kind %d to %d", try, names[i], n, a.kind, b.kind);
        try_sums(names[i], n, &a, &b, try * 10 + i);
    }
    for (int i = 0; i < 3; i += 2) {
        test_now("try %d: allgather by %s of %d ints from memory of kind %d to %d", try, names[i], n, a.kind, b.kind);
        try_blocks(names[i], n, &a, &b, try * 10 + i);
    }
    give(&a);
    give(&b);
}

static void try_mixes(int tries)
{
    static const int sizes[] = {1, 1000, 30011, MOST / 16};

    for (int try = 0; try < tries; try++)
        try_mix(sizes[try % 4], try);
}

/* ---- refused ---- */

static void try_refused(void)
{
    const unsigned long long p = (unsigned)test_size;
    const int n = 40000 * test_size;
    const unsigned long long bytes = sizeof(int) * (unsigned)n;
    char *a = memory_take(DEVICE, ROOM), *b = memory_take(DEVICE, ROOM);

    test_pin("allreduce", "direct");
    for (int again = 0; again < 2; again++) {
        test_now("allreduce by direct of %d ints on GPUs without IPC%s", n, again ? ", again" : "");
        fill(DEVICE, a, n, again);
        begin_counting();
        simulator.inject("ipc-open:from=1;ipc-export:from=1");
        test_success(MPI_Allreduce(a, b, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
        end_counting();
        check_sums(DEVICE, b, n, again);
    }
    check_count("bytes from device to host", counted.bytes[SIMCUDA_D2H], 2 * (p - 1) * bytes / p);
    check_count("bytes from host to device", counted.bytes[SIMCUDA_H2D], 2 * (p - 1) * bytes / p);
    check_count("bytes of peers' memory", counted.peer_bytes, 0);
    check_count("launches", counted.launches, 1);
    check_count("copies within the device", counted.copies[SIMCUDA_D2D], 0);
    check_count("allocations of pinned memory", counted.pinned_allocs, 0);
    check_count("calls that wait for the device", counted.syncs, 0);
    test_pin("allreduce", NULL);
    memory_give(DEVICE, a);
    memory_give(DEVICE, b);
}

/* Each rank on a GPU that no other reaches, or sees. */
static void try_apart(void)
{
    const int n = 40000;
    char *a = memory_take(DEVICE, ROOM), *b = memory_take(DEVICE, ROOM);
    static const char *const names[] = {"direct", "oneshot", "ring", "doubling"};

    for (int i = 0; i < 4; i++) {
        const struct block from = {DEVICE, DEVICE, a}, to = {DEVICE, DEVICE, b};

        test_now("allreduce by %s of %d ints on GPUs apart", names[i], n);
        try_sums(names[i], n, &from, &to, i);
    }
    simulator.counters(&counted);
    check_count("bytes of peers' memory", counted.peer_bytes, 0);
    memory_give(DEVICE, a);
    memory_give(DEVICE, b);
}

/* On some ranks alone. */
static void try_half(void)
{
    if (test_rank % 2)
        simulator.inject("ipc-open:from=1");
    try_mixes(TRIES / 2);
    simulator.reset();
    if (test_rank % 3 == 0)
        simulator.inject("ipc-export:from=1");
    try_mixes(TRIES / 2);
    simulator.reset();
}

int main(int argc, char **argv)
{
    const char *mode = argc < 2 ? "counts" : argv[1];

    test_begin(&argc, &argv, 120);
    if (!simulator.counters && strcmp(mode, "mixes") != 0) {
        fprintf(stderr, "FAIL: the simulated device is needed: only it counts\n");
        return 1;
    }
    if (strcmp(mode, "counts") == 0)
        for (int blocking = 0; blocking < 2; blocking++)
            try_counts(blocking);
    else if (strcmp(mode, "refused") == 0)
        try_refused();
    else if (strcmp(mode, "half") == 0)
        try_half();
    else if (strcmp(mode, "apart") == 0)
        try_apart();
    else
        try_mixes(TRIES);
    return test_end();
}
