/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory between processes, of one context: what of its own has been named to others, and what of theirs it has
 * open. Known to this room only; dev.h has it as export, import and release. */
#ifndef TT_CUDA_IPC_H
#define TT_CUDA_IPC_H

#include <pthread.h>

#include "cuda/dev.h"
#include "cuda/driver.h"

enum { TT_IPC_OWN = 16, TT_IPC_OPENED = 64 };

/* An allocation of ours. */
struct tt_ipc_own {
    unsigned long long buffer; /* 0: an unused entry */
    CUdeviceptr base;
    size_t bytes; /* 0: there is no handle for it */
    unsigned char handle[64];
};

/* One of another process's. */
struct tt_ipc_opened {
    struct tt_name name; /* bytes 0: an unused entry */
    CUdeviceptr at;      /* 0: it cannot be opened here */
    unsigned uses;
    unsigned long long last; /* of all uses of any */
};

struct tt_ipc {
    const struct tt_driver *driver;
    pthread_mutex_t lock; /* of what follows */
    struct tt_ipc_own own[TT_IPC_OWN];
    unsigned nown;
    struct tt_ipc_opened opened[TT_IPC_OPENED];
    unsigned long long uses;
};

void tt_ipc_open(struct tt_ipc *ipc, const struct tt_driver *driver);

/* As struct tt_dev has them, the context being entered. */
bool tt_ipc_export(struct tt_ipc *ipc, const void *at, size_t bytes, struct tt_name *name);
const void *tt_ipc_import(struct tt_ipc *ipc, const struct tt_name *name);
void tt_ipc_release(struct tt_ipc *ipc, const struct tt_name *name);

/* Closes what is open, unless it went with its context. */
void tt_ipc_close(struct tt_ipc *ipc, bool gone);

#endif
