/* SPDX-License-Identifier: BSD-3-Clause */
/* The MPI below, as a row like any other: falling back is a choice in the table, not a second path. */
#include "algos/algos.h"

TT_ALGORITHM(any, native, .summary = "whatever the MPI library below does", .delegate = TT_TO_MPI);
