/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocking and nonblocking calls, and the rows as the library sees them. */
#include "coll/wrap.h"

#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) TT_WRAP(id, Name, , false, params, fill, args)
#include "coll/collectives.def"
#undef TT_COLLECTIVE

const struct tt_row tt_rows[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args)                                                   \
    [TT_COLL_##id] = {.name = "MPI_" #Name, .traits = traits_, .native = {call_##id, start_##id}},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
