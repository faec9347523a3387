/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic that the formulas have in common. Bytes are double: nothing overflows, and halves are halves. */
#ifndef TT_COSTS_H
#define TT_COSTS_H

#include "algos/pieces.h"

/* A message of n bytes, all of its pattern being under way: alpha + n beta of who takes longest, with the sender's
 * overhead. Nothing for no bytes, as no message is sent then. */
static inline double tt_takes(const struct tt_net *net, const struct tt_fares *f, double n)
{
    const double near = f->near.alpha + n * f->near.beta, far = f->far.alpha + n * f->far.beta;

    return n > 0 ? net->overhead + (near > far ? near : far) : 0;
}

/* To reduce n bytes, two operands into one; to copy them. */
static inline double tt_adds(const struct tt_net *net, double n)
{
    return n > 0 ? net->launch + n * net->gamma : 0;
}

static inline double tt_copies(const struct tt_net *net, double n)
{
    return n > 0 ? net->launch + n * net->copy : 0;
}

/* ceil(log2 p) */
static inline int tt_steps(int p)
{
    int steps = 0;

    while (1 << steps < p)
        steps++;
    return steps;
}

#endif
