/* SPDX-License-Identifier: BSD-3-Clause */
/* What this machine's memory allows, and what the host's reductions and copies make of it: both in one run,
 * interleaved, so that what counts is their ratio. A reduction of k sources has to read k n bytes and write n, a copy
 * to read n and write n; whatever else passes between caches and memory, such as the lines that ordinary stores read
 * first, is loss. The bound is the most bytes a second that were seen to be read, or copied past the caches. Each is
 * timed with ordinary stores and with stores that go past the caches (cuda/stream.h), at each size, as several
 * processes at once where so many ranks would share the memory. Medians, without MPI.
 *
 * bench/host [PROCESSES [MIB]]     processes: 1; the largest block: 64 MiB */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/median.h"
#include "cuda/dev.h"
#include "cuda/stream.h"

enum { TURNS = 7, WORK = 48 << 20 };

static const struct work {
    const char *name;
    enum tt_type type;
    enum tt_op op;
    int k; /* 0: a copy */
} works[] = {
    {"copy", TT_TYPE_u8, TT_OP_sum, 0},
    {"f32 sum of 2", TT_TYPE_f32, TT_OP_sum, 2},
    {"f64 sum of 2", TT_TYPE_f64, TT_OP_sum, 2},
    {"f32 sum of 4", TT_TYPE_f32, TT_OP_sum, 4},
    {"f32 sum of 8", TT_TYPE_f32, TT_OP_sum, 8},
    {"i32 max of 2", TT_TYPE_i32, TT_OP_max, 2},
    {"bf16 sum of 2", TT_TYPE_bf16, TT_OP_sum, 2},
    {"bf16 sum of 8", TT_TYPE_bf16, TT_OP_sum, 8},
    {"f16 sum of 2", TT_TYPE_f16, TT_OP_sum, 2},
};
enum { NWORKS = sizeof works / sizeof *works };

static char *block[TT_MAX_SOURCES + 1];

/* Of this process: not the time in which others had the processor. */
static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the bound ---- */

typedef uint64_t wide __attribute__((vector_size(64)));

static void read_all(size_t bytes)
{
    volatile uint64_t sink;
    wide sum[4] = {{0}};
    const wide *from = (const wide *)block[0];

    for (size_t i = 0; i + 4 <= bytes / sizeof *from; i += 4)
        for (int j = 0; j < 4; j++)
            sum[j] += from[i + (size_t)j];
    sink = sum[0][0] + sum[1][0] + sum[2][0] + sum[3][0];
    (void)sink;
}

static void copy_past(size_t bytes)
{
    tt_stream(block[0], block[1], bytes);
    tt_stream_end(true);
}

/* ---- work ---- */

/* The canonical tree of the direct algorithms: pairs, pairs of pairs, and so on. */
static unsigned balanced(int k)
{
    return k == 1 ? 0 : (balanced(k / 2) | balanced(k / 2) << 2 * k) + (1u << 4 * (k - 1));
}

static void do_work(const struct work *w, size_t bytes)
{
    struct tt_place *host = tt_host_place();
    const struct tt_cell *cell = tt_cell_find(w->type, w->op);

    if (w->k == 0)
        host->dev->copy(host, 0, block[0], block[1], bytes);
    else
        host->dev->reduce(host, 0, cell, block[0], (const void *const *)(block + 1), w->k, balanced(w->k),
                          bytes / cell->size);
}

/* ---- timing ---- */

/* Seconds for one turn, of as many as make a measurable time. */
static double time_work(const struct work *w, size_t bytes)
{
    const int turns = (int)(WORK / bytes / 4) + 1;
    const double start = now();

    for (int i = 0; i < turns; i++)
        do_work(w, bytes);
    return (now() - start) / turns;
}

static double time_bound(size_t bytes)
{
    const int turns = (int)(WORK / bytes / 4) + 1;
    double start = now(), most, copied;

    for (int i = 0; i < turns; i++)
        read_all(bytes);
    most = (double)bytes * turns / (now() - start);
    start = now();
    for (int i = 0; i < turns; i++)
        copy_past(bytes);
    copied = 2.0 * (double)bytes * turns / (now() - start);
    return copied > most ? copied : most;
}

struct timing {
    double bound, plain[NWORKS], past[NWORKS];
};

static struct timing time_size(size_t bytes)
{
    double bound[TURNS], plain[NWORKS][TURNS], past[NWORKS][TURNS];
    struct timing t;

    for (int turn = 0; turn < TURNS; turn++) {
        bound[turn] = time_bound(bytes);
        for (int i = 0; i < NWORKS; i++) {
            tt_stream_from = SIZE_MAX;
            plain[i][turn] = time_work(&works[i], bytes);
            tt_stream_from = 0;
            past[i][turn] = time_work(&works[i], bytes);
        }
    }
    t.bound = median(bound, TURNS);
    for (int i = 0; i < NWORKS; i++) {
        t.plain[i] = median(plain[i], TURNS);
        t.past[i] = median(past[i], TURNS);
    }
    return t;
}

static void tell(size_t bytes)
{
    const struct timing t = time_size(bytes);

    printf("%zu KiB a block: %.1f GB/s is the bound\n", bytes >> 10, t.bound * 1e-9);
    for (int i = 0; i < NWORKS; i++) {
        const double moved = (double)bytes * (works[i].k ? works[i].k + 1 : 2);

        printf("  %-14s %6.1f GB/s, %3.0f %%; past the caches %6.1f GB/s, %3.0f %%, time x %.2f\n", works[i].name,
               moved / t.plain[i] * 1e-9, 100 * moved / t.plain[i] / t.bound, moved / t.past[i] * 1e-9,
               100 * moved / t.past[i] / t.bound, t.past[i] / t.plain[i]);
    }
    fflush(stdout);
}

/* ---- the whole ---- */

static void run(size_t most)
{
    for (int i = 0; i <= TT_MAX_SOURCES; i++) {
        block[i] = tt_host_place()->dev->take(tt_host_place(), most);
        if (!block[i])
            exit(EXIT_FAILURE);
        memset(block[i], 0x3c, most);
    }
    for (size_t bytes = 64 << 10; bytes <= most; bytes *= 4)
        tell(bytes);
}

int main(int argc, char **argv)
{
    const int processes = argc > 1 ? atoi(argv[1]) : 1;
    const size_t most = (size_t)(argc > 2 ? atoi(argv[2]) : 64) << 20;

    for (int i = 1; i < processes; i++)
        if (fork() == 0) {
            if (!freopen("/dev/null", "w", stdout))
                return EXIT_FAILURE;
            run(most);
            return EXIT_SUCCESS;
        }
    printf("%d process%s at once; of the first:\n", processes, processes == 1 ? "" : "es");
    run(most);
    while (wait(NULL) > 0)
        ;
    return EXIT_SUCCESS;
}
