/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of an address. Neither function needs a current context; but a broken one is reported, so that nobody
 * takes "no answer" for "host memory". Of an unknown address the one asks for attributes by the dozen and gets
 * zeros, the other asks for one and gets an error: callers of the real driver depend on the difference. */
#include "tests/simcuda/sim.h"

#include <string.h>

static CUresult put(void *data, const void *value, size_t bytes)
{
    memcpy(data, value, bytes);
    return CUDA_SUCCESS;
}

static CUresult put_address(void *data, uintptr_t address)
{
    return put(data, &address, sizeof address);
}

static CUresult put_int(void *data, int value)
{
    return put(data, &value, sizeof value);
}

/* One attribute of address, which lies in b. INVALID_VALUE: this memory has none such. */
static CUresult attribute_of(const struct block *b, uintptr_t address, CUpointer_attribute attribute, void *data)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        return put(data, &b->ctx, sizeof b->ctx);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return put_int(data, sim_on_device(b) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        return put_address(data, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return b->kind <= BLOCK_BORROWED ? CUDA_ERROR_INVALID_VALUE : put_address(data, address);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        return put(data, &b->id, sizeof b->id);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        return put_int(data, 0);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        return put_int(data, b->kind == BLOCK_MANAGED);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        return put_int(data, b->device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        return put_int(data, b->kind == BLOCK_DEVICE && !b->pooled);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        return put_address(data, b->at);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return put(data, &b->bytes, sizeof b->bytes);
    case CU_POINTER_ATTRIBUTE_MAPPED:
        return put_int(data, 1);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static size_t width_of(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        return 8;
    default:
        return 4;
    }
}

static CUresult enter_query(void)
{
    const CUresult error = sim_enter(NEED_INIT);
    const struct CUctx_st *ctx = sim_current();

    sim.counters.pointer_queries++;
    return error || !ctx ? error : ctx->error;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address)
{
    CUresult error = enter_query();
    const struct block *b = error ? NULL : sim_block_at(address);

    if (!error && (!attributes || !data || !count))
        error = CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count && !error; i++) {
        memset(data[i], 0, width_of(attributes[i]));
        if (b && attribute_of(b, address, attributes[i], data[i]) == CUDA_ERROR_NOT_SUPPORTED)
            error = CUDA_ERROR_NOT_SUPPORTED;
    }
    return sim_leave(error);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUresult error = enter_query();
    const struct block *b = error ? NULL : sim_block_at(address);

    if (!error && (!data || !b))
        error = CUDA_ERROR_INVALID_VALUE;
    return sim_leave(error ? error : attribute_of(b, address, attribute, data));
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !sim_block_at(address)))
        error = CUDA_ERROR_INVALID_VALUE; /* SYNC_MEMOPS is accepted: waiting more is always right */
    return sim_leave(error);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    const struct block *b = error ? NULL : sim_block_at(address);

    if (!error && !b)
        error = CUDA_ERROR_NOT_FOUND;
    if (!error && base)
        *base = b->at;
    if (!error && bytes)
        *bytes = b->bytes;
    return sim_leave(error);
}
