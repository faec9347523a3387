/* SPDX-License-Identifier: BSD-3-Clause */
/* The model that is to be trained, as a file describes it, and what of it costs something: weights, arithmetic and what
 * is kept for the way back. Closed forms of what the layers are made of, none fitted. Sources: Narayanan et al., SC'21
 * (arXiv:2104.04473), formulas 2 and 3, for parameters and floating-point operations; Korthikanti et al.
 * (arXiv:2205.05198), section 4, for activations. doc/plan.md writes them out. */
#ifndef TT_TRANSFORMER_H
#define TT_TRANSFORMER_H

#include <stdbool.h>
#include <stddef.h>

/* A row each: P(id, bytes of a weight or an activation, rate: which of a GPU's peaks counts). */
#define TT_PRECISIONS(P)                                                                                               \
    P(bf16, 2, half)                                                                                                   \
    P(fp16, 2, half)                                                                                                   \
    P(fp8, 2, quarter) /* the products alone are in fp8: what is kept and sent is bf16 */                              \
    P(fp32, 4, single)

/* O(id, numbers of 32 bits that it keeps for each parameter, beside a copy of the weights in full precision). */
#define TT_OPTIMIZERS(O)                                                                                               \
    O(adam, 2)                                                                                                         \
    O(momentum, 1)                                                                                                     \
    O(sgd, 0)

/* R(id, what of a layer's forward work is done once more on the way back). */
#define TT_RECOMPUTES(R)                                                                                               \
    R(none, "nothing")                                                                                                 \
    R(selective, "the core of attention, as fused kernels do")                                                         \
    R(full, "all of each layer")

#define ENUM(id, ...) TT_##id,
enum tt_precision { TT_PRECISIONS(ENUM) TT_NPRECISIONS };
enum tt_optimizer { TT_OPTIMIZERS(ENUM) TT_NOPTIMIZERS };
#undef ENUM
#define ENUM(id, ...) TT_RECOMPUTE_##id,
enum tt_recompute { TT_RECOMPUTES(ENUM) TT_NRECOMPUTES };
#undef ENUM

extern const char *const tt_precision_names[],
    *const tt_optimizer_names[], *const tt_recompute_names[], *const tt_recompute_words[]; /* end with NULL */

struct tt_transformer {
    char about[128];
    double parameters; /* as published; 0: not said */
    int layers, hidden, heads, kv_heads, ffn, vocabulary;
    int experts, top_k;  /* 0 experts: a dense model */
    int sequence, batch; /* tokens; sequences, of all GPUs together */
    bool gated;          /* the feed-forward part has three matrices, not two */
    bool bias;           /* linear layers and norms have one */
    bool tied;           /* the last layer is the embedding's table */
    bool positions;      /* learned ones */
    enum tt_precision precision, gradients;
    enum tt_optimizer optimizer;
    enum tt_recompute recompute;
};

/* Reads a file, or one that came with Tutti: "gpt3-175b". 0, or -1 with why filled: file, line, field, what is wrong.
 */
int tt_transformer_read(const char *file, struct tt_transformer *m, char *why, size_t size);

/* ---- parameters ---- */

/* Of one layer: what every expert has for itself, of all experts together, and all else. Dense: experts is 0. */
struct tt_layer_weights {
    double shared, experts;
};
struct tt_layer_weights tt_layer_weights(const struct tt_transformer *m);
double tt_embedding_weights(const struct tt_transformer *m); /* with the positions */
double tt_output_weights(const struct tt_transformer *m);    /* with the last norm; of a tied model, the norm alone */
double tt_parameters(const struct tt_transformer *m);
double tt_active_parameters(const struct tt_transformer *m); /* those that a token meets */

/* ---- arithmetic: floating-point operations, a multiplication and an addition being two ---- */

/* Forward, of one layer and one token: the products with weights, of all but the experts; the core of attention, every
 * token looking at the whole sequence as formula 3 has it; the products of the experts that it meets. */
struct tt_layer_work {
    double weights, core, experts;
};
struct tt_layer_work tt_layer_work(const struct tt_transformer *m);
double tt_output_work(const struct tt_transformer *m); /* forward, of one token */

/* Forward and backward of one step of so many sequences, with what is recomputed: of formula 3, F. */
double tt_step_work(const struct tt_transformer *m, double sequences);

/* How often each part of a layer's forward work is done in a step: once, twice for the way back, and what is
 * recomputed. */
struct tt_times {
    double weights, core;
};
struct tt_times tt_times(const struct tt_transformer *m);

/* ---- bytes ---- */
double tt_weight_bytes(const struct tt_transformer *m); /* of a weight, and of an activation */
double tt_gradient_bytes(const struct tt_transformer *m);
double tt_optimizer_bytes(const struct tt_transformer *m); /* for a parameter, a copy in full precision included */

/* What one layer keeps of one token for the way back, cut for t ranks of a tensor group: all of it if sequence is set,
 * else the part between the group's exchanges only. c: ranks that a sequence is cut for. */
double tt_layer_keeps(const struct tt_transformer *m, int t, int c, bool sequence);
/* The same of the layer that is being worked on, which with full recomputation keeps it all. */
double tt_layer_holds(const struct tt_transformer *m, int t, int c, bool sequence);

#endif
