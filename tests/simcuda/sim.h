/* SPDX-License-Identifier: BSD-3-Clause */
/* The simulated device from inside. One lock guards all state, so that every rule can be read in one place and the
 * thread sanitizer has nothing to say; it is never held while memory is copied or a kernel runs. Every entry point
 * of the driver API is: sim_enter, the work, return sim_leave. What a program may see of a handle after its end is
 * refused, not undefined: handles are looked up, never trusted. */
#ifndef SIM_H
#define SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_abi.h"
#include "tests/simcuda/guest.h"
#include "tests/simcuda/node.h"

#pragma GCC visibility push(default)
#include "tests/simcuda/simcuda.h"
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "cuda/driver.def"
#define TT_DRIVER(name, symbol, need, params) CUresult symbol params;
#include "tests/simcuda/driver_more.def"
#pragma GCC visibility pop

enum { SIM_VERSION = 13000 };

/* ---- completion ---- */

/* The end of one piece of work. Events, waits and dependencies hold one; it outlives the stream. */
struct mark {
    unsigned refs;
    bool done;
    uint64_t when; /* ns, once done */
};

struct mark *sim_mark_hold(struct mark *mark); /* one more reference; NULL passes */
void sim_mark_drop(struct mark *mark);
void sim_mark_wait(struct mark *mark);         /* sleeps with the lock released */

struct marks {
    struct mark **at;
    unsigned n;
};

/* One piece of work in a stream. */
struct op {
    struct op *next;
    struct mark *mark;
    struct marks needs;             /* it is not begun before these are done */
    const volatile uint64_t *flag;  /* nor before *flag >= target: an event of another process */
    uint64_t target;
    const volatile uint32_t *word; /* nor before *word has come to value, or beyond; words only go up */
    uint32_t value;
    bool work;                      /* takes time, counts for delay, hold and faults */
    bool poison;                    /* it will fail */
    CUresult (*run)(struct op *op); /* by the worker, without the lock; NULL: nothing to do */
    void (*end)(struct op *op);     /* frees what it carries, run or not; NULL: nothing */
    union {
        struct {
            char *dst;
            const char *src;
            size_t dst_pitch, src_pitch, width, rows;
            void *staging;
        } copy;
        struct {
            char *dst;
            size_t pitch, width, rows; /* width in bytes */
            uint32_t value;
            unsigned size; /* of the value: 1, 2 or 4 */
        } fill;
        struct {
            const struct kernel *kernel;
            void *param;
            struct simcuda_where shape; /* blocks and threads */
        } launch;
        struct {
            CUhostFn function;
            CUstreamCallback callback;
            CUstream stream;
            void *data;
        } host;
        struct {
            volatile uint64_t *flag;
            uint64_t value;
            struct shared *shared; /* keeps flag alive */
        } signal;
        CUdeviceptr freed;
        struct {
            CUresult (*run)(void *data, const bool *ending);
            void (*end)(void *data);
            void *data;
            const bool *ending;
        } guest;
    };
};

struct CUstream_st {
    struct CUstream_st *next; /* of the context */
    struct CUctx_st *ctx;
    unsigned flags;
    int priority;
    pthread_t owner; /* of a per-thread stream */
    bool per_thread;
    bool capturing; /* for a graph, of which there are none here: all that is given to it is refused */
    bool closing; /* destroyed by the program; ends when its work is done */
    bool started;
    struct op *first, **end; /* the first is being run, or waits */
    struct mark *last;       /* of the last op given to it */
    pthread_cond_t wake;
};

struct op *sim_op(void); /* NULL: no memory */
CUresult sim_op_drop(struct op *op, CUresult error); /* one that is not submitted; returns error */
CUresult sim_op_needs(struct op *op, struct mark *mark);
CUresult sim_submit(struct CUstream_st *stream, struct op *op); /* takes op, also on failure */
CUresult sim_submit_and_wait(struct CUstream_st *stream, struct op *op);
struct CUstream_st *sim_stream(CUstream handle, struct CUctx_st *ctx); /* NULL: no such stream */
CUresult sim_stream_new(struct CUctx_st *ctx, unsigned flags, int priority, struct CUstream_st **out);
CUresult sim_ctx_idle(struct CUctx_st *ctx);   /* waits for all its work */
void sim_ctx_drop_streams(struct CUctx_st *ctx);

/* ---- contexts ---- */

struct CUctx_st {
    struct CUctx_st *next; /* all there ever were: a stale handle is known as such */
    int device;
    bool primary, alive;
    bool ending;           /* guests' work should return: atomic */
    bool dying;            /* its work is no longer run */
    unsigned retained;     /* primary */
    unsigned flags;
    unsigned long long id; /* a new one for each life */
    CUresult error;        /* sticky */
    uint64_t peers;        /* devices whose memory its kernels may touch */
    unsigned workers;      /* threads that serve its streams */
    struct CUstream_st *streams, *legacy;
    struct CUevent_st *events;
    struct CUmod_st *modules;
};

struct CUctx_st *sim_current(void); /* this thread's, dead or alive, or NULL */
bool sim_ctx_known(CUcontext ctx);
CUresult sim_ctx_check(CUcontext ctx); /* known, alive and healthy? */
CUresult sim_ctx_fresh(struct CUctx_st *ctx, int device);
void sim_ctx_end(struct CUctx_st *ctx);
void sim_ctx_drop_events(struct CUctx_st *ctx);
void sim_ctx_drop_modules(struct CUctx_st *ctx);
void sim_ctx_drop_blocks(struct CUctx_st *ctx);

/* ---- memory ---- */

