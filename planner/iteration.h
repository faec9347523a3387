/* SPDX-License-Identifier: BSD-3-Clause */
/* What one training step takes in a layout, and how full the GPUs' memory is: the arithmetic that doc/plan.md writes
 * out, as numbers that can be told line by line. Per GPU it is computing, and what is exposed of communication,
 * imbalance, and the bubble of the pipeline; they add up to the step. It is that of the slowest stage, the last: it has
 * the output too. */
#ifndef TT_ITERATION_H
#define TT_ITERATION_H

#include "planner/gpu.h"
#include "planner/layout.h"
#include "planner/placement.h"

/* What a layout is judged by. */
struct tt_setting {
    const struct tt_transformer *m;
    const struct tt_gpu_kind *gpu;
    double efficiency; /* of the GPU's peak, that its products reach */
    double memory;     /* bytes of a GPU's that may be used */
    double skew;       /* the busiest expert's tokens to the average one's: 1 is even */
    bool overlap;      /* communication is hidden behind computing where that is usual */
    struct tt_placement *place;
};

/* Who communicates: a row each, F(id, words, layout's member). */
#define TT_FLOWS(F)                                                                                                    \
    F(tensor, "tensor parallel", tensor)                                                                               \
    F(context, "context parallel", context)                                                                            \
    F(experts, "expert parallel", expert)                                                                              \
    F(stages, "pipeline hand-over", pipeline)                                                                          \
    F(data, "data parallel", data)
enum tt_flow_kind {
#define F(id, words, member) TT_FLOW_##id,
    TT_FLOWS(F)
#undef F
        TT_NFLOWS
};
extern const char *const tt_flow_names[TT_NFLOWS]; /* "tensor" */
extern const char *const tt_flow_words[TT_NFLOWS]; /* "tensor parallel" */

/* One kind of call in a step. */
struct tt_flow {
    enum tt_flow_kind kind;
    const char *what;        /* "layers' activations" */
    enum tt_coll coll;       /* TT_NCOLLS: from one rank to another */
    struct tt_span_of group; /* of a hop: 2 ranks, so far apart */
    struct tt_group_about about;
    double bytes;   /* of the vector, or of a block */
    int unit;       /* bytes of an element */
    double times;   /* in a step, on each GPU */
    double seconds; /* each */
    const char *algorithm;
};
enum { TT_MAX_FLOWS = 20 };

struct tt_memory {
    double weights, gradients, optimizer, activations, output; /* bytes of one GPU, of the fullest stage */
    double total;
    bool last_stage;  /* the fullest is the last, not the first */
    double in_flight; /* microbatches whose activations are kept */
    bool fits;
};

struct tt_iteration {
    struct tt_layout layout;
    int gpus, layers, microbatches; /* layers of a stage */
    double weights, experts;        /* parameters of a GPU: what all data-parallel ranks have, and of its experts */
    struct {
        double weights, core, experts, output; /* seconds of computing for a microbatch */
    } work;
    int nflows;
    struct tt_flow flows[TT_MAX_FLOWS];
    double total[TT_NFLOWS];                      /* seconds of a step's communication */
    double exposed[TT_NFLOWS];                    /* so much of it is not hidden */
    double micro;                                 /* seconds of a microbatch on the slowest stage */
    double waits;                                 /* the bubble, in microbatches: (p - 1) / pieces */
    double compute, imbalance, bubble, optimizer; /* seconds of a step */
    double seconds;                               /* the step */
    double tokens;                                /* a second, of all GPUs */
    double flops; /* a second, of a GPU, what is recomputed counted, as formula 3 does */
    struct tt_memory memory;
};

/* The layout is possible. 0, or -1: out of memory. */
int tt_iteration_work_out(struct tt_iteration *step, const struct tt_layout *l, const struct tt_setting *with);

/* The largest loss against computing alone, and what is behind it, in words: "tensor parallel 16 crosses the network:
 * 61 % of the step exposed". Returns text. */
char *tt_iteration_reason(const struct tt_iteration *step, char *text, size_t size);

#endif
