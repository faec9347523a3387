/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti's own kernels by name, from the list that also makes the GPU's: cuda/kernels.cu, compiled for the CPU.
 * Their parameter is known, so each launch is held to what a GPU would allow: every operand has to lie, with all
 * its elements, in memory that the device can reach. */
#include "cuda/ops.h"
#include "tests/simcuda/sim.h"

#include <string.h>

#define KERNEL(name, type)                                                                                             \
    void name(struct tt_kernel_args args);                                                                             \
    static void play_##name(const void *param, const struct simcuda_where *where)                                      \
    {                                                                                                                  \
        (void)where; /* the kernel sees it as threadIdx and its kin */                                                 \
        name(*(const struct tt_kernel_args *)param);                                                                   \
    }                                                                                                                  \
    static unsigned reach_##name(const void *param, struct stretch *stretches)                                         \
    {                                                                                                                  \
        const struct tt_kernel_args *args = param;                                                                     \
                                                                                                                       \
        for (int i = 0; i < 1 + args->k; i++)                                                                          \
            stretches[i].bytes = args->n * sizeof(tt_elem_##type);                                                     \
        return 1 + (unsigned)args->k;                                                                                  \
    }
TT_EACH_REDUCER(KERNEL)

#define MOVER(way, form, word)                                                                                         \
    void tt_##way##_##form##_##word(struct tt_mover_args args);                                                        \
    static void play_##way##_##form##_##word(const void *param, const struct simcuda_where *where)                     \
    {                                                                                                                  \
        (void)where;                                                                                                   \
        tt_##way##_##form##_##word(*(const struct tt_mover_args *)param);                                              \
    }
TT_EACH_MOVER(MOVER)

/* An absolute datatype may have its runs in several allocations. */
static unsigned reach_of_mover(const void *param, struct stretch *stretches)
{
    const struct tt_mover_args *args = param;

    stretches[0] = (struct stretch){(size_t)args->span, true};
    stretches[1].bytes = (size_t)(args->count * args->size);
    stretches[2].bytes = args->table ? (size_t)args->nruns * sizeof args->table[0] : 0;
    return 3;
}

static const struct kernel kernels[] = {
#define ROW(name, type) {#name, sizeof(struct tt_kernel_args), play_##name, reach_##name},
    TT_EACH_REDUCER(ROW)
#define MOVER_ROW(way, form, word)                                                                                     \
    {"tt_" #way "_" #form "_" #word, sizeof(struct tt_mover_args), play_##way##_##form##_##word, reach_of_mover},
    TT_EACH_MOVER(MOVER_ROW)
};

const struct kernel *sim_kernel_built_in(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return &kernels[i];
    return NULL;
}
