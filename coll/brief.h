/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan of few short messages within a node, carried out in one breath: each message is written to its ring, or taken
 * from there, where the plan's step stands. There are no flights, no request, no task; nothing is looked for twice.
 * What passes between ranks is what the executor sends, so that the others need not do likewise; and where a message is
 * not there in time, has no room, or is not what is due, the executor goes on from that very place (tt_req_resume),
 * which waits, fails and mends as ever. */
#ifndef TT_BRIEF_H
#define TT_BRIEF_H

#include <stdint.h>

#include "coll/exec.h"

enum { TT_BRIEF_ROOM = 8 << 10 };

struct tt_brief {
    const struct tt_plan *plan;
    struct tt_binding with; /* all of it the host's; TMP is to be room */
    int from;               /* the round that is under way begins there, */
    struct tt_headway done; /* and so much of it is done */
    unsigned glances;       /* at a message that is not there, before the executor is to wait for it */
    unsigned waits;         /* messages that were not there at the first */
    uint64_t moved; /* not 0: to be set to tt_ticks() when the first of these came; who does not ask has it so */
    _Alignas(64) char room[TT_BRIEF_ROOM];
};

/* Could it be carried out so, on these routes, if it is bound to the host? */
bool tt_brief_suits(const struct tt_plan *plan, const struct tt_routes *routes);

/* All but room is set. True: all is done. False: from and done say how much. */
bool tt_brief_run(struct tt_brief *b);

#endif
