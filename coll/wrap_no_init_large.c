/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without large-count persistent collectives: no call can come through one. */
#include "coll/call.h"

tt_init_function *const tt_native_init_wide[TT_NCOLLS] = {NULL};
