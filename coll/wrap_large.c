/* SPDX-License-Identifier: BSD-3-Clause */
/* The large-count twins of MPI-4, from the same rows. Built where the MPI has them; else wrap_no_large.c is. */
#include "coll/call.h"

#define TT_UNPACK(...) __VA_ARGS__
#define N MPI_Count
#define D MPI_Aint
#define TT_COLLECTIVE_PLAIN(...)
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args)                                                   \
    static int native_##id(const struct tt_call *c)                                                                    \
    {                                                                                                                  \
        return PMPI_##Name##_c args;                                                                                   \
    }                                                                                                                  \
    __attribute__((visibility("default"))) int MPI_##Name##_c params                                                   \
    {                                                                                                                  \
        return tt_run(&(const struct tt_call){.coll = TT_COLL_##id, .wide = true, TT_UNPACK fill});                                  \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#undef N
#undef D

int (*const tt_native_wide[TT_NCOLLS])(const struct tt_call *c) = {
#define TT_COLLECTIVE_PLAIN(...)
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) [TT_COLL_##id] = native_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
