/* SPDX-License-Identifier: BSD-3-Clause */
/* May a GPU's pointer be given to the MPI below? */
#ifndef TT_AWARE_H
#define TT_AWARE_H

#include <stdbool.h>

/* As TUTTI_MPI_CUDA says; for "probe", what a trial in a separate process showed, made once. Only this rank's copies
 * depend on it, never the wire: so ranks need not agree. */
bool tt_mpi_takes_device_memory(void);

/* The same without a trial: false also where it has not been tried yet. */
bool tt_mpi_known_to_take_device_memory(void);

#endif
