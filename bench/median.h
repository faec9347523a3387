/* SPDX-License-Identifier: BSD-3-Clause */
/* The middle of n measurements; sorts them. */
#ifndef TT_MEDIAN_H
#define TT_MEDIAN_H

#include <stdlib.h>

static inline int median_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof *values, median_order);
    return values[n / 2];
}

#endif
