/* SPDX-License-Identifier: BSD-3-Clause */
/* What requests are of: for who listens (watch.h), to whom MPI_Wait says nothing but a handle. */
#ifndef TT_AWAITED_H
#define TT_AWAITED_H

#include "coll/p2p.h"
#include "coll/watch.h"

/* A request is made, of a message; or of a collective that the MPI below has. lasts: it may be started again. Costs a
 * branch where nobody listens. */
void tt_awaited_message(MPI_Request request, const struct tt_p2p *c, bool lasts);
void tt_awaited_collective(MPI_Request request, const struct tt_event *e);

/* Around a wait for n requests, for all of them or for any: who listens is told of the first that is not over, as far
 * as it is known. Returns s, or NULL where nobody listens; tt_unwatch_spot is due. */
struct tt_spot *tt_watch_wait(struct tt_spot *s, const char *name, int n, const MPI_Request *requests, bool all,
                              const void *caller);

/* While it lasts: looks again, once a beat, which that is by now. s may be NULL. */
void tt_watch_wait_on(struct tt_spot *s, int n, const MPI_Request *requests);

/* After a test in vain. */
void tt_watch_test(int n, const MPI_Request *requests, const void *caller);

#endif
