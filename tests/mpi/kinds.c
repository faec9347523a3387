/* SPDX-License-Identifier: BSD-3-Clause */
/* Types and ops of all shapes. Values are small, so that every order of adding and multiplying gives the same bits. */
#include "tests/mpi/cases.h"

#include <complex.h>

/* v is from -3 to 3. */
#define FILL(name, ctype, value)                                                                                       \
    static void fill_##name(void *at, size_t n, uint64_t key)                                                          \
    {                                                                                                                  \
        ctype *x = at;                                                                                                 \
                                                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint64_t r = test_random(key + i);                                                                   \
            const int v = (int)(r % 7) - 3;                                                                            \
                                                                                                                       \
            x[i] = value;                                                                                              \
        }                                                                                                              \
    }

struct double_int {
    double value;
    int index, padding;
};

/* Powers of two Gaussian primes: no product of theirs has a part that is zero, whose sign would depend on the order. */
static const double complex units[] = {2 + I, -2 - I, 3 + 2 * I, -3 - 2 * I};

FILL(char, signed char, (signed char)v)
FILL(short, unsigned short, (unsigned short)(r >> 20) + (unsigned short)v)
FILL(int, int, v)
FILL(float, float, (float)v)
FILL(double, double, v)
FILL(long_double, long double, v)
FILL(complex, double complex, units[r % 4] * (v < 0 ? -1 : 1))
FILL(double_int, struct double_int, ((struct double_int){v, (int)(r >> 40) & 0xff, (int)(r >> 50)}))

#define KIND(name_, op_name_, type_, op_, ctype, payload_, fill_)                                                      \
    {                                                                                                                  \
        .name = name_, .op_name = op_name_, .type = type_, .op = op_, .extent = sizeof(ctype), .span = sizeof(ctype),  \
        .payload = payload_, .fill = fill_                                                                             \
    }

const struct kind kinds[NKINDS] = {
    KIND("int", "sum", MPI_INT, MPI_SUM, int, sizeof(int), fill_int),
    KIND("double", "max", MPI_DOUBLE, MPI_MAX, double, sizeof(double), fill_double),
    KIND("float", "sum", MPI_FLOAT, MPI_SUM, float, sizeof(float), fill_float),
    KIND("double complex", "prod", MPI_C_DOUBLE_COMPLEX, MPI_PROD, double complex, sizeof(double complex),
         fill_complex),
    KIND("double int", "minloc", MPI_DOUBLE_INT, MPI_MINLOC, struct double_int, 12, fill_double_int),
    KIND("unsigned short", "bxor", MPI_UNSIGNED_SHORT, MPI_BXOR, unsigned short, sizeof(short), fill_short),
    KIND("signed char", "min", MPI_SIGNED_CHAR, MPI_MIN, signed char, 1, fill_char),
    KIND("long double", "sum", MPI_LONG_DOUBLE, MPI_SUM, long double, 10, fill_long_double),
};
