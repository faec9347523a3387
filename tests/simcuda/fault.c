/* SPDX-License-Identifier: BSD-3-Clause */
/* What a test controls: counters, injected faults, delay and hold. A spec is read whole before any of it takes effect,
 * since a test whose fault was misspelt would pass for the wrong reason. */
#include "tests/simcuda/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One spelling each: a word, and for most a key and where its number goes. */
static const struct {
    const char *word, *key;
    size_t number; /* in struct fault */
    int hold;      /* -1: says nothing of it */
} faults[] = {
    {"oom", "after", offsetof(struct fault, oom), -1},
    {"pinned", "after", offsetof(struct fault, pinned), -1},
    {"oom", "from", offsetof(struct fault, oom_from), -1},
    {"pinned", "from", offsetof(struct fault, pinned_from), -1},
    {"code", "from", offsetof(struct fault, code_from), -1},
    {"ipc-export", "from", offsetof(struct fault, export_from), -1},
    {"ipc-open", "from", offsetof(struct fault, open_from), -1},
    {"sticky", "after", offsetof(struct fault, sticky), -1},
    {"lost", "after", offsetof(struct fault, lost), -1},
    {"delay", "us", offsetof(struct fault, delay_us), -1},
    {"nccl-init", "after", offsetof(struct fault, guest[GUEST_INIT]), -1},
    {"nccl-absent", "after", offsetof(struct fault, guest[GUEST_ABSENT]), -1},
    {"nccl-exit", "after", offsetof(struct fault, guest[GUEST_EXIT]), -1},
    {"nccl-stuck", "after", offsetof(struct fault, guest[GUEST_STUCK]), -1},
    {"nccl-error", "after", offsetof(struct fault, guest[GUEST_ERROR]), -1},
    {"nccl-delay", "ms", offsetof(struct fault, guest_delay_ms), -1},
    {"hold", NULL, 0, 1},
    {"release", NULL, 0, 0},
};

/* ":after=3" up to end. A time may be 0. */
static bool parse_number(const char *text, const char *end, const char *key, unsigned long *number)
{
    const size_t length = strlen(key);
    char *stop;

    if (*text != ':' || strncmp(text + 1, key, length) != 0 || text[1 + length] != '=')
        return false;
    text += 2 + length;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *number = strtoul(text, &stop, 10);
    return stop == end && !errno && (*number > 0 || key[1] == 's');
}

static bool parse_part(const char *text, const char *end, struct fault *fault)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        const size_t length = strlen(faults[i].word);

        if ((size_t)(end - text) < length || strncmp(text, faults[i].word, length) != 0)
            continue;
        if (faults[i].key && parse_number(text + length, end, faults[i].key, (void *)((char *)fault + faults[i].number)))
            return true;
        if (faults[i].key)
            continue;
        fault->hold = faults[i].hold == 1;
        return text + length == end;
    }
    return false;
}

static int say_none(const char *text, const char *end)
{
    char known[512];
    int used = 0;

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        used += snprintf(known + used, sizeof known - (size_t)used, " %s%s%s%s", faults[i].word,
                         faults[i].key ? ":" : "", faults[i].key ? faults[i].key : "", faults[i].key ? "=N" : "");
    sim_say("fault \"%.*s\" is none of%s", (int)(end - text), text, known);
    return -1;
}

/* sim.lock is held. */
static int inject(const char *spec)
{
    struct fault fault = sim.fault;

    for (const char *text = spec, *end;; text = end + 1) {
        end = strchrnul(text, ';');
        if (!parse_part(text, end, &fault)) {
            return say_none(text, end);
        }
        if (!*end)
            break;
    }
    sim.fault = fault;
    pthread_cond_broadcast(&sim.progress);
    return 0;
}

int simcuda_inject(const char *spec)
{
    pthread_mutex_lock(&sim.lock);
    const int failed = inject(spec);
    pthread_mutex_unlock(&sim.lock);
    return failed;
}

CUresult sim_fault_environment(void)
{
    const char *spec = getenv("TUTTI_SIM_FAULT");

    return spec && *spec && inject(spec) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

bool sim_fault_due(unsigned long *countdown)
{
    return *countdown && --*countdown == 0;
}

bool sim_fault_lasts(unsigned long *countdown)
{
    if (*countdown <= 1)
        return *countdown;
    --*countdown;
    return false;
}

void simcuda_counters(struct simcuda_counters *counters)
{
    pthread_mutex_lock(&sim.lock);
    *counters = sim.counters;
    pthread_mutex_unlock(&sim.lock);
}

void simcuda_reset(void)
{
    pthread_mutex_lock(&sim.lock);
    sim.counters = (struct simcuda_counters){0};
    sim.fault = (struct fault){0};
    pthread_cond_broadcast(&sim.progress);
    pthread_mutex_unlock(&sim.lock);
}

void *simcuda_alias(const void *device_ptr)
{
    void *real = NULL;

    pthread_mutex_lock(&sim.lock);
    if (sim_in_range((uintptr_t)device_ptr) && sim_block_at((uintptr_t)device_ptr))
        real = sim_real((uintptr_t)device_ptr);
    pthread_mutex_unlock(&sim.lock);
    return real;
}
