/* SPDX-License-Identifier: BSD-3-Clause */
/* Where memory lives, and what can be done to it there. Everything above this room moves and reduces memory
 * through struct tt_dev; there are two: the host's, and that of a CUDA context reached through the driver API.
 * Nothing here knows of MPI. */
#ifndef TT_DEV_H
#define TT_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cells.h"
#include "cuda/runs.h"

enum tt_mem_kind { TT_MEM_HOST, TT_MEM_PINNED, TT_MEM_MANAGED, TT_MEM_DEVICE };

/* What is known of one pointer. Asked for afresh in every call and never kept: an address can be freed and come
 * back as something else. */
struct tt_mem {
    enum tt_mem_kind kind;
    int device;    /* CUDA ordinal, -1 for host memory */
    void *context; /* CUcontext it belongs to; NULL for host memory, and for a memory pool's, which is its device's */
    unsigned long long buffer; /* of the driver's number for what was allocated, which no later one gets; 0: not known */
};

/* True when a kernel must be used to reduce it. */
static inline bool tt_mem_on_device(const struct tt_mem *m)
{
    return m->kind >= TT_MEM_MANAGED;
}

/* Asks where p lives: at most one driver call, and none at all while no CUDA driver is loaded in this process (it may
 * be loaded later, by anyone, at any time). Returns 0, or -1 with tt_fault() set after a CUDA error, unless the
 * address is one that the host can read: a fault is never taken for "host". */
int tt_mem_where(const void *p, struct tt_mem *mem);

/* Is there a CUDA driver in this process? Costs two loads while there is none, or 20 ns where several threads may ask
 * (objects.h). If not, all memory is the host's, and a call with several buffers need not ask for each. */
bool tt_driver_present(void);

/* The last failure in this thread, as words: "cuMemAlloc of 4096 bytes: out of memory (CUDA_ERROR_OUT_OF_MEMORY)". */
const char *tt_fault(void);

