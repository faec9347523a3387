/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules files. What is refused is refused in words that name the file; what is read can be printed and read again, and
 * decides the same then; and every rule that was let through is a rule that some call may come to. */
#include "selector/rules.h"

#include <stdlib.h>
#include <string.h>

#include "coll/plan.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "# made by hand\nallreduce bytes 0-16K ranks 2-64 nodes 1 -> doubling\nallreduce bytes 16K- -> ring\n",
    "* ranks 2 -> native\nbcast,scan bytes 1M- -> chain/64K # long\n\nreduce_scatter_block commutes no -> direct",
    "allgatherv level gpu-link ranks_per_node 8 -> ring\r\nalltoallv nodes 2- -> pairwise\r\n",
    "allreduce ranks 1-4 -> doubling\nallreduce bytes 0-1K -> halving\nallreduce ranks 2-8 bytes 8-2K -> tree\n", NULL};
const char *const fuzz_words[] = {"allreduce",
                                  "reduce",
                                  "bcast",
                                  "barrier",
                                  "alltoallv",
                                  "reduce_scatter",
                                  "scan",
                                  "*",
                                  ",",
                                  "bytes",
                                  "ranks",
                                  "nodes",
                                  "ranks_per_node",
                                  "commutes",
                                  "level",
                                  "memory",
                                  "yes",
                                  "no",
                                  "gpu",
                                  "link",
                                  "host",
                                  "nic",
                                  "gpu-nic",
                                  "->",
                                  "ring",
                                  "tree",
                                  "chain",
                                  "chain/64K",
                                  "native",
                                  "linear",
                                  "halving",
                                  "doubling",
                                  "direct",
                                  "0-16K",
                                  "16K-",
                                  "-1M",
                                  "8",
                                  "1.5M",
                                  "-",
                                  "9223372036854775807",
                                  "2147483648",
                                  "64KiB",
                                  "1GB",
                                  "#",
                                  "\n",
                                  "\r\n",
                                  " ",
                                  "\t",
                                  "\xC3\xA9",
                                  NULL};

static void read_again(const struct tt_rules *rules)
{
    char *text = malloc((size_t)rules->n * 1024 + 1), why[1024], *to = text;
    struct tt_rules *again;

    for (int i = 0; i < rules->n; i++) {
        tt_rule_print(&rules->rules[i], to, 1023);
        to += strlen(to);
        *to++ = '\n';
    }
    again = tt_rules_parse("again", text, (size_t)(to - text), why, sizeof why);
    fuzz_check(again != NULL, "what was printed is refused");
    fuzz_check(tt_rules_hash(rules) == tt_rules_hash(again), "what was printed reads as something else");
    tt_rules_free(again);
    free(text);
}

/* Each rule has one call at least for which it holds: the least values that it names. */
static void meet(const struct tt_rules *rules, int i)
{
    const struct tt_rule *rule = &rules->rules[i], *found = NULL;
    struct tt_facts facts = {.coll = (enum tt_coll)__builtin_ctzll(rule->colls)};

    for (int f = 0; f < TT_NFACTS; f++)
        facts.is[f] = (struct tt_span){rule->when[f].from, rule->when[f].from};
    do
        found = tt_rules_next(rules, found, &facts);
    while (found && found != rule);
    fuzz_check(found == rule, "a rule does not hold for its own least values");
    fuzz_check(tt_rule_algorithm(rule, facts.coll) != NULL, "a rule names an algorithm that its collective has not");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size), why[1024] = "", where[128];
    struct tt_rules *rules = tt_rules_parse("f", text, size, why, sizeof why);

    fuzz_check(rules || strncmp(why, "f:", 2) == 0, "a refusal does not say where");
    for (int i = 0; rules && i < rules->n; i++) {
        meet(rules, i);
        tt_rule_where(rules, &rules->rules[i], where, sizeof where);
    }
    if (rules)
        read_again(rules);
    tt_rules_free(rules);
    free(text);
    return 0;
}
