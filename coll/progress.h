/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread of TUTTI_PROGRESS=thread. */
#ifndef TT_PROGRESS_H
#define TT_PROGRESS_H

#include <stdbool.h>

/* Starts it, once the MPI has been initialised with MPI_THREAD_MULTIPLE; says so if it cannot. */
void tt_progress_thread_start(void);

/* Ends it, if it runs; before MPI is finalised. */
void tt_progress_thread_stop(void);

/* Does it run? */
bool tt_progress_thread_runs(void);

/* There is something under way, or nobody waits any more: the thread is called, if it sleeps. */
void tt_progress_thread_call(void);

/* Somebody begins to wait, where the thread runs. */
void tt_progress_thread_note_wait(void);

/* tt_progress, from a call that waits for nothing; not where the thread runs: the program has better to do than to copy
 * bytes. */
void tt_progress_in_passing(void);

#endif
