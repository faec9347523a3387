/* SPDX-License-Identifier: BSD-3-Clause */
/* Binomial scatter: the root sends each child the blocks of its whole subtree in one message, and so on down. The root
 * has log2(p) messages to send instead of p-1: the choice for short blocks. The tree is rooted at the root, so
 * subtrees are contiguous but for the one that wraps from the last rank to the first: the root sends that one in
 * two messages, each straight from its place. ceil(log2 p) alpha + (p-1)/p n beta, where n is all blocks together. */
#include "algos/costs.h"

#include <stdlib.h>

/* At the root, the blocks of child's subtree, straight from SEND, where rank 0 of the scope has block `root`. */
static void send_from_root(struct tt_plan *p, const struct tt_shape *s, int child)
{
    const int size = tt_size(p), first = tt_mod(s->root + child, size), blocks = tt_subtree(child, size);
    const int before = tt_unwrapped(p, s->root, child);

    tt_send(p, child, tt_at(SEND, first * s->count), before * s->count);
    tt_send(p, child, tt_at(SEND, 0), (blocks - before) * s->count);
}

/* At a child of the root: the same pieces. */
static void recv_from_root(struct tt_plan *p, const struct tt_shape *s, struct tt_loc to)
{
    const int blocks = tt_subtree(tt_rank(p), tt_size(p)), before = tt_unwrapped(p, s->root, tt_rank(p));

    tt_recv(p, 0, to, before * s->count);
    tt_recv(p, 0, tt_plus(to, before * s->count), (blocks - before) * s->count);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    struct tt_loc blocks = tt_at(RECV, 0);
    int rank, subtree, parent;

    tt_enter_rotated(p, s->root);
    rank = tt_rank(p);
    subtree = tt_subtree(rank, tt_size(p));
    parent = rank & (rank - 1);
    if (rank == 0)
        blocks = tt_at(SEND, s->root * s->count);
    else if (subtree > 1)
        blocks = tt_tmp(p, subtree * s->count);
    if (rank > 0 && parent == 0)
        recv_from_root(p, s, blocks);
    else if (rank > 0)
        tt_recv(p, parent, blocks, subtree * s->count);
    tt_fence(p);
    for (int step = tt_pow2_below(tt_size(p)); step > 0; step /= 2) {
        if (step < subtree && rank == 0)
            send_from_root(p, s, step);
        else if (step < subtree)
            tt_send(p, rank + step, tt_plus(blocks, step * s->count), tt_subtree(rank + step, tt_size(p)) * s->count);
    }
    tt_copy(p, tt_at(RECV, 0), blocks, s->count);
    tt_leave(p);
    return 0;
}

static bool is_far(const struct tt_fares *f)
{
    return f->far.alpha > 0 || f->far.beta > 0;
}

/* How many of the messages of step k share a link: they start when their senders are served, which is the later the
 * deeper in the tree they are. Of 2^m senders, the most that are equally deep are m over m/2. */
static double shared(const struct tt_net *net, int k, double beta, double alone)
{
    double part = 1;

    for (int i = 1; i < tt_steps(net->size) - k; i += 2)
        part *= i / (i + 1.0);
    return tt_larger(beta * part, alone);
}

/* So many of the last steps cross the network, while the ones before them do not: then a node's messages across are one
 * behind the other, see below. 0: it is otherwise. */
static int steps_across(const struct tt_net *net)
{
    const int steps = tt_steps(net->size);
    int far = 0;

    while (far < steps && is_far(&net->tree[far]))
        far++;
    for (int k = far; k < steps; k++)
        if (is_far(&net->tree[k]))
            return 0;
    return far < steps ? far : 0;
}

/* Ranks behind child k of who has the blocks of so many. */
static int behind(int ranks, int top, int k)
{
    return k < top ? 1 << k : ranks - (1 << top);
}

/* Since a rank that has so many ranks' blocks has them, when its child k has its own: what it sends through one port
 * shares that until the shorter are over. */
