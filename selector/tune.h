/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning, without the MPI: what is to be measured, when it has been measured well enough, what follows from it, and how
 * it is written down. Times come from a bench, which is the MPI program's (tools/mpi_tune.c) or a test's; so all that
 * is decided here can be tested with known costs and known noise. doc/tuning.md tells how and why. */
#ifndef TT_TUNE_H
#define TT_TUNE_H

#include <stdio.h>

#include "selector/topo.h"

enum { TT_MOST_CANDIDATES = 24, TT_MOST_SAMPLES = 99, TT_MOST_VISITS = 32 };

/* ---- tune_stats.c: figures ---- */

/* Of repeated measurements. */
struct tt_figure {
    double seconds; /* the median */
    double noise;   /* intervals of so much to both sides of two medians that do not overlap tell them apart, at 95 % */
    int n;          /* of measurements; 0: there is no figure */
};

/* Of n figures that were taken apart from each other: the middle one, and noise as they differ, or as each of them has
 * it, whichever is more. At most TT_MOST_VISITS. */
struct tt_figure tt_figure_middle(const struct tt_figure *of, int n);

/* Of n samples, which are left sorted. */
struct tt_figure tt_figure_of(double *samples, int n);

/* Is a less than b by more than the noise of both? */
bool tt_figure_below(const struct tt_figure *a, const struct tt_figure *b);

/* ---- tune_points.c: what is to be measured ---- */

/* A machine is not the same machine a minute later, so a size is visited several times, each time all candidates in
 * turn; what they are compared by is how many times the best of the same visit each took. NCCL is no measure for the
 * others, since not every call may have it. */
struct tt_candidate {
    const struct tt_alg *alg; /* NULL: what is chosen while nobody pins it */
    int64_t segment;          /* bytes; 0: it has none */
    bool below;      /* not by way of Tutti, as programs without it have the MPI: to be judged by, not to be chosen */
    double expected; /* seconds, by the cost model; 0: it does not say */
    struct tt_figure of[TT_MOST_VISITS]; /* visits; n = 0: it was out of it by then */
    struct tt_figure is;                 /* of all visits together; n: of all measurements */
    double times; /* the best of a visit, NCCL not counted, that it takes: the mean over visits; 0: no visits */
    bool out;     /* far behind whenever it was measured: it is measured no more */
};

/* One size of one collective, as rules count it: of the vector, or of a block. */
struct tt_point {
    enum tt_coll coll;
    int64_t bytes; /* 0 of a barrier */
    int n, visits;
    struct tt_candidate of[TT_MOST_CANDIDATES]; /* native first, NCCL, then as the model expects, the best first, then
                                                 those of which it says nothing */
    bool whole;                                 /* visited at least once, to the end */
};

struct tt_points {
    int n;
    struct tt_point *at;
};

/* Adds a copy of point; 0, or -1 where memory is out. */
int tt_points_add(struct tt_points *points, const struct tt_point *point);
struct tt_point *tt_points_find(const struct tt_points *points, enum tt_coll coll, int64_t bytes);
void tt_points_sort(struct tt_points *points); /* by collective and size */
void tt_points_free(struct tt_points *points);

/* The ranks, and what is asked for. */
struct tt_tuning {
    uint64_t colls;      /* bits 1 << enum tt_coll */
    int64_t least, most; /* bytes: the smallest size; and the largest vector, all blocks counted */
    double budget;       /* seconds */
    double factor;       /* our own are measured if the model expects no more than so many times the best */
    int size;            /* ranks */
    const struct tt_nodes *nodes;
    const struct tt_net *net;
    bool reproducible; /* as TUTTI_REPRODUCIBLE=1 */
    bool on_gpus;      /* all buffers are there: NCCL is a candidate */
    bool judge;        /* not to find rules, but to judge some: all algorithms, whatever the model expects */
};

/* Can it be tuned: has it a size that all ranks know, or none at all, and no need of neighbours? */
bool tt_tunable(enum tt_coll coll);

/* Bytes of an element: reductions are measured on 32-bit floats. */
int tt_tune_unit(enum tt_coll coll);

/* The k-th size of a collective, each twice the last, the largest being what `most` allows; -1 behind the last. */
int64_t tt_tune_size(const struct tt_tuning *t, enum tt_coll coll, int k);

/* Fills point with what is to be compared at that size. */
void tt_tune_candidates(const struct tt_tuning *t, enum tt_coll coll, int64_t bytes, struct tt_point *point);

/* ---- tune_visit.c: measuring one size ---- */

