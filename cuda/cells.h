/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells of the table type x op: which exist, and the code for each. Rows are in types.def and ops.def; the
 * host's reductions (cells.c) and the device's (kernels.cu) are both expanded from them. */
#ifndef TT_CELLS_H
#define TT_CELLS_H

#include <stdbool.h>
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

/* How up to so many sources become one, in the order in which they stand: hexadecimal digit j, from the right, is how
 * many foldings follow source j, each of the last two values there are into one, which is rounded as if it had been
 * stored. So 0x11111110 is left to right, 0x30102010 the balanced tree of eight, and the bits are those of as many
 * reductions of two. No more than TT_MAX_WAITING values may wait while one more is folded. TT_ACCUMULATE is left to
 * right too, but in the accumulator, rounded once at the end. */
enum { TT_ACCUMULATE = 0, TT_LEFT_TO_RIGHT = 0x11111110, TT_MAX_WAITING = 3 };

static inline int tt_foldings(unsigned order, int source)
{
    return (int)(order >> 4 * source & 15);
}

/* The classes of MPI types that the standard states legality by (MPI 4.0, section 6.9.2). */
enum tt_class {
    TT_NO_CLASS = 0, /* no predefined op is legal */
    TT_C_INTEGER = 1 << 0,
    TT_FORTRAN_INTEGER = 1 << 1,
    TT_FLOATING = 1 << 2,
    TT_LOGICAL = 1 << 3,
    TT_COMPLEX = 1 << 4,
    TT_BYTE = 1 << 5,
    TT_MULTI_LANGUAGE = 1 << 6, /* MPI_AINT, MPI_OFFSET, MPI_COUNT */
    TT_PAIR = 1 << 7            /* value and index */
};

/* Does the standard allow this op on types of this class? */
bool tt_op_legal(enum tt_op op, enum tt_class class);

/* What an MPI type is, apart from its size: the domain column of types.def and mpi_types.def. */
enum tt_domain {
    TT_DOMAIN_unsigned,
    TT_DOMAIN_signed,
    TT_DOMAIN_floating, /* IEEE binary16, 32, 64 */
    TT_DOMAIN_brain,    /* bfloat16 */
    TT_DOMAIN_e4m3,
    TT_DOMAIN_e5m2,
    TT_DOMAIN_extended, /* long double, whatever that is here */
    TT_DOMAIN_complex,
    TT_DOMAIN_extended_complex,
    TT_DOMAIN_floating_int, /* a value and its index, an int */
    TT_DOMAIN_extended_int,
    TT_DOMAIN_signed_int, /* also Fortran's MPI_2INTEGER, whose index is as wide as its value */
    TT_DOMAIN_floating_twice
};

/* The representation of an MPI type of that domain and MPI_Type_size; TT_NTYPES if we have no code for any such. */
enum tt_type tt_type_of(enum tt_domain domain, size_t payload);

/* As in types.def: "f32_int". */
const char *tt_type_name(enum tt_type type);
const char *tt_op_name(enum tt_op op);

/* Bytes of one element, padding included. */
size_t tt_type_size(enum tt_type type);

struct tt_cell {
    enum tt_type type;
    enum tt_op op;
    size_t size;        /* bytes of one element, its extent in memory */
    const char *kernel; /* name of the device kernel, "tt_sum_f32"; NULL where no GPU has the type (long double) */
    /* dst[i] = src[0][i] op ... op src[k-1][i] accumulated, as in struct tt_dev. */
    void (*host)(void *dst, const void *const *src, int k, size_t n);
};

/* The cell, or NULL if the op has no meaning for the type. */
const struct tt_cell *tt_cell_find(enum tt_type type, enum tt_op op);

/* The same cell with host code for the nth best instruction set that this processor has, NULL if it has no more: so
 * that a test meets all of them. tt_cell_find gives number 0. */
const struct tt_cell *tt_cell_nth(int nth, enum tt_type type, enum tt_op op);

#endif
