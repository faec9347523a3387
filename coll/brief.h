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

enum { TT_BRIEF_ROOM = 16 << 10 };

/* A plan made ready for that, once: what the executor works out anew is in it, in one block, to be freed. NULL: it is
 * not such a plan, or there is no memory. The plan and the routes have to stay. */
struct tt_brief *tt_brief_make(const struct tt_plan *plan, const struct tt_routes *routes);

/* One execution. */
struct tt_breath {
    const struct tt_brief *brief;
    char *base[TT_NBUFS]; /* where SEND, RECV and TMP, which is room, begin: all of it the host's */
    const struct tt_cell *cell;
    unsigned slot;
    unsigned glances; /* at a message that is not there, before the executor is to wait for it */
    bool is_timed;    /* moved is wanted */
    uint64_t moved;   /* tt_ticks() when the first of another rank's that had to be waited for came; 0: none */
    _Alignas(64) char room[TT_BRIEF_ROOM];
};

/* All but moved and room is set. True: all is done. False: it is to go on as a request that is resumed, from there. */
bool tt_breath_take(struct tt_breath *b, int *from, struct tt_headway *done);

#endif
