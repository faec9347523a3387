/* SPDX-License-Identifier: BSD-3-Clause */
/* Modules, functions and launches. Any image is accepted as a module, since code for a GPU says nothing to a CPU: its
 * functions are those that were compiled for the CPU under the same names. A launch copies its parameter, as the real
 * one does, replaces each device pointer in it by the address the simulator can touch, and runs the grid thread by
 * thread. A pointer that a GPU could not follow (pageable host memory, freed memory, another device's without peer
 * access) breaks the context when the kernel runs, not when it is launched, again as the real one does. */
#include "tests/simcuda/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAX_BLOCK = 1024, PAGE = 4096 };

/* A word below this is taken for a number: counts and pairs of small numbers are, pointers to the heap and the stack
 * are not. */
static const uint64_t LOWEST_POINTER = UINT64_C(1) << 44;

_Thread_local struct simcuda_where sim_here;

struct CUfunc_st {
    struct CUfunc_st *next; /* of the module */
    const struct kernel *kernel;
};

struct CUmod_st {
    struct CUmod_st *next; /* of the context */
    struct CUctx_st *ctx;
    struct CUfunc_st *functions;
};

/* ---- kernels of others ---- */

static struct added {
    struct added *next;
    struct kernel kernel;
} *added;

int simcuda_add_kernel(const char *name, size_t bytes, simcuda_kernel *code)
{
    struct added *a = calloc(1, sizeof *a);

    if (!a)
        return -1;
    a->kernel = (struct kernel){name, bytes, code, NULL};
    pthread_mutex_lock(&sim.lock);
    a->next = added;
    added = a;
    pthread_mutex_unlock(&sim.lock);
    return 0;
}

const struct kernel *sim_kernel_find(const char *name)
{
    for (const struct added *a = added; a; a = a->next)
        if (strcmp(a->kernel.name, name) == 0)
            return &a->kernel;
    return sim_kernel_built_in(name);
}

/* ---- modules ---- */

static struct CUmod_st *find_module(CUmodule handle)
{
    for (struct CUctx_st *ctx = sim.contexts; ctx; ctx = ctx->next)
        for (struct CUmod_st *m = ctx->modules; m; m = m->next)
            if (m == handle)
                return m;
    return NULL;
}

/* The module of the current context that has the function. */
static struct CUmod_st *module_of(CUfunction handle)
{
    for (struct CUmod_st *m = sim_current()->modules; m; m = m->next)
        for (struct CUfunc_st *f = m->functions; f; f = f->next)
            if (f == handle)
                return m;
    return NULL;
}

static void module_free(struct CUmod_st *m)
{
    struct CUmod_st **link = &m->ctx->modules;

    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    for (struct CUfunc_st *f = m->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(m);
}

void sim_ctx_drop_modules(struct CUctx_st *ctx)
{
    while (ctx->modules)
        module_free(ctx->modules);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    struct CUmod_st *m = NULL;

    if (!error && (!module || !image))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && sim_fault_lasts(&sim.fault.code_from))
        error = CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (!error && !(m = calloc(1, sizeof *m)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error) {
        m->ctx = sim_current();
        m->next = m->ctx->modules;
        m->ctx->modules = *module = m;
    }
    return sim_leave(error);
}

CUresult cuModuleUnload(CUmodule module)
{
    CUresult error = sim_enter(NEED_CONTEXT);

    if (!error && !find_module(module))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error)
        module_free(module);
    return sim_leave(error);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult error = sim_enter(NEED_CONTEXT);
    const struct kernel *kernel = NULL;
    struct CUfunc_st *f = NULL;

    if (!error && (!function || !name))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !find_module(module))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && !(kernel = sim_kernel_find(name)))
        error = CUDA_ERROR_NOT_FOUND;
    if (!error && !(f = malloc(sizeof *f)))
        error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!error) {
        *f = (struct CUfunc_st){module->functions, kernel};
        module->functions = *function = f;
    }
    return sim_leave(error);
}

/* ---- what a kernel may touch ---- */

static bool reachable(const struct block *b, size_t bytes, uintptr_t address, const struct CUctx_st *ctx)
{
    if (!b || bytes > b->at + b->bytes - address)
        return false;
    return b->kind > BLOCK_BORROWED || b->device == ctx->device || b->opened || (ctx->peers >> b->device & 1);
}

/* Replaces the word if it is a device address. Its memory has to hold bytes bytes. */
static bool translate(uint64_t *word, size_t bytes, const struct CUctx_st *ctx)
{
    if (!reachable(sim_block_at(*word), bytes, *word, ctx))
        return false;
    if (sim_in_range(*word))
        *word = (uintptr_t)sim_real(*word);
    return true;
}

static bool translate_stretch(uint64_t *word, const struct stretch *s, const struct CUctx_st *ctx)
{
    uint64_t last = *word + s->bytes - 1;

    if (!s->ends)
        sim_count_peer(sim_block_at(*word), s->bytes);
    if (!s->ends)
        return translate(word, s->bytes, ctx);
    return sim_in_range(*word) == sim_in_range(last) && translate(&last, 1, ctx) && translate(word, 1, ctx);
}

