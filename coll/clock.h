/* SPDX-License-Identifier: BSD-3-Clause */
/* How far apart the nodes' clocks are. */
#ifndef TT_CLOCK_H
#define TT_CLOCK_H

#include <stdint.h>

/* What to add to this rank's CLOCK_MONOTONIC for rank 0's of MPI_COMM_WORLD, right to within error_ns: half the
 * shortest round trip on the way to rank 0, summed over the hops; 0 on rank 0's node. error_ns is -1 where it was not
 * measured, since MPI_COMM_WORLD has no private communicator. */
struct tt_clock_offset {
    int64_t ns, error_ns;
    int64_t when; /* CLOCK_MONOTONIC here, when it was measured */
};

/* Collective over MPI_COMM_WORLD: log2 of its size steps, of ten small messages between ranks of two nodes, one on the
 * same node. */
struct tt_clock_offset tt_clock_align(void);

#endif
