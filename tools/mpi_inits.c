/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistent calls of MPI-4. Built where the MPI has them, if only by another name. */
#include <config.h>
#include <mpi.h>
#include TT_PERSISTENT_HEADER

#include "tools/mpi_calls.h"

#define UNPACK(...) __VA_ARGS__
#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    static int init_##id(const struct tt_call *c, MPI_Request *request)                                                \
    {                                                                                                                  \
        return TT_INIT_NAME(, Name, )(UNPACK args, MPI_INFO_NULL, request);                                            \
    }                                                                                                                  \
    static int init_below_##id(const struct tt_call *c, MPI_Request *request)                                          \
    {                                                                                                                  \
        return TT_INIT_NAME(P, Name, )(UNPACK args, MPI_INFO_NULL, request);                                           \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE

tool_init *const tool_inits[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) [TT_COLL_##id] = init_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};

tool_init *const tool_inits_below[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) [TT_COLL_##id] = init_below_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
