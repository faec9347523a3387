/* SPDX-License-Identifier: BSD-3-Clause */
/* Gradients in buckets. In reproducible mode bytes must be those of one allreduce per tensor, however tensors are cut
 * into buckets, wherever they are, and in whatever order each rank's become ready, with calls of the program's own
 * between; so also of shards, the rest of each tensor being left alone. Tensors that differ between ranks, or are not
 * ready, are an error on every rank that names them, and no hang; what lies one behind the other is not copied.
 * buckets host: host memory alone, where that is enough. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/tutti.h"
#include "tests/mpi/harness.h"

static struct {
    __typeof__(tutti_buckets_create) *create;
    __typeof__(tutti_buckets_add) *add;
    __typeof__(tutti_buckets_commit) *commit;
    __typeof__(tutti_buckets_ready) *ready;
    __typeof__(tutti_buckets_wait) *wait;
    __typeof__(tutti_buckets_overlap) *overlap;
    __typeof__(tutti_buckets_free) *free;
} tt;

static void find_functions(void)
{
    static const char *const names[] = {"create", "add", "commit", "ready", "wait", "overlap", "free"};

    for (int i = 0; i < 7; i++) {
        char name[64];

        snprintf(name, sizeof name, "tutti_buckets_%s", names[i]);
        ((void **)&tt)[i] = dlsym(RTLD_DEFAULT, name);
    }
}

/* ---- tensors ---- */

enum { TENSORS = 40, LARGEST = 20000 };

/* Lengths of all kinds, none of them being one. */
static int count_of(int t)
{
    return t % 7 == 3 ? 0 : t % 5 == 0 ? LARGEST - t : 1 + 37 * t;
}

static float part_of(int rank, int step, int t, int i)
{
    const uint64_t r = test_random(((uint64_t)(rank * 64 + step) * 64 + (uint64_t)t) * LARGEST + (uint64_t)i);

    return (float)(int32_t)r * (r % 3 ? 1e-9f : 1e3f);
}

static char *tensors[TENSORS];
static enum memory memories[TENSORS];
static float mine[LARGEST], sums[LARGEST], got[LARGEST];

static void take_tensors(enum memory one, enum memory other)
{
    for (int t = 0; t < TENSORS; t++) {
        memories[t] = t % 3 == 2 ? other : one;
        tensors[t] = memory_take(memories[t], (size_t)count_of(t) * sizeof(float) + 4);
    }
}

static void give_tensors(void)
{
    for (int t = 0; t < TENSORS; t++)
        memory_give(memories[t], tensors[t]);
}

static void put_tensor(int step, int t)
{
    for (int i = 0; i < count_of(t); i++)
        mine[i] = part_of(test_rank, step, t, i);
    memory_put(memories[t], tensors[t], mine, (size_t)count_of(t) * sizeof(float));
}

/* This rank's block, as tutti.h says. */
static bool is_reduced(enum tutti_share share, int n, int i)
{
    const int each = n / test_size, more = n % test_size;
    const int from = each * test_rank + (test_rank < more ? test_rank : more);

    return share == TUTTI_ALL || (i >= from && i < from + each + (test_rank < more));
}

