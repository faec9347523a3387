/* SPDX-License-Identifier: BSD-3-Clause */
/* What Tutti must know of MPI's datatypes and ops. */
#ifndef TT_TYPES_H
#define TT_TYPES_H

#include <mpi.h>
#include <stdbool.h>

#include "cuda/cells.h"
#include "cuda/runs.h"

/* How one element lies in memory. Bytes. */
struct tt_layout {
    size_t size; /* of the data: MPI_Type_size */
    MPI_Aint extent;
    MPI_Aint true_lb, true_extent;
    bool plain; /* count elements are count * size bytes from the buffer's address on, in the order of the signature */
    const struct tt_runs *runs; /* its pieces; NULL if there was no memory. flat.h: who needs them, holds them */
};

/* Returns MPI_SUCCESS, or the error of the MPI below (not a datatype, or not committed). *lasting: the handle can never
 * come to mean another type, as a user's can once freed. A user's type is looked at once in its life; after that this
 * costs one look-up of an attribute. */
int tt_layout_of(MPI_Datatype type, struct tt_layout *layout, bool *lasting);

/* The cell for a predefined op on a predefined type (or one from tutti_type). NULL if there is none: *why then says it
 * in words. *ours: only Tutti knows the type, so that the MPI below cannot stand in. */
const struct tt_cell *tt_cell_of(MPI_Datatype type, MPI_Op op, const char **why, bool *ours);

/* May MPI_Reduce_local be trusted with an op on a type for which there is no cell? The user's ops go with any; others
 * must be legal. A fact that all ranks share. */
bool tt_op_is_applicable(MPI_Datatype type, MPI_Op op);

/* Frees what this file made; before MPI is finalised. Open: MPI goes on, or begins again. */
void tt_types_close(void);
void tt_types_open(void);

/* "MPI_FLOAT", "MPI_SUM", or "a derived type", "a user's op". */
const char *tt_mpi_type_name(MPI_Datatype type);
const char *tt_mpi_op_name(MPI_Op op);

/* The same of a predefined type, or NULL; *kin: equal for those that are represented alike, or 0. Cheap. */
const char *tt_mpi_type_kin(MPI_Datatype type, uint16_t *kin);

#endif
