/* SPDX-License-Identifier: BSD-3-Clause */
/* What Tutti keeps with a communicator: cached as an attribute, so that it goes when the communicator goes. */
#ifndef TT_COMM_H
#define TT_COMM_H

#include <mpi.h>

#include "coll/cache.h"
#include "coll/wire.h"

struct tt_comm {
    MPI_Comm wire_comm; /* private: no wildcard of the user's can match our messages. MPI_COMM_NULL if the MPI had no
                           context left for it (all ranks see that alike), or there is but one rank */
    int rank, size;
    bool inter;        /* an intercommunicator */
    bool usable;       /* own algorithms may run */
    unsigned sequence; /* of calls carried out by plans */
    const struct tt_wire *wire;
    struct tt_cache cache;
    int64_t *counts;       /* room for the counts of one v-collective, size of them */
    struct tt_memo *memos; /* the last call of each collective, TT_NCOLLS of them (job.h); made at first use */
};

/* comm's state, made on first use: so only inside a blocking collective call on comm, or MPI_Init. Sets *state; or
 * returns MPI_ERR_NO_MEM, this rank having done its part in what is collective about it; or another MPI error code:
 * comm is no communicator. */
int tt_comm_of(MPI_Comm comm, struct tt_comm **state);

/* Compares the settings that must be equal on all ranks of comm. Collective. MPI_SUCCESS, or an error code after this
 * rank has said on standard error what differs. */
int tt_comm_agree(MPI_Comm comm);

#endif
