/* SPDX-License-Identifier: BSD-3-Clause */
/* The persistent calls of MPI-4, from the same rows. Built where the MPI has them, if only by another name. */
#include <config.h>
#include <mpi.h>
#include TT_PERSISTENT_HEADER

#include "coll/wrap.h"

#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) TT_WRAP_INIT(id, Name, , false, params, fill, args)
#include "coll/collectives.def"
#undef TT_COLLECTIVE

tt_init_function *const tt_native_init[TT_NCOLLS] = {
#define TT_COLLECTIVE(id, Name, family, traits_, params, fill, args) [TT_COLL_##id] = init_##id,
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
