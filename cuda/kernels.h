/* SPDX-License-Identifier: BSD-3-Clause */
/* The device kernels, seen from outside: their names, their parameters. kernels.cu defines them from the same list,
 * whether nvcc compiles it for GPUs or a C compiler for the simulated device, so name and code cannot part. */
#ifndef TT_KERNELS_H
#define TT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/runs.h"
#include "cuda/types.def"

/* The only parameter of every reduction: dst[i] = src[0][i] op ... op src[k-1][i] for i < n, 2 <= k <= 8. Each pointer is aligned to its element's natural alignment; any grid of any size may be launched. */
struct tt_kernel_args {
    void *dst;
    const void *src[8];
    size_t n;
    int k;
    unsigned order; /* cells.h */
};

/* The ops that a family of types has code of its own for, each as X(op, ...). */
#define TT_OPS_ordered(X, ...) X(max, __VA_ARGS__) X(min, __VA_ARGS__)
#define TT_OPS_wrapping(X, ...)                                                                                        \
    X(sum, __VA_ARGS__)                                                                                                \
    X(prod, __VA_ARGS__)                                                                                               \
    X(land, __VA_ARGS__)                                                                                               \
    X(lor, __VA_ARGS__)                                                                                                \
    X(lxor, __VA_ARGS__)                                                                                               \
    X(band, __VA_ARGS__)                                                                                               \
    X(bor, __VA_ARGS__)                                                                                                \
    X(bxor, __VA_ARGS__)
#define TT_OPS_unsigned(X, ...) TT_OPS_wrapping(X, __VA_ARGS__) TT_OPS_ordered(X, __VA_ARGS__)
#define TT_OPS_signed(X, ...) TT_OPS_ordered(X, __VA_ARGS__)
#define TT_OPS_complex(X, ...) X(sum, __VA_ARGS__) X(prod, __VA_ARGS__)
#define TT_OPS_floating(X, ...) TT_OPS_complex(X, __VA_ARGS__) TT_OPS_ordered(X, __VA_ARGS__)
#define TT_OPS_pair(X, ...) X(maxloc, __VA_ARGS__) X(minloc, __VA_ARGS__)

/* Every reduction that kernels do, each as X(op, type). */
#define TT_EACH_KERNEL(X) TT_TYPES(TT_KERNELS_OF, X)
#define TT_KERNELS_OF(id, ctype, acc, convert, domain, payload, family, home, like, X)                                 \
    TT_KERNELS_AT_##home(id, family, X)
#define TT_KERNELS_AT_gpu(id, family, X) TT_OPS_##family(X, id)
#define TT_KERNELS_AT_host(id, family, X)

/* Its two kernels, each as X(name, type): void name(struct tt_kernel_args). One accumulates, and its args.order does not
 * matter; the other keeps to the order. */
#define TT_EACH_REDUCER(X) TT_TYPES(TT_REDUCERS_OF, X)
#define TT_REDUCERS_OF(id, ctype, acc, convert, domain, payload, family, home, like, X)                                \
    TT_REDUCERS_AT_##home(id, family, X)
#define TT_REDUCERS_AT_gpu(id, family, X) TT_OPS_##family(TT_REDUCER_FORMS, id, X)
#define TT_REDUCERS_AT_host(id, family, X)
#define TT_REDUCER_FORMS(op, id, X) X(tt_##op##_##id, id) X(tt_##op##_##id##_tree, id)

/* The only parameter of every mover: packed[i] = the i-th byte of the runs of `count` elements, or the other way round.
 * Element 0 is at spread + origin; spread is the lowest byte that is touched, and span bytes from there on hold all.
 * A word of the kernel's size must divide all numbers and both addresses. Any grid may be launched. */
enum { TT_FEW_RUNS = 8 };
struct tt_mover_args {
    void *spread;
    void *packed;
    const struct tt_run *table; /* all runs, in memory that the kernel can reach; NULL: they are in few */
    int64_t span, origin;
    int64_t count, extent, size, nruns; /* of struct tt_runs */
    struct tt_run few[TT_FEW_RUNS];
};

/* Every mover, each as X(way, form, word): void tt_<way>_<form>_<word>(struct tt_mover_args). way: pack or unpack;
 * form: run, of which few has one, or runs; word: bytes that a thread moves at once. */
#define TT_EACH_MOVER(X) TT_MOVERS_OF(1, X) TT_MOVERS_OF(2, X) TT_MOVERS_OF(4, X) TT_MOVERS_OF(8, X) TT_MOVERS_OF(16, X)
#define TT_MOVERS_OF(word, X) X(pack, run, word) X(unpack, run, word) X(pack, runs, word) X(unpack, runs, word)

#endif
