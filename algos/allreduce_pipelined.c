/* SPDX-License-Identifier: BSD-3-Clause */
/* Pipelined direct allreduce: allreduce_direct.c for one segment of the vector after the other, so that the sums of one
 * are sent while the next one is handed in: in round j each rank sends its part of the sums of segment j - 1 to all
 * others, and their parts of segment j to each of them, and reduces what it is sent of its own. What is in work at a
 * time stays in the caches, and the wire and the adding are busy together: the choice for very long vectors of a few
 * ranks with links of their own. With m = n / segment: (m + 1) 2 (p-1) alpha where messages to different ranks start
 * one by one, + 2(p-1)/p n beta + (p-1)/p n gamma. */
#include "algos/levels.h"

/* Two segments or more, as one is what direct does; but a plan of too many messages would be longer than it is good
 * for. */
static int64_t segment_of(const struct tt_shape *s, int size)
{
    enum { MOST = 256 };
    const int64_t most = size > MOST / 2 ? 2 : MOST / (size - 1);
    const int64_t longest = (s->count + 1) / 2, shortest = s->count / most + (s->count % most > 0);
    const int64_t segment = s->segment < longest ? s->segment : longest;

    return segment > shortest ? segment : shortest;
}

/* Messages: the sums of the segment before, and what ranks reduce of the one that begins there, if any does. */
static void round_at(struct tt_plan *p, int64_t count, int64_t segment, int64_t at, struct tt_loc arrived)
{
    const int64_t before = at - segment, left = count - at;
    struct tt_operands o;

    if (at > 0)
        tt_hand_out(p, tt_at(RECV, before), left > 0 ? segment : count - before, tt_size(p), -1);
    if (left > 0)
        o = tt_hand_in(p, tt_at(SEND, at), left < segment ? left : segment, tt_size(p), -1, arrived);
    tt_fence(p);
    if (left > 0)
        tt_fold_operands(p, &o, tt_at(RECV, o.own.at));
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p);
    const int64_t segment = size > 1 ? segment_of(s, size) : 0;
    const struct tt_loc arrived = tt_tmp(p, size > 1 ? (size - 1) * tt_part_most(segment, size) : 0);

    if (size == 1)
        tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    for (int64_t at = 0; segment > 0 && at < s->count + segment; at += segment)
        round_at(p, s->count, segment, at, arrived);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int others = net->size - 1;
    const int64_t segment = others > 0 ? segment_of(s, net->size) : 0;
    const int first = segment < others ? (int)segment : others;
    double part, both, more;

    if (segment == 0)
        return tt_copies(net, tt_bytes(s, s->count));
    part = tt_bytes(s, tt_cut(segment, net->size, 1));
    both = part * (first + others) / others;
    more = (double)s->count / (double)segment - 1;
    return tt_everybody_cost(net, part, first) + more * tt_everybody_cost(net, both, first + others) +
           tt_everybody_cost(net, part, others) + (more + 1) * others * tt_adds(net, part);
}

TT_ALGORITHM(allreduce, pipelined,
             .summary = "direct, segment by segment, sums of one on the way with the next: 2(p-1)/p n beta",
             .canonical = true, .segmented = true, .build = build, .cost = cost);
