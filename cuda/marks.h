/* SPDX-License-Identifier: BSD-3-Clause */
/* How far a queue has come: marks between pieces of its work. Known to this room only; dev.h has it as a place's mark
 * and reached. All functions are called with the place's lock held and its context entered. */
#ifndef TT_CUDA_MARKS_H
#define TT_CUDA_MARKS_H

#include <stdint.h>

#include "cuda/driver.h"

enum { TT_MARKS = 16 };

struct tt_marks {
    CUevent events[TT_MARKS]; /* mark m is at m % TT_MARKS, made when first needed */
    uint64_t made, reached;   /* the last that was, 0 being none */
};

/* Behind all that the stream has been given. */
int tt_mark(struct tt_marks *marks, const struct tt_driver *driver, CUstream stream, uint64_t *mark);

/* 1: all before it is done; 0: not yet; -1: failed, with tt_fault() set. */
int tt_mark_reached(struct tt_marks *marks, const struct tt_driver *driver, uint64_t mark);

/* The context is alive. */
void tt_marks_close(struct tt_marks *marks, const struct tt_driver *driver);

#endif
