/* SPDX-License-Identifier: BSD-3-Clause */
/* A training step's gradients, reduced in four ways that take turns: one blocking allreduce for each, when it is there;
 * one for all of them, at the end; in buckets of the model's size; and in buckets whose size was measured. Backward is
 * synthetic, in proportion to each gradient's length. Where is it computed? Elsewhere: a time passes in which the
 * processor is left alone, as by a program that waits for its GPU (it sleeps). Here: so much work is done as takes that
 * time when nothing else is under way; then what copies bytes takes its time from that which computes, and where there
 * is no core to spare nothing can be hidden. In all, backward takes as long as the one allreduce for all of them, which
 * is measured first: where communication is a smaller part of the step, there is less to gain, and where it is a larger
 * one, less can be hidden. Messages move meanwhile by TUTTI_PROGRESS=thread, which this program sets. The median step
 * of the slowest rank, in milliseconds.
 *
 * mpiexec -n 2 bench/buckets [tensors [steps]] */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "bench/median.h"
#include "coll/tutti.h"

enum { SMALLEST = 1024, OCTAVES = 10, MOST_STEPS = 99, WARM = 26, BLOCKS = 9 };
enum place { ELSEWHERE, HERE, NPLACES };
static const char *const place_words[NPLACES] = {"computed elsewhere, the core being free meanwhile",
                                                 "computed on the ranks' own cores"};
enum way { EACH, ONE, MODEL, MEASURED, NWAYS };
static const char *const words[NWAYS] = {"an allreduce for each gradient, blocking", "one allreduce at the end",
                                         "buckets, size by the model", "buckets, size measured"};

static int rank, size, ntensors = 200, nsteps = 15;
static int *counts; /* floats of each gradient: 4 KiB to 4 MiB, as many of each octave */
static float *all, **gradients;
static long total;
static double backward; /* seconds */
static double rate;     /* rounds of work that a second takes, with nothing under way */
static struct tutti_buckets *buckets[NPLACES][NWAYS];

static void make_gradients(void)
{
    counts = malloc((size_t)ntensors * sizeof *counts);
    gradients = malloc((size_t)ntensors * sizeof *gradients);
    for (int t = 0; t < ntensors; t++) {
        const double octaves = (double)(t * 7919 % ntensors) / (ntensors > 1 ? ntensors - 1 : 1) * OCTAVES;

        counts[t] = SMALLEST;
        for (int i = 0; i < (int)octaves; i++)
            counts[t] *= 2;
        counts[t] += (int)(counts[t] * (octaves - (int)octaves));
        total += counts[t];
    }
    all = malloc((size_t)total * sizeof *all);
    for (long i = 0; i < total; i++)
        all[i] = 1;
    gradients[0] = all;
    for (int t = 1; t < ntensors; t++)
        gradients[t] = gradients[t - 1] + counts[t - 1];
}

/* Work that a compiler cannot leave out. */
static void work(long rounds)
{
    volatile double sum = 0;

    for (long i = 0; i < rounds; i++)
        for (int k = 0; k < 64; k++)
            sum = sum + k;
}

/* What disturbs it only makes it less. */
static void learn_rate(void)
{
    enum { ROUNDS = 20000 };

    for (int i = 0; i < BLOCKS; i++) {
        const double start = MPI_Wtime();
        double seen;

        work(ROUNDS);
        seen = ROUNDS / (MPI_Wtime() - start);
        rate = seen > rate ? seen : rate;
    }
}

/* Times too short to be slept are kept for the next one. */
static void leave_alone(double seconds, double *owed)
{
    const double start = MPI_Wtime();

    *owed += seconds;
    if (*owed < 20e-6)
        return;
    nanosleep(&(struct timespec){.tv_nsec = (long)(*owed * 1e9) % 1000000000}, NULL);
    *owed -= MPI_Wtime() - start;
}

static void compute(enum place place, int t, double *owed)
{
    const double seconds = backward * (double)counts[t] / (double)total;

    if (place == HERE)
        work((long)(seconds * rate));
    else
        leave_alone(seconds, owed);
}

