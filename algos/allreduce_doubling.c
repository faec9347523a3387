/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling allreduce: partners exchange all they have and both add it up; what each rank's vector stands
 * for doubles each time. The fewest steps there are: the choice for short vectors. Neighbours are paired first and
 * the lower rank's operand stands to the left on both sides, so operands stay in rank order and every rank
 * computes the same expression. log2(p) (alpha + n beta + n gamma); if p is no power of two, folding (pieces.h)
 * adds 2 alpha + 2 n beta + n gamma. */
#include "algos/costs.h"

static void exchange(struct tt_plan *p, int64_t n)
{
    const int size = tt_size(p), rank = tt_rank(p);
    const struct tt_loc arrived = tt_tmp(p, size > 1 ? n : 0), result = tt_at(RECV, 0);

    for (int bit = 1; bit < size; bit *= 2) {
        const struct tt_loc own = tt_at(bit == 1 ? SEND : RECV, 0);

        tt_send(p, rank ^ bit, own, n);
        tt_recv(p, rank ^ bit, arrived, n);
        tt_fence(p);
        if (rank & bit)
            tt_reduce(p, result, arrived, own, n);
        else
            tt_reduce(p, result, own, arrived, n);
        tt_fence(p);
    }
    if (size == 1)
        tt_copy(p, result, tt_at(SEND, 0), n);
}

static int build(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_fold f = tt_fold(p, -1);
    const int error = tt_fold_reduce(p, &f, s->count, tt_at(RECV, 0));

    if (error)
        return error;
    if (f.stays) {
        exchange(p, s->count);
        tt_leave(p);
    }
    tt_unfold(p, &f, s->count);
    return 0;
}

static double cost(const struct tt_shape *s, const struct tt_net *net)
{
    const double n = tt_bytes(s, s->count);
    struct tt_ready t = tt_fold_cost(net, TT_HALVES_NEAR, n, n, tt_adds(net, n));

    for (int k = 0; 2 << k <= net->size; k++)
        tt_fold_step(&t, net, &net->folded[TT_HALVES_NEAR][k], (struct tt_sent){.n = n, .next = n}, true);
    return net->size == 1 ? tt_copies(net, n) : tt_unfold_cost(&t, net, n);
}

TT_ALGORITHM(allreduce, doubling,
             .summary = "partners exchange whole vectors: log2(p) (alpha + n beta + n gamma); fewest steps",
             .canonical = true, .build = build, .cost = cost);
