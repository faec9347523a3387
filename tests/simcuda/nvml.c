/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated node's libnvidia-ml.so.1: as much of NVML as Tutti asks. As the real one, it does not heed
 * CUDA_VISIBLE_DEVICES. TUTTI_SIM_NVML=own makes it a batch system's, which lets a process talk to its own GPUs only;
 * TUTTI_SIM_NVML=none, one that has no driver. A handle is one more than the GPU's ordinal, so that NULL is none. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/nvml_abi.h"
#include "tests/simcuda/node.h"

#pragma GCC visibility push(default)
#define TT_NVML(name, params) nvmlReturn_t name params;
#include "cuda/nvml.def"
#pragma GCC visibility pop

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned starts;
static long gpus;
static bool permitted[SIM_MAX_GPUS], reachable, linked;

static CUresult start(void)
{
    const char *how = getenv("TUTTI_SIM_NVML");
    const bool own = how && strcmp(how, "own") == 0;
    int physical[SIM_MAX_GPUS], visible;

    if (how && *how && !own && strcmp(how, "all") != 0) {
        if (strcmp(how, "none") != 0)
            sim_say("TUTTI_SIM_NVML=%s is not all, own or none", how);
        return CUDA_ERROR_NOT_FOUND;
    }
    gpus = 1;
    if (sim_node_gpus(&gpus) || sim_node_links(&reachable, &linked))
        return CUDA_ERROR_INVALID_VALUE;
    visible = sim_node_visible((int)gpus, physical);
    for (int i = 0; i < SIM_MAX_GPUS; i++)
        permitted[i] = !own;
    for (int i = 0; i < visible; i++)
        permitted[physical[i]] = true;
    return CUDA_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void)
{
    nvmlReturn_t error = NVML_SUCCESS;

    pthread_mutex_lock(&lock);
    if (starts == 0 && start())
        error = NVML_ERROR_DRIVER_NOT_LOADED;
    starts += error == NVML_SUCCESS;
    pthread_mutex_unlock(&lock);
    return error;
}

nvmlReturn_t nvmlShutdown(void)
{
    nvmlReturn_t error;

    pthread_mutex_lock(&lock);
    error = starts ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
    starts -= starts > 0;
    pthread_mutex_unlock(&lock);
    return error;
}

static nvmlReturn_t check(bool valid)
{
    return !starts ? NVML_ERROR_UNINITIALIZED : valid ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static bool is_gpu(nvmlDevice_t device)
{
    return (uintptr_t)device > 0 && (uintptr_t)device <= (uintptr_t)gpus;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
    const nvmlReturn_t error = check(count);

    if (!error)
        *count = (unsigned)gpus;
    return error;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    const nvmlReturn_t error = check(device && index < (unsigned)gpus);

    if (error)
        return error;
    if (!permitted[index])
        return NVML_ERROR_NO_PERMISSION;
    *device = (nvmlDevice_t)(uintptr_t)(index + 1);
    return NVML_SUCCESS;
}

static void write_uuid(char text[41], int physical)
{
    const CUuuid uuid = sim_node_uuid(physical);
    char hex[33];

    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)uuid.bytes[i]);
    snprintf(text, 41, "GPU-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    const nvmlReturn_t error = check(uuid && device);
    char here[41];

    if (error)
        return error;
    for (int i = 0; i < gpus; i++) {
        write_uuid(here, i);
        if (strcmp(here, uuid) == 0)
            return nvmlDeviceGetHandleByIndex_v2((unsigned)i, device);
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *index)
{
    const nvmlReturn_t error = check(is_gpu(device) && index);

    if (!error)
        *index = (unsigned)(uintptr_t)device - 1;
    return error;
}

/* Of the links that there can be, the last two are there: nobody may take the first for all. */
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, nvmlEnableState_t *active)
{
    const nvmlReturn_t error = check(is_gpu(device) && active && link < 4);

    if (error)
        return error;
    if (!linked)
        return NVML_ERROR_NOT_SUPPORTED;
    *active = link < 2 ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t peer, nvmlGpuP2PCapsIndex_t index,
                                    nvmlGpuP2PStatus_t *status)
{
    const nvmlReturn_t error = check(is_gpu(device) && is_gpu(peer) && device != peer && status);
    const bool can = index == NVML_P2P_CAPS_INDEX_NVLINK ? linked : reachable;

    if (!error)
        *status = can ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_GPU_NOT_SUPPORTED;
    return error;
}
