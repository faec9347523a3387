/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and end of the library's life in a process. */
#ifndef TT_INIT_H
#define TT_INIT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "coll/config.h"

/* May calls be taken? Reads the configuration if nobody has yet: MPI_Init may have been called past us (some Fortran
 * bindings do). */
static inline bool tt_is_on(void);

extern atomic_bool tt_is_loaded; /* the configuration is read, and right */
bool tt_load(void);

static inline bool tt_is_on(void)
{
    return (atomic_load_explicit(&tt_is_loaded, memory_order_acquire) || tt_load()) && tt_config.enabled;
}

/* The last session is about to be finalised, and with it, where MPI_Init was not called or MPI_Finalize has been, MPI.
 */
void tt_last_session_ends(void);

#endif
