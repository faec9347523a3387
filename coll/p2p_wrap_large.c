/* SPDX-License-Identifier: BSD-3-Clause */
/* The large-count twins of MPI-4, from the same rows, and the nonblocking exchanges that came with them. Built where
 * the MPI has them; else p2p_wrap_no_large.c is. */
#include "coll/p2p_wrap.h"

#define N MPI_Count
#define TT_P2P_SEND(id, Name, traits, params, fill, args)                                                              \
    TT_MAKE_CALL_PLAIN(id, Name, _c, true, params, fill, args)                                                         \
    TT_MAKE_START(id, _c, true, params, fill, args)                                                                    \
    TT_MAKE_INIT(id, Name, _c, true, params, fill, args)
#define TT_P2P_RECV(id, Name, traits, params, fill, args)                                                              \
    TT_MAKE_CALL(id, Name, _c, true, params, fill, args)                                                               \
    TT_MAKE_START(id, _c, true, params, fill, args)                                                                    \
    TT_MAKE_INIT(id, Name, _c, true, params, fill, args)
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args)                                                           \
    TT_MAKE_CALL(id, Name, _c, true, params, fill, args)                                                               \
    TT_MAKE_START(id, _c, true, params, fill, args)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args)                                                          \
    TT_MAKE_CALL(id, Name, _c, true, params, fill, args)                                                               \
    TT_MAKE_START(id, _c, true, params, fill, args)
#include "coll/p2p.def"

#define ROW(row, ...) [TT_P2P_##row] = {call_##row, start_##row, __VA_ARGS__},
const struct tt_p2p_native tt_p2p_wide[TT_NP2P] = {
#define TT_P2P_SEND(id, Name, traits, params, fill, args) ROW(id, init_##id)
#define TT_P2P_RECV(id, Name, traits, params, fill, args) ROW(id, init_##id)
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args) ROW(id, NULL)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) ROW(id, NULL)
#include "coll/p2p.def"
};

/* MPI_Isendrecv and MPI_Isendrecv_replace themselves. */
#undef N
#define N int
#define TT_P2P_SEND(...)
#define TT_P2P_RECV(...)
#define TT_P2P_MATCHED(...)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) TT_MAKE_START_PUBLIC(id, , false, params, fill)
#include "coll/p2p.def"
