/* SPDX-License-Identifier: BSD-3-Clause */
/* The program of the scale simulation, run by smpirun with a rank per host of platform.c's platform: takes the virtual
 * time of collectives, ours or the simulator's own, and prints a line for each.
 *
 *     play TOPOLOGY COLLECTIVE,... BYTES,... auto|native|all|ALGORITHM [SEGMENT]
 *
 * prints "# collective formula-of-its-bound" and then "collective bytes algorithm segment seconds bound expected
 * priced" lines: segment in bytes, expected by the closed form, and with `all`, which times every algorithm, priced in
 * our own virtual time (selector/price.h). 0 where there is none. Time is from when all ranks start, at the same
 * instant, to when the last is done. All ranks are in one process, each with its own copy of the program's variables.
 * No data passes: 64 ranks with 256 MiB each would not fit. So all ranks have the same memory; for SMPI's own
 * collectives this is its replay mode, in which the temporary buffers of its algorithms are one, and nothing is folded.
 */
#include <simgrid/actor.h>
#include <simgrid/barrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/scale/play.h"
#include "coll/sizes.h"
#include "selector/net.h"
#include "selector/price.h"

/* What all ranks share, made by rank 0. */
struct meeting {
    sg_bar_t all;
    double last; /* when the last rank was done */
    char *memory;
};

static const struct {
    enum tt_coll coll;
    bool blocks;
} rows[] = {
#define C(id, blocks) {TT_COLL_##id, blocks},
    PLAY_COLLECTIVES(C)
#undef C
};

enum { NROWS = sizeof rows / sizeof *rows };
#define LONGEST ((int64_t)1 << 30) /* of a vector */

static void die(const char *what, const char *which)
{
    fprintf(stderr, "play: %s %s\n", what, which);
    exit(2);
}

static void no_data(smx_activity_t activity, void *buffer, size_t bytes)
{
    (void)activity, (void)buffer, (void)bytes;
}

/* ---- taking time ---- */

static double take(struct meeting *m, const struct play *p, const struct tt_plan *plan)
{
    double start;

    if (p->rank == 0) /* the others are not beyond the barrier */
        m->last = 0;
    sg_barrier_wait(m->all);
    start = MPI_Wtime();
    if (plan)
        play_tutti(p, plan);
    else
        play_native(p);
    if (MPI_Wtime() > m->last)
        m->last = MPI_Wtime();
    sg_barrier_wait(m->all);
    return m->last - start;
}

static void say(const struct play *p, const char *name, const struct part *part, double seconds, double priced)
{
    if (p->rank != 0)
        return;
    printf("%s %lld %s %lld %.9g %.9g %.9g %.9g\n", tt_coll_name(p->coll), (long long)p->bytes, name,
           part && part->alg->segmented ? (long long)part->shape.segment * 4 : 0, seconds, play_bound(p),
           part ? part->expected : 0, priced);
    fflush(stdout);
}

static void time_native(struct meeting *m, const struct play *p)
{
    say(p, "native", NULL, take(m, p, NULL), 0);
}

static void time_alg(struct meeting *m, const struct play *p, const struct tt_alg *alg, int64_t segment, bool priced)
{
    const struct part part = play_part(p, alg, segment);
    const double seconds = take(m, p, part.plan);

    say(p, part.alg->name, &part, seconds,
        priced && p->rank == 0 ? tt_price_call(p->topo, part.alg, &part.shape, NULL) : 0);
    tt_plan_free(part.plan);
}

static void time_all(struct meeting *m, const struct play *p, int64_t segment)
{
    const struct tt_shape s = play_shape(p);

    for (int i = 0; tt_algs[i]; i++)
        if (tt_alg_serves(tt_algs[i], p->coll) && tt_algs[i]->delegate == TT_OWN && !tt_infeasible(tt_algs[i], &s))
            time_alg(m, p, tt_algs[i], segment, true);
}

/* ---- what to time ---- */

static void time_size(struct meeting *m, struct play *p, bool blocks, const char *what, int64_t segment)
{
    const struct tt_alg *alg = tt_alg_find(p->coll, what, strlen(what));

    p->count = p->bytes / 4 / (blocks ? p->topo->size : 1);
    p->total = p->count * 4 * (blocks ? p->topo->size : 1);
    if (p->count == 0)
        return;
    if (strcmp(what, "all") == 0)
        time_all(m, p, segment);
    else if (strcmp(what, "native") == 0)
        time_native(m, p);
    else if (strcmp(what, "auto") == 0 || alg)
        time_alg(m, p, alg, segment, false);
    else
        die("there is no algorithm", what);
}

static void time_collective(struct meeting *m, struct play *p, const char *name, const char *sizes, char **argv)
{
    char list[1024], *next = list, *size;
    int64_t segment = 0;
    int row = 0;

    while (row < NROWS && strcmp(tt_coll_name(rows[row].coll), name) != 0)
        row++;
    if (row == NROWS)
        die("this times no", name);
    if (argv[1] && tt_size_parse(argv[1], &segment))
        die("not a size:", argv[1]);
    p->coll = rows[row].coll;
    if (p->rank == 0)
        printf("# %s %s\n", name, play_bound_words(p->coll));
    snprintf(list, sizeof list, "%s", sizes);
    while ((size = strsep(&next, ","))) {
        if (tt_size_parse(size, &p->bytes) || p->bytes > LONGEST)
            die("not a size:", size);
        time_size(m, p, rows[row].blocks, argv[0], segment);
    }
}

/* Rank 0 makes it, and tells all where it is: they are in one process. */
static struct meeting *meet(int rank, int size)
{
    struct meeting *m = NULL;

    if (rank == 0) {
        m = calloc(1, sizeof *m);
        m->all = sg_barrier_init((unsigned)size);
        m->memory = mmap(NULL, 2 * LONGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m->memory == MAP_FAILED)
            die("no memory", "");
    }
    MPI_Bcast(&m, sizeof m, MPI_BYTE, 0, MPI_COMM_WORLD);
    return m;
}

/* From here on messages are only as long as they would be; until all are here, they are what they say. */
static void leave_data_behind(struct meeting *m, int rank)
{
    sg_barrier_wait(m->all);
    if (rank == 0)
        smpi_comm_set_copy_data_callback(no_data);
    smpi_replay_init(sg_actor_get_property_value(sg_actor_self(), "instance_id"), rank, 0);
}

int main(int argc, char **argv)
{
    struct play play = {0};
    struct tt_topo *topo;
    struct tt_net *net;
    struct meeting *m;
    char why[512], *next, *coll;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &play.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 5 || argc > 6)
        die("Usage:", "play TOPOLOGY COLLECTIVE,... BYTES,... auto|native|all|ALGORITHM [SEGMENT]");
    if (tt_topo_read(argv[1], size, 0, NULL, &topo, why, sizeof why))
        die(why, "");
    play.topo = topo;
    net = tt_net_make(topo);
    if (!net)
        die("no memory", "");
    play.net = net;
    if (strcmp(argv[4], "native") == 0)
        play_meet(&play);
    m = meet(play.rank, size);
    leave_data_behind(m, play.rank);
    play.memory = m->memory;
    next = argv[2];
    while ((coll = strsep(&next, ",")))
        time_collective(m, &play, coll, argv[3], argv + 4);
    tt_net_free(net);
    tt_topo_free(topo);
    MPI_Finalize();
    return 0;
}
