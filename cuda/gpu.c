/* SPDX-License-Identifier: BSD-3-Clause */
/* Which GPU the caller works on, and how it is joined to the others: for the picture of the machine. A handful of
 * driver calls, asked once for each communicator; NVML where they do not suffice. */
#include "cuda/dev.h"

#include <string.h>

#include "cuda/driver.h"
#include "cuda/nvml.h"

static int attribute(const struct tt_driver *d, CUdevice device, CUdevice_attribute which)
{
    int value;

    return d->cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

static bool peer_attribute(const struct tt_driver *d, CUdevice device, CUdevice peer, CUdevice_P2PAttribute which)
{
    int value;

    return d->cuDeviceGetP2PAttribute && d->cuDeviceGetP2PAttribute(&value, which, device, peer) == CUDA_SUCCESS &&
           value;
}

static void look_at_peers(const struct tt_driver *d, CUdevice device, struct tt_gpu *gpu)
{
    CUdevice peer;
    int count = 0;

    d->cuDeviceGetCount(&count);
    for (int i = 0; i < count; i++) {
        if (d->cuDeviceGet(&peer, i) != CUDA_SUCCESS || peer == device)
            continue;
        gpu->peers++;
        gpu->reached += peer_attribute(d, device, peer, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED);
        gpu->linked += peer_attribute(d, device, peer, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);
    }
}

static void look(const struct tt_driver *d, CUdevice device, struct tt_gpu *gpu)
{
    CUuuid uuid;

    if (d->cuDeviceGetUuid(&uuid, device) != CUDA_SUCCESS)
        return;
    gpu->there = true;
    memcpy(gpu->uuid, &uuid, sizeof gpu->uuid);
    gpu->domain = attribute(d, device, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
    gpu->bus = attribute(d, device, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
    gpu->device = attribute(d, device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
    look_at_peers(d, device, gpu);
}

void tt_gpu_here(struct tt_gpu *gpu)
{
    const struct tt_driver *d = tt_driver_find();
    CUcontext context = NULL;
    CUdevice device;

    *gpu = (struct tt_gpu){0};
    if (d && !d->lacks && d->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context &&
        d->cuCtxGetDevice(&device) == CUDA_SUCCESS)
        look(d, device, gpu);
}

void tt_gpu_look(int ordinal, struct tt_gpu *gpu, char *name, size_t size)
{
    const struct tt_driver *d = tt_driver_find();
    CUdevice device;

    *gpu = (struct tt_gpu){0};
    name[0] = '\0';
    if (!d || d->lacks || d->cuDeviceGet(&device, ordinal) != CUDA_SUCCESS)
        return;
    look(d, device, gpu);
    d->cuDeviceGetName(name, (int)size, device);
}

void tt_gpu_look_around(struct tt_gpu *gpu)
{
    struct tt_nvml_seen seen;

    if (!gpu->there || !tt_nvml_look(gpu->uuid, &seen))
        return;
    gpu->on_node = seen.gpus;
    gpu->links = seen.links;
    if (gpu->peers > 0)
        return;
    gpu->peers = seen.peers;
    gpu->reached = seen.reached;
    gpu->linked = seen.linked;
}

bool tt_gpu_linked(const struct tt_gpu *gpu)
{
    return gpu->peers > 0 ? gpu->linked == gpu->peers : gpu->links;
}

uint64_t tt_gpu_id(const struct tt_gpu *gpu)
{
    uint64_t halves[2];

    if (!gpu->there)
        return 0;
    memcpy(halves, gpu->uuid, sizeof halves);
    return (halves[0] ^ halves[1] * UINT64_C(0x9E3779B97F4A7C15)) | 1;
}
