/* SPDX-License-Identifier: BSD-3-Clause */
/* The point-to-point calls of MPI-3, and the rows as the library sees them. */
#include "coll/p2p_wrap.h"

#define N int
#define TT_P2P_SEND(id, Name, traits, params, fill, args)                                                              \
    TT_MAKE_CALL_PLAIN(id, Name, , false, params, fill, args)                                                          \
    TT_MAKE_START(id, , false, params, fill, args)                                                                     \
    TT_MAKE_INIT(id, Name, , false, params, fill, args)
#define TT_P2P_RECV(id, Name, traits, params, fill, args)                                                              \
    TT_MAKE_CALL(id, Name, , false, params, fill, args)                                                                \
    TT_MAKE_START(id, , false, params, fill, args)                                                                     \
    TT_MAKE_INIT(id, Name, , false, params, fill, args)
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args)                                                           \
    TT_MAKE_CALL(id, Name, , false, params, fill, args)                                                                \
    TT_MAKE_START(id, , false, params, fill, args)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) TT_MAKE_CALL(id, Name, , false, params, fill, args)
#include "coll/p2p.def"

#define ROW(row, Name, traits_, ...) [TT_P2P_##row] = {#row, #Name, traits_, {call_##row, __VA_ARGS__}},
const struct tt_p2p_row tt_p2p_rows[TT_NP2P] = {
#define TT_P2P_SEND(id, Name, traits, params, fill, args) ROW(id, Name, traits, start_##id, init_##id)
#define TT_P2P_RECV(id, Name, traits, params, fill, args) ROW(id, Name, traits, start_##id, init_##id)
#define TT_P2P_MATCHED(id, Name, traits, params, fill, args) ROW(id, Name, traits, start_##id, NULL)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) ROW(id, Name, traits, NULL, NULL)
#include "coll/p2p.def"
};