/* Notes a failure for tt_fault(). Returns -1. */
int tt_fault_set(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Where device memory of one process is, as another process of the node can be told: bytes, to be sent as they are. */
struct tt_name {
    unsigned char handle[64];
    uint64_t owner;       /* the process, by a random number */
    uint64_t buffer;      /* its driver's number for the allocation */
    uint64_t base, bytes; /* where the allocation is there; bytes is never 0 */
    uint64_t offset;      /* of what is meant, in the allocation */
};

struct tt_place; /* memory of one kind reachable together: the host, or one CUDA context */

/* Queues are in order within themselves and concurrent among each other; enum tt_flow of every lane, and one for NCCL. */
enum tt_flow { TT_DOWN, TT_UP, TT_WITHIN, TT_NFLOWS }; /* device to host, host to device, neither */
enum { TT_NCCL_QUEUE = 4 * TT_NFLOWS, TT_MAX_QUEUES };

/* Functions that return int return 0, or -1 with tt_fault() set. Between enter and leave of one place the calling
 * thread may not use another. No function waits for the device but settle, and none changes the caller's current
 * context beyond leave. */
struct tt_dev {
    const char *name; /* "host", "cuda" */
    int (*enter)(struct tt_place *place); /* make its context current, after noting the caller's */
    void (*leave)(struct tt_place *place);
    /* Scratch. Blocks are pooled: giving one back and taking one of no larger size makes no driver call. */
    void *(*take)(struct tt_place *place, size_t bytes);        /* where kernels are at home; NULL on failure */
    void *(*take_pinned)(struct tt_place *place, size_t bytes); /* on the host, pinned where that can be done */
    void (*give)(struct tt_place *place, void *block);          /* either; NULL is allowed */
    int (*copy)(struct tt_place *place, int queue, void *dst, const void *src, size_t bytes);
    /* dst[i] = src[0][i] op src[1][i] op ... op src[k-1][i], in that order (cells.h), 2 <= k <= TT_MAX_SOURCES, one
     * launch. dst may be exactly one of the sources. */
    int (*reduce)(struct tt_place *place, int queue, const struct tt_cell *cell, void *dst, const void *const *src,
                  int k, unsigned order, size_t n);
    /* Between count elements at spread, of which those runs are the data, and the same bytes without gaps: the bytes of
     * the runs are read or written, and no others. One launch, where there are kernels; more than TT_FEW_RUNS runs go
     * up first, once for each runs->id. */
    int (*pack)(struct tt_place *place, int queue, const struct tt_runs *runs, int64_t count, const void *spread,
                void *packed);
    int (*unpack)(struct tt_place *place, int queue, const struct tt_runs *runs, int64_t count, void *spread,
                  const void *packed);
    bool (*reduces)(struct tt_place *place, const struct tt_cell *cell); /* is there code for it here? */
    int (*poll)(struct tt_place *place, int queue); /* 1: all it was given is done, 0: not yet, -1: failed */
    /* How far a queue has come: mark sets one behind all that it was given, and reached is 1 when all before it is done,
     * 0: not yet, -1: failed. For what is to be known before the whole queue is done. */
    int (*mark)(struct tt_place *place, int queue, uint64_t *mark);
    int (*reached)(struct tt_place *place, int queue, uint64_t mark);
    int (*settle)(struct tt_place *place); /* waits for all the caller's own work in the context (TUTTI_SYNC=1) */
    /* Between processes; NULL: not of this memory. export: false if what is at [at, at + bytes) has no name, which is no
     * failure: memory of pools and managed memory have none. import: where copies and reductions of this place reach
     * what another process's name means, until it is released as often; NULL with tt_fault() set. Neither waits, and what
     * is known already costs one pointer query and nothing. */
    bool (*export)(struct tt_place *place, const void *at, size_t bytes, struct tt_name *name);
    const void *(*import)(struct tt_place *place, const struct tt_name *name);
    void (*release)(struct tt_place *place, const struct tt_name *name);
    /* Host memory that bytes will often be copied to and from, and which must stay until the places are closed. NULL:
     * that is nothing to copies of this memory. */
    void (*pin)(struct tt_place *place, void *at, size_t bytes);
};

struct tt_place {
    const struct tt_dev *dev;
};

/* The place in which mem is at home: the host's for host and pinned memory. NULL with tt_fault() set. Owned by the
 * room, shared by all callers, gone at tt_places_close. */
struct tt_place *tt_place_of(const struct tt_mem *mem);

/* That of the context that this thread works in; NULL with tt_fault() set if there is none. */
struct tt_place *tt_place_here(void);

/* The host's place: always there. */
struct tt_place *tt_host_place(void);

/* dst = src[0] op src[1], n elements on the host, at once; past the caches, for types for which that pays, if dst is none
 * of them. */
void tt_host_reduce_part(const struct tt_cell *cell, void *dst, const void *const *src, size_t n, bool past);

/* Is the life of its context over, as somebody has found? No driver call. */
bool tt_place_is_stale(const struct tt_place *place);

/* Is its context in the life in which the place was made? */
bool tt_place_lives(const struct tt_place *place);

/* Drops every place. Contexts may be gone already; that is not an error. */
void tt_places_close(void);

/* The GPU that this thread works on: that of its current context. */
struct tt_gpu {
    bool there; /* a context is current; else nothing below means anything */
    unsigned char uuid[16];
    int domain, bus, device; /* on PCI */
    int peers;               /* other GPUs that this process sees, */
    int reached;             /* how many of them can be reached directly, */
    int linked;              /* and how many by NVLink: atomics cross it, which PCIe does not carry */
    int on_node;             /* GPUs of the node, with those that this process does not see; 0: not known */
    bool links;              /* it has an active NVLink, wherever that leads; false: none, or not known */
};

/* Asks the driver, if one is loaded; starts nothing, and no error is one. */
void tt_gpu_here(struct tt_gpu *gpu);

/* The same of the GPU with that ordinal, whether or not a context is current, and its name: for commands, once
 * tt_driver_look has found a driver. */
void tt_gpu_look(int ordinal, struct tt_gpu *gpu, char *name, size_t size);

/* Adds what NVML knows, if it is there, and does nothing if not: how many GPUs are on the node; and to whom this one is
 * joined, if CUDA shows no other to this process, as where each rank has one in CUDA_VISIBLE_DEVICES. The first time for
 * a GPU it may take tens of milliseconds. */
void tt_gpu_look_around(struct tt_gpu *gpu);

/* Does NVLink join it to its neighbours, as far as is known? To all that can be asked about, if there are any. */
bool tt_gpu_linked(const struct tt_gpu *gpu);

/* A number that tells GPUs apart: 0 where there is none. */
uint64_t tt_gpu_id(const struct tt_gpu *gpu);

/* The driver for `tutti`'s and bootstrap's "what was found": version as CUDA counts (13000 is 13.0), 0 if there is
 * none; devices, and the name of the first. Loads libcuda.so.1 if it can: never called inside a collective. */
struct tt_driver_info {
    int version, devices;
    char first[256];
    bool simulated;
    const char *why_not; /* when version is 0: the loader's words */
};
struct tt_driver_info tt_driver_look(void);

#endif
