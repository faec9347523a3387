/* SPDX-License-Identifier: BSD-3-Clause */
/* What a row of p2p.def becomes, for p2p_wrap*.c, a macro for each form: the call of the MPI below, and the wrapper,
 * which fills a struct tt_p2p on the stack and hands it on. No logic. C is _c in the large-count twins, and nothing
 * otherwise. */
#ifndef TT_P2P_WRAP_H
#define TT_P2P_WRAP_H

#include "coll/p2p.h"

#define TT_UNPACK(...) __VA_ARGS__
#define TT_PUBLIC __attribute__((visibility("default")))
#define TT_ASKED(row, is_wide, fill)                                                                                   \
    (&(const struct tt_p2p){                                                                                           \
        .id = TT_P2P_##row, .wide = is_wide, TT_UNPACK fill, .caller = __builtin_return_address(0)})

#define TT_MAKE_CALL(id, Name, C, is_wide, params, fill, args)                                                         \
    static int call_##id(const struct tt_p2p *c, MPI_Status *status)                                                   \
    {                                                                                                                  \
        return PMPI_##Name##C(TT_UNPACK args, status);                                                                 \
    }                                                                                                                  \
    TT_PUBLIC int MPI_##Name##C(TT_UNPACK params, MPI_Status *status)                                                  \
    {                                                                                                                  \
        return tt_p2p_call(TT_ASKED(id, is_wide, fill), status);                                                       \
    }

/* Without a status. */
#define TT_MAKE_CALL_PLAIN(id, Name, C, is_wide, params, fill, args)                                                   \
    static int call_##id(const struct tt_p2p *c, MPI_Status *status)                                                   \
    {                                                                                                                  \
        (void)status;                                                                                                  \
        return PMPI_##Name##C args;                                                                                    \
    }                                                                                                                  \
    TT_PUBLIC int MPI_##Name##C params                                                                                 \
    {                                                                                                                  \
        return tt_p2p_call(TT_ASKED(id, is_wide, fill), MPI_STATUS_IGNORE);                                            \
    }

#define TT_MAKE_START_NATIVE(id, C, args)                                                                              \
    static int start_##id(const struct tt_p2p *c, MPI_Request *request)                                                \
    {                                                                                                                  \
        return PMPI_I##id##C(TT_UNPACK args, request);                                                                 \
    }

#define TT_MAKE_START_PUBLIC(id, C, is_wide, params, fill)                                                             \
    TT_PUBLIC int MPI_I##id##C(TT_UNPACK params, MPI_Request *request)                                                 \
    {                                                                                                                  \
        return tt_p2p_start(TT_ASKED(id, is_wide, fill), request);                                                     \
    }

#define TT_MAKE_START(id, C, is_wide, params, fill, args)                                                              \
    TT_MAKE_START_NATIVE(id, C, args)                                                                                  \
    TT_MAKE_START_PUBLIC(id, C, is_wide, params, fill)

#define TT_MAKE_INIT(id, Name, C, is_wide, params, fill, args)                                                         \
    static int init_##id(const struct tt_p2p *c, MPI_Request *request)                                                 \
    {                                                                                                                  \
        return PMPI_##Name##_init##C(TT_UNPACK args, request);                                                         \
    }                                                                                                                  \
    TT_PUBLIC int MPI_##Name##_init##C(TT_UNPACK params, MPI_Request *request)                                         \
    {                                                                                                                  \
        return tt_p2p_init(TT_ASKED(id, is_wide, fill), request);                                                      \
    }

#endif