/* A stretch of device addresses and what backs it. */
struct span {
    uintptr_t at;  /* first usable address, as the program knows it */
    size_t bytes;  /* whole pages */
};

CUresult sim_span_take(size_t bytes, struct span *span); /* addresses only */
CUresult sim_span_back(struct span *span, uint64_t stamp); /* with own memory, marked with stamp for other processes */
CUresult sim_span_borrow(struct span *span, int fd, uint64_t offset); /* with another process's */
void sim_span_give(struct span *span);
bool sim_in_range(uintptr_t address);          /* one that only a device may touch */
char *sim_real(uintptr_t address);             /* where the simulator touches it */
uint64_t sim_stamp(void); /* a new one: of an allocation that other processes may come to map */
uint64_t sim_span_offset(const struct span *span); /* in sim_span_fd() */
int sim_span_fd(void);

enum block_kind { BLOCK_DEVICE, BLOCK_BORROWED, BLOCK_MANAGED, BLOCK_PINNED, BLOCK_REGISTERED };

/* One allocation, by its address. */
struct block {
    uintptr_t at;
    size_t bytes;
    enum block_kind kind;
    struct CUctx_st *ctx;
    int device;
    unsigned flags;
    unsigned long long id; /* never used again */
    struct span span;      /* device and borrowed */
    size_t mapped;         /* managed and pinned: bytes of the mapping */
    bool pooled;           /* device: allocated in a stream's order; such memory has no handle */
    unsigned opened;       /* borrowed: times */
    uint64_t stamp[2];     /* borrowed: of whom, which */
    uint64_t origin;       /* borrowed: where in the owner's file */
};

struct block *sim_block_at(uintptr_t address); /* that contains it, or NULL */
CUresult sim_block_add(const struct block *block, struct block **out); /* gives it its id */
void sim_block_drop(struct block *block);      /* and its memory */
struct block *sim_block_borrowed(const uint64_t stamp[2], struct CUctx_st *ctx);

/* Has ctx something else open of that process that was where [origin, origin + bytes) of its memory is? */
bool sim_block_overlaps(uint64_t owner, uint64_t origin, size_t bytes, const struct CUctx_st *ctx);

static inline bool sim_on_device(const struct block *b)
{
    return b && b->kind <= BLOCK_MANAGED;
}

enum side { SIDE_ANY, SIDE_HOST, SIDE_DEVICE };

/* b, if it is another process's, is about to be touched. */
void sim_count_peer(const struct block *b, size_t bytes);

struct operand {
    char *real;
    const struct block *block; /* NULL: pageable memory */
};

/* Is [address, address + bytes) one piece of memory of that side? Then where it really is. */
CUresult sim_resolve(CUdeviceptr address, size_t bytes, enum side side, struct operand *operand);

/* ---- across processes ---- */

/* Writes a handle of 64 bytes to [at, at + bytes) of own memory; the stamp is the span's. */
void sim_export(void *handle, const struct span *span, uintptr_t at, size_t bytes, int device);

/* Maps what handle names into span, which has addresses and is long enough. */
CUresult sim_import(const void *handle, struct span *span);

/* ---- kernels ---- */

/* bytes from a pointer on: all in one piece of memory; or only its ends are touched for certain, and there may be
 * another piece between them. */
struct stretch {
    size_t bytes;
    bool ends;
};
enum { MAX_POINTERS = 16 };

struct kernel {
    const char *name;
    size_t bytes;         /* of its parameter */
    simcuda_kernel *code;
    /* Leading pointers of the parameter, at most MAX_POINTERS, and what it touches behind each; NULL: not known. */
    unsigned (*pointers)(const void *param, struct stretch *stretches);
};

const struct kernel *sim_kernel_find(const char *name);
const struct kernel *sim_kernel_built_in(const char *name);

/* ---- the whole ---- */

enum need { NEED_NOTHING, NEED_INIT, NEED_CONTEXT };

struct fault {
    unsigned long oom, pinned, sticky, lost; /* countdowns; 0: off */
    unsigned long oom_from, pinned_from, code_from, export_from, open_from; /* the same, but once they are over it stays so */
    unsigned long delay_us;
    unsigned long guest[GUEST_NFAULTS], guest_delay_ms; /* what befalls the guest: countdowns, and each init's delay */
    bool hold;
};

struct sim {
    pthread_mutex_t lock;
    pthread_cond_t progress; /* something was done */
    enum { SIM_NEW, SIM_READY, SIM_FORKED, SIM_GONE } state;
    int ngpus;
    int physical[SIM_MAX_GPUS]; /* node-wide ordinal of each visible device */
    struct CUctx_st *contexts, *primary[SIM_MAX_GPUS];
    size_t memory, used[SIM_MAX_GPUS]; /* bytes of each device */
    uint64_t nonce;                    /* of this process */
    struct simcuda_counters counters;
    struct fault fault;
};

extern struct sim sim;

CUresult sim_enter(enum need need); /* locks, whatever it returns */
CUresult sim_leave(CUresult error); /* unlocks; returns error */
bool sim_device_valid(CUdevice device);
CUresult sim_reach(int device, int peer); /* PEER_ACCESS_UNSUPPORTED: it cannot */
CUuuid sim_uuid(int device);
int sim_device_of(const CUuuid *uuid); /* -1: not visible here */
CUresult sim_fault_environment(void);
bool sim_fault_due(unsigned long *countdown);
bool sim_fault_lasts(unsigned long *countdown);
extern _Thread_local bool sim_in_callback;
extern _Thread_local struct simcuda_where sim_here;

#endif
