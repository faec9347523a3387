/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the MPI below lets others take part in its own progress, what Tutti has under way moves on from inside every
 * call that waits, also those that Tutti does not see. One file per kind of MPI. */
#ifndef TT_HOOK_H
#define TT_HOOK_H

#include <stdbool.h>

/* Is there such a place? The same for all ranks, who share the MPI. */
extern const bool tt_hook_exists;

/* Not 0: this thread is not to be called from there, since it holds what those who are called may want. */
extern __thread int tt_hook_held;

/* Takes it, after MPI_Init. */
void tt_hook_install(void);

#endif
