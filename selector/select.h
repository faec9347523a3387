/* SPDX-License-Identifier: BSD-3-Clause */
/* Which page of the book to open. Decisions are made from the shape and the configuration: facts that all ranks
 * share. */
#ifndef TT_SELECT_H
#define TT_SELECT_H

#include "selector/rules.h"
#include "selector/topo.h"

struct tt_choice {
    const struct tt_alg *alg;
    int64_t segment; /* elements; 0: the shape's */
    bool slow;       /* somebody pinned it, and the model expects it to take many times what its own choice would */
    char why[256];   /* words: "model: 13.2 us, then ring 20 us", "TUTTI_ALLREDUCE, 16K-", "rules.txt:12"; and who was passed over */
};

/* Who may say what is to run, the strongest first; NULL: nobody did. */
struct tt_orders {
    const struct tt_rules *info;  /* the communicator's info key */
    const struct tt_rules *pin;   /* TUTTI_<COLLECTIVE> */
    const struct tt_rules *rules; /* TUTTI_RULES */
    const struct tt_net *net;     /* for the model, which decides where nobody else does; NULL: the first of our own
                                     that can */
    int level;                    /* an enum tt_level, which rules may ask for; -1: not known */
    bool on_gpus; /* all ranks know that all buffers are on GPUs: NCCL is a candidate of the model's; otherwise it runs
                     only if somebody names it */
    const char *no_nccl;         /* why NCCL cannot have this call, which the shape does not tell; NULL: it can */
    const struct tt_topo *topo;  /* of net: where GPUs are. NULL: nobody knows */
    const struct tt_net *staged; /* the links as they are for our own where GPU memory goes by way of the host; NULL: as
                                    they are for all else */
    bool votes;                  /* the ranks have still to agree on where buffers are, which takes time */
};

/* coll is the call's own, s its family's shape. foreign: why only the MPI below can do it (a user's op), or NULL; ours:
 * the MPI below cannot (a type of Tutti's). Both are the same on all ranks. alg is NULL if nobody can. */
struct tt_choice tt_select(enum tt_coll coll, const struct tt_shape *s, const struct tt_orders *orders,
                           const char *foreign, bool ours);

#endif
