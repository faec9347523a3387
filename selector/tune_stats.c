/* SPDX-License-Identifier: BSD-3-Clause */
/* Medians, because a few measurements are always spoilt by somebody else, and notches about them: 1.57 times the
 * distance between the quartiles over the root of n (McGill, Tukey and Larsen, 1978): it supposes no distribution in
 * the tails, where the spoilt ones are. Of fewer than three nothing is known, so that they are taken for as bad as can
 * be. */
#include "selector/tune.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Of sorted samples, between two of them in proportion. */
static double quantile(const double *sorted, int n, double q)
{
    const double at = q * (n - 1);
    const int below = (int)at;

    return below + 1 < n ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]) : sorted[n - 1];
}

struct tt_figure tt_figure_of(double *samples, int n)
{
    struct tt_figure f = {.n = n};

    if (n == 0)
        return f;
    qsort(samples, (size_t)n, sizeof *samples, by_value);
    f.seconds = quantile(samples, n, 0.5);
    f.noise = n < 3 ? f.seconds : 1.57 * (quantile(samples, n, 0.75) - quantile(samples, n, 0.25)) / sqrt(n);
    return f;
}

/* Two that differ are as uncertain as they are apart; more of them have quartiles. */
static double apart(const double *sorted, int n)
{
    return n < 3 ? (sorted[n - 1] - sorted[0]) / 2
                 : 1.57 * (quantile(sorted, n, 0.75) - quantile(sorted, n, 0.25)) / sqrt(n);
}

struct tt_figure tt_figure_middle(const struct tt_figure *of, int n)
{
    double medians[TT_MOST_VISITS], noise = 0;
    struct tt_figure f = {0};

    for (int i = 0; i < n; i++) {
        medians[i] = of[i].seconds;
        noise += of[i].noise / n;
        f.n += of[i].n;
    }
    if (n == 0)
        return f;
    qsort(medians, (size_t)n, sizeof *medians, by_value);
    f.seconds = quantile(medians, n, 0.5);
    f.noise = fmax(noise / sqrt(n), apart(medians, n));
    return f;
}

bool tt_figure_below(const struct tt_figure *a, const struct tt_figure *b)
{
    return a->seconds + a->noise < b->seconds - b->noise;
}