static void check_tensor(enum tutti_share share, int step, int t)
{
    const int n = count_of(t);
    int wrong = 0;

    for (int i = 0; i < n; i++)
        mine[i] = part_of(test_rank, step, t, i);
    test_success(MPI_Allreduce(mine, sums, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
    memory_get(memories[t], got, tensors[t], (size_t)n * sizeof(float));
    for (int i = 0; i < n; i++)
        wrong += memcmp(&got[i], is_reduced(share, n, i) ? &sums[i] : &mine[i], sizeof *got) != 0;
    test_check(wrong == 0, "step %d, tensor %d: %d of %d elements differ from what an allreduce of it alone gives",
               step, t, wrong, n);
}

/* ---- right ---- */

static struct tutti_buckets *make(enum tutti_share share, long long bytes)
{
    struct tutti_buckets *b;

    test_success(tt.create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, share, bytes, &b));
    for (int t = 0; t < TENSORS; t++)
        test_success(tt.add(b, NULL, tensors[t], count_of(t)));
    test_success(tt.commit(b));
    return b;
}

/* From another tensor on each rank, if they are shuffled, and with a call of the program's at another time. */
static void step_once(struct tutti_buckets *b, enum tutti_share share, int step, bool shuffled)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int one = 1, ranks = 0;

    for (int i = 0; i < TENSORS; i++) {
        const int t = shuffled ? (i * 7 + test_rank * 11) % TENSORS : i;

        if (i == (test_rank * 13) % TENSORS)
            test_success(MPI_Iallreduce(&one, &ranks, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
        put_tensor(step, t);
        test_success(tt.ready(b, t));
    }
    test_success(tt.wait(b));
    test_success(MPI_Wait(&request, MPI_STATUS_IGNORE));
    test_check(ranks == test_size, "a call beside the buckets gave %d", ranks);
    for (int t = 0; t < TENSORS; t++)
        check_tensor(share, step, t);
}

/* Shuffled are the second step's, each rank's in another way: rank 0 begins with tensor 0. All ranks say the same. */
static void test_order(const struct tutti_overlap *o)
{
    char expected[256] = "";

    if (test_size > 1)
        snprintf(expected, sizeof expected,
                 "tensors became ready in different orders: rank 0 had \"tensor 0\", rank 1 had \"tensor 11\"");
    test_check(o->differed == (test_size > 1), "%d steps are said to have had different orders", o->differed);
    test_check(strcmp(o->order, expected) == 0, "seen \"%s\", expected \"%s\"", o->order, expected);
}

static void test_right(enum tutti_share share, long long bytes)
{
    struct tutti_buckets *b = make(share, bytes);
    struct tutti_overlap o;

    test_now("%s, buckets of %lld bytes, tensors %s and %s", share == TUTTI_ALL ? "all" : "shards", bytes,
             memory_names[memories[0]], memory_names[memories[2]]);
    for (int step = 0; step < 2; step++)
        step_once(b, share, step, step == 1);
    test_success(tt.overlap(b, &o));
    test_check(o.overlap >= 0 && o.overlap <= 1 && o.exposed > 0 && o.step >= o.exposed,
               "overlap %g, %g s of %g s exposed", o.overlap, o.exposed, o.step);
    test_check(o.late >= 0 && o.late <= o.buckets && o.why[0], "%d of %d buckets late: %s", o.late, o.buckets, o.why);
    test_check(o.out_of_order > 0, "no tensor was out of order");
    test_order(&o);
    if (bytes == 1)
        test_check(o.buckets > 30 && o.buckets <= TENSORS, "%d buckets", o.buckets);
    if (bytes > 1 << 30)
        test_check(o.buckets == 1 && strstr(o.why, "one bucket"), "%d buckets: %s", o.buckets, o.why);
    test_success(tt.free(&b));
    test_check(!b, "not NULL after free");
}

/* All sizes are tried, and then all ranks have the same. */
static void test_measure(void)
{
    struct tutti_buckets *b = make(TUTTI_ALL, TUTTI_BUCKET_MEASURE);
    struct tutti_overlap o;
    long long first = 0, most;
    int changes = 0;

    test_now("measured");
    for (int step = 0; step < 36; step++) {
        for (int t = 0; t < TENSORS; t++) {
            put_tensor(step, t);
            test_success(tt.ready(b, t));
        }
        test_success(tt.wait(b));
        test_success(tt.overlap(b, &o));
        changes += o.bucket_bytes != first && first;
        first = o.bucket_bytes;
        MPI_Allreduce(&o.bucket_bytes, &most, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
        test_check(most == o.bucket_bytes, "step %d: %lld bytes here, %lld elsewhere", step, o.bucket_bytes, most);
    }
    test_check(changes >= 2, "expected several sizes to be tried, seen %d changes", changes);
    for (int t = 0; t < TENSORS; t++)
        check_tensor(TUTTI_ALL, 35, t);
    test_success(tt.free(&b));
}

/* ---- not copied ---- */

enum { ROW = 8, EACH = 1000 };

/* Bytes that one step copies within the GPU, with so many elements between the tensors. */
static unsigned long long copied(enum memory memory, int gap)
{
    const size_t apart = (size_t)(EACH + gap) * sizeof(float);
    struct simcuda_counters before = {0}, after = {0};
    char *all = memory_take(memory, ROW * apart);
    struct tutti_buckets *b;

    for (int i = 0; i < EACH; i++)
        mine[i] = 1;
    test_success(tt.create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, TUTTI_ALL, 3 * EACH * sizeof(float), &b));
    for (int t = 0; t < ROW; t++) {
        memory_put(memory, all + (size_t)t * apart, mine, EACH * sizeof(float));
        test_success(tt.add(b, NULL, all + (size_t)t * apart, EACH));
    }
    test_success(tt.commit(b));
    if (simulator.counters)
        simulator.counters(&before);
    for (int t = 0; t < ROW; t++)
        test_success(tt.ready(b, t));
    test_success(tt.wait(b));
    if (simulator.counters)
        simulator.counters(&after);
    memory_get(memory, got, all + (ROW - 1) * apart, EACH * sizeof(float));
    test_check(got[EACH - 1] == (float)test_size, "expected %d, seen %g", test_size, (double)got[EACH - 1]);
    test_success(tt.free(&b));
    memory_give(memory, all);
    return after.bytes[SIMCUDA_D2D] - before.bytes[SIMCUDA_D2D];
}

/* Into the bucket and out of it, unless they lie one behind the other. */
static void test_direct(enum memory memory)
{
    unsigned long long together, apart;

    test_now("one behind the other, %s", memory_names[memory]);
    together = copied(memory, 0);
    apart = copied(memory, 1);
    if (memory == DEVICE && simulator.counters)
        test_check(apart - together == 2 * ROW * EACH * sizeof(float), "%llu bytes copied together, %llu apart",
                   together, apart);
}

/* ---- wrong ---- */

/* The error must have these words. */
static void must_fail(int error, const char *words, const char *more)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;

    if (error != MPI_SUCCESS)
        MPI_Error_string(error, text, &length);
    test_check(error != MPI_SUCCESS && strstr(text, words) && strstr(text, more),
               "expected \"%s\" and \"%s\", seen \"%s\"", words, more, text);
}

enum difference { NAME, COUNT, FEWER, SIZE, SHARE };

static void test_difference(enum difference what, const char *words, const char *more)
{
    const bool differs = test_rank == test_size - 1;
    struct tutti_buckets *b;

    test_now("difference %d", what);
    test_success(tt.create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, what == SHARE && differs ? TUTTI_SHARDS : TUTTI_ALL,
                           what == SIZE && differs ? 8192 : 4096, &b));
    for (int t = 0; t < (what == FEWER && differs ? 9 : 10); t++)
        test_success(tt.add(b, what == NAME && differs && t == 4 ? "other" : "layer", got + 10 * t,
                            what == COUNT && differs && t == 0 ? 9 : 10));
    must_fail(tt.commit(b), words, more);
    test_check(tt.ready(b, 0) == MPI_ERR_OTHER, "ready without commit");
    test_success(tt.free(&b));
}

