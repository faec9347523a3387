/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA driver, without linking it and without loading it: device memory can only exist if the program has loaded
 * libcuda.so.1 itself, before MPI_Init or long after it. So a pointer query first asks whether that has happened: only
 * where an object may have been loaded (objects.h), and the loader's count of all that it ever has is another, is the
 * library looked for. Once found it is held and never looked for again. */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cuda/inside.h"
#include "cuda/objects.h"

static const char library[] = "libcuda.so.1";

static struct tt_driver driver;
static _Atomic(const struct tt_driver *) found;
static atomic_ullong objects_seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void resolve(void *handle)
{
    enum { MAY, MUST };

#define TT_DRIVER(name, symbol, need, params)                                                                          \
    *(void **)&driver.name = dlsym(handle, #symbol);                                                                   \
    if (need == MUST && !driver.name)                                                                                  \
        driver.lacks = #symbol;
#include "cuda/driver.def"
    driver.simulated = dlsym(handle, "simcuda_counters") != NULL;
    atomic_store(&found, &driver);
}

/* flags: RTLD_NOLOAD to take it only if it is there. */
static void open_driver(int flags)
{
    void *handle;

    pthread_mutex_lock(&lock);
    if (!atomic_load(&found)) {
        handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL | flags);
        if (handle)
            resolve(handle);
    }
    pthread_mutex_unlock(&lock);
}

/* The first object is enough: each carries the count. */
static int note_count(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1;
}

const struct tt_driver *tt_driver_find(void)
{
    unsigned long long objects = 0;

    if (atomic_load_explicit(&found, memory_order_acquire))
        return &driver;
    if (!tt_objects_may_be_new())
        return NULL;
    tt_objects_seen();
    dl_iterate_phdr(note_count, &objects);
    if (objects == atomic_load(&objects_seen))
        return NULL;
    open_driver(RTLD_NOLOAD);
    atomic_store(&objects_seen, objects);
    return atomic_load(&found);
}

bool tt_driver_present(void)
{
    return tt_driver_find();
}

int tt_driver_check(const struct tt_driver *d, CUresult result, const char *format, ...)
{
    const char *name = NULL, *text = NULL;
    char what[160];
    va_list words;

    if (result == CUDA_SUCCESS)
        return 0;
    va_start(words, format);
    vsnprintf(what, sizeof what, format, words);
    va_end(words);
    d->cuGetErrorName(result, &name);
    d->cuGetErrorString(result, &text);
    return tt_fault_set("%s: %s (%s)", what, text ? text : "an error unknown to the driver", name ? name : "no name");
}

static int say_lacking(const struct tt_driver *d)
{
    return tt_fault_set("%s has no %s: the CUDA driver is too old, or is none", library, d->lacks);
}

/* ---- pointers ---- */

/* The answers that mean: this process has no device memory at all. Everything else that is not success is a fault. */
static bool means_none(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_NOT_INITIALIZED: /* loaded, but never used */
    case CUDA_ERROR_DEINITIALIZED:   /* the process is exiting; its contexts are gone */
    case CUDA_ERROR_STUB_LIBRARY:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_CONTEXT: /* no context knows the address */
        return true;
    default:
        return false;
    }
}

static enum tt_mem_kind kind_of(CUmemorytype type, unsigned managed)
{
    if (managed)
        return TT_MEM_MANAGED;
    return type == CU_MEMORYTYPE_DEVICE ? TT_MEM_DEVICE : type == CU_MEMORYTYPE_HOST ? TT_MEM_PINNED : TT_MEM_HOST;
}

/* After a sticky error the driver answers nothing any more, and a program may well go on without its GPU. The kernel
 * still knows which addresses the host can read, which those of device memory are not; asked so, it returns an error
 * where a plain load would be a fault. */
static bool host_reads(const void *p)
{
    char byte;
    const struct iovec here = {&byte, 1}, there = {(void *)p, 1};

    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

/* One call for all attributes. Of an address it does not know the driver says success and zeros. */
static int query(const struct tt_driver *d, const void *p, struct tt_mem *mem)
{
    CUpointer_attribute wanted[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT,
                                    CU_POINTER_ATTRIBUTE_BUFFER_ID};
    CUmemorytype type = 0;
    unsigned managed = 0;
    int device = -1;
    void *context = NULL;
    unsigned long long buffer = 0;
    void *answers[] = {&type, &managed, &device, &context, &buffer};
    const CUresult result = d->cuPointerGetAttributes(5, wanted, answers, (CUdeviceptr)(uintptr_t)p);

    if (result != CUDA_SUCCESS)
        return means_none(result) || host_reads(p) ? 0 : tt_driver_check(d, result, "cuPointerGetAttributes of %p", p);
    mem->kind = kind_of(type, managed);
    if (tt_mem_on_device(mem)) {
        mem->device = device;
        mem->context = context;
        mem->buffer = buffer;
    }
    return 0;
}

int tt_mem_where(const void *p, struct tt_mem *mem)
{
    const struct tt_driver *d = tt_driver_find();

    *mem = (struct tt_mem){TT_MEM_HOST, -1, NULL, 0};
    if (!d || !p)
        return 0;
    return d->lacks ? say_lacking(d) : query(d, p, mem);
}

/* ---- for people ---- */

static const char *start(struct tt_driver_info *info)
{
    CUdevice device;

    if (driver.lacks)
        say_lacking(&driver);
    if (driver.lacks || tt_driver_check(&driver, driver.cuInit(0), "cuInit") ||
        tt_driver_check(&driver, driver.cuDriverGetVersion(&info->version), "cuDriverGetVersion"))
        return tt_fault();
    if (driver.cuDeviceGetCount(&info->devices) == CUDA_SUCCESS && info->devices > 0 &&
        driver.cuDeviceGet(&device, 0) == CUDA_SUCCESS)
        driver.cuDeviceGetName(info->first, sizeof info->first, device);
    return NULL;
}

struct tt_driver_info tt_driver_look(void)
{
    struct tt_driver_info info = {0};

    open_driver(0);
    if (!atomic_load(&found)) {
        tt_fault_set("%s", dlerror());
        info.why_not = tt_fault();
        return info;
    }
    info.simulated = driver.simulated;
    info.why_not = start(&info);
    return info;
}
