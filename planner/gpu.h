/* SPDX-License-Identifier: BSD-3-Clause */
/* What a GPU can do on paper. */
#ifndef TT_PLAN_GPU_H
#define TT_PLAN_GPU_H

#include "planner/transformer.h"

struct tt_gpu_kind {
    const char *name;
    double memory, bandwidth;     /* bytes; bytes a second */
    double single, half, quarter; /* floating-point operations a second, by precision */
};

/* Ends with a NULL name. */
extern const struct tt_gpu_kind tt_gpu_kinds[];

/* NULL with why filled: the nearest name, and all. */
const struct tt_gpu_kind *tt_gpu_kind_find(const char *name, char *why, size_t size);

/* Its peak in the model's precision. */
double tt_gpu_peak(const struct tt_gpu_kind *gpu, const struct tt_transformer *m);

#endif
