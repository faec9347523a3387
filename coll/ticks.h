/* SPDX-License-Identifier: BSD-3-Clause */
/* The cheapest clock that all threads of a node share. A processor whose counter runs at one rate and never stops
 * gives it in a third of what clock_gettime takes; others give nanoseconds of CLOCK_MONOTONIC. What a tick is, is told
 * by comparing the two at two times (struct tt_moment): so whoever reads ticks later, in another process, needs two
 * moments beside them. */
#ifndef TT_TICKS_H
#define TT_TICKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The same instant on both clocks. */
struct tt_moment {
    uint64_t ticks;
    int64_t ns; /* CLOCK_MONOTONIC */
};

/* Is the processor's counter good for it? Found out before main. */
extern bool tt_counter_is_steady;

static inline int64_t tt_nanoseconds(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__x86_64__)
static inline uint64_t tt_counter(void)
{
    return __builtin_ia32_rdtsc();
}

/* Nothing begins before what stands before it has ended. */
static inline void tt_counter_waits(void)
{
    __builtin_ia32_lfence();
}
#else
static inline uint64_t tt_counter(void)
{
    return 0;
}

static inline void tt_counter_waits(void)
{
}
#endif

static inline uint64_t tt_ticks(void)
{
    return tt_counter_is_steady ? tt_counter() : (uint64_t)tt_nanoseconds(CLOCK_MONOTONIC);
}

/* Now, once what was stored before is stored, and what was loaded is here: a processor may look at its counter before. */
static inline uint64_t tt_ticks_after(void)
{
    atomic_thread_fence(memory_order_seq_cst);
    tt_counter_waits();
    return tt_ticks();
}

/* Now, on both. */
struct tt_moment tt_moment_now(void);

/* A hash of the kernel's boot id and of the time namespace: where it is equal, CLOCK_MONOTONIC is the same clock. */
uint64_t tt_boot_hash(void);

/* Ticks as nanoseconds of CLOCK_MONOTONIC, by two moments that lie some way apart. */
int64_t tt_ticks_ns(uint64_t ticks, const struct tt_moment *early, const struct tt_moment *late);

#endif
