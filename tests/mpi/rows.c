/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rows.h: functions for each row and flavour, and plain arguments for any of them. */
#include <config.h>
#include <mpi.h>
#include TT_PERSISTENT_HEADER

#include "tests/mpi/rows.h"

#include <string.h>

#define UNPACK(...) __VA_ARGS__

/* ---- what every MPI has ---- */

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
    }                                                                                                                  \
    static int start_##id(const struct tt_call *c, MPI_Request *request)                                               \
    {                                                                                                                  \
        return MPI_I##id(UNPACK args, request);                                                                        \
    }                                                                                                                  \
    static int their_start_##id(const struct tt_call *c, MPI_Request *request)                                         \
    {                                                                                                                  \
        return PMPI_I##id(UNPACK args, request);                                                                       \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE

/* ---- what MPI-4 has, and some that are none ---- */

#if TT_HAVE_PERSISTENT
#define TT_COLLECTIVE(id, Name, family, traits, params, fill, args)                                                    \
    static int init_##id(const struct tt_call *c, MPI_Request *request)                                                \
    {                                                                                                                  \
        return TT_INIT_NAME(, Name, )(UNPACK args, MPI_INFO_NULL, request);                                                 \
    }                                                                                                                  \
    static int their_init_##id(const struct tt_call *c, MPI_Request *request)                                          \
    {                                                                                                                  \
        return TT_INIT_NAME(P, Name, )(UNPACK args, MPI_INFO_NULL, request);                                                \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#define IF_PERSISTENT(name) name
#else
#define IF_PERSISTENT(name) NULL
#endif
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
    }                                                                                                                  \
    static int large_start_##id(const struct tt_call *c, MPI_Request *request)                                         \
    {                                                                                                                  \
        return MPI_I##id##_c(UNPACK args, request);                                                                    \
    }                                                                                                                  \
    static int large_init_##id(const struct tt_call *c, MPI_Request *request)                                          \
    {                                                                                                                  \
        return MPI_##Name##_init_c(UNPACK args, MPI_INFO_NULL, request);                                               \
    }
#include "coll/collectives.def"
#undef TT_COLLECTIVE
#define OF_MPI_4(name) name
#else
#define OF_MPI_4(name) NULL
#endif
#undef N
#undef D

/* ---- the table ---- */

#define REQUESTED(start, their_start, large_start)                                                                     \
    {                                                                                                                  \
        .ours = start, .theirs = their_start, .large = large_start                                                     \
    }

const struct row rows[NROWS] = {
#define TT_COLLECTIVE_PLAIN(id_, Name, family, traits_, params, fill, args)                                            \
    {.id = #id_,                                                                                                       \
     .traits = traits_,                                                                                                \
     .ours = ours_##id_,                                                                                               \
     .theirs = theirs_##id_,                                                                                           \
     .nonblocking = REQUESTED(start_##id_, their_start_##id_, NULL),                                                   \
     .persistent = REQUESTED(IF_PERSISTENT(init_##id_), IF_PERSISTENT(their_init_##id_), NULL)},
#define TT_COLLECTIVE(id_, Name, family, traits_, params, fill, args)                                                  \
    {.id = #id_,                                                                                                       \
     .traits = traits_,                                                                                                \
     .ours = ours_##id_,                                                                                               \
     .theirs = theirs_##id_,                                                                                           \
     .large = OF_MPI_4(large_##id_),                                                                                   \
     .nonblocking = REQUESTED(start_##id_, their_start_##id_, OF_MPI_4(large_start_##id_)),                            \
     .persistent = REQUESTED(IF_PERSISTENT(init_##id_), IF_PERSISTENT(their_init_##id_), OF_MPI_4(large_init_##id_))},
#include "coll/collectives.def"
#undef TT_COLLECTIVE
};

const struct row *row_named(const char *id)
{
    int r = 0;

    while (strcmp(rows[r].id, id) != 0)
        r++;
    return &rows[r];
}

/* ---- plain arguments ---- */

enum { MAX_BLOCKS = 64 };

static __thread struct arrays {
    int counts[MAX_BLOCKS], displs[MAX_BLOCKS];
    MPI_Count wide_counts[MAX_BLOCKS];
    MPI_Aint wide_displs[MAX_BLOCKS];
    MPI_Datatype types[MAX_BLOCKS];
} arrays;

static void fill_arrays(int n, MPI_Datatype type, MPI_Aint stride)
{
    for (int i = 0; i < MAX_BLOCKS; i++) {
        arrays.wide_counts[i] = arrays.counts[i] = n;
        arrays.wide_displs[i] = i * stride;
        arrays.displs[i] = (int)(i * stride);
        arrays.types[i] = type;
    }
}

struct tt_call row_call(const struct row *row, int n, MPI_Datatype type, MPI_Comm comm, bool wide)
{
    struct tt_call c = {.wide = wide, .op = MPI_SUM, .comm = comm};
    const void *counts = wide ? (const void *)arrays.wide_counts : arrays.counts;
    const void *displs =
        wide || row->traits & TT_WIDE_DISPLS ? (const void *)arrays.wide_displs : (const void *)arrays.displs;
    MPI_Aint lb, extent = 0;

    if (row->traits & TT_TYPES)
        PMPI_Type_get_extent(type, &lb, &extent);
    fill_arrays(n, type, row->traits & TT_TYPES ? n * extent : n);
    c.send.count = c.recv.count = n;
    c.send.type = c.recv.type = type;
    c.send.counts = c.recv.counts = counts;
    c.send.displs = c.recv.displs = displs;
    c.send.types = c.recv.types = arrays.types;
    return c;
}
