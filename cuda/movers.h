/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the movers (kernels.h) packs or unpacks given runs, with what parameter. Known to this room only. */
#ifndef TT_CUDA_MOVERS_H
#define TT_CUDA_MOVERS_H

#include "cuda/kernels.h"

enum tt_way { TT_WAY_pack, TT_WAY_unpack };

enum tt_mover {
#define TT_MOVER(way, form, word) TT_MOVER_##way##_##form##_##word,
    TT_EACH_MOVER(TT_MOVER)
#undef TT_MOVER
        TT_NMOVERS
};

/* "tt_pack_run_16" */
const char *tt_mover_name(enum tt_mover mover);

/* Bytes that a thread moves at once. */
unsigned tt_mover_word(enum tt_mover mover);

/* Fills in args, but for the table that more than TT_FEW_RUNS runs need, which is then *table. There must be something
 * to move. */
enum tt_mover tt_mover_prepare(struct tt_mover_args *args, enum tt_way way, const struct tt_runs *runs, int64_t count,
                               void *spread, void *packed, const struct tt_runs **table);

#endif
