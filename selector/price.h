/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan costs, without running it: the plans of all ranks against a topology, in virtual time.
 *
 * A message starts when both ends have posted it, takes alpha of its level, and then flows. All that flows at a time
 * shares ports (ports.h) in the max-min fair way: nobody could go faster without making slower one who is no faster. A
 * sender spends overhead on one message after another before each is posted, whichever lane it is of. Copies and
 * reductions of a rank are done one at a time, in the order in which they are posted. Lanes and rounds are the
 * executor's: all steps of a round are posted at once, and the next round when all of them are over. */
#ifndef TT_PRICE_H
#define TT_PRICE_H

#include "coll/plan.h"
#include "selector/topo.h"

/* Seconds until the last rank is done; each: of every rank, or NULL. plans: one per rank of the topology, which is
 * settled. Negative with errno: ENOMEM, or EPROTO where plans do not fit each other. */
double tt_price_plans(const struct tt_topo *t, struct tt_plan *const *plans, double *each);

/* The same of a whole call (whole.h); errno as of tt_plan_build, too. */
double tt_price_call(const struct tt_topo *t, const struct tt_alg *alg, const struct tt_shape *whole, double *each);

#endif