static void test_unready(void)
{
    const bool lacks = test_rank == test_size - 1;
    struct tutti_buckets *b;
    char rank[64];

    test_now("not ready");
    snprintf(rank, sizeof rank, "rank %d was not ready with 2 of 10", test_size - 1);
    test_success(tt.create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, TUTTI_ALL, 60, &b));
    for (int t = 0; t < 10; t++) {
        char name[16];

        snprintf(name, sizeof name, "w%d", t);
        test_success(tt.add(b, name, got + 10 * t, 10));
    }
    test_success(tt.commit(b));
    for (int t = 0; t < 10; t++)
        if (!lacks || (t != 3 && t != 7))
            test_success(tt.ready(b, t));
    test_check(tt.free(&b) == MPI_ERR_OTHER && b, "freed in the midst of a step");
    must_fail(tt.wait(b), rank, lacks ? "\"w3\", \"w7\"" : "\"w3\"");
    for (int t = 9; t >= 0; t--)
        test_success(tt.ready(b, t));
    test_check(tt.ready(b, 5) == MPI_ERR_ARG, "ready twice in a step");
    test_success(tt.wait(b));
    must_fail(tt.wait(b), "was not ready with 10 of 10", "\"w0\"");
    test_success(tt.free(&b));
}

static void test_misuse(void)
{
    struct tutti_buckets *b;
    struct tutti_overlap o;
    MPI_Datatype derived;

    test_now("misuse");
    MPI_Type_vector(2, 1, 2, MPI_FLOAT, &derived);
    MPI_Type_commit(&derived);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    test_check(tt.create(MPI_COMM_WORLD, derived, MPI_SUM, TUTTI_ALL, 0, &b) == MPI_ERR_ARG && !b, "a derived type");
    test_check(tt.create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, TUTTI_ALL, -2, &b) == MPI_ERR_ARG && !b, "-2 bytes");
    MPI_Type_free(&derived);
    test_success(tt.create(MPI_COMM_WORLD, MPI_FLOAT, MPI_SUM, TUTTI_ALL, 0, &b));
    test_check(tt.add(b, "w", got, -1) == MPI_ERR_COUNT, "a negative count");
    test_success(tt.commit(b));
    test_check(tt.overlap(b, &o) == MPI_ERR_OTHER, "overlap of no step");
    test_check(tt.add(b, "w", got, 1) == MPI_ERR_OTHER, "add after commit");
    test_check(tt.ready(b, 0) == MPI_ERR_ARG, "there is no tensor");
    test_success(tt.wait(b));
    test_success(tt.free(&b));
    test_success(tt.free(&b));
}

