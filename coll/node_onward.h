/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes is sent on as it is kept, while the cache has it, instead of being read again when its turn is: for
 * node_channel.c alone. */
#ifndef TT_NODE_ONWARD_H
#define TT_NODE_ONWARD_H

#include "coll/node_channel.h"

/* These bytes of a record have come for f by c. If they are all of its message, and that which is to go onward can
 * leave at once, in one record, both is done. A message goes as a whole or not at all, so that none that has begun
 * waits for another. How long the bytes take to read is not seen then; if c's writer waits to hear it, one in a few
 * stays. */
bool tt_onward_keep(struct tt_channel *c, struct tt_flight *f, const struct tt_record *r, char *bytes);

#endif
