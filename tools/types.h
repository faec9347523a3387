/* SPDX-License-Identifier: BSD-3-Clause */
/* The types and ops of reductions by the names people give them, without an MPI at hand. */
#ifndef TT_TOOLS_TYPES_H
#define TT_TOOLS_TYPES_H

#include <stdio.h>

#include "cuda/cells.h"

/* By the row's id (f32), by its C type (float), or by an everyday name (int, long, half); TT_NTYPES if there is none.
 */
enum tt_type tool_type_find(const char *name);
enum tt_op tool_op_find(const char *name); /* sum, max, ...; TT_NOPS if there is none */

/* Is an element longer than the data in it, so that what is moved leaves bytes as they were? */
bool tool_type_padded(enum tt_type type);

void tool_print_types(FILE *out);
void tool_print_ops(FILE *out);

#endif
