/* SPDX-License-Identifier: BSD-3-Clause */
/* What a GPU's memory and its bus allow, and what Tutti's kernels and staging make of it: both in one run, interleaved,
 * so that what counts is their ratio. A copy within the GPU reads n bytes and writes n; a reduction of k operands reads
 * k n and writes n: by that its kernel is held against the copy. Staging is copies of a chunk (TUTTI_CHUNK's default)
 * through pinned memory, on queues of both directions; it is held against one copy of everything. Medians; on one
 * thread, without MPI. On the simulated device the figures are of this machine's processor, and said to be.
 *
 * bench/gpu [MIB]      in blocks of so many MiB, an even number: 256, or 4 on the simulated device */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/median.h"
#include "cuda/dev.h"
#include "tools/mpi_memory.h"

enum { TURNS = 9, CHUNK = 1 << 20 };

/* A cell of each kind of arithmetic: of every width, exact and rounded, scalar and not. */
static const struct {
    enum tt_type type;
    enum tt_op op;
} cells[] = {{TT_TYPE_u8, TT_OP_sum},  {TT_TYPE_i32, TT_OP_max},       {TT_TYPE_i64, TT_OP_sum},
             {TT_TYPE_f16, TT_OP_sum}, {TT_TYPE_bf16, TT_OP_sum},      {TT_TYPE_f8e4m3, TT_OP_sum},
             {TT_TYPE_f32, TT_OP_sum}, {TT_TYPE_f64, TT_OP_sum},       {TT_TYPE_c32, TT_OP_prod},
             {TT_TYPE_c64, TT_OP_sum}, {TT_TYPE_f32_int, TT_OP_minloc}};
static const int widths[] = {2, TT_MAX_SOURCES};

static struct tt_place *place;
static char *blocks[TT_MAX_SOURCES + 1]; /* on the GPU */
static size_t bytes;                     /* of each */
static char *here;                       /* as many, pinned, on the host */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void insist(int error)
{
    if (!error)
        return;
    fprintf(stderr, "bench/gpu: %s\n", tt_fault());
    exit(EXIT_FAILURE);
}

static void drain(int queue)
{
    int done;

    while ((done = place->dev->poll(place, queue)) == 0)
        ;
    insist(done < 0);
}

/* ---- what is timed ---- */

struct work {
    const struct tt_cell *cell;
    int k;
};

static void copy_within(const struct work *w)
{
    (void)w;
    insist(place->dev->copy(place, TT_WITHIN, blocks[0], blocks[1], bytes));
    drain(TT_WITHIN);
}

static void reduce(const struct work *w)
{
    insist(place->dev->reduce(place, TT_WITHIN, w->cell, blocks[0], (const void *const *)blocks + 1, w->k,
                              TT_ACCUMULATE, bytes / w->cell->size));
    drain(TT_WITHIN);
}

static void down(const struct work *w)
{
    (void)w;
    insist(place->dev->copy(place, TT_DOWN, here, blocks[0], bytes));
    drain(TT_DOWN);
}

static void up(const struct work *w)
{
    (void)w;
    insist(place->dev->copy(place, TT_UP, blocks[1], here, bytes));
    drain(TT_UP);
}

static void stage_down(const struct work *w)
{
    (void)w;
    for (size_t at = 0; at < bytes; at += CHUNK)
        insist(place->dev->copy(place, TT_DOWN, here + at, blocks[0] + at, CHUNK));
    drain(TT_DOWN);
}

static void stage_up(const struct work *w)
{
    (void)w;
    for (size_t at = 0; at < bytes; at += CHUNK)
        insist(place->dev->copy(place, TT_UP, blocks[1] + at, here + at, CHUNK));
    drain(TT_UP);
}

/* Half of the bytes each way, at once. */
static void stage_both(const struct work *w)
{
    (void)w;
    for (size_t at = 0; at < bytes / 2; at += CHUNK) {
        insist(place->dev->copy(place, TT_DOWN, here + at, blocks[0] + at, CHUNK));
        insist(place->dev->copy(place, TT_UP, blocks[1] + at, here + bytes / 2 + at, CHUNK));
    }
    drain(TT_DOWN);
    drain(TT_UP);
}

