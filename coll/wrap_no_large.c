/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without the large-count twins (MPI-3): no call can come through one. */
#include "coll/call.h"

int (*const tt_native_wide[TT_NCOLLS])(const struct tt_call *c) = {NULL};
