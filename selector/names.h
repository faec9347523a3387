/* SPDX-License-Identifier: BSD-3-Clause */
/* What to say of a name that nobody knows: the one that was probably meant, and all that there are. */
#ifndef TT_NAMES_H
#define TT_NAMES_H

#include "algos/algos.h"

enum { TT_MAX_NAMES = 64 };

/* Names to choose from; those of tt_names_add are kept by address, once each. */
struct tt_names {
    int n;
    const char *name[TT_MAX_NAMES];
};
void tt_names_add(struct tt_names *names, const char *name);
void tt_names_add_algorithms(struct tt_names *names, enum tt_coll coll);

/* The one that needs the fewest letters changed to become name; NULL if none is like it. */
const char *tt_names_nearest(const struct tt_names *names, const char *name, size_t length);

/* "rnig is not WHAT (did you mean ring?): there are bruck, ring", into why. */
void tt_names_refuse(const struct tt_names *names, const char *name, size_t length, const char *what, char *why,
                     size_t size);

/* Prints a piece of somebody's text, at most 40 bytes of it, with what is not printable as '?'. */
char *tt_print_piece(char *out, size_t size, const char *text, size_t length);

#endif
