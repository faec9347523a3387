/* SPDX-License-Identifier: BSD-3-Clause */
/* The nonblocking exchanges of an MPI that has them without the large-count twins (Open MPI 5): what p2p_wrap_large.c is
 * where there are both. */
#include "coll/p2p_wrap.h"

#define N int
#define TT_P2P_SEND(...)
#define TT_P2P_RECV(...)
#define TT_P2P_MATCHED(...)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) TT_MAKE_START(id, , false, params, fill, args)
#include "coll/p2p.def"

const struct tt_p2p_native tt_p2p_wide[TT_NP2P] = {
#define TT_P2P_SEND(...)
#define TT_P2P_RECV(...)
#define TT_P2P_MATCHED(...)
#define TT_P2P_EXCHANGE(id, Name, traits, params, fill, args) [TT_P2P_##id] = {.start = start_##id},
#include "coll/p2p.def"
};
