/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocking and nonblocking calls, from the rows of the collectives. */
#include "tools/mpi_calls.h"

#define UNPACK(...) __VA_ARGS__
#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    static int call_##id(const struct tt_call *c)                                                                      \
    {                                                                                                                  \
        return MPI_##Name args;                                                                                        \
    }                                                                                                                  \
    static int start_##id(const struct tt_call *c, MPI_Request *request)                                               \
    {                                                                                                                  \
        return MPI_I##id(UNPACK args, request);                                                                        \
    }                                                                                                                  \
    static int call_below_##id(const struct tt_call *c)                                                                \
    {                                                                                                                  \
        return PMPI_##Name args;                                                                                       \
    }                                                                                                                  \
    static int start_below_##id(const struct tt_call *c, MPI_Request *request)                                         \
    {                                                                                                                  \
        return PMPI_I##id(UNPACK args, request);                                                                       \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE

const struct tool_calls tool_calls[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args) [TT_COLL_##id] = {call_##id, start_##id},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};

const struct tool_calls tool_calls_below[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    [TT_COLL_##id] = {call_below_##id, start_below_##id},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
