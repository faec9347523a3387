/* SPDX-License-Identifier: BSD-3-Clause */
/* The links between ranks as closed forms see them, made from a topology once per communicator. */
#ifndef TT_NET_H
#define TT_NET_H

#include "selector/topo.h"

/* Of a settled topology, which must last as long. O(p log p). NULL if out of memory. */
struct tt_net *tt_net_make(const struct tt_topo *t);
void tt_net_free(struct tt_net *net);

#endif
