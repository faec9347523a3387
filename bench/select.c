/* SPDX-License-Identifier: BSD-3-Clause */
/* What a decision costs: nanoseconds for a shape that was seen before, which is looked up in a full cache, and
 * microseconds for a new one, by the cost model alone. For a new one every collective is asked at sizes from 8 bytes to
 * 1 GiB, several times over; the median is that of all, and the worst that of the size that takes longest. On one
 * thread, without MPI.
 *
 * bench/select [TOPOLOGY]      of so many ranks as it is asked about: scale-rails, unless said */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/median.h"
#include "coll/cache.h"
#include "selector/net.h"

enum { SIZES = 28, TURNS = 21, LOOKUPS = 1000, BATCHES = 501, KEYS = 16 };
static const int scales[] = {64, 4096};
enum { NSCALES = sizeof scales / sizeof *scales };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- seen before ---- */

static struct tt_key key_of(int i)
{
    return (struct tt_key){.coll = TT_COLL_allreduce,
                           .shape = {.coll = TT_COLL_allreduce, .size = 64, .commutes = true, .count = i, .unit = 4}};
}

/* The keys are there, as they are in a call that has been described. */
static double batch(struct tt_cache *cache, const struct tt_key keys[KEYS])
{
    const double start = now();

    for (int i = 0; i < LOOKUPS; i++)
        if (!tt_cache_find(cache, &keys[i % KEYS]))
            fputs("a decision was forgotten\n", stderr);
    return (now() - start) / LOOKUPS;
}

static void look_up(void)
{
    static double times[BATCHES];
    static struct tt_key keys[KEYS];
    const struct tt_choice choice = {0};
    struct tt_cache cache = {0};

    for (int i = TT_CACHE_SLOTS; i >= 0; i--) {
        const struct tt_key key = key_of(i);

        keys[i % KEYS] = key;
        tt_cache_put(&cache, &key, &choice, NULL);
    }
    for (int i = 0; i < KEYS; i++) /* those that are asked for are there */
        if (!tt_cache_find(&cache, &keys[i]))
            tt_cache_put(&cache, &keys[i], &choice, NULL);
    for (int i = 0; i < BATCHES; i++)
        times[i] = batch(&cache, keys);
    printf("a shape seen before: %.0f ns\n", median(times, BATCHES));
    tt_cache_free(&cache);
}

/* ---- new ---- */

static double decide(enum tt_coll coll, const struct tt_shape *s, const struct tt_net *net)
{
    const struct tt_orders orders = {.net = net, .level = -1};
    double times[TURNS];

    for (int i = 0; i < TURNS; i++) {
        const double start = now();
        const struct tt_choice choice = tt_select(coll, s, &orders, NULL, false);

        times[i] = now() - start;
        if (!choice.alg)
            fputs("nobody can do it\n", stderr);
    }
    return median(times, TURNS);
}

static void decide_all(enum tt_coll coll, const struct tt_topo *topo, const struct tt_net *net, double *middle,
                       double *worst)
{
    double times[SIZES];

    for (int i = 0; i < SIZES; i++) {
        const struct tt_shape s = {.coll = tt_coll_family(coll),
                                   .size = topo->size,
                                   .commutes = true,
                                   .unit = 4,
                                   .count = INT64_C(2) << i,
                                   .nodes = &topo->nodes};

        times[i] = decide(coll, &s, net);
    }
    *middle = median(times, SIZES);
    *worst = times[SIZES - 1];
}

static void print_row(enum tt_coll coll, struct tt_topo *const topos[], struct tt_net *const nets[])
{
    printf("%-22s", tt_coll_name(coll));
    for (int i = 0; i < NSCALES; i++) {
        double middle, worst;

        decide_all(coll, topos[i], nets[i], &middle, &worst);
        printf(" %9.2f %9.2f", middle / 1e3, worst / 1e3);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    struct tt_topo *topos[NSCALES] = {NULL};
    struct tt_net *nets[NSCALES] = {NULL};
    char why[1024];

    look_up();
    printf("a new one, us: %6s", "");
    for (int i = 0; i < NSCALES; i++) {
        double start;

        if (tt_topo_read(argc > 1 ? argv[1] : "scale-rails", scales[i], scales[i] / 8, NULL, &topos[i], why,
                         sizeof why)) {
            fprintf(stderr, "%s\n", why);
            return 1;
        }
        start = now();
        nets[i] = tt_net_make(topos[i]);
        printf("%*s (net: %.0f us)", i ? 5 : 0, "", (now() - start) / 1e3);
    }
    printf("\n%-22s", "collective");
    for (int i = 0; i < NSCALES; i++)
        printf("  P=%-5d    worst", scales[i]);
    putchar('\n');
    for (int c = 0; c < TT_NCOLLS; c++)
        if (!(tt_coll_traits((enum tt_coll)c) & TT_NEIGHBOURS))
            print_row((enum tt_coll)c, topos, nets);
    for (int i = 0; i < NSCALES; i++) {
        tt_net_free(nets[i]);
        tt_topo_free(topos[i]);
    }
    return 0;
}
