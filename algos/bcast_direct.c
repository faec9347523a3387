/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct bcast: the root sends each other rank a part of the vector, and keeps none; they pass their parts on to each
 * other, all at once. Two rounds whatever p is, and nobody sends or receives more than one vector: the choice where
 * every pair has a link of its own and messages are cheap. 2 alpha where messages to different ranks start together,
 * 2(p-1) alpha where they start one by one, + n beta + (p-2)/(p-1) n beta. */
#include "algos/levels.h"

/* Part i is for the i-th rank behind the root. */
static void scatter(struct tt_plan *p, int64_t n, int root)
{
    const int size = tt_size(p), others = size - 1;
    const bool at_root = tt_rank(p) == root;

    for (int i = 0; i < others; i++) {
        const int64_t at = tt_part_at(n, others, i), length = tt_part_at(n, others, i + 1) - at;
        const int rank = tt_mod(root + 1 + i, size);

        if (at_root)
            tt_send(p, rank, tt_at(RECV, at), length);
        else if (rank == tt_rank(p))
            tt_recv(p, root, tt_at(RECV, at), length);
    }
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    scatter(p, s->count, s->root);
    tt_fence(p);
    if (!tt_enter_others(p, s->root))
        return 0;
    tt_hand_out(p, tt_at(RECV, 0), s->count, tt_size(p), -1);
    tt_leave(p);
    return 0;
}

/* The root serves one after the other. If neighbours share a node, those on its own come first, and pass on through its
 * NIC while it still posts what goes through it: on average half of them; and the last node waits, but for what comes
 * to it. If not, ranks on all nodes pass on what they have while the last are served, if not their posting but the NIC
 * is what takes time. */
static double overlap(const struct tt_net *net, int root, double part, int others)
{
    const struct tt_fares *one = &net->one[net->node[root]];
    const double posting = others * net->overhead, spread = tt_smaller(one->crossing * posting, part * one->far.beta);
    const double turns = net->shift[0].crossing, idle = tt_smaller(posting / 2, part * net->all.far.beta - posting);
    const double sharing = one->crossing > 0 ? net->all.far.beta / one->far.beta : 0;
    const double elsewhere = net->across ? 1 - 1.0 / (net->across->size - 1) : 0;

    return (1 - turns) * sharing / 2 * spread * elsewhere - turns * tt_larger(idle, 0);
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const int others = net->size - 1, parts = s->count < others ? (int)s->count : others;
    const double part = parts > 0 ? tt_bytes(s, tt_cut(s->count, others, 1)) : 0;

    if (parts == 0)
        return 0;
    return tt_one_cost(net, s->root, part, parts) + tt_others_cost(net, part, others - 1) +
           (parts == others ? overlap(net, s->root, part, others) : 0);
}

TT_ALGORITHM(bcast, direct,
             .summary = "a part to each, who send them to each other: 2 rounds of p-1 messages, 2 n beta",
             .build = build, .cost = cost);
