/* SPDX-License-Identifier: BSD-3-Clause */
/* Tutti's own MPI errors, and how user code is let run in the midst of a call. */
#ifndef TT_ERROR_H
#define TT_ERROR_H

#include <mpi.h>

/* Raises an error of Tutti's own class, "Tutti: what", through the communicator's error handler. Returns its code. */
int tt_raise(MPI_Comm comm, const char *what);

/* The same on every rank of comm at once: rank 0 alone logs it. */
int tt_raise_together(MPI_Comm comm, const char *what);

/* The same, but another rank logs it. */
int tt_raise_unsaid(MPI_Comm comm, const char *what);

/* Hands a code to the communicator's error handler. */
void tt_call_handler(MPI_Comm comm, int code);

/* Above 0: errors are logged, but no handler is called, since nobody is left whom they concern, or a handler that does
 * not come back would leave too much half-done. */
extern __thread int tt_unheard;

/* How deep this thread is inside Tutti: while it is, calls of MPI_ functions are not the user's. Lowered to 0 wherever
 * the user's code may run (error handlers, also those that the MPI below calls), so that its collectives are served
 * like on the other ranks, and so that a handler may leave by longjmp or an exception. */
extern __thread int tt_inside;

#endif
