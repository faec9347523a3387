/* SPDX-License-Identifier: BSD-3-Clause */
/* The driver as a whole: its start and end, the way into and out of every entry point, and its devices. They are named
 * so that nobody takes them for hardware. As with the real driver, a process forked after cuInit has no CUDA, and none
 * is left once the program's exit has passed the library's own destructor. */
#include "tests/simcuda/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct sim sim = {.lock = PTHREAD_MUTEX_INITIALIZER, .progress = PTHREAD_COND_INITIALIZER, .memory = (size_t)8 << 30};
_Thread_local bool sim_in_callback;

/* ---- start and end ---- */

/* 512M, 8G: bytes of memory. */
static CUresult environment_size(const char *name, size_t *value)
{
    static const char units[] = "KMGT";
    const char *text = getenv(name), *unit;
    char *end;
    unsigned long long n;

    if (!text || !*text)
        return CUDA_SUCCESS;
    errno = 0;
    n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    unit = n && *end ? strchr(units, *end) : NULL;
    if (!n || errno || n >> 20 || (*end && (!unit || end[1]))) {
        sim_say("%s=%s is not a size such as 512M or 8G", name, text);
        return CUDA_ERROR_INVALID_VALUE;
    }
    *value = (size_t)n << (unit ? 10 * (unit - units + 1) : 0);
    return CUDA_SUCCESS;
}

static CUresult start(void)
{
    long gpus = 1, delay = 0;
    CUresult error = sim_node_gpus(&gpus);

    if (!error)
        error = environment_size("TUTTI_SIM_MEMORY", &sim.memory);
    if (!error)
        error = sim_environment_number("TUTTI_SIM_DELAY_US", 0, 60000000, &delay);
    if (!error)
        error = sim_fault_environment();
    if (error)
        return error;
    sim.ngpus = sim_node_visible((int)gpus, sim.physical);
    if (!sim.ngpus)
        return CUDA_ERROR_NO_DEVICE;
    if (delay)
        sim.fault.delay_us = (unsigned long)delay;
    if (getrandom(&sim.nonce, sizeof sim.nonce, 0) != (ssize_t)sizeof sim.nonce)
        return CUDA_ERROR_OPERATING_SYSTEM;
    sim.state = SIM_READY;
    return CUDA_SUCCESS;
}

static void before_fork(void)
{
    pthread_mutex_lock(&sim.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&sim.lock);
}

static void in_child(void)
{
    pthread_cond_init(&sim.progress, NULL); /* those who waited are not here */
    if (sim.state == SIM_READY)
        sim.state = SIM_FORKED;
    pthread_mutex_unlock(&sim.lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, in_child);
}

__attribute__((destructor)) static void end(void)
{
    pthread_mutex_lock(&sim.lock);
    sim.state = SIM_GONE;
    pthread_mutex_unlock(&sim.lock);
}

/* ---- in and out ---- */

CUresult sim_enter(enum need need)
{
    pthread_mutex_lock(&sim.lock);
    sim.counters.calls++;
    if (sim.state == SIM_GONE)
        return CUDA_ERROR_DEINITIALIZED;
    if (need == NEED_NOTHING)
        return CUDA_SUCCESS;
    if (sim.state != SIM_READY)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (sim_in_callback)
        return CUDA_ERROR_NOT_PERMITTED;
    return need == NEED_CONTEXT ? sim_ctx_check(sim_current()) : CUDA_SUCCESS;
}

CUresult sim_leave(CUresult error)
{
    pthread_mutex_unlock(&sim.lock);
    return error;
}

CUresult cuInit(unsigned flags)
{
    CUresult error = sim_enter(NEED_NOTHING);

    if (!error && flags)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && sim.state == SIM_FORKED)
        error = CUDA_ERROR_NOT_INITIALIZED;
    if (!error && sim.state == SIM_NEW)
        error = start();
    return sim_leave(error);
}

CUresult cuDriverGetVersion(int *version)
{
    CUresult error = sim_enter(NEED_NOTHING);

    if (!error && !version)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *version = SIM_VERSION;
    return sim_leave(error);
}

