/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting by polling. */
#ifndef TT_PAUSE_H
#define TT_PAUSE_H

#include <stdbool.h>

/* Once it is known whether ranks outnumber the cores of this node. */
void tt_wait_open(bool crowded);

/* Polls something that was not yet true until it is. Between polls the core is given to others if that is how TUTTI_WAIT
 * has it, or if it has taken long; and what the MPI below has under way moves on, too. */
void tt_wait(bool (*done)(void *), void *what);

/* How often who waits in one breath looks for a message again: never, where others are to run at once. */
unsigned tt_wait_glances(void);

/* By who does not wait here: the MPI below moves on now and then. */
void tt_wait_in_passing(void);

/* By who has asked in vain whether something is over, and may ask for ever: ranks are looked after now and then. */
void tt_wait_in_vain(void);

/* While the thread of TUTTI_PROGRESS runs: is any thread of this process in there? Then what is under way is polled as fast
 * as can be. */
bool tt_is_waiting(void);

#endif
