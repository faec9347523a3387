/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti explain: what was asked, and the answers, which are told as text, JSON or a chart. */
#ifndef TT_TOOLS_EXPLAIN_H
#define TT_TOOLS_EXPLAIN_H

#include "cuda/cells.h"
#include "selector/net.h"
#include "selector/select.h"
#include "tools/score.h"
#include "tools/seats.h"
#include "tools/tools.h"

/* One call, on ranks that sit somewhere. */
struct tool_ask {
    const char *coll_name, *type_name, *op;
    enum tt_coll coll;
    struct tt_shape shape;
    int64_t bytes;
    bool tens;                /* sizes are told in powers of ten, as that one was given */
    const struct tt_cell *cell; /* of a reduction */
    bool on_gpus;             /* all buffers are on GPUs, and the ranks know it */
    struct tool_seats seats;
    bool json;
    const char *plot;        /* a file, "-", or NULL */
    int64_t least, most;     /* bytes of a plot */
    struct tt_topo *profile; /* TUTTI_PROFILE, of which only the speeds count; NULL: none */
    struct tt_topo *topo;
    struct tt_net *net;       /* of topo */
    struct tt_topo instant;   /* the same, where bytes take no time */
    struct tt_net *latencies; /* of instant */
};

char *tool_ask_size(const struct tool_ask *a, char *text, size_t size, int64_t bytes);

/* Has it a size at all? A barrier has none, and of some no size is known to all ranks. */
bool tool_ask_sized(const struct tool_ask *a);

/* Where so many ranks would sit; NULL with why filled. */
struct tt_topo *tool_ask_topology(const struct tool_ask *a, int ranks, int nodes, const char *place, char *why,
                                  size_t size);

/* Why NCCL cannot serve it, whatever its size; or NULL. */
const char *tool_ask_no_nccl(const struct tool_ask *a);

/* What it takes the ranks to agree on NCCL, which counts against it; 0 where they need not. */
double tool_ask_vote(const struct tool_ask *a);

/* ---- explain_count.c: what each algorithm costs ---- */

enum { TOOL_MAX_ROWS = 64, TOOL_ALL_RANKS = 128 }; /* more ranks than that are not all counted: a few stand for all */

struct tool_figures {
    const struct tt_alg *alg;
    const char *why_not; /* NULL: it is feasible */
    bool timed;          /* the model says how long it takes: */
    double seconds;
    double latency;  /* so many of them would remain if bytes took no time */
    double vote;     /* so many of them are the ranks' agreeing on it */
    int64_t segment; /* bytes; 0: it has none */
    bool tuned;      /* `tutti tune` measured it, and the rules file tells what: */
    double measured;
    bool planned; /* there is a plan to count: */
    int rounds;
    struct tt_totals most; /* of one rank */
};

/* A row for each algorithm of the collective, those that can serve it first, by their time. Returns how many. */
int tool_explain_rows(const struct argp_state *state, const struct tool_ask *a, const struct tt_choice *choice,
                      struct tool_figures rows[TOOL_MAX_ROWS]);

/* ---- explain_changes.c: what would change the choice ---- */

/* What would run if the call had so many elements instead. */
struct tt_choice tool_choose(const struct tool_ask *a, int64_t count);

/* From so many bytes on, up or down, another algorithm runs. */
struct tool_change {
    int64_t bytes;
    const struct tt_alg *to;
};

/* The first change above a size of the ask's, up to `most` bytes, or below it, down to one element: to the element.
 * false: none. */
bool tool_change_above(const struct tool_ask *a, int64_t bytes, int64_t most, struct tool_change *change);
bool tool_change_below(const struct tool_ask *a, int64_t bytes, struct tool_change *change);

/* What would run in another case, which a few words tell: "on 128 ranks", "without TUTTI_ALLREDUCE". */
struct tool_otherwise {
    char when[64];
    struct tt_choice choice;
};
enum { TOOL_MAX_OTHERWISE = 8 };

/* The cases nearby in which another algorithm than chosen would run. Returns how many. */
int tool_otherwise(const struct tool_ask *a, const struct tt_choice *chosen,
                   struct tool_otherwise cases[TOOL_MAX_OTHERWISE]);

/* ---- telling ---- */

struct tool_answer {
    struct tt_choice choice;
    int nrows, ncases;
    struct tool_figures rows[TOOL_MAX_ROWS];
    bool has_below, has_above;
    struct tool_change below, above;
    struct tool_otherwise cases[TOOL_MAX_OTHERWISE];
};

void tool_explain_text(const struct tool_ask *a, const struct tool_answer *answer);
void tool_explain_json(const struct tool_ask *a, const struct tool_answer *answer);

/* explain_plot.c: predicted time against size, for every candidate: a picture by gnuplot, or a chart of letters.
 * Returns an exit status. */
int tool_explain_plot(const struct argp_state *state, const struct tool_ask *a);

#endif
