/* SPDX-License-Identifier: BSD-3-Clause */
/* The large-count twins of MPI-4, from the same rows. Built where the MPI has them; else wrap_no_large.c is. */
#include "coll/wrap.h"

#define N MPI_Count
#define D MPI_Aint
#define TT_COLLECTIVE_PLAIN(...)
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) TT_WRAP(id, Name, _c, true, params, fill, args)
#include "coll/collectives.def"
#undef TT_COLLECTIVE

const struct tt_native tt_native_wide[TT_NCOLLS] = {
#define TT_COLLECTIVE_PLAIN(...)
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) [TT_COLL_##id] = {call_##id, start_##id},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
