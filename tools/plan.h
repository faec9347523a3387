/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti plan: what was asked, under which circumstances layouts are looked at, and what is told. */
#ifndef TT_TOOLS_PLAN_H
#define TT_TOOLS_PLAN_H

#include "planner/search.h"
#include "tools/seats.h"
#include "tools/tools.h"

/* What may be different, a row each: K(id, words, how: COUNT, doubled, or another way to write a number). All of them
 * are numbers, so a sweep and what would change the verdict need no more than this list. */
#define TOOL_KNOBS(K)                                                                                                  \
    K(gpus, "GPUs", COUNT)                                                                                             \
    K(batch, "global batch", COUNT)                                                                                    \
    K(nic, "NIC", RATE)                                                                                                \
    K(memory, "memory of a GPU", SIZE)                                                                                 \
    K(efficiency, "efficiency", SHARE)                                                                                 \
    K(skew, "the busiest expert's share", SHARE)
enum tool_knob {
#define K(id, words, how) TOOL_KNOB_##id,
    TOOL_KNOBS(K)
#undef K
        TOOL_NKNOBS
};

/* The values of all knobs: bytes, and bytes per second. */
struct tool_circumstances {
    double is[TOOL_NKNOBS];
};

enum { TOOL_MAX_MEASURED = 32 };
struct tool_plan {
    const char *model, *gpu_name, *plot, *recompute;
    const char *measured[TOOL_MAX_MEASURED]; /* files */
    int nmeasured;
    struct tool_seats seats;
    struct tt_transformer m;
    const struct tt_gpu_kind *gpu;
    struct tool_circumstances now;
    struct tt_layout wish; /* of --only or --explain */
    bool explain, json, all, weak, no_overlap;
    int top;
    enum tool_knob sweep; /* TOOL_NKNOBS: none */
    double from, to;
    int sequence;
};

/* All layouts under some circumstances, with what they were judged by, which lives as long. */
struct tool_prospect {
    struct tt_topo *topo;
    struct tt_transformer m;
    struct tt_setting with;
    struct tt_search search;
};

/* Does the topology have room for so many, or can it be continued? */
bool tool_plan_has_room(const struct tool_plan *p, int gpus);

/* Exits with a message if the topology has no such number of GPUs, or memory is out. */
void tool_plan_look(const struct argp_state *state, const struct tool_plan *p, const struct tool_circumstances *c,
                    struct tool_prospect *prospect);
void tool_plan_forget(struct tool_prospect *prospect);

/* ---- plan_knobs.c ---- */
const char *tool_knob_name(enum tool_knob knob);                /* "nic" */
const char *tool_knob_words(enum tool_knob knob);               /* "NIC" */
bool tool_knob_counts(enum tool_knob knob);                     /* whole numbers, which are doubled */
enum tool_knob tool_knob_find(const char *name, size_t length); /* TOOL_NKNOBS if there is none */

/* "1024", "50 GB/s", "72 GB", "0.58". */
char *tool_knob_print(enum tool_knob knob, double value, char *text, size_t size);
int tool_knob_parse(enum tool_knob knob, const char *text, double *value); /* 0 or -1 */

/* ---- plan_changes.c: with how much of what another layout would be the best ---- */
struct tool_plan_change {
    enum tool_knob knob;
    double value;
    bool down; /* from there down, not up */
    struct tt_layout to;
    bool none; /* nothing fits there */
};
enum { TOOL_MAX_PLAN_CHANGES = 2 * TOOL_NKNOBS };

/* The nearest changes. Returns how many. */
int tool_plan_changes(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect,
                      struct tool_plan_change changes[TOOL_MAX_PLAN_CHANGES]);

/* ---- telling ---- */
void tool_plan_text(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect);
void tool_plan_json(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect);
void tool_plan_head(const struct tool_plan *p, const struct tool_prospect *prospect); /* the setting, in words */
int tool_plan_explain(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect);
int tool_plan_sweep(const struct argp_state *state, const struct tool_plan *p);
int tool_plan_plot(const struct argp_state *state, const struct tool_plan *p, const struct tool_prospect *prospect);

/* What remains of a step beside computing and the bubble: exposed communication, imbalance and the optimizer. */
double tool_plan_exposed(const struct tt_iteration *step);

/* 49.6e9 as "49.6 GB", 3.1e12 as "3.1 T". Return text. */
char *tool_print_gb(double bytes, char *text, size_t size);
char *tool_print_si(double number, char *text, size_t size);

#endif
