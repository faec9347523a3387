/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files that make rules share. */
#ifndef TT_RULES_INSIDE_H
#define TT_RULES_INSIDE_H

#include "selector/rules.h"

_Static_assert(TT_NCOLLS <= 64, "a rule has a bit for each collective");

/* An empty set of that name; NULL if out of memory. */
struct tt_rules *tt_rules_new(const char *name, bool lines);

/* A copy of rule, behind the others. -1 if out of memory, or there are too many: nobody writes thousands. */
enum { TT_MAX_RULES = 4096 };
int tt_rules_append(struct tt_rules *rules, const struct tt_rule *rule);

/* A rule that asks for nothing. */
struct tt_rule tt_rule_any(void);

/* Reads "ring" or "two_level/1M", which every one of rule->colls must have, into rule. When strict is not set, those
 * that lack it are taken out instead, as long as one is left. 0, or -1 with why filled. */
int tt_rule_read_algorithm(struct tt_rule *rule, bool strict, const char *text, size_t length, char *why, size_t size);

/* Can the last rule ever be reached? Sets its `after`. 0, or -1 with why filled: which rules before it take all. */
int tt_rules_check_last(struct tt_rules *rules, char *why, size_t size);

#endif
