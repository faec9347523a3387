/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row of collectives.def becomes, for wrap*.c: the calls of the MPI below, and the wrappers, which fill a
 * struct tt_call on the stack and hand it on. No logic. C is _c in the large-count twins, and nothing otherwise. */
#ifndef TT_WRAP_H
#define TT_WRAP_H

#include "coll/call.h"

#define TT_UNPACK(...) __VA_ARGS__
#define TT_PUBLIC __attribute__((visibility("default")))
#define TT_CALL(id, is_wide, fill)                                                                                     \
    (&(const struct tt_call){                                                                                          \
        .coll = TT_COLL_##id, .wide = is_wide, TT_UNPACK fill, .caller = __builtin_return_address(0)})

#define TT_WRAP(id, Name, C, is_wide, params, fill, args)                                                              \
    static int call_##id(const struct tt_call *c)                                                                      \
    {                                                                                                                  \
        return PMPI_##Name##C args;                                                                                    \
    }                                                                                                                  \
    static int start_##id(const struct tt_call *c, MPI_Request *request)                                               \
    {                                                                                                                  \
        return PMPI_I##id##C(TT_UNPACK args, request);                                                                 \
    }                                                                                                                  \
    TT_PUBLIC int MPI_##Name##C params                                                                                 \
    {                                                                                                                  \
        return tt_run(TT_CALL(id, is_wide, fill));                                                                     \
    }                                                                                                                  \
    TT_PUBLIC int MPI_I##id##C(TT_UNPACK params, MPI_Request *request)                                                 \
    {                                                                                                                  \
        return tt_run_nonblocking(TT_CALL(id, is_wide, fill), request);                                                \
    }

/* TT_INIT_NAME (config.h): how the MPI calls it. */
#define TT_WRAP_INIT(id, Name, C, is_wide, params, fill, args)                                                         \
    static int init_##id(const struct tt_call *c, MPI_Info info, MPI_Request *request)                                 \
    {                                                                                                                  \
        return TT_INIT_NAME(P, Name, C)(TT_UNPACK args, info, request);                                                \
    }                                                                                                                  \
    TT_PUBLIC int TT_INIT_NAME(, Name, C)(TT_UNPACK params, MPI_Info info, MPI_Request * request)                      \
    {                                                                                                                  \
        return tt_run_init(TT_CALL(id, is_wide, fill), info, request);                                                 \
    }

#endif
