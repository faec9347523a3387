/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks send in a benchmark, and what must arrive: data whose result is exact in its type, whatever the order of
 * folding, so that a result is right to the last bit or wrong. Needs neither MPI nor memory of the results' size: all
 * of it repeats after a prime number of elements, which no block or segment is a multiple of. */
#ifndef TT_TOOLS_BENCH_DATA_H
#define TT_TOOLS_BENCH_DATA_H

#include "coll/plan.h"
#include "cuda/cells.h"

enum { TOOL_PERIOD = 8191 }; /* elements */

/* One rank's part in a collective. */
struct tool_part {
    enum tt_coll coll;
    enum tt_type type;
    enum tt_op op; /* of a reduction */
    int rank, size, root;
    bool inplace; /* MPI_IN_PLACE, where the standard has it for this rank */
};

struct tool_pattern {
    struct tool_part part;
    size_t unit;          /* bytes of an element */
    unsigned char *input; /* a period of what this rank sends, in its reductions; else what every rank takes its from */
    unsigned char *outcome; /* a period of what a reduction gives here */
};

/* 0, or -1: out of memory. */
int tool_pattern_make(struct tool_pattern *p, const struct tool_part *part);
void tool_pattern_free(struct tool_pattern *p);

/* n is the collective's count everywhere here: of the vector, or of a block. */

/* Elements that this rank sends, and those that it receives and that are to be checked; 0 where the arguments are not
 * significant. */
int64_t tool_pattern_sent(const struct tool_pattern *p, int64_t n);
int64_t tool_pattern_received(const struct tool_pattern *p, int64_t n);

/* Does this rank read its input from the receive buffer, where it is overwritten (in place), or from the one buffer of
 * a bcast? Then the input must be there, from element *at on. */
bool tool_pattern_in_receive_buffer(const struct tool_pattern *p, int64_t n, int64_t *at);

/* Elements [from, from + length) of what is sent, into out. */
void tool_pattern_fill(const struct tool_pattern *p, int64_t from, int64_t length, void *out);

/* How many of elements [from, from + length) of what is received are not as they must be; *first becomes the first
 * such, if it is -1. */
int64_t tool_pattern_wrong(const struct tool_pattern *p, int64_t n, int64_t from, int64_t length, const void *got,
                           int64_t *first);

/* Does MPI_IN_PLACE mean anything for this collective, at some rank? */
bool tool_has_in_place(enum tt_coll coll);

#endif
