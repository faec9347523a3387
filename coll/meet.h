/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting, by polling, until others are here too. What follows may then wait inside the MPI below without keeping
 * anybody from anything: those it waits for are in the same call, and wait no more for what only this rank's polling
 * would move on. */
#ifndef TT_MEET_H
#define TT_MEET_H

#include <mpi.h>

/* In MPI_Init, after the settings have been compared. Collective over MPI_COMM_WORLD. */
void tt_meet_open(void);

/* All ranks of comm, of both sides if there are two. */
void tt_meet(MPI_Comm comm);

/* All members of group, this rank among them, that are of this rank's MPI_COMM_WORLD. Meetings of other tags are told
 * apart; where two threads' are not, one may end early. */
void tt_meet_group(MPI_Group group, int tag);

/* The local groups of MPI_Intercomm_create, from its arguments. */
void tt_meet_across(MPI_Comm local, int leader, MPI_Comm peers, int remote_leader, int tag);

#endif
