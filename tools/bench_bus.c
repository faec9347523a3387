/* SPDX-License-Identifier: BSD-3-Clause */
/* Bandwidths as nccl-tests publishes them (its doc/PERFORMANCE.md): the algorithm's is bytes over time, the bytes being
 * those of all blocks; the bus's is that times what each rank must at least send or receive of them, so that it can be
 * held against a link whatever the collective and the number of ranks. */
#include "selector/bus.h"
#include "tools/bench.h"

double tool_bus_factor(enum tt_coll coll, int ranks)
{
    return tt_bus_factor(coll, ranks);
}

int64_t tool_whole_bytes(enum tt_coll coll, int ranks, int64_t bytes)
{
    return tool_in_blocks(coll) ? bytes * ranks : bytes;
}

/* Bare cores move none of the bytes. */
double tool_algbw(const struct tool_results *r, const struct tool_row *row)
{
    return row->median > 0 && row->path != TOOL_BARE
               ? (double)tool_whole_bytes(row->coll, r->ranks, row->bytes) / row->median
               : 0;
}

double tool_busbw(const struct tool_results *r, const struct tool_row *row)
{
    return tool_algbw(r, row) * tool_bus_factor(row->coll, r->ranks);
}

double tool_overlap(const struct tool_row *row)
{
    const double hidden = row->overall > 0 ? 100 - 100 * (row->overall - row->compute) / row->median : 0;

    return hidden < 0 ? 0 : hidden;
}
