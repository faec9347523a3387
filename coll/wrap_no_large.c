/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without the large-count twins: no call can come through one. */
#include "coll/call.h"

const struct tt_native tt_native_wide[TT_NCOLLS] = {{NULL, NULL}};
