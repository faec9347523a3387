/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs too many for a kernel's parameter, in the memory of a context: uploaded when first needed, and kept for the next
 * call that packs by the same ones. Known to this room only. All functions are called with the place's lock held. */
#ifndef TT_CUDA_TABLES_H
#define TT_CUDA_TABLES_H

#include <stdatomic.h>

#include "cuda/driver.h"
#include "cuda/inside.h"
#include "cuda/runs.h"

struct tt_table;

struct tt_tables {
    const struct tt_driver *driver;
    struct tt_pool *scratch, *pinned;
    struct tt_table *first; /* those used last come first */
    atomic_uint busy;       /* bit per queue: work that uses tables was given to it, and was not seen to end */
};

/* The runs, for work that is given to that queue next and under the same lock; its context is entered. NULL with
 * tt_fault() set. */
const struct tt_run *tt_table_take(struct tt_tables *t, const struct tt_runs *runs, int queue, CUstream stream);

/* All work given to the queue has ended. */
void tt_tables_drained(struct tt_tables *t, int queue);

/* Forgets all; their memory is the pools' and goes with them. */
void tt_tables_close(struct tt_tables *t);

#endif
