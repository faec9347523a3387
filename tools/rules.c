/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti rules: a rules file read as a run would read it, and told again line by line; without a file, what may be in
 * one, from the same tables by which it is read. */
#include <stdlib.h>

#include "selector/rules.h"
#include "tools/tools.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **file = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (*file)
        tool_die(state, TOOL_USAGE, "wants one file; \"%s\" is one too many", arg);
    *file = arg;
    return 0;
}

static const struct argp argp = {
    NULL,
    parse,
    "[FILE]",
    "Check a rules file, as TUTTI_RULES=FILE would read it, and tell what each line means; "
    "or, without a file, what may be in one.\v"
    "Examples:\n"
    "  tutti rules\n"
    "  tutti rules my.rules\n"
    "  TUTTI_RULES=my.rules tutti explain allreduce -n 8 --bytes 64K\n",
    NULL,
    NULL,
    NULL};

static void print_grammar(void)
{
    puts(
        "# A rule is a line; the first that holds, and whose algorithm can serve, decides.\n"
        "#   COLLECTIVES [CONDITION VALUE]... -> ALGORITHM[/SEGMENT]\n"
        "# COLLECTIVES are one, several with commas between, or * for all that have such an algorithm. Both ends of a\n"
        "# range belong to it. Behind # are words for people. For example:\n\n"
        "allreduce bytes 0-16K ranks 2-64 nodes 1 -> doubling\n"
        "bcast     bytes 4M-                      -> chain/256K\n"
        "*         ranks 2                        -> native\n");
    puts("# conditions");
    for (int f = 0; f < TT_NFACTS; f++)
        printf("#   %-14s  %s:\n#   %-14s  %s\n", tt_fact_name((enum tt_fact)f), tt_fact_help((enum tt_fact)f), "",
               tt_fact_values((enum tt_fact)f));
    puts("# algorithms of each collective: tutti info");
}

static void print_rules(const struct tt_rules *rules)
{
    char text[1024];

    printf("%s: %d rule%s\n", rules->name, rules->n, rules->n == 1 ? "" : "s");
    for (int i = 0; i < rules->n; i++) {
        const struct tt_rule *rule = &rules->rules[i];

        printf("%5d  %s\n", rule->line, tt_rule_print(rule, text, sizeof text));
        if (rule->after)
            printf("       # only what the algorithm of line %d cannot serve is left to it\n", rule->after);
    }
}

int tool_rules(int argc, char **argv)
{
    struct argp_state state = {.name = argv[0]};
    const char *file = NULL;
    struct tt_rules *rules;
    char why[1024];

    argp_parse(&argp, argc, argv, 0, NULL, &file);
    if (!file) {
        print_grammar();
        return TOOL_OK;
    }
    rules = tt_rules_read(file, why, sizeof why);
    if (!rules)
        tool_die(&state, TOOL_FAILED, "%s", why);
    print_rules(rules);
    tt_rules_free(rules);
    return TOOL_OK;
}
