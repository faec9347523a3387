/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of `tutti bench` share that need no MPI: its command line, and its results, which are told as tables,
 * JSON and pictures, of this run or of a file. */
#ifndef TT_TOOLS_BENCH_H
#define TT_TOOLS_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/form.h"
#include "tools/mpi_memory.h"
#include "tools/tools.h"
#include "tools/types.h"

extern const char *const tool_where_names[TOOL_NWHERES]; /* "host", "device", "managed" */
extern const char *const tool_form_names[TOOL_NFORMS];   /* "blocking", "nonblocking", "persistent" */

enum { TOOL_FEWEST_CALLS = 3 }; /* of which figures are told */

enum tool_format { TOOL_TABLE, TOOL_OSU, TOOL_NCCL_TESTS, TOOL_NFORMATS };

/* ---- bench_arguments.c ---- */

struct tool_bench_arguments {
    uint64_t colls;         /* bits 1 << enum tt_coll */
    const char *algorithms; /* "native,ring"; NULL: all */
    int64_t least, most;    /* bytes, of the vector or of a block */
    bool least_given, most_given;
    int factor; /* from a size to the next */
    const char *type_name, *op_name;
    enum tt_type type;
    enum tt_op op;
    int root;
    bool inplace, where_given, plain, progress, overlap, bare;
    enum tool_where where;
    enum tool_form form;
    double time;       /* seconds of measuring for each path and size, */
    int calls, warmup; /* and calls: at least so many; and as many before them */
    double skew;       /* seconds; 0: none */
    int late;          /* who is late, -1: all, each by a random part of it */
    enum tool_format format;
    const char *json, *plot; /* a file or "-"; NULL: none */
    const char *from;        /* the results of an earlier run instead of a run */
    bool compare;
    const char *files[2];
    int nfiles;
};

/* Parses the command line, or exits. */
void tool_bench_parse(int argc, char **argv, struct tool_bench_arguments *a);

/* Is path (as its name or its algorithm's) among those of --algorithms? */
bool tool_bench_wants(const struct tool_bench_arguments *a, const char *name);

/* ---- results ---- */

enum tool_path { TOOL_NATIVE, TOOL_OWN, TOOL_NCCL, TOOL_CHOICE, TOOL_THREAD, TOOL_FREE, TOOL_BARE, TOOL_NPATHS };
extern const char *const tool_path_names[TOOL_NPATHS]; /* "native", "own", "nccl", "chosen", "thread", "free", "bare" */

/* Seconds. A call counts with the time of the rank that took longest; the figures are over the calls, but for those of
 * means, which are over ranks. */
struct tool_row {
    enum tt_coll coll;
    int64_t bytes; /* of the vector, or of a block */
    enum tool_path path;
    char algorithm[64], why[160];
    int calls;
    double first; /* the first call, with all that it sets up */
    double least, median, p99, noise;
    double mean, mean_least, mean_most;
    double overall, compute; /* of a nonblocking call with work meanwhile, and of the work; else 0 */
    double kept;   /* the share of that work which got done in its time: the rest of the core went to messages */
    double times;  /* what was chosen: how many times the fastest of the others, pass by pass; 0: it is not known */
    int64_t wrong; /* elements */
};

struct tool_results {
    char host[64], gpu[256], memory_words[64], mpi[128], date[32], tutti[32], skew[64];
    int nodes, ranks, cores, gpus, driver, nccl; /* gpus: of a node; driver, nccl: as they count, 0: none */
    bool simulated, inplace, stopped;
    enum tool_where where;
    enum tool_form form;
    char type[32], op[32];
    enum tt_type type_is;
    int root;
    double memory_rate; /* bytes a second that all ranks read and write together when they copy; 0: not known */
    int n, room;
    struct tool_row *rows;
};

/* Adds a row; out of memory ends the program. */
struct tool_row *tool_results_add(struct tool_results *r, const struct tool_row *row);
void tool_results_free(struct tool_results *r);

/* ---- bench_bus.c: bandwidths, as nccl-tests counts them ---- */

/* Bytes that the collective's bandwidth is stated in: all blocks of it. */
int64_t tool_whole_bytes(enum tt_coll coll, int ranks, int64_t bytes);
double tool_algbw(const struct tool_results *r, const struct tool_row *row); /* bytes per second; 0: none */
double tool_busbw(const struct tool_results *r,
                  const struct tool_row *row); /* 0: there is no such of this collective */
double tool_bus_factor(enum tt_coll coll, int ranks);

/* Per cent of the time of communication that work hides, as the OSU micro-benchmarks define it. */
double tool_overlap(const struct tool_row *row);

/* ---- telling ---- */

/* Rows [from, to), which are of one collective, in a format; head: also what stands above them. */
void tool_bench_tell(FILE *out, enum tool_format format, const struct tool_results *r, int from, int to, bool head);

/* Of all rows of a collective, a line for each size: native, the best of our own, nccl, and what was chosen. */
void tool_bench_side_by_side(FILE *out, const struct tool_results *r, int from, int to);

/* What bare cores do, and how many times that what was chosen takes; nothing if it was not measured. */
void tool_bench_bare(FILE *out, const struct tool_results *r, int from, int to);

/* One past the last row of the collective, or of the collective and size, that row i is of. */
int tool_end_of_coll(const struct tool_results *r, int i);
int tool_end_of_size(const struct tool_results *r, int i);

/* All of it, as asked for by --format; then --json and --plot. An exit status. */
int tool_bench_tell_all(const struct argp_state *state, const struct tool_bench_arguments *a,
                        const struct tool_results *r);
int tool_bench_files(const struct argp_state *state, const struct tool_bench_arguments *a,
                     const struct tool_results *r);

/* ---- bench_json.c ---- */
int tool_bench_write(const struct tool_results *r, FILE *out);

/* 0, or -1 with why filled. */
int tool_bench_read(const char *file, struct tool_results *r, char *why, size_t size);

/* ---- bench_compare.c, bench_plot.c: an exit status ---- */
int tool_bench_compare(const struct argp_state *state, const struct tool_bench_arguments *a);
int tool_bench_plot(const struct argp_state *state, const char *file, const struct tool_results *r);

#endif
