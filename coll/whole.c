/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole of a call, by the traits of its collective: what the standard says of buffers, once, for all who need
 * it. */
#include "coll/whole.h"

#include <errno.h>
#include <stdlib.h>

static bool has(const struct tt_shape *s, unsigned trait)
{
    return tt_coll_traits(s->coll) & trait;
}

bool tt_whole_in_place(const struct tt_shape *whole, int rank)
{
    return whole->inplace && (has(whole, TT_INPLACE_ALL) || (has(whole, TT_INPLACE_ROOT) && rank == whole->root));
}

int64_t tt_whole_block(const struct tt_shape *whole, int from, int to)
{
    return whole->counts ? whole->counts[from * whole->size + to] : whole->count;
}

int64_t tt_whole_sent(const struct tt_shape *whole, int rank, int end)
{
    int64_t n = 0;

    for (int to = 0; to < end; to++)
        n += tt_whole_block(whole, rank, to);
    return n;
}

int64_t tt_whole_received(const struct tt_shape *whole, int rank, int end)
{
    int64_t n = 0;

    for (int from = 0; from < end; from++)
        n += tt_whole_block(whole, from, rank);
    return n;
}

/* Of each rank's block, or of what comes from each rank, the length, into room. */
static const int64_t *list_counts(const struct tt_shape *whole, int rank, int64_t *room)
{
    const bool pairs = has(whole, TT_SEND_BLOCKS) && has(whole, TT_RECV_BLOCKS);

    for (int r = 0; r < whole->size; r++)
        room[r] = pairs ? tt_whole_block(whole, r, rank) : tt_block(whole, r);
    return room;
}

struct tt_shape tt_whole_part(const struct tt_shape *whole, int rank, int64_t *room)
{
    struct tt_shape own = *whole;
    const bool local = has(whole, TT_ROOTED);

    own.inplace = tt_whole_in_place(whole, rank);
    if (!has(whole, TT_SEND_COUNTS | TT_RECV_COUNTS))
        return own;
    own.counts = list_counts(whole, rank, room);
    own.count = local ? own.counts[rank] : 0;
    if (local && rank != whole->root)
        own.counts = NULL;
    if (whole->coll == TT_COLL_alltoallv && !own.inplace)
        own.sends = whole->counts ? whole->counts + rank * whole->size : room;
    return own;
}

struct tt_plan *tt_whole_plan(const struct tt_alg *alg, const struct tt_shape *whole, int rank)
{
    int64_t *room = malloc((size_t)whole->size * sizeof *room);
    struct tt_shape own;
    struct tt_plan *plan;
    int error;

    if (!room)
        return NULL;
    own = tt_whole_part(whole, rank, room);
    plan = tt_plan_build(alg, &own, rank);
    error = errno;
    free(room);
    errno = error;
    return plan;
}

/* Elements of a side that is not in place: its blocks, or its rank's own. */
static int64_t side_elements(const struct tt_shape *s, int rank, bool send)
{
    if (!has(s, send ? TT_SEND_BLOCKS : TT_RECV_BLOCKS))
        return tt_block(s, rank);
    if (!has(s, TT_SEND_BLOCKS) || !has(s, TT_RECV_BLOCKS))
        return tt_offset(s, s->size);
    return send ? tt_whole_sent(s, rank, s->size) : tt_whole_received(s, rank, s->size);
}

int64_t tt_whole_elements(const struct tt_shape *whole, int rank, enum tt_buf buf)
{
    const bool send = buf == SEND, root = rank == whole->root, inplace = tt_whole_in_place(whole, rank);
    const bool scatters = has(whole, TT_SEND_AT_ROOT);

    if (buf > RECV || has(whole, TT_NO_BUFFER) || (send && has(whole, TT_ONE_BUFFER)) || (inplace && send != scatters))
        return 0;
    if (!root && has(whole, send ? TT_SEND_AT_ROOT : TT_RECV_AT_ROOT))
        return 0;
    if (!send && !inplace && rank == 0 && has(whole, TT_RECV_NOT_FIRST))
        return 0;
    return side_elements(whole, rank, send || (inplace && has(whole, TT_REDUCES)));
}

struct tt_loc tt_whole_brought(const struct tt_shape *whole, int rank, int64_t *n)
{
    const bool own_block = has(whole, TT_RECV_BLOCKS) && !has(whole, TT_SEND_BLOCKS);

    *n = tt_whole_elements(whole, rank, SEND);
    if (!tt_whole_in_place(whole, rank) && !has(whole, TT_ONE_BUFFER))
        return tt_at(SEND, 0);
    if (has(whole, TT_SEND_AT_ROOT))
        return tt_at(SEND, 0);
    *n = own_block ? tt_block(whole, rank) : tt_whole_elements(whole, rank, RECV);
    if (has(whole, TT_ONE_BUFFER) && rank != whole->root)
        *n = 0;
    return tt_at(RECV, own_block ? tt_offset(whole, rank) : 0);
}
