/* SPDX-License-Identifier: BSD-3-Clause */
/* Direct allgather: each rank sends its block to all others at once. One round whatever p is: the choice where every
 * pair has a link of its own and messages are cheap, as between GPUs of one node. Each starts with the next rank
 * up, so that the senders do not all fall upon one receiver. alpha where messages to different
 * ranks start together, (p-1) alpha where they start one by one, + (p-1)/p n beta; n is all blocks together. */
#include "algos/costs.h"

int tt_allgather_direct(struct tt_plan *p, const struct tt_shape *s)
{
    const int size = tt_size(p), rank = tt_rank(p);

    tt_copy(p, tt_at(RECV, tt_offset(s, rank)), tt_at(SEND, 0), tt_block(s, rank));
    for (int k = 1; k < size; k++) {
        const int to = tt_mod(rank + k, size), from = tt_mod(rank - k, size);

        tt_send(p, to, tt_at(SEND, 0), tt_block(s, rank));
        tt_recv(p, from, tt_at(RECV, tt_offset(s, from)), tt_block(s, from));
    }
    return 0;
}

static double port(const struct tt_net *net, const struct tt_fare *all, double n, int messages)
{
    const struct tt_fare one = {all->alpha, all->beta / messages};

    return all->alpha + all->beta > 0 ? tt_posted(&one, n, messages, messages * net->overhead) : 0;
}

/* Where neighbours share a node, those are sent to first. Of so long NICs wait as much as there are nodes to wait for:
 * with a single other node, the ranks next to it keep both busy. */
double tt_everybody_cost(const struct tt_net *net, double n, int messages)
{
    const struct tt_fare *far = &net->all.far;
    const double near = (1 - net->all.crossing) * messages,
                 elsewhere = net->across ? 1 - 1.0 / (net->across->size - 1) : 0;
    const double first = (1 - net->shift[0].crossing) * near * elsewhere;

    if (n == 0 || net->size == 1)
        return 0;
    return tt_larger(tt_larger(port(net, &net->all.near, n, messages), port(net, far, n, messages)),
                     far->beta > 0 ? far->alpha + n * far->beta + first * net->overhead : 0);
}

double tt_one_cost(const struct tt_net *net, int root, double n, int messages)
{
    const struct tt_fares *f = &net->one[net->node[root]];

    return n > 0 ? tt_larger(port(net, &f->near, n, messages), port(net, &f->far, n, messages)) : 0;
}

double tt_others_cost(const struct tt_net *net, double n, int messages)
{
    const double p = net->size, alone = (p - 1) * net->alone.near.beta;
    const bool shared = net->all.near.beta > 1.2 * alone; /* by all messages */

    return messages > 0 ? tt_everybody_cost(net, n * (p - 2) / (shared ? p : p - 1), messages) : 0;
}

double tt_allgather_direct_cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_block_bytes(s);

    return tt_larger(tt_copies(net, n), tt_everybody_cost(net, n, net->size - 1));
}

TT_ALGORITHM(allgather, direct,
             .summary = "each sends its block to all at once: one round of p-1 messages, (p-1)/p n beta",
             .build = tt_allgather_direct, .cost = tt_allgather_direct_cost);
