/* SPDX-License-Identifier: BSD-3-Clause */
/* The wrappers, a row each: they fill a struct tt_call on the stack and hand it on. No logic. */
#include "coll/call.h"

#define TT_UNPACK(...) __VA_ARGS__
#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args)                                                   \
    static int native_##id(const struct tt_call *c)                                                                    \
    {                                                                                                                  \
        return PMPI_##Name args;                                                                                       \
    }                                                                                                                  \
    __attribute__((visibility("default"))) int MPI_##Name params                                                       \
    {                                                                                                                  \
        return tt_run(&(const struct tt_call){.coll = TT_COLL_##id, TT_UNPACK fill});                                  \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#undef N
#undef D

const struct tt_row tt_rows[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args)                                                   \
    [TT_COLL_##id] = {.name = "MPI_" #Name, .traits = traits_, .native = native_##id},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
