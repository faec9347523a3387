/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of collectives from a struct tt_call, in each form: as a program's, which Tutti meets if it is there, or past
 * it to the MPI below. */
#ifndef TT_TOOLS_MPI_CALLS_H
#define TT_TOOLS_MPI_CALLS_H

#include "coll/call.h"
#include "tools/form.h"

/* One way to the MPI. */
struct tool_calls {
    int (*call)(const struct tt_call *c);
    int (*start)(const struct tt_call *c, MPI_Request *request);
};
extern const struct tool_calls tool_calls[TT_NCOLLS], tool_calls_below[TT_NCOLLS];

typedef int tool_init(const struct tt_call *c, MPI_Request *request);
extern tool_init *const tool_inits[TT_NCOLLS], *const tool_inits_below[TT_NCOLLS]; /* NULL: the MPI has none */

#endif