static double served(const struct tt_net *net, int ranks, double n, int k, bool by_itself)
{
    const int top = tt_steps(ranks) - 1, mine = behind(ranks, top, k);
    const bool far = is_far(&net->tree[k]);
    const struct tt_fare *f = far ? &net->tree[k].far : &net->tree[k].near;
    const struct tt_fare *alone = far ? &net->alone.far : &net->alone.near;
    const double beta = by_itself ? alone->beta : shared(net, k, f->beta, alone->beta);
    double blocks = 0;

    for (int j = 0; j <= top; j++)
        if (far == is_far(&net->tree[j]))
            blocks += tt_smaller(behind(ranks, top, j), mine);
    return (top - k + 1) * net->overhead + f->alpha + blocks * n * beta;
}

/* How long it takes a rank with the blocks of so many ranks to see them all to their own; full[k]: with those of 2^k,
 * last: for its last child. */
static double hand_down(const struct tt_net *net, int ranks, double n, const double *full, double last, int across)
{
    const int top = tt_steps(ranks) - 1;
    double t = tt_copies(net, n);

    for (int k = 0; k <= top; k++)
        t = tt_larger(t, served(net, ranks, n, k, k < across && ranks >= 1 << across) + (k < top ? full[k] : last));
    return t;
}

/* When ranks of the root's node begin to send across at the earliest, and how many blocks: who has so many ranks'
 * blocks, and all that are served within the node by it. Of more than there is room for, the first stand for all. */
struct sender {
    double at, blocks;
};
struct senders {
    int n;
    struct sender of[256];
};

static void find_senders(struct senders *s, const struct tt_net *net, int ranks, double n, int across, double at)
{
    const int top = tt_steps(ranks) - 1;

    if (ranks > 1 && s->n < (int)(sizeof s->of / sizeof *s->of))
        s->of[s->n++] = (struct sender){at, tt_smaller(ranks, 1 << across) - 1};
    for (int k = top; k >= across; k--)
        find_senders(s, net, behind(ranks, top, k), n, across, at + served(net, ranks, n, k, true));
}

static int last_first(const void *a, const void *b)
{
    const struct sender *x = a, *y = b;

    return (x->at < y->at) - (x->at > y->at);
}

/* A node's NIC is done when it has carried all that it is given from some time on, whichever time that is (Lindley's
 * recursion for a queue); so many senders share it as do in the last step. */
static double nic_done(const struct tt_net *net, double n, int across)
{
    const struct tt_fare *f = &net->tree[across - 1].far;
    struct senders s = {.n = 0};
    double t = 0, blocks = 0;

    find_senders(&s, net, net->size, n, across, 0);
    qsort(s.of, (size_t)s.n, sizeof *s.of, last_first);
    for (int i = 0; i < s.n; i++) {
        blocks += s.of[i].blocks;
        t = tt_larger(t, s.of[i].at + blocks * n * f->beta / s.n);
    }
    return t + f->alpha + net->overhead;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);
    const int across = steps_across(net);
    double full[TT_MAX_BITS] = {0}, t = 0;

    if (net->size == 1)
        return tt_copies(net, n);
    for (int k = 1; 1 << k < net->size; k++)
        full[k] = hand_down(net, 1 << k, n, full, full[k - 1], across);
    for (int bit = 1, ranks = 0; bit <= net->size; bit *= 2) /* the subtrees that the last ranks are in, from within */
        if (net->size & bit) {
            ranks += bit;
            t = ranks == bit ? (bit < net->size ? full[tt_steps(bit)]
                                                : hand_down(net, bit, n, full, full[tt_steps(bit) - 1], across))
                             : hand_down(net, ranks, n, full, t, across);
        }
    t = tt_larger(t, across && n > 0 ? nic_done(net, n, across) + (across > 1 ? full[across - 1] : 0) : 0);
    return tt_larger(t, tt_takes(net, &net->subtrees, n));
}

TT_ALGORITHM(scatter, binomial, .summary = "subtrees get their blocks together: ceil(log2 p) alpha + (p-1)/p n beta",
             .build = build, .cost = cost);
