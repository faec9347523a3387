/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells of the table type x op: which exist, and the code for each. Rows are in types.def and ops.def; the
 * host's reductions (host.c) and the device's (kernels.cu) are both expanded from them. */
#ifndef TT_CELLS_H
#define TT_CELLS_H

#include <stddef.h>

/* One enumerator per machine representation: TT_TYPE_i8, TT_TYPE_f32, TT_TYPE_c64, ... Several MPI types share one. */
enum tt_type {
#define TT_TYPE(id, ...) TT_TYPE_##id,
#include "cuda/types.def"
#undef TT_TYPE
    TT_NTYPES
};

/* TT_OP_sum, TT_OP_prod, TT_OP_max, ... */
enum tt_op {
#define TT_OPERATION(id, ...) TT_OP_##id,
#include "cuda/ops.def"
#undef TT_OPERATION
    TT_NOPS
};

enum { TT_MAX_SOURCES = 8 };

struct tt_cell {
    enum tt_type type;
    enum tt_op op;
    size_t size;        /* bytes of one element, its extent in memory */
    const char *kernel; /* name of the device kernel, "tt_sum_f32"; NULL where no GPU has the type (long double) */
    /* dst[i] = src[0][i] op ... op src[k-1][i], as in struct tt_dev. */
    void (*host)(void *dst, const void *const *src, int k, size_t n);
};

/* The cell, or NULL if the op has no meaning for the type. */
const struct tt_cell *tt_cell_find(enum tt_type type, enum tt_op op);

#endif