/* ---- devices ---- */

bool sim_device_valid(CUdevice device)
{
    return device >= 0 && device < sim.ngpus;
}

CUuuid sim_uuid(int device)
{
    return sim_node_uuid(sim.physical[device]);
}

int sim_device_of(const CUuuid *uuid)
{
    for (int i = 0; i < sim.ngpus; i++) {
        const CUuuid here = sim_uuid(i);

        if (memcmp(&here, uuid, sizeof here) == 0)
            return i;
    }
    return -1;
}

CUresult cuDeviceGetCount(int *count)
{
    CUresult error = sim_enter(NEED_INIT);

    if (!error && !count)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *count = sim.ngpus;
    return sim_leave(error);
}

/* Enters, and checks a device and the place for its answer. */
static CUresult enter_device(CUdevice device, const void *answer)
{
    const CUresult error = sim_enter(NEED_INIT);

    if (error)
        return error;
    if (!answer)
        return CUDA_ERROR_INVALID_VALUE;
    return sim_device_valid(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    const CUresult error = enter_device(ordinal, device);

    if (!error)
        *device = ordinal;
    return sim_leave(error);
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    CUresult error = enter_device(device, name);

    if (!error && length <= 0)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        snprintf(name, (size_t)length, "Tutti simulated GPU (no hardware)");
    return sim_leave(error);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    const CUresult error = enter_device(device, uuid);

    if (!error)
        *uuid = sim_uuid(device);
    return sim_leave(error);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    const CUresult error = enter_device(device, bytes);

    if (!error)
        *bytes = sim.memory;
    return sim_leave(error);
}

/* A domain that no machine has. */
enum { PCI_DOMAIN = 0x51D0 };
#define BUS_ID "%04X:%02X:00.0"

static int attribute_of(CUdevice_attribute attribute, int device)
{
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        return 1024;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
        return 32;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return 4;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
        return 0x80 + sim.physical[device];
    case CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID:
        return PCI_DOMAIN;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
        return 2;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return 9;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
        return 1;
    default:
        return 0;
    }
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult error = enter_device(device, value);

    if (!error && (attribute == 0 || attribute >= 200))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        *value = attribute_of(attribute, device);
    return sim_leave(error);
}

CUresult cuDeviceGetPCIBusId(char *id, int length, CUdevice device)
{
    CUresult error = enter_device(device, id);

    if (!error && length <= 0)
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        snprintf(id, (size_t)length, BUS_ID, PCI_DOMAIN, attribute_of(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
    return sim_leave(error);
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    CUresult error = enter_device(0, device);
    char here[16];

    if (!error)
        error = CUDA_ERROR_INVALID_DEVICE;
    for (int i = 0; error == CUDA_ERROR_INVALID_DEVICE && id && i < sim.ngpus; i++) {
        snprintf(here, sizeof here, BUS_ID, PCI_DOMAIN, attribute_of(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, i));
        if (strcmp(here, id) == 0) {
            *device = i;
            error = CUDA_SUCCESS;
        }
    }
    return sim_leave(error);
}

CUresult sim_reach(int device, int peer)
{
    bool reachable, linked;
    const CUresult error = sim_node_links(&reachable, &linked);

    return error || device == peer || reachable ? error : CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
    CUresult error = enter_device(device, value);
    bool reachable, linked;

    if (!error && !sim_device_valid(peer))
        error = CUDA_ERROR_INVALID_DEVICE;
    if (!error && (device == peer || attribute == 0))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error)
        error = sim_node_links(&reachable, &linked);
    if (!error)
        *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED
                     ? reachable
                     : attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED && linked;
    return sim_leave(error);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    CUresult error = enter_device(device, can);

    if (!error && !sim_device_valid(peer))
        error = CUDA_ERROR_INVALID_DEVICE;
    if (!error)
        *can = device != peer && sim_reach(device, peer) == CUDA_SUCCESS;
    return sim_leave(error);
}
