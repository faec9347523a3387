/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has called: the program, not a layer of the MPI's between it and here. */
#ifndef TT_CALLER_H
#define TT_CALLER_H

/* Looks which layers there are, once. */
void tt_caller_open(void);

/* The address in the program that a call returns to, by the one that it returns to here. From below that call. */
const void *tt_caller_of(const void *caller);

#endif
