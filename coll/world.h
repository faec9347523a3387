/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicators that a process has without having made any, in each of MPI's two models: what MPI_Init brings, and
 * sessions (MPI-4), with which there may be no MPI_COMM_WORLD, nor MPI_COMM_SELF, at all. */
#ifndef TT_WORLD_H
#define TT_WORLD_H

#include <mpi.h>
#include <stdbool.h>

/* MPI_COMM_WORLD; or, in a process that has but sessions, a communicator of this rank alone: all others are from
 * elsewhere then. */
MPI_Comm tt_world(void);

/* A communicator of this rank alone, whose errors are returned: for what needs a communicator and no other rank. */
MPI_Comm tt_quiet_self(void);

/* Gives up what the above made, before MPI is finalised; they may be asked for again. */
void tt_world_close(void);

/* MPI_Finalize has been: there is no MPI_COMM_WORLD any more. */
void tt_world_gone(void);

/* Has the program sessions that are open? */
bool tt_has_sessions(void);

/* A communicator of this rank alone, made in a session of Tutti's own; MPI_COMM_NULL if there is none to be had. */
MPI_Comm tt_session_self(void);

/* Ends that session, if there is one; what was made in it has been freed. */
void tt_session_close(void);

#endif
