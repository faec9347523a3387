/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks in words: whoever names several, in an error or in a finding, does so by this. */
#ifndef TT_RANKS_H
#define TT_RANKS_H

#include <stddef.h>

/* "rank 3", "ranks 0-30,32-63": those of n that are in the group `which`; as many ranges as there is room for, then
 * "...", and how many there are. Returns text. */
char *tt_ranks_print(char *text, size_t size, const signed char *group, int n, signed char which);

#endif
