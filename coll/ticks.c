/* SPDX-License-Identifier: BSD-3-Clause */
/* What the clock of ticks.h is here, and how it compares with CLOCK_MONOTONIC. */
#include "coll/ticks.h"

#include <stdio.h>
#include <sys/stat.h>

#include "coll/hash.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* The counter is said to be invariant. */
static bool counter_is_steady(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}
#else
static bool counter_is_steady(void)
{
    return false;
}
#endif

bool tt_counter_is_steady;

__attribute__((constructor)) static void look(void)
{
    tt_counter_is_steady = counter_is_steady();
}

/* The tighter of a few tries: a thread may lose its core between the two readings. */
struct tt_moment tt_moment_now(void)
{
    struct tt_moment best = {0};
    int64_t narrowest = INT64_MAX;

    for (int i = 0; i < 5; i++) {
        const int64_t before = tt_nanoseconds(CLOCK_MONOTONIC);
        const uint64_t ticks = tt_ticks();
        const int64_t width = tt_nanoseconds(CLOCK_MONOTONIC) - before;

        if (width < narrowest) {
            narrowest = width;
            best = (struct tt_moment){ticks, before + width / 2};
        }
    }
    return best;
}

int64_t tt_ticks_ns(uint64_t ticks, const struct tt_moment *early, const struct tt_moment *late)
{
    const double apart = (double)(int64_t)(late->ticks - early->ticks);
    const double rate = apart > 0 ? (double)(late->ns - early->ns) / apart : 1;

    return late->ns + (int64_t)((double)(int64_t)(ticks - late->ticks) * rate);
}

uint64_t tt_boot_hash(void)
{
    FILE *in = fopen("/proc/sys/kernel/random/boot_id", "r");
    uint64_t h = TT_HASH_OF_NOTHING;
    struct stat space;
    char id[64];
    size_t n;

    if (in) {
        n = fread(id, 1, sizeof id, in);
        h = tt_hash(h, id, n);
        fclose(in);
    }
    if (stat("/proc/self/ns/time", &space) == 0)
        h = tt_hash(h, &space.st_ino, sizeof space.st_ino);
    return h;
}
