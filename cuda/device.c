/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory of one CUDA context as a place. A context belongs to the program: none is ever created here, and one may
 * be destroyed, or reset into another life under the same handle, at any time. So a place is known by handle and id
 * together, and what belonged to a life that is over is forgotten, not freed: its memory, streams and kernels went
 * with it.
 *
 * Streams (one per queue, never blocking or blocked by the program's), scratch and kernels are made when first needed
 * and kept: after the first call of a shape, the only driver calls are those that move or reduce data, and push, pop
 * and query. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda/driver.h"
#include "cuda/image.h"
#include "cuda/inside.h"
#include "cuda/ipc.h"
#include "cuda/marks.h"
#include "cuda/movers.h"
#include "cuda/nccl.h"
#include "cuda/ops.h"
#include "cuda/pins.h"
#include "cuda/tables.h"

enum { THREADS = 256, BLOCKS_PER_PROCESSOR = 8, BUFFERS = 8 };

enum code { CODE_UNKNOWN, CODE_LOADED, CODE_NONE };

struct device_place {
    struct tt_place base;
    struct device_place *next;
    const struct tt_driver *driver;
    CUcontext context;
    unsigned long long id; /* of the context's life; 0 if the driver cannot say */
    int device;            /* its ordinal */
    unsigned long long buffers[BUFFERS]; /* some that were allocated in that life: whose buffer is one of these is not over */
    unsigned nbuffers;                   /* that have been noted */
    bool stale;            /* that life is over; somebody may still hold the place, so it stays until the end */
    struct tt_pool scratch, pinned;
    struct tt_ipc ipc;
    struct tt_pins pins;
    pthread_mutex_t lock; /* of what follows, all of it made when needed */
    CUstream streams[TT_MAX_QUEUES];
    struct tt_marks marks[TT_MAX_QUEUES];
    enum code code;
    CUmodule module;
    CUfunction kernels[TT_NTYPES][TT_NOPS][2], movers[TT_NMOVERS];
    struct tt_tables tables;
    int processors;
};

static struct device_place *places;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static struct device_place *of(struct tt_place *place)
{
    return (struct device_place *)place;
}

/* ---- the caller's context ---- */

static int enter(struct tt_place *place)
{
    const struct tt_driver *d = of(place)->driver;

    return tt_driver_check(d, d->cuCtxPushCurrent(of(place)->context), "cuCtxPushCurrent");
}

static void leave(struct tt_place *place)
{
    CUcontext popped;

    of(place)->driver->cuCtxPopCurrent(&popped);
}

/* ---- scratch ---- */

static void *make_scratch(size_t bytes)
{
    const struct tt_driver *d = tt_driver_find();
    CUdeviceptr at = 0;

    if (tt_driver_check(d, d->cuMemAlloc(&at, bytes), "cuMemAlloc of %zu bytes", bytes))
        return NULL;
    return (void *)(uintptr_t)at;
}

static void free_scratch(void *at)
{
    tt_driver_find()->cuMemFree((CUdeviceptr)(uintptr_t)at);
}

/* Ordinary memory that the driver is told to pin, not memory of the driver's: a message may be on its way into it when
 * the context that pinned it ends, and then it must still be there. If it cannot be pinned, copies are slower and right
 * all the same, so that is no failure. */
static void *make_pinned(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    void *at = NULL;

    if (posix_memalign(&at, page, whole)) {
        tt_fault_set("no %zu bytes of host memory", whole);
        return NULL;
    }
    tt_driver_find()->cuMemHostRegister(at, whole, CU_MEMHOSTREGISTER_PORTABLE);
    return at;
}

/* Memory that stays pinned must not be freed: the same address would come back as memory that it is not. */
static void free_pinned(void *at)
{
    const CUresult result = tt_driver_find()->cuMemHostUnregister(at);

    if (result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
        free(at);
}

static void *take(struct tt_place *place, size_t bytes)
{
    return tt_pool_take(&of(place)->scratch, bytes);
}

static void *take_pinned(struct tt_place *place, size_t bytes)
{
    return tt_pool_take(&of(place)->pinned, bytes);
}

static void give(struct tt_place *place, void *block)
{
    if (block && !tt_pool_give(&of(place)->scratch, block))
        tt_pool_give(&of(place)->pinned, block);
}

/* ---- queues ---- */

static int stream_of(struct device_place *p, int queue, CUstream *stream)
{
    const struct tt_driver *d = p->driver;
    int error = 0;

    pthread_mutex_lock(&p->lock);
    if (!p->streams[queue])
        error = tt_driver_check(d, d->cuStreamCreate(&p->streams[queue], CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    *stream = p->streams[queue];
    pthread_mutex_unlock(&p->lock);
    return error;
}

/* The driver refuses a copy of host memory of which a part alone is registered: the program may have registered what
 * shares a page with it. So what it refuses is tried in halves, until each is one or the other; if not even the first
 * byte can be copied, that was not the cause. */
static CUresult copy_parts(const struct tt_driver *d, CUstream stream, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    CUresult result = d->cuMemcpyAsync(dst, src, bytes, stream);

    if (result != CUDA_ERROR_INVALID_VALUE || bytes < 2)
        return result;
    result = copy_parts(d, stream, dst, src, bytes / 2);
    return result == CUDA_SUCCESS ? copy_parts(d, stream, dst + bytes / 2, src + bytes / 2, bytes - bytes / 2) : result;
}

static int copy(struct tt_place *place, int queue, void *dst, const void *src, size_t bytes)
{
    const struct tt_driver *d = of(place)->driver;
    CUstream stream;

    if (bytes == 0)
        return 0;
    if (stream_of(of(place), queue, &stream))
        return -1;
    return tt_driver_check(d, copy_parts(d, stream, (CUdeviceptr)(uintptr_t)dst, (CUdeviceptr)(uintptr_t)src, bytes),
                           "cuMemcpyAsync of %zu bytes", bytes);
}

/* Asked under the lock: else work that another thread gives to the queue now might be taken for work that has ended. */
static CUresult query_tables(struct device_place *p, int queue)
{
    CUresult result;

    pthread_mutex_lock(&p->lock);
    result = p->driver->cuStreamQuery(p->streams[queue]);
    if (result == CUDA_SUCCESS)
        tt_tables_drained(&p->tables, queue);
    pthread_mutex_unlock(&p->lock);
    return result;
}

static int poll(struct tt_place *place, int queue)
{
    struct device_place *p = of(place);
    CUresult result;

    if (!p->streams[queue])
        return 1;
    result = p->tables.busy & 1u << queue ? query_tables(p, queue) : p->driver->cuStreamQuery(p->streams[queue]);
    if (result == CUDA_ERROR_NOT_READY)
        return 0;
    return tt_driver_check(p->driver, result, "work on the device") ? -1 : 1;
}

static int mark(struct tt_place *place, int queue, uint64_t *mark)
{
    struct device_place *p = of(place);
    CUstream stream;
    int error;

    if (stream_of(p, queue, &stream))
        return -1;
    pthread_mutex_lock(&p->lock);
    error = tt_mark(&p->marks[queue], p->driver, stream, mark);
    pthread_mutex_unlock(&p->lock);
    return error;
}

static int reached(struct tt_place *place, int queue, uint64_t mark)
{
    struct device_place *p = of(place);
    int state;

    pthread_mutex_lock(&p->lock);
    state = tt_mark_reached(&p->marks[queue], p->driver, mark);
    pthread_mutex_unlock(&p->lock);
    return state;
}

static int settle(struct tt_place *place)
{
    const struct tt_driver *d = of(place)->driver;

    return tt_driver_check(d, d->cuCtxSynchronize(), "cuCtxSynchronize");
}

/* ---- kernels ---- */

/* The image is sound but holds nothing that this GPU, or this driver, can run. */
static bool means_no_code(CUresult result)
{
    switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
        return true;
    default:
        return false;
    }
}

/* Loads the image into the context that is current. No code for this GPU is an answer, not a failure. */
static int load_code(struct device_place *p)
{
    const struct tt_driver *d = p->driver;
    CUresult result;

    if (p->code != CODE_UNKNOWN)
        return 0;
    if (tt_image_size == 0 && !d->simulated) {
        p->code = CODE_NONE;
        return 0;
    }
    result = d->cuModuleLoadData(&p->module, tt_image);
    if (means_no_code(result)) {
        p->code = CODE_NONE;
        return 0;
    }
    if (tt_driver_check(d, result, "cuModuleLoadData of Tutti's kernels") ||
        tt_driver_check(d,
                        d->cuDeviceGetAttribute(&p->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, p->device),
                        "cuDeviceGetAttribute"))
        return -1;
    p->code = CODE_LOADED;
    return 0;
}

/* A failure to load is left to reduce, which can report it: it must not look as if there were no code. */
static bool reduces(struct tt_place *place, const struct tt_cell *cell)
{
    struct device_place *p = of(place);

    if (!cell->kernel)
        return false;
    pthread_mutex_lock(&p->lock);
    if (p->code == CODE_UNKNOWN && enter(place) == 0) {
        load_code(p);
        leave(place);
    }
    pthread_mutex_unlock(&p->lock);
    return p->code != CODE_NONE;
}

/* With the lock held. *slot: the kernel of that name. */
static int find_function(struct device_place *p, CUfunction *slot, const char *name)
{
    const struct tt_driver *d = p->driver;

    if (load_code(p))
        return -1;
    if (p->code == CODE_NONE)
        return tt_fault_set("Tutti has no kernels for this GPU");
    return *slot ? 0 : tt_driver_check(d, d->cuModuleGetFunction(slot, p->module, name), "kernel %s", name);
}

/* The one that accumulates, or the one that keeps to an order. */
static int find_kernel(struct device_place *p, const struct tt_cell *cell, bool ordered, CUfunction *kernel)
{
    CUfunction *slot = &p->kernels[cell->type][cell->op][ordered];
    char name[64];
    int error;

    snprintf(name, sizeof name, "%s%s", cell->kernel, ordered ? "_tree" : "");
    pthread_mutex_lock(&p->lock);
    error = find_function(p, slot, name);
    *kernel = *slot;
    pthread_mutex_unlock(&p->lock);
    return error;
}

static const size_t alignments[TT_NTYPES] = {
#define ALIGNMENT(id, ctype, ...) [TT_TYPE_##id] = _Alignof(ctype),
    TT_TYPES(ALIGNMENT, )};

/* A GPU does not read across an element's alignment: it breaks the context. So it is refused here. */
static int check_alignment(const struct tt_cell *cell, const struct tt_kernel_args *args)
{
    uintptr_t bits = (uintptr_t)args->dst;

    for (int j = 0; j < args->k; j++)
        bits |= (uintptr_t)args->src[j];
    if (bits % alignments[cell->type] == 0)
        return 0;
    return tt_fault_set("%s: a device buffer is not aligned to %zu bytes", cell->kernel, alignments[cell->type]);
}

/* One chunk of up to 16 bytes per thread, up to what the GPU can hold at once; beyond that threads go round. */
static unsigned grid_for(const struct device_place *p, size_t chunks)
{
    const size_t blocks = (chunks + THREADS - 1) / THREADS, most = (size_t)p->processors * BLOCKS_PER_PROCESSOR;

    return (unsigned)(blocks < most ? blocks : most);
}

static int launch(const struct device_place *p, CUfunction kernel, const char *name, size_t chunks, CUstream stream,
                  void *args, size_t n)
{
    const struct tt_driver *d = p->driver;
    void *params[] = {args};

    return tt_driver_check(d,
                           d->cuLaunchKernel(kernel, grid_for(p, chunks), 1, 1, THREADS, 1, 1, 0, stream, params, NULL),
                           "launch of %s on %zu elements", name, n);
}

static int reduce(struct tt_place *place, int queue, const struct tt_cell *cell, void *dst, const void *const *src,
                  int k, unsigned order, size_t n)
{
    struct device_place *p = of(place);
    struct tt_kernel_args args = {.dst = dst, .n = n, .k = k, .order = order};
    CUfunction kernel;
    CUstream stream;

    for (int j = 0; j < k; j++)
        args.src[j] = src[j];
    if (n == 0)
        return 0;
    if (check_alignment(cell, &args) || stream_of(p, queue, &stream) ||
        find_kernel(p, cell, k > 2 && order != TT_ACCUMULATE, &kernel))
        return -1;
    return launch(p, kernel, cell->kernel, n / (16 / cell->size) + 1, stream, &args, n);
}

/* ---- data with gaps ---- */

/* Strided copies of the driver's take the place of kernels that there are not: slow, since each is a call, but right.
 * Its pitches are 31 bits wide and no shorter than a row. */
static int copy_rows(const struct device_place *p, CUstream stream, enum tt_way way, char *spread, int64_t stride,
                     char *packed, int64_t step, int64_t length, int64_t n)
{
    const struct tt_driver *d = p->driver;
    const bool as_one = n > 1 && stride >= length && stride <= INT32_MAX && step <= INT32_MAX;
    const int64_t calls = as_one ? 1 : n;
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .dstMemoryType = CU_MEMORYTYPE_UNIFIED};

    c.WidthInBytes = (size_t)length;
    c.Height = as_one ? (size_t)n : 1;
    c.srcPitch = (size_t)(!as_one ? length : way == TT_WAY_pack ? stride : step);
    c.dstPitch = (size_t)(!as_one ? length : way == TT_WAY_pack ? step : stride);
    for (int64_t i = 0; i < calls; i++) {
        const CUdeviceptr at = (uintptr_t)spread + (uint64_t)(i * stride),
                          to = (uintptr_t)packed + (uint64_t)(i * step);

        c.srcDevice = way == TT_WAY_pack ? at : to;
        c.dstDevice = way == TT_WAY_pack ? to : at;
        if (tt_driver_check(d, d->cuMemcpy2DAsync(&c, stream), "cuMemcpy2DAsync of %zu by %zu bytes", c.Height,
                            c.WidthInBytes))
            return -1;
    }
    return 0;
}

/* A run of one row is a strided run over the elements. */
static int copy_run(const struct device_place *p, CUstream stream, enum tt_way way, const struct tt_runs *runs,
                    const struct tt_run *r, int64_t count, char *spread, char *packed)
{
    int error = 0;

    if (r->n == 1)
        return copy_rows(p, stream, way, spread + r->at, runs->extent, packed + r->before, runs->size, r->length,
                         count);
    for (int64_t e = 0; e < count && !error; e++)
        error = copy_rows(p, stream, way, spread + e * runs->extent + r->at, r->stride,
                          packed + e * runs->size + r->before, r->length, r->length, r->n);
    return error;
}

static int copy_all(const struct device_place *p, CUstream stream, enum tt_way way, const struct tt_runs *runs,
                    int64_t count, char *spread, char *packed)
{
    int error = 0;

    for (int64_t i = 0; i < runs->nruns && !error; i++)
        error = copy_run(p, stream, way, runs, &runs->run[i], count, spread, packed);
    return error;
}

/* With the lock held, so that the table that a launch needs is known to be in use as soon as it is. */
static int launch_mover(struct device_place *p, int queue, CUstream stream, enum tt_way way, const struct tt_runs *runs,
                        int64_t count, void *spread, void *packed)
{
    struct tt_mover_args args;
    const struct tt_runs *table;
    const enum tt_mover mover = tt_mover_prepare(&args, way, runs, count, spread, packed, &table);
    const char *name = tt_mover_name(mover);

    if (find_function(p, &p->movers[mover], name))
        return -1;
    if (table && !(args.table = tt_table_take(&p->tables, table, queue, stream)))
        return -1;
    return launch(p, p->movers[mover], name, (size_t)(args.count * args.size) / tt_mover_word(mover), stream, &args,
                  (size_t)count);
}

static int move(struct tt_place *place, int queue, enum tt_way way, const struct tt_runs *runs, int64_t count,
                void *spread, void *packed)
{
    struct device_place *p = of(place);
    CUstream stream;
    int error;

    if (count == 0 || runs->size == 0)
        return 0;
    if (stream_of(p, queue, &stream))
        return -1;
    pthread_mutex_lock(&p->lock);
    error = load_code(p);
    if (!error)
        error = p->code == CODE_NONE ? copy_all(p, stream, way, runs, count, spread, packed)
                                     : launch_mover(p, queue, stream, way, runs, count, spread, packed);
    pthread_mutex_unlock(&p->lock);
    return error;
}

static int pack(struct tt_place *place, int queue, const struct tt_runs *runs, int64_t count, const void *spread,
                void *packed)
{
    return move(place, queue, TT_WAY_pack, runs, count, (void *)(uintptr_t)spread, packed);
}

static int unpack(struct tt_place *place, int queue, const struct tt_runs *runs, int64_t count, void *spread,
                  const void *packed)
{
    return move(place, queue, TT_WAY_unpack, runs, count, spread, (void *)(uintptr_t)packed);
}

/* ---- between processes ---- */

static bool export(struct tt_place *place, const void *at, size_t bytes, struct tt_name *name)
{
    return tt_ipc_export(&of(place)->ipc, at, bytes, name);
}

static const void *import(struct tt_place *place, const struct tt_name *name)
{
    return tt_ipc_import(&of(place)->ipc, name);
}

static void release(struct tt_place *place, const struct tt_name *name)
{
    tt_ipc_release(&of(place)->ipc, name);
}

static void pin(struct tt_place *place, void *at, size_t bytes)
{
    tt_pin(&of(place)->pins, at, bytes);
}

static const struct tt_dev device_dev = {.name = "cuda",
                                         .enter = enter,
                                         .leave = leave,
                                         .take = take,
                                         .take_pinned = take_pinned,
                                         .give = give,
                                         .copy = copy,
                                         .reduce = reduce,
                                         .pack = pack,
                                         .unpack = unpack,
                                         .reduces = reduces,
                                         .poll = poll,
                                         .mark = mark,
                                         .reached = reached,
                                         .settle = settle,
                                         .export = export,
                                         .import = import,
                                         .release = release,
                                         .pin = pin};

/* ---- places come and go ---- */

/* Which life of the context this is: -1 with tt_fault() set if it is over. */
static int life_of(const struct tt_driver *d, CUcontext context, unsigned long long *id)
{
    *id = 0;
    return d->cuCtxGetId ? tt_driver_check(d, d->cuCtxGetId(context, id), "cuCtxGetId") : 0;
}

static struct device_place *place_new(const struct tt_driver *d, CUcontext context, unsigned long long id, int device)
{
    struct device_place *p = calloc(1, sizeof *p);

    if (!p) {
        tt_fault_set("out of memory for a place");
        return NULL;
    }
    *p = (struct device_place){
        .base = {&device_dev}, .next = places, .driver = d, .context = context, .id = id, .device = device};
    tt_pool_open(&p->scratch, make_scratch, free_scratch);
    tt_pool_open(&p->pinned, make_pinned, free_pinned);
    tt_ipc_open(&p->ipc, d);
    tt_pins_open(&p->pins, d);
    p->tables = (struct tt_tables){.driver = d, .scratch = &p->scratch, .pinned = &p->pinned};
    pthread_mutex_init(&p->lock, NULL);
    places = p;
    return p;
}

/* The context that serves memory of no context of its own: the caller's, if it is on that device, as it is wherever a
 * program uses the runtime's memory pools; else one that we know there. */
static CUcontext context_on(const struct tt_driver *d, int device)
{
    CUcontext current = NULL;
    CUdevice its = -1;

    if (d->cuCtxGetCurrent(&current) == CUDA_SUCCESS && current && d->cuCtxGetDevice(&its) == CUDA_SUCCESS &&
        its == device)
        return current;
    for (struct device_place *p = places; p; p = p->next)
        if (!p->stale && p->device == device)
            return p->context;
    return NULL;
}

/* The context's life is over: nobody is left to unpin what it had pinned, which is ordinary memory again. */
static void retire(struct device_place *p)
{
    p->stale = true;
    p->pinned.unmake = free;
    tt_pool_empty(&p->pinned);
}

/* Memory goes with its context, and no later one gets its number: so memory that has been seen in a life tells of it, and
 * the driver need not be asked. */
static struct device_place *find_by_buffer(const struct tt_mem *mem)
{
    for (struct device_place *p = places; mem->context && mem->buffer && p; p = p->next)
        for (int i = 0; i < BUFFERS && p->context == mem->context && !p->stale; i++)
            if (p->buffers[i] == mem->buffer)
                return p;
    return NULL;
}

static struct device_place *note_buffer(struct device_place *p, const struct tt_mem *mem)
{
    if (p && mem->context && mem->buffer)
        p->buffers[p->nbuffers++ % BUFFERS] = mem->buffer;
    return p;
}

static struct device_place *find_place(const struct tt_driver *d, const struct tt_mem *mem)
{
    const CUcontext context = mem->context ? mem->context : context_on(d, mem->device);
    unsigned long long id;

    if (!context) {
        tt_fault_set("memory of device %d belongs to no context, and none is current there", mem->device);
        return NULL;
    }
    if (life_of(d, context, &id))
        return NULL;
    for (struct device_place *p = places; p; p = p->next) {
        if (p->context == context && p->id == id && !p->stale)
            return p;
        if (p->context == context && !p->stale)
            retire(p);
    }
    return place_new(d, context, id, mem->device);
}

struct tt_place *tt_place_of(const struct tt_mem *mem)
{
    struct device_place *place;

    if (!tt_mem_on_device(mem))
        return tt_host_place();
    pthread_mutex_lock(&places_lock);
    place = find_by_buffer(mem);
    if (!place)
        place = note_buffer(find_place(tt_driver_find(), mem), mem);
    pthread_mutex_unlock(&places_lock);
    return (struct tt_place *)place;
}

/* The device's number is asked for, not its ordinal: cuDeviceGet gives the ordinals of what is visible in order, so the two
 * are the same. */
struct tt_place *tt_place_here(void)
{
    const struct tt_driver *d = tt_driver_find();
    struct tt_mem mem = {.kind = TT_MEM_DEVICE};
    CUcontext context = NULL;
    CUdevice device;

    if (!d || d->lacks || d->cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context ||
        d->cuCtxGetDevice(&device) != CUDA_SUCCESS) {
        tt_fault_set("no CUDA context is current");
        return NULL;
    }
    mem.device = device;
    mem.context = context;
    return tt_place_of(&mem);
}

int tt_place_stream(struct tt_place *place, int queue, CUstream *stream)
{
    return stream_of(of(place), queue, stream);
}

static const struct device_place *of_const(const struct tt_place *place)
{
    return (const struct device_place *)place;
}

bool tt_place_is_stale(const struct tt_place *place)
{
    return place != tt_host_place() && of_const(place)->stale;
}

bool tt_place_lives(const struct tt_place *place)
{
    const struct device_place *p = of_const(place);
    unsigned long long id;

    return place == tt_host_place() || (!p->stale && life_of(p->driver, p->context, &id) == 0 && id == p->id);
}

/* Retaining a primary context that is not active would make one, so that is asked first. */
bool tt_place_suits(const struct tt_place *place, const struct tt_nccl *nccl)
{
    const struct device_place *p = of_const(place);
    const struct tt_driver *d = p->driver;
    CUcontext primary = NULL;
    unsigned flags;
    int active = 0;

    if (nccl->simulated != d->simulated ||
        d->cuDevicePrimaryCtxGetState(p->device, &flags, &active) != CUDA_SUCCESS || !active ||
        d->cuDevicePrimaryCtxRetain(&primary, p->device) != CUDA_SUCCESS)
        return false;
    d->cuDevicePrimaryCtxRelease(p->device);
    return primary == p->context;
}

/* Gives back what the context still has, if it is in the same life; the driver says no to a handle that is dead. */
static void place_free(struct device_place *p)
{
    const struct tt_driver *d = p->driver;
    unsigned long long id;
    const bool gone = p->stale || life_of(d, p->context, &id) || id != p->id || enter(&p->base);

    for (int q = 0; q < TT_MAX_QUEUES && !gone; q++)
        if (p->streams[q]) {
            tt_marks_close(&p->marks[q], d);
            d->cuStreamDestroy(p->streams[q]);
        }
    tt_ipc_close(&p->ipc, gone);
    tt_pins_close(&p->pins, gone);
    tt_tables_close(&p->tables);
    tt_pool_close(&p->scratch, gone);
    if (gone)
        retire(p);
    tt_pool_close(&p->pinned, false);
    if (!gone) {
        if (p->module)
            d->cuModuleUnload(p->module);
        leave(&p->base);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void tt_places_close(void)
{
    pthread_mutex_lock(&places_lock);
    while (places) {
        struct device_place *p = places;

        places = p->next;
        place_free(p);
    }
    pthread_mutex_unlock(&places_lock);
    tt_host_close();
}