int main(int argc, char **argv)
{
    static const enum memory kinds[][2] = {{HOST, HOST}, {DEVICE, DEVICE}, {MANAGED, HOST}, {HOST, OTHER_DEVICE}};

    test_begin(&argc, &argv, 200);
    find_functions();
    test_set("TUTTI_REPRODUCIBLE", "1");
    for (int k = 0; k < (test_gpus > 1 && argc == 1 ? 4 : 1); k++) {
        take_tensors(kinds[k][0], kinds[k][1]);
        for (int share = 0; share < 2; share++) {
            test_right((enum tutti_share)share, 1);
            test_right((enum tutti_share)share, 65536);
            test_right((enum tutti_share)share, k % 2 ? TUTTI_BUCKET_MODEL : 1LL << 40);
        }
        if (k == 0)
            test_measure();
        give_tensors();
    }
    test_direct(HOST);
    if (test_gpus)
        test_direct(DEVICE);
    if (test_size > 1) {
        test_difference(NAME, "rank 0 has \"layer\" of 10 elements as tensor 4", "has \"other\" of 10 elements");
        test_difference(COUNT, "rank 0 has \"layer\" of 10 elements as tensor 0", "of 9 elements as tensor 0");
        test_difference(FEWER, "rank 0 has \"layer\" of 10 elements as tensor 9", "has no tensor 9");
        test_difference(SIZE, "TUTTI_ALL, buckets of 4096 bytes", "TUTTI_ALL, buckets of 8192 bytes");
        test_difference(SHARE, "TUTTI_ALL", "TUTTI_SHARDS");
    }
    test_unready();
    test_misuse();
    return test_end();
}
