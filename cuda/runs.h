/* SPDX-License-Identifier: BSD-3-Clause */
/* Data with gaps: the pieces of an element, as strided runs of bytes, in the order in which they are packed. A vector,
 * a column of a matrix or a plane of a box is one run; whatever else MPI can describe is several. The kernels read the
 * same structs as the host, so this header is in the common subset of C and CUDA C++. All numbers are 64 bits wide: a
 * count may be beyond 2^31, and so may a stride. */
#ifndef TT_RUNS_H
#define TT_RUNS_H

#include <stdbool.h>
#include <stdint.h>

/* n rows of `length` bytes, `stride` apart, the first `at` bytes from the element's address. Length and n are positive;
 * the other two may be anything. */
struct tt_run {
    int64_t at, length, n, stride;
    int64_t before; /* packed bytes of the element before this run */
};

/* One element. */
struct tt_runs {
    const struct tt_run *run;
    int64_t nruns;
    int64_t size;      /* packed bytes: those of all runs */
    int64_t extent;    /* from one element to the next */
    int64_t low, high; /* the bytes of all runs lie in [low, high); both 0 if there are none */
    uint64_t bits;     /* of all numbers of all runs that an address is made of, in one: their common alignment */
    uint64_t id;       /* of these runs and of no others, ever: they may be kept by it. 0: not to be kept */
};

/* Fills in before, size, low, high and bits. run may be changed until then. */
void tt_runs_sum(struct tt_runs *runs, struct tt_run *run);

/* A list that grows, for who makes runs. Zeros are an empty one. */
struct tt_run_list {
    struct tt_run *run;
    int64_t n, room;
};

/* Adds a run behind the others, or to the last one, if the two make one. 0, or -1 if there is no memory. */
int tt_run_list_add(struct tt_run_list *l, const struct tt_run *r);
void tt_run_list_end(struct tt_run_list *l);

/* count elements seen as one, if they are one strided run: then true, and *one is it. */
bool tt_runs_join(const struct tt_runs *runs, int64_t count, struct tt_run *one);

/* Are count elements one piece of count * size bytes in memory? It begins *at bytes from the first. Nothing at all is
 * such a piece. */
bool tt_runs_solid(const struct tt_runs *runs, int64_t count, int64_t *at);

/* The bytes that count elements touch lie in [*low, *high), seen from the first. */
void tt_runs_span(const struct tt_runs *runs, int64_t count, int64_t *low, int64_t *high);

/* On the host's memory. */
void tt_runs_pack(const struct tt_runs *runs, int64_t count, const void *spread, void *packed);
void tt_runs_unpack(const struct tt_runs *runs, int64_t count, void *spread, const void *packed);

#endif
