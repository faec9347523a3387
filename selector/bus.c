/* SPDX-License-Identifier: BSD-3-Clause */
/* (a p + b) / p on p ranks. The v-collectives count as those without a v. */
#include "selector/bus.h"

static const struct factor {
    int a, b;
} factors[TT_NCOLLS] = {[TT_COLL_allreduce] = {2, -2},
                        [TT_COLL_reduce] = {1, 0},
                        [TT_COLL_bcast] = {1, 0},
                        [TT_COLL_allgather] = {1, -1},
                        [TT_COLL_allgatherv] = {1, -1},
                        [TT_COLL_reduce_scatter] = {1, -1},
                        [TT_COLL_reduce_scatter_block] = {1, -1},
                        [TT_COLL_alltoall] = {1, -1},
                        [TT_COLL_alltoallv] = {1, -1},
                        [TT_COLL_alltoallw] = {1, -1},
                        [TT_COLL_gather] = {1, -1},
                        [TT_COLL_gatherv] = {1, -1},
                        [TT_COLL_scatter] = {1, -1},
                        [TT_COLL_scatterv] = {1, -1}};

double tt_bus_factor(enum tt_coll coll, int p)
{
    return factors[coll].a + (double)factors[coll].b / p;
}
