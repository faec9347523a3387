/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of a closed form, taken apart: how often it has alpha in it, how many bytes by beta, and so on. */
#ifndef TT_TOOLS_COST_H
#define TT_TOOLS_COST_H

#include "selector/model.h"
#include "selector/topo.h"

/* One price in a topology: of a message, or of a byte, or of starting something. */
struct tool_rate {
    const char *name;    /* "alpha", "beta" */
    enum tt_level level; /* TT_NLEVELS: of none */
    bool per_byte;
    double seconds; /* of one message, or byte */
};
enum { TOOL_MAX_RATES = 2 * TT_NLEVELS + 4 };

/* Of the levels that ranks of t have between them: those that it has prices for. Returns how many. */
int tool_rates(const struct tt_topo *t, struct tool_rate rates[TOOL_MAX_RATES]);

/* What an algorithm costs on t, with the best segment if it has one. */
struct tool_bill {
    const struct tt_alg *alg;
    double seconds;
    int64_t segment;              /* elements; 0: it has none */
    double times[TOOL_MAX_RATES]; /* of each rate: messages or bytes one after another; times its price is its part */
    double priced;                /* by the plans of all ranks; negative: not done, of so many */
    int64_t sent;                 /* bytes, by the rank that sends most; -1: likewise */
};

/* 0, or -1 with errno. s has the topology's nodes. Plans are priced for up to TOOL_PRICED_RANKS. */
enum { TOOL_PRICED_RANKS = 64 };
int tool_bill(struct tool_bill *bill, const struct tt_alg *alg, const struct tt_shape *s, const struct tt_topo *t,
              const struct tool_rate *rates, int nrates);

/* tutti cost pipeline: the bubble; argv[0] is "pipeline". Returns an exit status, or exits. */
int tool_cost_pipeline(int argc, char **argv);

#endif
