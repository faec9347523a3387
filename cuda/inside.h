/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share and nobody else sees: the fault text, the pool of scratch, the host's place. */
#ifndef TT_CUDA_INSIDE_H
#define TT_CUDA_INSIDE_H

#include <pthread.h>
#include <stdarg.h>

#include "cuda/dev.h"

int tt_fault_vset(const char *format, va_list words);

void tt_host_close(void);

/* Blocks of one kind of memory, kept for the next who needs one: allocating and freeing device memory waits for the
 * whole device, pinning costs a system call per page. Unused blocks are bounded: when a block is made, then beyond
 * TT_POOL_IDLE bytes the one unused for longest goes, but the one used last always stays, so that even a huge scratch
 * is not made anew in every call. Thread-safe. */
enum { TT_POOL_IDLE = 256 << 20 };

struct tt_block;

struct tt_pool {
    void *(*make)(size_t bytes); /* NULL with tt_fault() set */
    void (*unmake)(void *at);
    pthread_mutex_t lock;
    struct tt_block *blocks; /* those given back last come first */
};

void tt_pool_open(struct tt_pool *pool, void *(*make)(size_t bytes), void (*unmake)(void *at));

/* A block of at least that many bytes, aligned to 256; NULL with tt_fault() set, after a second attempt for which
 * all unused blocks have been given up. */
void *tt_pool_take(struct tt_pool *pool, size_t bytes);

/* False if at is no block of this pool. */
bool tt_pool_give(struct tt_pool *pool, void *at);

/* Frees all unused blocks. */
void tt_pool_empty(struct tt_pool *pool);

/* Forgets all blocks, and frees them unless their memory is gone already. */
void tt_pool_close(struct tt_pool *pool, bool gone);

#endif