static void one_gradient(enum place place, enum way way, int t)
{
    if (way == EACH)
        MPI_Allreduce(MPI_IN_PLACE, gradients[t], counts[t], MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    else if (way != ONE)
        tutti_buckets_ready(buckets[place][way], t);
}

/* Seconds, on the slowest rank. */
static double step(enum place place, enum way way)
{
    double start, owed = 0, took;

    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int t = 0; t < ntensors; t++) {
        compute(place, t, &owed);
        one_gradient(place, way, t);
    }
    if (way == ONE)
        MPI_Allreduce(MPI_IN_PLACE, all, (int)total, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD);
    else if (way != EACH)
        tutti_buckets_wait(buckets[place][way]);
    took = MPI_Wtime() - start;
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

static void make_buckets(struct tutti_buckets **made, long long bytes)
{
    tutti_buckets_create(MPI_COMM_WORLD, MPI_FLOAT, MPI_MAX, TUTTI_ALL, bytes, made);
    for (int t = 0; t < ntensors; t++)
        tutti_buckets_add(*made, NULL, gradients[t], counts[t]);
    tutti_buckets_commit(*made);
}

/* As long as the one allreduce, undisturbed. */
static void learn_backward(void)
{
    double least = 0;

    for (int i = 0; i < 2 * BLOCKS; i++) {
        const double took = step(ELSEWHERE, ONE);

        least = least == 0 || took < least ? took : least;
    }
    backward = least;
}

/* Until sizes have been measured, plans made and pages touched. */
static void warm_up(enum place place)
{
    for (int i = 0; i < WARM; i++)
        step(place, MEASURED);
    for (int i = 0; i < 2; i++)
        for (int way = 0; way < NWAYS; way++)
            step(place, (enum way)way);
}

static double percents(double took, double of)
{
    return fabs(100 - 100 * took / of);
}

static const char *longer(double took, double of)
{
    return took > of ? "more" : "less";
}

static void tell(enum place place, double took[NWAYS][MOST_STEPS])
{
    double middle[NWAYS];
    struct tutti_overlap o;

    printf("\nBackward, %.2f ms, is %s:\n", backward * 1e3, place_words[place]);
    for (int way = 0; way < NWAYS; way++) {
        middle[way] = median(took[way], nsteps);
        printf("%-42s %8.2f ms a step", words[way], middle[way] * 1e3);
        if (way >= MODEL && tutti_buckets_overlap(buckets[place][way], &o) == MPI_SUCCESS)
            printf("; %d of about %lld KiB, last step: %.0f %% overlapped, %.2f ms exposed: %s", o.buckets,
                   o.bucket_bytes / 1024, o.overlap * 100, o.exposed * 1e3, o.why);
        printf("\n");
    }
    for (int way = MODEL; way < NWAYS; way++)
        printf("%s: %.1f %% %s than one for each, %.1f %% %s than one at the end\n", words[way],
               percents(middle[way], middle[EACH]), longer(middle[way], middle[EACH]),
               percents(middle[way], middle[ONE]), longer(middle[way], middle[ONE]));
}

static void measure(enum place place)
{
    static double took[NWAYS][MOST_STEPS];

    make_buckets(&buckets[place][MODEL], TUTTI_BUCKET_MODEL);
    make_buckets(&buckets[place][MEASURED], TUTTI_BUCKET_MEASURE);
    warm_up(place);
    for (int i = 0; i < nsteps; i++)
        for (int way = 0; way < NWAYS; way++)
            took[way][i] = step(place, (enum way)way);
    if (rank == 0)
        tell(place, took);
    tutti_buckets_free(&buckets[place][MODEL]);
    tutti_buckets_free(&buckets[place][MEASURED]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 0)
        ntensors = atoi(argv[1]);
    if (argc > 2 && atoi(argv[2]) > 0)
        nsteps = atoi(argv[2]) < MOST_STEPS ? atoi(argv[2]) : MOST_STEPS;
    setenv("TUTTI_PROGRESS", "thread", 0);
    prctl(PR_SET_TIMERSLACK, 1000);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_gradients();
    learn_rate();
    learn_backward();
    if (rank == 0)
        printf("%d gradients, %.1f MB, on %d ranks\n", ntensors, (double)total * 4e-6, size);
    for (int place = 0; place < NPLACES; place++)
        measure((enum place)place);
    MPI_Finalize();
    return 0;
}
