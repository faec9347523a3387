/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti scaling: runs of one program on several numbers of ranks, held against the smallest. */
#ifndef TT_TOOLS_SCALING_H
#define TT_TOOLS_SCALING_H

#include <stdbool.h>
#include <stddef.h>

enum tool_part {
#define TT_PART(id, words, help) TOOL_PART_##id,
#include "coll/report.def"
#undef TT_PART
    TOOL_NPARTS
};

/* One run. What is not known is 0. */
struct tool_run {
    const char *name; /* the file, or what was given by hand */
    int ranks;
    double rate;              /* work in a second, in a unit that is the same for all runs; of a report, 1 / seconds */
    double problem;           /* how much work it was, in any such unit: given by hand only */
    double seconds;           /* of a report, as all below: from MPI_Init to MPI_Finalize */
    double part[TOOL_NPARTS]; /* seconds of a rank, on the average */
    double calls;             /* collectives of a rank, on the average */
    bool simulated;
};

/* "32:2600", or "32:2600:1024": ranks, throughput, problem. False: the word does not look like that. */
bool tool_run_parse(const char *word, struct tool_run *run);

/* A file that TUTTI_REPORT wrote. 0, or -1 with why filled. */
int tool_run_read(const char *file, struct tool_run *run, char *why, size_t size);

/* Of b against a, which has fewer ranks. */
double tool_run_speedup(const struct tool_run *a, const struct tool_run *b); /* rate over rate */
double tool_run_efficiency(const struct tool_run *a,
                           const struct tool_run *b); /* that, over the ratio of ranks: 1 is ideal */

/* The part of a's work that would have to be indivisible for b to be as slow as it is, if nothing else were wrong (Karp
 * and Flatt, Communications of the ACM 33(5), 1990). */
double tool_run_serial(const struct tool_run *a, const struct tool_run *b);

enum tool_problem {
    TOOL_SAME,    /* as far as is known: the figures of strong scaling mean what they say */
    TOOL_GREW,    /* in step with the ranks: those of weak scaling do */
    TOOL_CHANGED, /* otherwise: neither */
};
/* Did the global problem change? By what was given by hand; else by the time that all ranks together computed. */
enum tool_problem tool_run_problem(const struct tool_run *a, const struct tool_run *b);

#endif
