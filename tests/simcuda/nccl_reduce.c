/* SPDX-License-Identifier: BSD-3-Clause */
/* NCCL's arithmetic, by the host's code for the same cells: an average is a sum, divided. (NCCL does so
 * with integers, and multiplies floats by 1/n before.) */
#include "tests/simcuda/nccl_sim.h"

#include "cuda/cells.h"
#include "cuda/ops.h"

static const enum tt_type types[] = {
#define TT_NCCL_TYPE(name, value, id, bytes, since) [value] = TT_TYPE_##id,
#include "cuda/nccl.def"
};

static const enum tt_op ops[] = {
#define TT_NCCL_OP(name, value, id) [value] = TT_OP_##id,
#include "cuda/nccl.def"
    [ncclAvg] = TT_OP_sum,
};

void nccl_reduce(const struct nccl_card *card, void *acc, const void *more, size_t n)
{
    const void *const src[] = {acc, more};

    tt_cell_find(types[card->type], ops[card->op])->host(acc, src, 2, n);
}

#define TT_NCCL_TYPE(name, value, id, bytes, since)                                                                    \
    static void divide_##id(void *acc, size_t n, int by)                                                               \
    {                                                                                                                  \
        for (tt_elem_##id *x = acc; n--; x++)                                                                          \
            *x = (tt_elem_##id)tt_narrow_##id((tt_acc_##id)(tt_widen_##id(*x) / by));                                  \
    }
#include "cuda/nccl.def"

void nccl_average(const struct nccl_card *card, void *acc, size_t n, int nranks)
{
    if (card->op != ncclAvg)
        return;
    switch (card->type) {
#define TT_NCCL_TYPE(name, value, id, bytes, since)                                                                    \
    case value:                                                                                                        \
        divide_##id(acc, n, nranks);                                                                                   \
        break;
#include "cuda/nccl.def"
    }
}
