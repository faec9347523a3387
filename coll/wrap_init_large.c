/* SPDX-License-Identifier: BSD-3-Clause */
/* The large-count twins of the persistent calls. Built where the MPI has both. */
#include <config.h>

#include "coll/wrap.h"

#define N MPI_Count
#define D MPI_Aint
#define TT_COLLECTIVE_PLAIN(...)
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args)                                                   \
    TT_WRAP_INIT(id, Name, _c, true, params, fill, args)
#include "coll/collectives.def"
#undef TT_COLLECTIVE

tt_init_function *const tt_native_init_wide[TT_NCOLLS] = {
#define TT_COLLECTIVE_PLAIN(...)
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) [TT_COLL_##id] = init_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
