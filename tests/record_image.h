/* SPDX-License-Identifier: BSD-3-Clause */
/* Record files made by hand, of any size and layout, for the tests of who reads them. */
#ifndef RECORD_IMAGE_H
#define RECORD_IMAGE_H

#include "tools/record_read.h"

/* A job's rank that has made so many calls of MPI_Allreduce of 100 MPI_FLOAT on MPI_COMM_WORLD, one each millisecond,
 * and left `left` of them; its process is on no host that there is. room: for so many lines. */
struct record *image_rank(int rank, int size, int calls, int left, int room);

/* Appends a name; a line of a call on MPI_COMM_WORLD, to be changed by the caller. */
uint16_t image_name(struct record *r, const char *text, uint16_t kin);
struct tt_record_line *image_line(struct record *r);

/* How the fields lie in their structs. */
enum image_layout { IMAGE_AS_NOW, IMAGE_BACKWARDS };

/* The file of a record; its lines are a ring of nlines. Freed by the caller. */
char *image_of(const struct record *r, enum image_layout layout, size_t *bytes);

/* What is read from the file of a record, which is freed. */
struct record *image_read(struct record *r, enum image_layout layout);

#endif
