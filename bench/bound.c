/* SPDX-License-Identifier: BSD-3-Clause */
/* What two cores of this machine can do, for bench/peers.sh to compare with: the bare exchange of flags between them,
 * by which each tells the other that it is here; and the bytes that both together move between memory and themselves,
 * of which an allreduce of n bytes on two ranks has at least 4n: each reads its n, and writes n. One thread per core.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/stream.h"

enum { EXCHANGES = 500, TRIES = 400, COPIES = 20, BYTES = 32 << 20, LINE = 64 };

static struct {
    _Alignas(LINE) atomic_uint flag;
    char apart[LINE];
} here[2];
static char *from[2], *to[2];
static double best_exchange = 1e9, best_copy = 1e9; /* seconds */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void exchange(int side, unsigned turn)
{
    atomic_store_explicit(&here[side].flag, turn, memory_order_release);
    while (atomic_load_explicit(&here[1 - side].flag, memory_order_acquire) < turn)
        ;
}

/* Of the core that this thread may use, the side-th. */
static void stay_on_core(int side)
{
    cpu_set_t all, one;

    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && side-- == 0)
            CPU_SET(cpu, &one);
    if (CPU_COUNT(&one))
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static void *measure(void *which)
{
    const int side = *(int *)which;
    unsigned turn = 0;
    double start;

    stay_on_core(side);
    memset(from[side], 1, BYTES);
    memset(to[side], 1, BYTES);
    for (int i = 0; i < TRIES; i++) {
        start = now();
        for (int k = 0; k < EXCHANGES; k++)
            exchange(side, ++turn);
        if (side == 0 && (now() - start) / EXCHANGES < best_exchange)
            best_exchange = (now() - start) / EXCHANGES;
    }
    for (int i = 0; i < COPIES; i++) {
        exchange(side, ++turn);
        start = now();
        tt_copy_host(to[side], from[side], BYTES);
        exchange(side, ++turn);
        if (side == 0 && now() - start < best_copy)
            best_copy = now() - start;
    }
    return NULL;
}

int main(void)
{
    int sides[2] = {0, 1};
    pthread_t other;

    for (int i = 0; i < 2; i++) {
        from[i] = malloc(BYTES);
        to[i] = malloc(BYTES);
        if (!from[i] || !to[i])
            return EXIT_FAILURE;
    }
    if (pthread_create(&other, NULL, measure, &sides[1]))
        return EXIT_FAILURE;
    measure(&sides[0]);
    pthread_join(other, NULL);
    printf("exchange %.3f us, memory %.2f GB/s\n", 1e6 * best_exchange, 4e-9 * BYTES / best_copy);
    return EXIT_SUCCESS;
}
