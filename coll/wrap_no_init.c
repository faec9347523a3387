/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without persistent collectives: no call can come through one. */
#include "coll/call.h"

tt_init_function *const tt_native_init[TT_NCOLLS] = {NULL};
