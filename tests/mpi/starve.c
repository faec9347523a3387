/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/mpi/starve.h"

#include <stddef.h>

__thread bool test_starved;

void *__libc_calloc(size_t n, size_t size);

/* The program's own, which takes the place of the C library's for all. */
__attribute__((visibility("default"))) void *calloc(size_t n, size_t size)
{
    if (!test_starved)
        return __libc_calloc(n, size);
    test_starved = false;
    return NULL;
}
