/* SPDX-License-Identifier: BSD-3-Clause */
/* Who has the program's calls before Tutti. */
#ifndef TT_FRONT_H
#define TT_FRONT_H

/* The file of a function of MPI's that a program finds in place of Tutti's of that name, or NULL. */
const char *tt_in_front(const char *function);

/* Warns of the first collective, if there is one, that another has before Tutti. */
void tt_point_out_front(void);

#endif
