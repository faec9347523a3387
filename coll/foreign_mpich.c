/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH's mpi_f08, as far as it calls PMPI_ at once; where it has a buffer it calls C's functions, as does the rest of
 * MPICH's Fortran. */
#include "coll/foreign_fortran.h"

#define TT_FOREIGN(id, Name, ...) TT_FOREIGN_ROUTINE(mpi_##id##_f08_, __VA_ARGS__)
#define TT_FOREIGN_LARGE(id, Name, ...)                                                                                \
    TT_FOREIGN_ROUTINE(mpi_##id##_f08_, __VA_ARGS__)                                                                   \
    TT_FOREIGN_ROUTINE(mpi_##id##_f08_large_, __VA_ARGS__)
#define TT_FOREIGN_BUFFERS(...)
#include "coll/foreign.def"
