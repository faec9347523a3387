/* SPDX-License-Identifier: BSD-3-Clause */
/* Open MPI's Fortran, which calls PMPI_ at once, under each of its names (fortran_openmpi.c). Where one calls another
 * what is due is done twice, and the second time there is nothing left to do. */
#include "coll/foreign_fortran.h"

#define TT_FOREIGN(id, Name, ...)                                                                                      \
    TT_FOREIGN_ROUTINE(mpi_##id##_, __VA_ARGS__)                                                                       \
    TT_FOREIGN_ROUTINE(ompi_##id##_f, __VA_ARGS__)                                                                     \
    TT_FOREIGN_ROUTINE(mpi_##id##_f08_, __VA_ARGS__)
#include "coll/foreign.def"