/* ---- side by side ---- */

typedef void run_fn(const struct work *w);

static double seconds(run_fn *run, const struct work *w)
{
    const double start = now();

    run(w);
    return now() - start;
}

/* Bytes that a run moves for each byte of a block. */
static void compare(const char *name, run_fn *ours, const struct work *w, double moves, run_fn *theirs,
                    double they_move)
{
    double mine[TURNS], its[TURNS], ratios[TURNS], rate, ceiling;

    ours(w);
    theirs(w);
    for (int i = 0; i < TURNS; i++) {
        mine[i] = moves * (double)bytes / seconds(ours, w);
        its[i] = they_move * (double)bytes / seconds(theirs, w);
        ratios[i] = mine[i] / its[i];
    }
    rate = median(mine, TURNS);
    ceiling = median(its, TURNS);
    printf("%-28s %10.1f %10.1f %9.0f %%\n", name, rate * 1e-9, ceiling * 1e-9, 100 * median(ratios, TURNS));
    fflush(stdout);
}

static void compare_cells(void)
{
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        for (size_t j = 0; j < sizeof widths / sizeof *widths; j++) {
            const struct work w = {tt_cell_find(cells[i].type, cells[i].op), widths[j]};
            char name[64];

            if (!w.cell || !place->dev->reduces(place, w.cell))
                continue;
            snprintf(name, sizeof name, "%s, %d operands", w.cell->kernel, w.k);
            compare(name, reduce, &w, w.k + 1, copy_within, 2);
        }
}

static void open_blocks(struct tool_memory *m, size_t mib)
{
    struct tt_mem mem;
    char why[256];

    if (tool_memory_open(m, TOOL_DEVICE, 0, why, sizeof why)) {
        fprintf(stderr, "bench/gpu: %s\n", why);
        exit(EXIT_FAILURE);
    }
    bytes = (mib ? mib : m->simulated ? 4 : 256) << 20;
    for (int i = 0; i <= TT_MAX_SOURCES; i++)
        blocks[i] = tool_memory_take(m, bytes);
    if (!blocks[TT_MAX_SOURCES]) {
        fprintf(stderr, "bench/gpu: no room for %d blocks of %zu MiB on the GPU: ask for smaller ones\n",
                TT_MAX_SOURCES + 1, bytes >> 20);
        exit(EXIT_FAILURE);
    }
    insist(tt_mem_where(blocks[0], &mem));
    place = tt_place_of(&mem);
    insist(place ? place->dev->enter(place) : -1);
    here = place->dev->take_pinned(place, bytes);
    insist(here ? 0 : -1);
}

static void close_blocks(const struct tool_memory *m)
{
    place->dev->give(place, here);
    place->dev->leave(place);
    for (int i = 0; i <= TT_MAX_SOURCES; i++)
        tool_memory_give(m, blocks[i]);
    tt_places_close();
}

/* Of MiB; 0: as usual. Half of a block is whole chunks. */
static size_t block_of(const char *text)
{
    char *end;
    const unsigned long mib = strtoul(text, &end, 10);

    if (*end || !mib || mib % 2) {
        fprintf(stderr, "bench/gpu: wants an even number of MiB, such as 256, not \"%s\"\n", text);
        exit(EXIT_FAILURE);
    }
    return mib;
}

int main(int argc, char **argv)
{
    const struct work nothing = {0};
    struct tool_memory memory;
    struct tt_driver_info info;

    open_blocks(&memory, argc > 1 ? block_of(argv[1]) : 0);
    info = tt_driver_look();
    printf("%s%s, CUDA %d.%d, blocks of %zu MiB, medians of %d\n", memory.simulated ? "SIMULATED: " : "", info.first,
           info.version / 1000, info.version % 1000 / 10, bytes >> 20, TURNS);
    printf("%-28s %10s %10s %11s\n", "", "GB/s", "a copy's", "ratio");
    compare_cells();
    compare("staging down, chunks of 1 MiB", stage_down, &nothing, 1, down, 1);
    compare("staging up, chunks of 1 MiB", stage_up, &nothing, 1, up, 1);
    compare("staging both ways at once", stage_both, &nothing, 1, down, 1);
    close_blocks(&memory);
    return 0;
}
