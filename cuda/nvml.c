/* SPDX-License-Identifier: BSD-3-Clause */
/* NVML, opened at run time. A process with one GPU in CUDA_VISIBLE_DEVICES, as launchers set it for each rank, learns
 * nothing from CUDA about what lies between that GPU and its neighbours'; NVML does not heed the variable. Two things
 * it cannot show: where a container or a batch system has hidden the other GPUs themselves, no pair can be asked about,
 * and all that is left is whether the GPU has active NVLinks; and a MIG instance, whose UUID it does not take for a
 * GPU's, is not known, which is right, as NVLink does not serve it. It is asked once for each GPU that this process
 * comes to work on, and shut down after the question: it holds no files of the driver open meanwhile. */
#include "cuda/nvml.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cuda/nvml_abi.h"

struct nvml {
#define TT_NVML(name, params) nvmlReturn_t(*name) params;
#include "cuda/nvml.def"
    const char *lacks;
};

static bool resolve(struct nvml *n)
{
    void *handle = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (!handle)
        return false;
#define TT_NVML(name, params)                                                                                          \
    *(void **)&n->name = dlsym(handle, #name);                                                                         \
    if (!n->name)                                                                                                      \
        n->lacks = #name;
#include "cuda/nvml.def"
    return !n->lacks;
}

/* As NVML writes it: GPU-8a56b1d2-.... */
static void write_uuid(char text[41], const unsigned char uuid[16])
{
    int used = snprintf(text, 41, "GPU");

    for (int i = 0; i < 16; i++)
        used += snprintf(text + used, 41 - (size_t)used, i % 2 || i == 2 || i > 10 ? "%02x" : "-%02x", uuid[i]);
}

/* Links are numbered from 0, and no GPU has more than 18 yet. */
static bool has_links(const struct nvml *n, nvmlDevice_t gpu)
{
    nvmlEnableState_t active;

    for (unsigned i = 0; i < 18; i++)
        if (n->nvmlDeviceGetNvLinkState(gpu, i, &active) == NVML_SUCCESS && active == NVML_FEATURE_ENABLED)
            return true;
    return false;
}

static void look_at_peer(const struct nvml *n, nvmlDevice_t gpu, nvmlDevice_t peer, struct tt_nvml_seen *seen)
{
    nvmlGpuP2PStatus_t read, link;

    if (n->nvmlDeviceGetP2PStatus(gpu, peer, NVML_P2P_CAPS_INDEX_READ, &read) != NVML_SUCCESS ||
        n->nvmlDeviceGetP2PStatus(gpu, peer, NVML_P2P_CAPS_INDEX_NVLINK, &link) != NVML_SUCCESS)
        return;
    seen->peers++;
    seen->reached += read == NVML_P2P_STATUS_OK;
    seen->linked += link == NVML_P2P_STATUS_OK;
}

/* Some GPUs of the node may be there, but not for this user: they are not counted. */
static bool look(const struct nvml *n, const unsigned char uuid[16], struct tt_nvml_seen *seen)
{
    nvmlDevice_t gpu, other;
    unsigned ours, count;
    char name[41];

    write_uuid(name, uuid);
    if (n->nvmlDeviceGetHandleByUUID(name, &gpu) != NVML_SUCCESS || n->nvmlDeviceGetIndex(gpu, &ours) != NVML_SUCCESS ||
        n->nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
        return false;
    seen->links = has_links(n, gpu);
    for (unsigned i = 0; i < count; i++) {
        if (n->nvmlDeviceGetHandleByIndex_v2(i, &other) != NVML_SUCCESS)
            continue;
        seen->gpus++;
        if (i != ours)
            look_at_peer(n, gpu, other, seen);
    }
    return true;
}

static bool ask(const unsigned char uuid[16], struct tt_nvml_seen *seen)
{
    static struct nvml nvml;
    static bool tried, there;
    bool known;

    if (!tried)
        there = resolve(&nvml);
    tried = true;
    if (!there || nvml.nvmlInit_v2() != NVML_SUCCESS)
        return false;
    known = look(&nvml, uuid, seen);
    nvml.nvmlShutdown();
    return known;
}

bool tt_nvml_look(const unsigned char uuid[16], struct tt_nvml_seen *seen)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct tt_nvml_seen last;
    static unsigned char last_uuid[16];
    static bool asked, known;
    bool answer;

    pthread_mutex_lock(&lock);
    if (!asked || memcmp(last_uuid, uuid, sizeof last_uuid) != 0) {
        last = (struct tt_nvml_seen){0};
        memcpy(last_uuid, uuid, sizeof last_uuid);
        known = ask(uuid, &last);
        asked = true;
    }
    *seen = last;
    answer = known;
    pthread_mutex_unlock(&lock);
    return answer;
}
