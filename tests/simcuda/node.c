/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled into each library of the simulated device: they share no state, for a program may have either alone. */
#include "tests/simcuda/node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sim_say(const char *format, ...)
{
    char line[512];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "simulated GPU: %s\n", line);
}

CUresult sim_environment_number(const char *name, long low, long high, long *value)
{
    const char *text = getenv(name);
    char *end;
    long n;

    if (!text || !*text)
        return CUDA_SUCCESS;
    errno = 0;
    n = strtol(text, &end, 10);
    if (errno || end == text || *end || n < low || n > high) {
        sim_say("%s=%s is not a number from %ld to %ld", name, text, low, high);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = n;
    return CUDA_SUCCESS;
}

CUresult sim_node_gpus(long *gpus)
{
    return sim_environment_number("TUTTI_SIM_GPUS", 0, SIM_MAX_GPUS, gpus);
}

/* As the real one: ordinals up to the first that does not exist. */
int sim_node_visible(int present, int physical[SIM_MAX_GPUS])
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    char *end;
    int visible = 0;

    for (int i = 0; !list && i < present; i++)
        physical[visible++] = i;
    while (list && *list) {
        const long n = strtol(list, &end, 10);

        if (end == list || n < 0 || n >= present || visible == present)
            break;
        physical[visible++] = (int)n;
        list = *end == ',' ? end + 1 : "";
    }
    return visible;
}

CUresult sim_node_links(bool *reachable, bool *linked)
{
    const char *text = getenv("TUTTI_SIM_LINKS");

    *reachable = *linked = true;
    if (!text || !*text || strcmp(text, "nvlink") == 0)
        return CUDA_SUCCESS;
    *linked = false;
    if (strcmp(text, "pcie") == 0)
        return CUDA_SUCCESS;
    *reachable = false;
    if (strcmp(text, "none") == 0)
        return CUDA_SUCCESS;
    sim_say("TUTTI_SIM_LINKS=%s is not nvlink, pcie or none", text);
    return CUDA_ERROR_INVALID_VALUE;
}

/* The node's boot id, so that all processes of a node agree and no two nodes do, and the device's ordinal. */
CUuuid sim_node_uuid(int physical)
{
    CUuuid uuid = {{0}};
    uint64_t hash = 0xcbf29ce484222325u;
    FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "r");
    int c;

    while (boot && (c = fgetc(boot)) != EOF)
        hash = (hash ^ (uint64_t)c) * 0x100000001b3u;
    if (boot)
        fclose(boot);
    memcpy(uuid.bytes, "SIMU", 4);
    memcpy(uuid.bytes + 4, &hash, 8);
    memcpy(uuid.bytes + 12, &physical, 4);
    return uuid;
}
