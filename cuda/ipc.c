/* SPDX-License-Identifier: BSD-3-Clause */
/* Legacy CUDA IPC: a handle names an allocation to other processes, and opening it there takes tens to hundreds of
 * microseconds, so each is made once and opened once, and both are remembered. What may not be remembered is an
 * address: it can be freed, and come back as another allocation, or the same handle's bytes can. So everything is known
 * by the driver's number for the allocation, which no later one of that process gets, and by the process, which is told
 * by a random number of its own: naming costs one pointer query, and opening what is open costs nothing.
 *
 * Memory that its owner has freed stays with whoever has it open, so what is open is bounded; what is unused for
 * longest goes first. And since a driver does not map an allocation while an earlier one at the same place is still
 * open, an allocation that overlaps what is known is the news that this has been freed, and closes it.
 *
 * A failure is remembered too: a container may forbid IPC, two GPUs may not reach each other, and memory of pools,
 * managed memory and memory mapped by hand have no handles. It is no error: then the bytes travel. */
#include "cuda/ipc.h"

#include <string.h>
#include <sys/random.h>

_Static_assert(sizeof(CUipcMemHandle) == sizeof(((struct tt_name *)0)->handle), "a handle fits");

/* ---- this process ---- */

static uint64_t self;

static void choose_self(void)
{
    if (getrandom(&self, sizeof self, 0) != (ssize_t)sizeof self)
        self = 0; /* then nothing of it is named */
}

static uint64_t ourselves(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, choose_self);
    return self;
}

void tt_ipc_open(struct tt_ipc *ipc, const struct tt_driver *driver)
{
    ipc->driver = driver;
    pthread_mutex_init(&ipc->lock, NULL);
}

/* ---- naming what is ours ---- */

static bool speaks_ipc(const struct tt_driver *d)
{
    return d->cuMemGetAddressRange && d->cuIpcGetMemHandle && d->cuIpcOpenMemHandle && d->cuIpcCloseMemHandle &&
           ourselves();
}

/* The driver's number for the allocation around it; 0 if it is none that can have a handle. Older drivers than ask for
 * that attribute fail all of it, and nothing is named. */
static unsigned long long buffer_of(const struct tt_driver *d, const void *at)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_BUFFER_ID, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE};
    unsigned long long buffer = 0;
    unsigned capable = 0;
    void *answers[] = {&buffer, &capable};

    if (d->cuPointerGetAttributes(2, wanted, answers, (CUdeviceptr)(uintptr_t)at) != CUDA_SUCCESS)
        return 0;
    return capable ? buffer : 0;
}

static const struct tt_ipc_own *find_own(const struct tt_ipc *ipc, unsigned long long buffer)
{
    for (int i = 0; i < TT_IPC_OWN; i++)
        if (ipc->own[i].buffer == buffer)
            return &ipc->own[i];
    return NULL;
}

/* The oldest makes room: a handle is cheap to get again. */
static const struct tt_ipc_own *note_own(struct tt_ipc *ipc, unsigned long long buffer, const void *at)
{
    const struct tt_driver *d = ipc->driver;
    struct tt_ipc_own *own = &ipc->own[ipc->nown++ % TT_IPC_OWN];
    CUipcMemHandle handle;

    *own = (struct tt_ipc_own){.buffer = buffer};
    if (d->cuMemGetAddressRange(&own->base, &own->bytes, (CUdeviceptr)(uintptr_t)at) != CUDA_SUCCESS ||
        d->cuIpcGetMemHandle(&handle, own->base) != CUDA_SUCCESS)
        own->bytes = 0;
    else
        memcpy(own->handle, &handle, sizeof own->handle);
    return own;
}

static bool name_by(const struct tt_ipc_own *own, const void *at, size_t bytes, struct tt_name *name)
{
    *name = (struct tt_name){.owner = ourselves(), .buffer = own->buffer, .base = own->base, .bytes = own->bytes};
    name->offset = (uintptr_t)at - own->base;
    memcpy(name->handle, own->handle, sizeof name->handle);
    return name->offset <= name->bytes && bytes <= name->bytes - name->offset;
}

bool tt_ipc_export(struct tt_ipc *ipc, const void *at, size_t bytes, struct tt_name *name)
{
    const unsigned long long buffer = speaks_ipc(ipc->driver) ? buffer_of(ipc->driver, at) : 0;
    const struct tt_ipc_own *own;
    bool named;

    if (!buffer)
        return false;
    pthread_mutex_lock(&ipc->lock);
    own = find_own(ipc, buffer);
    if (!own)
        own = note_own(ipc, buffer, at);
    named = own->bytes && name_by(own, at, bytes, name);
    pthread_mutex_unlock(&ipc->lock);
    return named;
}

/* ---- opening what is another's; all with the lock held ---- */