struct tt_bench {
    /* Seconds that one of so many calls takes: the slowest rank's mean. Negative: there is to be an end. INFINITY:
     * something else ran, since the candidate cannot serve such a call. */
    double (*measure)(struct tt_bench *bench, const struct tt_point *point, const struct tt_candidate *c, int calls);
    double (*now)(struct tt_bench *bench); /* seconds since it began */

    /* A visit is done; those left are expected to take so many seconds. */
    void (*tell)(struct tt_bench *bench, const struct tt_point *point, int done, int left, double seconds_left);

    /* May be NULL: other memory for the buffers, since pages and caches may suit one candidate by luck. false: there is
     * to be an end. */
    bool (*renew)(struct tt_bench *bench);
};

/* One visit: until it is clear who is the best and how good, or until `until`, by the bench's clock. Candidates that
 * cannot serve are taken out of the point. false: there is to be an end; then nothing has been measured. */
bool tt_tune_visit(struct tt_bench *bench, struct tt_point *point, double until);

/* After visits have been added: of all of them together, and who is out. */
void tt_point_sum_up(struct tt_point *point);

/* ---- tune_measure.c: measuring all of them ---- */

/* Measures all that is asked for and that points does not have yet: the sizes far apart first, then those between them,
 * then, where the choice changes, those between these. What is left of the budget goes into further visits of each.
 * Each visit is appended to journal, if that is not NULL, as soon as it is done. false: it was cut short, by the bench,
 * or by the budget before each size was visited once. */
bool tt_tune(struct tt_bench *bench, const struct tt_tuning *t, struct tt_points *points, FILE *journal);

/* Visits of all points in passes, until the budget is over, by the bench's clock, or each has had TT_MOST_VISITS.
 * false: as above. */
bool tt_tune_revisit(struct tt_bench *bench, double budget, struct tt_points *points);

/* ---- tune_choose.c: what follows ---- */

/* Which of a point's candidates is to be chosen: the one that lost least in all visits, unless native is as fast within
 * the noise. before: what is chosen for the next smaller size, or NULL: it stays, where nothing is lost by it. nccl:
 * may it be NCCL? NULL: there is none. */
const struct tt_candidate *tt_tune_choose(const struct tt_point *point, const struct tt_candidate *before, bool nccl);

bool tt_same_choice(const struct tt_candidate *a, const struct tt_candidate *b);

/* As tt_tune_choose, of the i-th of sorted points; where another than before is to be chosen, it is that of the next
 * larger size if nothing is lost by it: who wins at one size alone, by nothing, wins by luck, or on one of the machines
 * that this one is by turns. */
const struct tt_candidate *tt_tune_choose_at(const struct tt_points *points, int i, const struct tt_candidate *before,
                                             bool nccl);
const struct tt_candidate *tt_point_find(const struct tt_point *point, const struct tt_alg *alg, int64_t segment);
const struct tt_candidate *tt_point_native(const struct tt_point *point);
const struct tt_candidate *tt_point_below(const struct tt_point *point);
const struct tt_candidate *tt_point_best(const struct tt_point *point);

/* How many times what another candidate took this one takes: of visits that measured both, the mean. 0: there are none.
 */
double tt_point_ratio(const struct tt_point *point, const struct tt_candidate *c, const struct tt_candidate *other);

/* The figure of c at a smaller size, if c was slower there by more than the noise: the nearest such, or NULL. points
 * are sorted. */
const struct tt_point *tt_tune_slower_before(const struct tt_points *points, const struct tt_point *point,
                                             const struct tt_candidate *c);

/* ---- tune_text.c: on paper ---- */

/* The lines of a visit's figures: "#: allreduce 64K ring/16K 12.340 us +- 0.400 us, 9 times". */
void tt_figures_write(FILE *out, const struct tt_point *point, int visit);

/* Adds what there is of such lines, in a rules file or a journal, to points: what follows each other of one size is a
 * visit. 0, or -1 where memory is out. */
int tt_figures_read(FILE *in, struct tt_points *points);

/* Opens a journal to be appended to. If there is one with this first line, its points are read; else it begins anew.
 * NULL, with why filled. */
FILE *tt_journal_open(const char *file, const char *first_line, struct tt_points *points, char *why, size_t size);

/* A rules file: head (lines without their #), then for each collective the rules and, as remarks, what was measured.
 * Where NCCL is chosen the rule holds where all ranks are known to have their buffers on GPUs, and another says what is
 * chosen without it. points are sorted. Returns how many sizes are remarked to take less than a smaller one. */
int tt_tune_write_rules(FILE *out, const char *head, const struct tt_tuning *t, const struct tt_points *points);

#endif
