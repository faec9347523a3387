/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and end of the library's life in a process. */
#ifndef TT_INIT_H
#define TT_INIT_H

#include <stdbool.h>

/* May calls be taken? Reads the configuration if nobody has yet: MPI_Init may have been called past us (some Fortran
 * bindings do). */
bool tt_is_on(void);

/* The last session is about to be finalised, and with it, where MPI_Init was not called or MPI_Finalize has been, MPI.
 */
void tt_last_session_ends(void);

#endif
