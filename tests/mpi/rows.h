/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives as the tests call them: a table made from the rows of collectives.def, so that a new row is tested
 * without another word. Every flavour that the MPI has: blocking, nonblocking, persistent (MPI-4), and the large-count
 * twin of each (MPI-4); what it has not is NULL. */
#ifndef ROWS_H
#define ROWS_H

#include "coll/call.h"

typedef int call_function(const struct tt_call *c);
typedef int request_function(const struct tt_call *c, MPI_Request *request); /* starts, or makes, what it is */

struct row {
    const char *id;
    unsigned traits;
    call_function *ours, *theirs, *large; /* theirs: of the MPI below; large: the _c twin of ours */
    struct requested {
        request_function *ours, *theirs, *large;
    } nonblocking, persistent;
};

enum { NROWS = TT_NCOLLS };
extern const struct row rows[NROWS];

const struct row *row_named(const char *id);

/* Arguments where every block has n elements of the type and lies behind the one before: counts, displacements and
 * types, as int or, wide, for the _c twin. All but the buffers' addresses, the op, MPI_SUM, and the root, 0, which may
 * be changed in what is returned; the arrays are good until the next call. */
struct tt_call row_call(const struct row *row, int n, MPI_Datatype type, MPI_Comm comm, bool wide);

#endif
