/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules: which algorithm for which calls, as somebody wrote it down: a file's, or a pin's, which is a short list of
 * rules for one collective. The first rule that holds, and whose algorithm can do it, decides. doc/rules.md has the
 * grammar. */
#ifndef TT_RULES_H
#define TT_RULES_H

#include "selector/facts.h"

struct tt_rule {
    uint64_t colls;  /* bits 1 << enum tt_coll */
    uint64_t always; /* of these, whose algorithm of that name needs nothing, and so can serve any call */
    struct tt_span when[TT_NFACTS]; /* tt_fact_any where it does not ask */
    const char *algorithm;          /* serves every one of colls */
    int64_t segment;                /* bytes; 0: as TUTTI_SEGMENT says */
    int line;                       /* where it stands in its file; in a pin, its number, from 1 */
    int after; /* the line of a rule before it that takes all of its calls if its algorithm can serve
                  them, so that this one serves those that are left over; 0: none */
};

struct tt_rules {
    char *name; /* "rules.txt", "TUTTI_ALLREDUCE" */
    bool lines; /* rules are told apart by their lines, not by their bytes */
    int n;
    struct tt_rule *rules;
};

/* Reads a rules file; NULL with why filled: file, line, what is wrong, what may be there. Nothing is half-read. */
struct tt_rules *tt_rules_read(const char *file, char *why, size_t size);

/* The same from text of that many bytes; name stands for the file. */
struct tt_rules *tt_rules_parse(const char *name, const char *text, size_t length, char *why, size_t size);

/* Reads a pin, "ring", "doubling:0-16K;ring:16K-" or "two_level/1M". name is the variable or info key, for why and for
 * what is said of a choice. */
struct tt_rules *tt_pin_parse(const char *name, enum tt_coll coll, const char *text, char *why, size_t size);

void tt_rules_free(struct tt_rules *rules);

/* The first rule behind `after` (NULL: from the top) that holds for facts, or NULL. rules may be NULL. */
const struct tt_rule *tt_rules_next(const struct tt_rules *rules, const struct tt_rule *after,
                                    const struct tt_facts *facts);

/* May a decision of coll depend on where buffers are: does a rule ask for memory, or name NCCL? rules may be NULL. */
bool tt_rules_ask_memory(const struct tt_rules *rules, enum tt_coll coll);

/* The algorithm that a rule names, of coll, which must be one of the rule's. */
const struct tt_alg *tt_rule_algorithm(const struct tt_rule *rule, enum tt_coll coll);

/* A number for what the rules decide: equal where they decide alike, whatever the file is called, and however it is
 * spaced and commented. 0 for NULL. */
uint64_t tt_rules_hash(const struct tt_rules *rules);

/* "rules.txt:12", "TUTTI_ALLREDUCE", "TUTTI_ALLREDUCE, 16K-": who decided. */
char *tt_rule_where(const struct tt_rules *rules, const struct tt_rule *rule, char *text, size_t size);

/* The rule as a line of a file, which reads as the same rule. */
char *tt_rule_print(const struct tt_rule *rule, char *text, size_t size);

#endif
