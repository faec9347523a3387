/* SPDX-License-Identifier: BSD-3-Clause */
/* The collectives as the tests call them: a table made from the rows of collectives.def, so that a new row is tested
 * without another word. Included once by a program. */
#ifndef ROWS_H
#define ROWS_H

#include "coll/call.h"

typedef int call_function(const struct tt_call *c);

#define N int
#define D int
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    static int ours_##id(const struct tt_call *c)                                                                      \
    {                                                                                                                  \
        return MPI_##Name args;                                                                                        \
    }                                                                                                                  \
    static int theirs_##id(const struct tt_call *c)                                                                    \
    {                                                                                                                  \
        return PMPI_##Name args;                                                                                       \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#undef N
#undef D

#if MPI_VERSION >= 4
#define N MPI_Count
#define D MPI_Aint
#define TT_COLLECTIVE_PLAIN(id, Name, family, traits, params, fill, args) enum { no_large_##id };
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    static int large_##id(const struct tt_call *c)                                                                     \
    {                                                                                                                  \
        return MPI_##Name##_c args;                                                                                    \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#undef N
#undef D
#define LARGE(id) large_##id
#else
#define LARGE(id) NULL
#endif

static const struct row {
    const char *id;
    unsigned traits;
    call_function *ours, *theirs, *large; /* large: the _c twin, or NULL */
} rows[] = {
#define TT_COLLECTIVE_PLAIN(id_, Name, family, traits_, params, fill, args)                                            \
    {.id = #id_, .traits = traits_, .ours = ours_##id_, .theirs = theirs_##id_},
#define TT_COLLECTIVE(id_, Name, family, traits_, params, fill, args)                                                  \
    {.id = #id_, .traits = traits_, .ours = ours_##id_, .theirs = theirs_##id_, .large = LARGE(id_)},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};
enum { NROWS = sizeof rows / sizeof *rows };

/* Rows whose arguments the older programs do not know how to make. */
static inline bool row_apart(const struct row *row)
{
    return row->traits & (TT_NEIGHBOURS | TT_SEND_COUNTS | TT_RECV_COUNTS | TT_RECV_NOT_FIRST);
}

#endif
