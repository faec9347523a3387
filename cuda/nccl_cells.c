/* SPDX-License-Identifier: BSD-3-Clause */
/* Which cells of the table type x op are NCCL's, too. Those are in which it means the same by them as every other path:
 * not the maximum of floating point, since it drops a NaN that Tutti keeps; nor 8-bit floats, which it lets overflow. */
#include <stdbool.h>

#include "cuda/nccl.h"

/* A type as so many of NCCL's. A complex number is two real ones, as far as sums go. */
static const struct element {
    ncclDataType_t type;
    int parts; /* 0: NCCL has no such type */
} elements[TT_NTYPES] = {
#define TT_NCCL_TYPE(name, value, id, bytes, since) [TT_TYPE_##id] = {name, 1},
#include "cuda/nccl.def"
    [TT_TYPE_c32] = {ncclFloat32, 2},
    [TT_TYPE_c64] = {ncclFloat64, 2},
};

/* NCCL's number of an op, from 1; 0: it has none. */
static const unsigned ops[TT_NOPS] = {
#define TT_NCCL_OP(name, value, id) [TT_OP_##id] = 1 + (value),
#include "cuda/nccl.def"
};

static bool is_float(enum tt_type type)
{
    return type == TT_TYPE_f16 || type == TT_TYPE_bf16 || type == TT_TYPE_f32 || type == TT_TYPE_f64;
}

static bool is_short_float(enum tt_type type)
{
    return type == TT_TYPE_f8e4m3 || type == TT_TYPE_f8e5m2;
}

const char *tt_nccl_cell_of(const struct tt_cell *cell, struct tt_nccl_cell *of)
{
    const struct element *e = &elements[cell->type];

    if (!e->parts)
        return "NCCL has no such type";
    if (is_short_float(cell->type))
        return "NCCL lets 8-bit floats overflow where Tutti does not";
    if (!ops[cell->op])
        return "NCCL has no such op";
    if (e->parts > 1 && cell->op != TT_OP_sum)
        return "NCCL has no complex numbers, and only sums of them are sums of pairs";
    if (is_float(cell->type) && (cell->op == TT_OP_max || cell->op == TT_OP_min))
        return "NCCL's max and min drop NaNs, which MPI's are not to lose";
    *of = (struct tt_nccl_cell){e->type, ops[cell->op] - 1, e->parts};
    return NULL;
}
