/* SPDX-License-Identifier: BSD-3-Clause */
/* Playing a score on names in place of numbers: every element of every buffer knows which element of the whole it is and
 * whose contributions it holds, so that a drawing can say what a message carries and not only where it goes. Costs 16
 * bytes for each element of each rank, so it is for drawings, not for real sizes. */
#include "tools/score.h"

#include <errno.h>
#include <stdlib.h>

bool tt_score_in_pairs(const struct tt_shape *s)
{
    const unsigned traits = tt_coll_traits(s->coll);

    return traits & TT_SEND_BLOCKS && traits & TT_RECV_BLOCKS;
}

int64_t tt_score_whole(const struct tt_shape *s)
{
    int64_t n = 0;

    if (!(tt_coll_traits(s->coll) & (TT_SEND_BLOCKS | TT_RECV_BLOCKS)))
        return s->count;
    if (!tt_score_in_pairs(s))
        return tt_offset(s, s->size);
    for (int r = 0; r < s->size; r++)
        n += tt_whole_sent(s, r, s->size);
    return n;
}

void tt_score_pair(const struct tt_shape *s, int64_t what, int *from, int *to)
{
    int64_t end = 0;

    for (*from = 0; *from < s->size; ++*from)
        for (*to = 0; *to < s->size; ++*to) {
            end += tt_whole_block(s, *from, *to);
            if (what < end)
                return;
        }
}

/* The number, in the whole, of the first element that rank brings along. */
static int64_t first_brought(const struct tt_shape *s, int rank)
{
    const unsigned traits = tt_coll_traits(s->coll);
    int64_t n = 0;

    if (!(traits & TT_RECV_BLOCKS))
        return 0;
    if (!tt_score_in_pairs(s))
        return tt_offset(s, rank);
    for (int r = 0; r < rank; r++)
        n += tt_whole_sent(s, r, s->size);
    return n;
}

static int open_rank(struct tt_stage *stage, int rank)
{
    const struct tt_shape *s = &stage->score->shape;
    int64_t n;
    struct tt_loc loc = tt_whole_brought(s, rank, &n);

    for (int b = 0; b < TT_NBUFS; b++) {
        stage->length[rank][b] = b == TMP ? stage->score->plans[rank]->tmp : tt_whole_elements(s, rank, (enum tt_buf)b);
        stage->notes[rank][b] = calloc((size_t)stage->length[rank][b] + 1, sizeof(struct tt_note));
        if (!stage->notes[rank][b])
            return -1;
    }
    for (int64_t i = 0; i < n; i++)
        stage->notes[rank][loc.buf][loc.at + i] = (struct tt_note){UINT64_C(1) << rank, first_brought(s, rank) + i};
    return 0;
}

int tt_stage_open(struct tt_stage *stage, const struct tt_score *score)
{
    *stage = (struct tt_stage){.score = score};
    for (int r = 0; r < score->shape.size; r++)
        if (open_rank(stage, r)) {
            tt_stage_close(stage);
            errno = ENOMEM;
            return -1;
        }
    return 0;
}

void tt_stage_close(struct tt_stage *stage)
{
    for (int r = 0; r < stage->score->shape.size; r++)
        for (int b = 0; b < TT_NBUFS; b++)
            free(stage->notes[r][b]);
}

const struct tt_note *tt_stage_at(const struct tt_stage *stage, int rank, struct tt_loc loc)
{
    return &stage->notes[rank][loc.buf][loc.at];
}

static struct tt_note *place(struct tt_stage *stage, int rank, struct tt_loc loc)
{
    return &stage->notes[rank][loc.buf][loc.at];
}

void tt_stage_play(struct tt_stage *stage)
{
    const struct tt_event *e = &stage->score->events[stage->next++];
    const int target = e->recv ? e->step->peer : e->rank;
    struct tt_note *dst = place(stage, target, e->recv ? e->recv->dst : e->step->dst);
    const struct tt_note *a = tt_stage_at(stage, e->rank, e->step->a), *b = tt_stage_at(stage, e->rank, e->step->b);

    for (int64_t i = 0; i < e->step->n; i++)
        dst[i] = e->step->verb == TT_REDUCE ? (struct tt_note){a[i].who | b[i].who, a[i].what} : a[i];
}
