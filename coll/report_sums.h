/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of a report and its words. Without MPI: what is counted where is coll/report.c's. */
#ifndef TT_REPORT_SUMS_H
#define TT_REPORT_SUMS_H

#include <stdio.h>

#include "algos/algos.h"

enum tt_part {
#define TT_PART(id, words, help) TT_PART_##id,
#include "coll/report.def"
#undef TT_PART
    TT_NPARTS
};

/* Messages of a collective by their size: of the vector, or of a block, as everywhere. */
enum { TT_NSIZES = 8 };
int tt_size_class(int64_t bytes);
char *tt_size_class_print(char *text, size_t size, int class); /* "16K-256K" */

/* What is summed up of the calls of a class; all are doubles, so that they can be reduced as one vector. Seconds,
 * bytes. */
struct tt_sums {
    double calls, bytes; /* as stated */
    double moved;        /* of all blocks */
    double imbalance, exposed, overlapped, setup;
    double bound; /* what the model expects of the best it knows */
};

/* One call on one rank: instants, of one clock, in nanoseconds. */
struct tt_call_times {
    int64_t entered, begun, left;
    int64_t blocked, freed; /* from when to when the rank did nothing else: of a blocking call, all the time */
    int64_t last;           /* when the last of those it had to wait for had entered */
    int64_t setup;          /* how long what precedes `begun` was set-up */
};
void tt_sums_add(struct tt_sums *s, const struct tt_call_times *t);

/* Of one rank. */
struct tt_rank_sums {
    double seconds; /* from MPI_Init to MPI_Finalize */
    double part[TT_NPARTS];
    double overlapped, calls;
    char host[32];
};

/* Of a job. */
struct tt_report {
    int ranks;
    bool gpus, simulated; /* each rank has a GPU; of its own kind */
    bool aligned;         /* arrivals could be compared: else there is no imbalance */
    double clock_error;   /* seconds that a node's clock may be wrong by */
    struct tt_rank_sums *rank;
    struct tt_sums sums[TT_NCOLLS][TT_NSIZES]; /* over all ranks */
    struct tt_sums most[TT_NCOLLS][TT_NSIZES]; /* the most of any rank */
};

/* Means over the ranks. */
struct tt_rank_sums tt_report_mean(const struct tt_report *r);

void tt_report_print(FILE *out, const struct tt_report *r);
void tt_report_write(FILE *out, const struct tt_report *r); /* as JSON */

#endif
