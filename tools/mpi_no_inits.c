/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI without persistent collectives. */
#include "tools/mpi_calls.h"

tool_init *const tool_inits[TT_NCOLLS] = {NULL}, *const tool_inits_below[TT_NCOLLS] = {NULL};
