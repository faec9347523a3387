/* SPDX-License-Identifier: BSD-3-Clause */
/* The large-count twins of MPI-4, from the same rows. Built where the MPI has them. */
#include "coll/foreign_wrap.h"

#define N MPI_Count
#define D MPI_Aint
#define TT_FOREIGN(...)
#define TT_FOREIGN_LARGE(id, Name, who, made, ...) TT_WRAP_FOREIGN(Name, _c, who, made, __VA_ARGS__)
#define TT_FOREIGN_BUFFERS TT_FOREIGN_LARGE
#include "coll/foreign.def"
