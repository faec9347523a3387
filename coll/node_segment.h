/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that ranks of one node share: a piece for each ordered pair of them. */
#ifndef TT_NODE_SEGMENT_H
#define TT_NODE_SEGMENT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct tt_segment {
    char *memory; /* all zero at first; NULL: this rank shares memory with nobody */
    size_t size;
    size_t pair;      /* bytes of a piece */
    MPI_Comm members; /* who shares it, the caller's to free; MPI_COMM_NULL if there is none */
};

/* Finds who of comm shares memory with this rank; collective over comm, whose ranks the MPI says are of one node. why, of
 * so many bytes: empty, or what was in the way on this rank, which then shares with some of comm only or with nobody. */
struct tt_segment tt_segment_open(MPI_Comm comm, char *why, size_t size);
void tt_segment_close(struct tt_segment *s);

/* What rank from of n members writes to rank to. */
void *tt_segment_piece(const struct tt_segment *s, int n, int from, int to);

/* The line of a rank. */
void *tt_segment_line(const struct tt_segment *s, int rank);

#endif
