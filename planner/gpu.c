/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of GPUs, looked up. */
#include "planner/gpu.h"

#include <string.h>

#include "selector/names.h"

const struct tt_gpu_kind tt_gpu_kinds[] = {
#define TT_PLAN_GPU(id, name, memory, bandwidth, single, half, quarter)                                                \
    {name, memory * 1e9, bandwidth * 1e9, single * 1e12, half * 1e12, quarter * 1e12},
#include "planner/gpus.def"
#undef TT_PLAN_GPU
    {0}};

const struct tt_gpu_kind *tt_gpu_kind_find(const char *name, char *why, size_t size)
{
    struct tt_names names = {0};

    for (const struct tt_gpu_kind *g = tt_gpu_kinds; g->name; g++) {
        if (strcmp(g->name, name) == 0)
            return g;
        tt_names_add(&names, g->name);
    }
    tt_names_refuse(&names, name, strlen(name), "a GPU that is known", why, size);
    return NULL;
}

double tt_gpu_peak(const struct tt_gpu_kind *gpu, const struct tt_transformer *m)
{
#define PEAK(id, bytes, rate) [TT_##id] = gpu->rate,
    const double peaks[] = {TT_PRECISIONS(PEAK)};
#undef PEAK

    return peaks[m->precision];
}
