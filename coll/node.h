/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranks of MPI_COMM_WORLD that share memory with this one, and the channels to them. */
#ifndef TT_NODE_H
#define TT_NODE_H

#include <mpi.h>

#include "coll/wire.h"

/* In MPI_Init, after the settings are known to be equal. Collective over MPI_COMM_WORLD. Which ranks share memory is found
 * by trying, and each two of them know it alike; where it cannot be had, they stay far from each other. */
void tt_node_open(void);

/* After the memory's places are closed, which may have pinned what is shared. */
void tt_node_close(void);

/* Is any rank of MPI_COMM_WORLD near any other? All know it alike. */
bool tt_node_is_used(void);

/* After that: where ranks that the MPI says are of one node do not share memory, but some do, the lowest rank of those
 * that this one shares it with, or this one; else -1. */
int tt_node_leader(void);

/* The channels to the ranks of comm, all of this MPI_COMM_WORLD, of which there are so many: NULL if none of them is near
 * this one. 0, or ENOMEM. */
int tt_node_channels(MPI_Comm comm, int size, struct tt_channel ***channels);

/* Around whatever is done with channels. Does nothing where one thread at a time calls MPI. */
void tt_node_lock(void);
void tt_node_unlock(void);
bool tt_node_locks(void); /* do they? */

/* For who has waited for long: looks whether all that are near are still alive. Messages of one that is not will not come,
 * and are over. */
void tt_node_look_after(void);

/* Sleeps for so many nanoseconds at most, unless done(what) already; and, if messages of near ranks wake it, until one of
 * them has come or made room. Returns what done() said last. */
bool tt_node_sleep(bool (*done)(void *), void *what, long ns);
bool tt_node_wakes(void); /* do they? */

/* Flights over the channels. */
extern const struct tt_wire tt_wire_node;

#endif