static bool same_allocation(const struct tt_name *a, const struct tt_name *b)
{
    return a->owner == b->owner && a->buffer == b->buffer && a->bytes == b->bytes &&
           memcmp(a->handle, b->handle, sizeof a->handle) == 0;
}

static bool overlap(const struct tt_name *a, const struct tt_name *b)
{
    return a->base < b->base + b->bytes && b->base < a->base + a->bytes;
}

static void forget(struct tt_ipc *ipc, struct tt_ipc_opened *o)
{
    if (o->at)
        ipc->driver->cuIpcCloseMemHandle(o->at);
    *o = (struct tt_ipc_opened){.uses = 0};
}

static struct tt_ipc_opened *find_opened(struct tt_ipc *ipc, const struct tt_name *name)
{
    for (int i = 0; i < TT_IPC_OPENED; i++)
        if (ipc->opened[i].name.bytes && same_allocation(&ipc->opened[i].name, name))
            return &ipc->opened[i];
    return NULL;
}

/* Those of that process that are in nobody's use: what was at the same place there, and so has been freed; or all. */
static void forget_some(struct tt_ipc *ipc, const struct tt_name *name, bool all)
{
    for (int i = 0; i < TT_IPC_OPENED; i++) {
        struct tt_ipc_opened *o = &ipc->opened[i];

        if (o->name.bytes && !o->uses && o->name.owner == name->owner && (all || overlap(&o->name, name)))
            forget(ipc, o);
    }
}

/* An entry for another: an unused one, or that which was used longest ago. NULL if all are in use. */
static struct tt_ipc_opened *make_room(struct tt_ipc *ipc)
{
    struct tt_ipc_opened *oldest = NULL;

    for (int i = 0; i < TT_IPC_OPENED; i++)
        if (!ipc->opened[i].uses && (!oldest || ipc->opened[i].last < oldest->last))
            oldest = &ipc->opened[i];
    if (oldest)
        forget(ipc, oldest);
    return oldest;
}

/* A driver gives out small allocations of one larger block, and maps that: one of its others, freed too, may be in the
 * way. */
static CUresult map(struct tt_ipc *ipc, const struct tt_name *name, CUdeviceptr *at)
{
    const struct tt_driver *d = ipc->driver;
    CUipcMemHandle handle;
    CUresult result;

    memcpy(&handle, name->handle, sizeof handle);
    result = d->cuIpcOpenMemHandle(at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    if (result == CUDA_ERROR_ALREADY_MAPPED) {
        forget_some(ipc, name, true);
        result = d->cuIpcOpenMemHandle(at, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    }
    return result;
}

/* What is in the way because it is in use, will not be for ever: that alone is not remembered. */
static struct tt_ipc_opened *open_anew(struct tt_ipc *ipc, const struct tt_name *name)
{
    struct tt_ipc_opened *o;
    CUresult result;

    forget_some(ipc, name, false);
    o = make_room(ipc);
    if (!o) {
        tt_fault_set("%d allocations of other processes are in use at once", TT_IPC_OPENED);
        return NULL;
    }
    result = map(ipc, name, &o->at);
    if (tt_driver_check(ipc->driver, result, "cuIpcOpenMemHandle"))
        o->at = 0;
    if (result == CUDA_ERROR_ALREADY_MAPPED)
        return NULL;
    o->name = *name;
    return o;
}

static CUdeviceptr open_once(struct tt_ipc *ipc, const struct tt_name *name)
{
    struct tt_ipc_opened *o = find_opened(ipc, name);

    if (!o)
        o = open_anew(ipc, name);
    else if (!o->at)
        tt_fault_set("cuIpcOpenMemHandle failed before for this memory");
    if (!o)
        return 0;
    o->last = ++ipc->uses;
    o->uses += o->at != 0;
    return o->at;
}

const void *tt_ipc_import(struct tt_ipc *ipc, const struct tt_name *name)
{
    CUdeviceptr at;

    if (name->owner == ourselves())
        return (const void *)(uintptr_t)(name->base + name->offset);
    if (!speaks_ipc(ipc->driver)) {
        tt_fault_set("the CUDA driver has no IPC");
        return NULL;
    }
    pthread_mutex_lock(&ipc->lock);
    at = open_once(ipc, name);
    pthread_mutex_unlock(&ipc->lock);
    return at ? (const void *)(uintptr_t)(at + name->offset) : NULL;
}

void tt_ipc_release(struct tt_ipc *ipc, const struct tt_name *name)
{
    struct tt_ipc_opened *o;

    pthread_mutex_lock(&ipc->lock);
    o = find_opened(ipc, name);
    if (o && o->uses)
        o->uses--;
    pthread_mutex_unlock(&ipc->lock);
}

void tt_ipc_close(struct tt_ipc *ipc, bool gone)
{
    for (int i = 0; i < TT_IPC_OPENED && !gone; i++)
        forget(ipc, &ipc->opened[i]);
    pthread_mutex_destroy(&ipc->lock);
}
