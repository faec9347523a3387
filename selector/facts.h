/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rule may ask of a call: facts that all ranks share, and no others. What may differ between ranks (a datatype's
 * own form, the counts of a v-collective) has no row here, so no rule can be made to depend on it. The kind of memory
 * that a buffer is in may differ, too: it counts once the ranks have agreed on it. */
#ifndef TT_FACTS_H
#define TT_FACTS_H

#include "algos/algos.h"

/* The facts, a row each: F(id, kind, least, most, help). A fact that is not known has the value below its least; one
 * that a call does not have (the bytes of a barrier) is such. */
#define TT_FACTS(F)                                                                                                    \
    F(bytes, SIZES, 0, INT64_MAX, "of the vector, or of a block where the call is stated in blocks")                   \
    F(ranks, NUMBERS, 1, INT32_MAX, "of the communicator")                                                             \
    F(nodes, NUMBERS, 1, INT32_MAX, "that the communicator's ranks are on")                                            \
    F(ranks_per_node, NUMBERS, 1, INT32_MAX, "of the communicator, on every one of its nodes")                         \
    F(commutes, WORD, 0, 1, "whether the op does")                                                                     \
    F(level, WORDS, 0, TT_NLEVELS - 1, "the slowest link that the communicator's ranks cross")                         \
    F(memory, KINDS, 1, 1, "where all ranks are known to have their buffers: they have agreed on it, or it was asserted")

enum tt_fact {
#define F(id, kind, least, most, help) TT_FACT_##id,
    TT_FACTS(F)
#undef F
    TT_NFACTS
};

/* From one value to another. Both belong to it, in every span there is. */
struct tt_span {
    int64_t from, to;
};

/* The facts of one call. Of ranks_per_node, the least and the most; of others, one value. */
struct tt_facts {
    enum tt_coll coll; /* the call's own */
    struct tt_span is[TT_NFACTS];
};

/* level: an enum tt_level, or -1 where nobody knows. Where buffers are is not known. */
struct tt_facts tt_facts_of(enum tt_coll coll, const struct tt_shape *s, int level);

/* All ranks have agreed that all have their buffers on GPUs. */
void tt_facts_on_gpus(struct tt_facts *facts);

const char *tt_fact_name(enum tt_fact fact);
const char *tt_fact_help(enum tt_fact fact);
enum tt_fact tt_fact_find(const char *name, size_t length); /* TT_NFACTS if there is none */

/* What may be said of it: "a size or a range of sizes: 8, 0-16K, 64K-, -1M". */
const char *tt_fact_values(enum tt_fact fact);

/* Why calls of coll have no such fact, or NULL. */
const char *tt_fact_missing(enum tt_fact fact, enum tt_coll coll);

/* All values, not being known included. */
struct tt_span tt_fact_any(enum tt_fact fact);

/* Reads "0-16K", "64K-", "-64K" or "8" for bytes, and the like of others. 0, or -1 with why filled: what is wrong and
 * what may be there. */
int tt_span_parse(enum tt_fact fact, const char *text, size_t length, struct tt_span *span, char *why, size_t size);

/* As tt_span_parse reads it. */
char *tt_span_print(enum tt_fact fact, struct tt_span span, char *text, size_t size);

/* Is every value of part one of span's? */
static inline bool tt_span_holds(struct tt_span span, struct tt_span part)
{
    return span.from <= part.from && part.to <= span.to;
}

#endif
