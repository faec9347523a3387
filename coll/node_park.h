/* SPDX-License-Identifier: BSD-3-Clause */
/* How a rank sleeps until another one of the node has written to it. Each rank has a line in the memory that they
 * share, which says how many of its threads sleep. Whoever has raised a flag for that rank looks there, which costs him
 * two instructions as long as nobody sleeps, the line staying in his cache, and a system call if somebody does.
 *
 * Why no wake-up is lost. Who parks counts himself first and then looks again whether there is something for him;
 * who writes raises his flag first and then looks whether anybody sleeps. Each side stores and then loads another word:
 * the one order that neither x86 nor release and acquire keep, so that both might miss each other. A fence on both
 * sides would do, and would make each message dearer for the sake of waits that are rare. So the sleeper alone has
 * both made: membarrier(2) returns when every processor that runs a rank has passed a full fence. What a rank stored
 * before it, the sleeper sees when he then looks; a rank that looks after it sees that he sleeps; and there is no third
 * case, since a fence does not fall between a store that is not yet seen and a later load that is over. Between looking
 * and sleeping, the number of wakes tells the kernel whether somebody has meanwhile. tests/test_node_ring.c tries
 * all interleavings of both sides on a weak memory, and that wake-ups are lost there without that fence. */
#ifndef TT_NODE_PARK_H
#define TT_NODE_PARK_H

#include <stdbool.h>

#include "coll/node_flag.h"

/* A line of the shared memory, of zeros at first. */
struct tt_parking {
    tt_flag sleepers, wakes;
    char apart[64 - 2 * sizeof(tt_flag)];
};

/* Of a rank that nobody need wake. */
extern struct tt_parking tt_parking_of_nobody;

/* May this process sleep so, as far as the kernel is concerned? Once, before the first one does. */
bool tt_park_open(void);

/* By who is about to sleep: what he has to look at again for the last time comes after it. */
static inline uint32_t tt_park_enter(struct tt_parking *parking)
{
    const uint32_t wakes = tt_flag_read(&parking->wakes);

    tt_flag_count(&parking->sleepers, 1);
    tt_flag_fence_all();
    return wakes;
}

/* Then either this, which returns when somebody wakes him, or has since he entered, or after so long; or not. */
void tt_park_wait(struct tt_parking *parking, uint32_t wakes, long ns);

static inline void tt_park_leave(struct tt_parking *parking)
{
    tt_flag_count(&parking->sleepers, -1);
}

void tt_park_wake(struct tt_parking *parking);

/* By who has raised a flag for that rank. */
static inline void tt_unpark(struct tt_parking *parking)
{
    if (tt_flag_glance(&parking->sleepers))
        tt_park_wake(parking);
}

#endif