/* Is there memory of the host at that address? */
static bool mapped(uint64_t address)
{
    unsigned char resident;

    return address < UINT64_C(1) << 47 && mincore((void *)(address & ~(uint64_t)(PAGE - 1)), 1, &resident) == 0;
}

/* A word that may be a pointer or a number. */
static bool translate_guess(uint64_t *word, const struct CUctx_st *ctx)
{
    if (sim_in_range(*word) || sim_block_at(*word))
        return translate(word, 1, ctx);
    return *word < LOWEST_POINTER || !mapped(*word);
}

/* False when the kernel would touch what it must not. */
static bool translate_param(const struct kernel *k, void *param, const struct CUctx_st *ctx)
{
    uint64_t *words = param;
    struct stretch stretches[MAX_POINTERS] = {{0, false}};
    const size_t known = k->pointers ? k->pointers(param, stretches) : 0;

    if (known > k->bytes / sizeof *words)
        return false;
    for (size_t i = 0; i < known; i++)
        if (stretches[i].bytes && !translate_stretch(&words[i], &stretches[i], ctx))
            return false;
    for (size_t i = 0; !k->pointers && i < k->bytes / sizeof *words; i++)
        if (!translate_guess(&words[i], ctx))
            return false;
    return true;
}

/* ---- launches ---- */

static void play_block(const struct kernel *k, const void *param)
{
    for (sim_here.thread.z = 0; sim_here.thread.z < sim_here.threads.z; sim_here.thread.z++)
        for (sim_here.thread.y = 0; sim_here.thread.y < sim_here.threads.y; sim_here.thread.y++)
            for (sim_here.thread.x = 0; sim_here.thread.x < sim_here.threads.x; sim_here.thread.x++)
                k->code(param, &sim_here);
}

static CUresult play_grid(struct op *op)
{
    sim_here = op->launch.shape;
    for (sim_here.block.z = 0; sim_here.block.z < sim_here.blocks.z; sim_here.block.z++)
        for (sim_here.block.y = 0; sim_here.block.y < sim_here.blocks.y; sim_here.block.y++)
            for (sim_here.block.x = 0; sim_here.block.x < sim_here.blocks.x; sim_here.block.x++)
                play_block(op->launch.kernel, op->launch.param);
    return CUDA_SUCCESS;
}

static void end_launch(struct op *op)
{
    free(op->launch.param);
}

/* The parameter as the caller gives it: by address, or packed, in `extra`. */
static const void *param_of(const struct kernel *k, void **params, void **extra)
{
    const void *buffer = params ? params[0] : NULL;
    size_t bytes = params ? k->bytes : 0;

    for (; !params && extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = *(const size_t *)extra[1];
        else
            return NULL;
    }
    return bytes == k->bytes ? buffer : NULL;
}

static bool shape_allowed(const struct simcuda_where *w)
{
    const uint64_t block = (uint64_t)w->threads.x * w->threads.y * w->threads.z;

    return block && block <= MAX_BLOCK && w->threads.z <= 64 && w->blocks.x && w->blocks.x < 1u << 31 && w->blocks.y &&
           w->blocks.y < 1u << 16 && w->blocks.z && w->blocks.z < 1u << 16;
}

static CUresult launch(const struct kernel *k, const void *param, const struct simcuda_where *shape,
                       struct CUstream_st *s)
{
    struct op *op = sim_op();
    void *copy = malloc(k->bytes);

    if (!op || !copy) {
        free(copy);
        return op ? sim_op_drop(op, CUDA_ERROR_OUT_OF_MEMORY) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(copy, param, k->bytes);
    op->work = true;
    op->run = play_grid;
    op->end = end_launch;
    op->launch.kernel = k;
    op->launch.param = copy;
    op->launch.shape = *shape;
    op->poison = !translate_param(k, copy, s->ctx);
    sim.counters.launches++;
    return sim_submit(s, op);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void **params,
                        void **extra)
{
    const struct simcuda_where shape = {.threads = {block_x, block_y, block_z}, .blocks = {grid_x, grid_y, grid_z}};
    CUresult error = sim_enter(NEED_CONTEXT);
    struct CUstream_st *s = error ? NULL : sim_stream(stream, sim_current());
    const void *param = NULL;

    (void)shared_bytes; /* no kernel here uses any */
    if (!error && (!function || !module_of(function) || !s || s->ctx != sim_current()))
        error = CUDA_ERROR_INVALID_HANDLE;
    if (!error && !(param = param_of(function->kernel, params, extra)))
        error = CUDA_ERROR_INVALID_VALUE;
    if (!error && !shape_allowed(&shape))
        error = CUDA_ERROR_INVALID_VALUE;
    return sim_leave(error ? error : launch(function->kernel, param, &shape, s));
}
