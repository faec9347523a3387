/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's own pins: the info keys tutti_allreduce and so on, whose values are those of TUTTI_ALLREDUCE. And the
 * standard's mpi_assert_memory_alloc_kinds, which says where buffers will be: each rank for itself. */
#ifndef TT_HINTS_H
#define TT_HINTS_H

#include <mpi.h>

#include "selector/rules.h"

struct tt_hints;

/* What the keys of info say of comm from now on; those that it does not have stay as they are, and the value none takes
 * one back. Collective over comm, by polling. Every rank must give the same: if not, or if it is not understood,
 * nothing is changed, and every rank gets an error that names the key and the rank. Returns an MPI error code, after
 * comm's error handler has seen it. */
int tt_hints_set(MPI_Comm comm, MPI_Info info);

/* The pin of one collective; NULL if there is none. hints may be NULL. */
const struct tt_rules *tt_hints_pin(const struct tt_hints *hints, enum tt_coll coll);

/* Have all ranks asserted that all their buffers are in memory of GPUs? hints may be NULL. */
bool tt_hints_on_gpus(const struct tt_hints *hints);
void tt_hints_free(struct tt_hints *hints);

#endif
