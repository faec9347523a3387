/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank without memory. */
#ifndef TESTS_STARVE_H
#define TESTS_STARVE_H

#include <stdbool.h>

extern __thread bool test_starved; /* of the next block that this thread asks for */

#endif
