/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules files and pins: what is read means what it says, what is not understood is refused with its line and with what
 * may be there, and the rule that decides is the first that holds. */
#include "selector/rules.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/plan.h"
#include "selector/names.h"
#include "selector/select.h"
#include "selector/topo.h"

static char why[2048];

static struct tt_rules *parse(const char *text)
{
    why[0] = '\0';
    return tt_rules_parse("r.txt", text, strlen(text), why, sizeof why);
}

static struct tt_rules *good(const char *text)
{
    struct tt_rules *rules = parse(text);

    ck_assert_msg(rules != NULL, "\"%s\" was refused: %s", text, why);
    return rules;
}

/* ---- what is refused ---- */

static const struct {
    const char *text;
    const char *says[3];
} bad[] = {
    {"alreduce -> ring",
     {"r.txt:1: alreduce is not a collective (did you mean allreduce?): there are allreduce, reduce, ",
      "barrier; or several with commas between, or * for all"}},
    {"allreduce,bcats -> native", {"r.txt:1: bcats is not a collective (did you mean bcast?)"}},
    {"allreduce, -> native", {"r.txt:1: a collective is missing behind the last comma"}},
    {"allreduce,,bcast -> native", {"r.txt:1: \"\" is not a collective"}},
    {"allreduce,allreduce -> native", {"r.txt:1: allreduce is named twice"}},
    {"# a\n\n  allreduce -> rign # b",
     {"r.txt:3: rign is not an algorithm of allreduce (did you mean ring?): there are ", "halving", "native"}},
    {"allreduce,bcast -> halving", {"r.txt:1: halving is not an algorithm of bcast", "binomial"}},
    {"* -> rign", {"r.txt:1: rign is not an algorithm of any of these collectives (did you mean ring?)"}},
    {"* bytes 1- -> linear", {"r.txt:1: linear is not an algorithm of any of these collectives"}},
    {"allreduce", {"r.txt:1: no -> and algorithm at the end, as in: allreduce bytes 0-16K -> doubling"}},
    {"allreduce bytes 8", {"r.txt:1: no -> and algorithm"}},
    {"-> ring", {"r.txt:1: -> is not a collective"}},
    {"allreduce ->", {"r.txt:1: no algorithm behind ->"}},
    {"allreduce -> ring tree", {"r.txt:1: tree is one column too many: a rule ends with its algorithm"}},
    {"allreduce ring",
     {"r.txt:1: ring is not a condition", "there are bytes, ranks, nodes, ranks_per_node, commutes, "
                                          "level, memory, -> and an algorithm"}},
    {"allreduce byts 8 -> ring", {"r.txt:1: byts is not a condition (did you mean bytes?)"}},
    {"allreduce memory host -> ring", {"r.txt:1: memory host: it may be device"}},
    {"barrier memory device -> dissemination", {"r.txt:1: no condition on memory: barrier has no buffer"}},
    {"allreduce bytes -> ring",
     {"r.txt:1: bytes lacks its value: a size or a range of sizes, such as 8, 0-16K, 64K- or "
      "-1M"}},
    {"allreduce bytes", {"r.txt:1: bytes lacks its value"}},
    {"allreduce bytes 8 bytes 9 -> ring", {"r.txt:1: bytes is asked twice"}},
    {"allreduce bytes 16Q -> ring", {"r.txt:1: bytes 16Q: it may be a size or a range of sizes"}},
    {"allreduce bytes 0-1-2 -> ring", {"r.txt:1: bytes 0-1-2: it may be"}},
    {"allreduce bytes - -> ring", {"r.txt:1: bytes -: it may be"}},
    {"allreduce bytes 16K-8K -> ring", {"r.txt:1: bytes 16K-8K: the range ends before it begins"}},
    {"allreduce ranks 0-4 -> ring", {"r.txt:1: ranks 0-4: it may be a number from 1 up or a range of them"}},
    {"allreduce ranks 4K -> ring", {"r.txt:1: ranks 4K: it may be"}},
    {"allreduce nodes many -> ring", {"r.txt:1: nodes many: it may be a number"}},
    {"allreduce commutes maybe -> ring", {"r.txt:1: commutes maybe: it may be yes or no"}},
    {"allreduce commutes no-yes -> ring", {"r.txt:1: commutes no-yes: it may be yes or no"}},
    {"allreduce level wire -> ring",
     {"r.txt:1: level wire: it may be gpu, link, host or nic, or a range in that order"}},
    {"allreduce level nic-gpu -> ring", {"r.txt:1: level nic-gpu: the range ends before it begins"}},
    {"bcast commutes yes -> chain", {"r.txt:1: no condition on commutes: bcast has no op"}},
    {"barrier bytes 8 -> native", {"r.txt:1: no condition on bytes: barrier moves no bytes"}},
    {"alltoallv bytes 8 -> native", {"r.txt:1: no condition on bytes: alltoallv has no size that all ranks know"}},
    {"bcast -> chain/", {"r.txt:1: chain/: its segment may be a size from 1 to 1G, such as chain/64K"}},
    {"bcast -> chain/0", {"r.txt:1: chain/0: its segment may be"}},
    {"bcast -> chain/2G", {"r.txt:1: chain/2G: its segment may be"}},
    {"bcast -> native/64K", {"r.txt:1: native of bcast has no segments: leave out what is behind the slash"}},
    {"bcast -> binomial/64K", {"r.txt:1: binomial of bcast has no segments"}},
    /* rules that hold for no call */
    {"allreduce ranks 2-64 ranks_per_node 65- -> ring",
     {"r.txt:1: this can never hold: it asks for fewer ranks than nodes times ranks_per_node"}},
    {"allreduce ranks 1 nodes 2 -> ring", {"r.txt:1: this can never hold: it asks for fewer ranks"}},
    {"allreduce ranks 9- nodes 2 ranks_per_node -4 -> ring", {"r.txt:1: this can never hold: it asks for more ranks"}},
    {"bcast -> chain\nallreduce commutes no -> ring",
     {"r.txt:2: this can never hold: its algorithm needs an op that commutes"}},
    /* rules that nothing is left for */
    {"allreduce -> halving\n\nallreduce bytes 0-16K -> doubling",
     {"r.txt:3: line 3 can never be reached: line 1 before it takes all of its calls"}},
    {"allreduce bytes 0-16K -> doubling\nallreduce bytes 16K- -> halving\nallreduce -> tree",
     {"r.txt:3: line 3 can never be reached: lines 1 and 2 before it take all of its calls"}},
    {"allreduce ranks 1-4 -> doubling\nallreduce bytes 0-1K -> halving\nallreduce ranks 2-8 bytes 8-2K -> tree\n"
     "allreduce ranks 3-8 bytes 8-64 -> direct\nallreduce ranks 4-6 bytes 8 -> native",
     {"r.txt:4: line 4 can never be reached: line 2 before it takes all"}},
    {"* -> native\nbarrier -> dissemination", {"r.txt:2: line 2 can never be reached: line 1"}},
    {"allreduce -> native\nreduce -> native\nallreduce,reduce ranks 4 -> halving",
     {"r.txt:3: line 3 can never be reached: lines 1 and 2"}},
    {"allreduce commutes yes -> halving\nallreduce commutes no -> tree\nallreduce ranks 4 -> ring",
     {"r.txt:3: line 3 can never be reached: lines 1 and 2"}},
};

START_TEST(refuses_with_the_line_and_what_may_be_there)
{
    struct tt_rules *rules = parse(bad[_i].text);

    ck_assert_msg(rules == NULL, "\"%s\" was read", bad[_i].text);
    for (int i = 0; i < 3 && bad[_i].says[i]; i++)
        ck_assert_msg(strstr(why, bad[_i].says[i]), "\"%s\": expected \"%s\" in: %s", bad[_i].text, bad[_i].says[i],
                      why);
}
END_TEST

START_TEST(refuses_what_is_no_text)
{
    ck_assert_ptr_null(tt_rules_parse("r.txt", "\0", 1, why, sizeof why));
    ck_assert_str_eq(why, "r.txt:1: this is no text: there are zero bytes in it");
    ck_assert_ptr_null(parse("allre\xC3\xA9\x01uce -> ring"));
    ck_assert_ptr_nonnull(strstr(why, "allre???uce is not a collective (did you mean allreduce?)"));
    ck_assert_ptr_null(parse("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz -> ring"));
    ck_assert_ptr_nonnull(strstr(why, "r.txt:1: abcdefghijklmnopqrstuvwxyzabcdefghijklmn... is not"));
}
END_TEST

/* A message that does not fit ends where there is no more room. */
START_TEST(a_short_room_for_words_is_kept_to)
{
    for (size_t size = 1; size < 300; size++) {
        char *room = malloc(size);

        ck_assert_ptr_null(tt_rules_parse("r.txt", "alreduce -> ring", 16, room, size));
        ck_assert_uint_lt(strlen(room), size);
        ck_assert_ptr_null(tt_pin_parse("TUTTI_ALLREDUCE", TT_COLL_allreduce, "rign", room, size));
        ck_assert_uint_lt(strlen(room), size);
        free(room);
    }
}
END_TEST

/* ---- what is read ---- */

/* As it is written, and as it is printed. */
static const char *const same[][2] = {
    {"allreduce -> ring", NULL},
    {"  allreduce\tbytes  0-16K ranks 2-64 nodes 1  ->  doubling  # words\r",
     "allreduce bytes 0-16K ranks 2-64 nodes 1 -> "
     "doubling"},
    {"allreduce bytes 65536 -> ring", "allreduce bytes 64K -> ring"},
    {"allreduce bytes 64KB- -> ring", "allreduce bytes 64000- -> ring"},
    {"allreduce bytes -1.5M -> ring", "allreduce bytes 0-1536K -> ring"},
    {"allreduce bytes 1-9223372036854775807 -> ring", "allreduce bytes 1- -> ring"},
    {"allreduce ranks -8 ranks_per_node 4- -> ring", "allreduce ranks 1-8 ranks_per_node 4- -> ring"},
    {"allreduce commutes no level link-host -> tree", NULL},
    {"allreduce level host- -> tree", NULL},
    {"bcast -> chain/65536", "bcast -> chain/64K"},
    {"bcast,allreduce bytes 8 -> native", "allreduce,bcast bytes 8 -> native"},
    {"* commutes yes -> halving_in_order", "reduce_scatter,reduce_scatter_block commutes yes -> halving_in_order"},
};

START_TEST(prints_what_it_read)
{
    const char *expected = same[_i][1] ? same[_i][1] : same[_i][0];
    struct tt_rules *rules = good(same[_i][0]), *again;
    char text[1024];

    ck_assert_int_eq(rules->n, 1);
    ck_assert_str_eq(tt_rule_print(&rules->rules[0], text, sizeof text), expected);
    again = good(text);
    ck_assert_uint_eq(tt_rules_hash(rules), tt_rules_hash(again));
    tt_rules_free(rules);
    tt_rules_free(again);
}
END_TEST

START_TEST(an_empty_file_has_no_rules)
{
    static const char *const empty[] = {"", "\n", "# nothing\n\n   # but words", " \t\r\n"};

    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct tt_rules *rules = good(empty[i]);

        ck_assert_int_eq(rules->n, 0);
        ck_assert_uint_ne(tt_rules_hash(rules), 0);
        tt_rules_free(rules);
    }
    ck_assert_uint_eq(tt_rules_hash(NULL), 0);
}
END_TEST

/* Equal hashes for equal decisions; any other for others. */
START_TEST(hashes_tell_decisions_apart)
{
    static const char *const texts[] = {
        "allreduce -> ring",
        "allreduce -> tree",
        "reduce_scatter -> ring",
        "allreduce bytes 0-1K -> ring",
        "allreduce bytes 0-2K -> ring",
        "allreduce ranks 2 -> ring",
        "allreduce nodes 2 -> ring",
        "bcast -> chain",
        "bcast -> chain/64K",
        "allreduce -> ring\nreduce -> native",
        "reduce -> native\nallreduce -> ring",
        "",
    };
    enum { N = sizeof texts / sizeof *texts };
    uint64_t hashes[N];

    for (int i = 0; i < N; i++) {
        struct tt_rules *rules = good(texts[i]);

        hashes[i] = tt_rules_hash(rules);
        tt_rules_free(rules);
        for (int j = 0; j < i; j++)
            ck_assert_msg(hashes[i] != hashes[j], "\"%s\" and \"%s\" have one hash", texts[i], texts[j]);
    }
    struct tt_rules *rules = good("# another file\n\nallreduce    ->    ring # of another node");
    ck_assert_uint_eq(tt_rules_hash(rules), hashes[0]);
    tt_rules_free(rules);
}
END_TEST

/* ---- what decides ---- */

static struct tt_facts facts_of(enum tt_coll coll, int64_t bytes, int ranks)
{
    const struct tt_shape s = {
        .coll = tt_coll_family(coll), .size = ranks, .count = bytes, .unit = 1, .commutes = true};

    return tt_facts_of(coll, &s, -1);
}

/* The line that decides, or 0. */
static int line_for(const struct tt_rules *rules, struct tt_facts facts)
{
    const struct tt_rule *rule = tt_rules_next(rules, NULL, &facts);

    return rule ? rule->line : 0;
}

START_TEST(the_first_that_holds_decides_and_both_ends_belong)
{
    struct tt_rules *rules = good("allreduce bytes 8-16K ranks 2-64 -> doubling\n"
                                  "allreduce bytes 16K- -> ring\n"
                                  "reduce,bcast ranks 5 -> binomial\n"
                                  "* ranks 7 -> native\n");

    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 7, 4)), 0);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 8, 4)), 1);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 16384, 2)), 1);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 16384, 64)), 1);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 16384, 65)), 2);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 16385, 4)), 2);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, INT64_MAX, 4)), 2);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_reduce, 1, 5)), 3);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_bcast, 1, 5)), 3);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allgather, 1, 5)), 0);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_barrier, 0, 7)), 4);
    ck_assert_int_eq(line_for(NULL, facts_of(TT_COLL_barrier, 0, 7)), 0);
    tt_rules_free(rules);
}
END_TEST

/* A call that has no such fact meets no condition on it. */
START_TEST(what_a_call_has_not_is_no_match)
{
    struct tt_rules *rules = good("* commutes yes -> native\n* commutes no -> native\n* bytes 0- -> native");

    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_reduce, 0, 4)), 1);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_bcast, 0, 4)), 3);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_barrier, 0, 4)), 0);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_alltoallv, 0, 4)), 0);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_gatherv, 0, 4)), 0);
    tt_rules_free(rules);
}
END_TEST

/* Ranks 0, 1, 2 on one node, 3 on another. */
static const struct tt_nodes uneven = {
    .n = 2, .of = (const int[]){0, 0, 0, 1}, .ranks = (const int[]){0, 1, 2, 3}, .first = (const int[]){0, 3, 4}};

START_TEST(nodes_count)
{
    const struct tt_shape s = {.coll = TT_COLL_allreduce, .size = 4, .count = 8, .unit = 1, .nodes = &uneven};
    const struct tt_facts facts = tt_facts_of(TT_COLL_allreduce, &s, -1);
    static const struct {
        const char *text;
        int line;
    } rows[] = {
        {"allreduce nodes 2 -> tree", 1},           {"allreduce nodes 1 -> tree", 0},
        {"allreduce ranks_per_node 3 -> tree", 0},  {"allreduce ranks_per_node 1-3 -> tree", 1},
        {"allreduce ranks_per_node 2- -> tree", 0}, {"allreduce level nic -> tree", 1},
        {"allreduce level gpu-host -> tree", 0},    {"allreduce commutes no -> tree", 1},
        {"allreduce commutes yes -> tree", 0},      {"allreduce nodes 2 ranks 4 bytes 8 level host- -> tree", 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tt_rules *rules = good(rows[i].text);

        ck_assert_msg(line_for(rules, facts) == rows[i].line, "%s: expected line %d", rows[i].text, rows[i].line);
        tt_rules_free(rules);
    }
}
END_TEST

START_TEST(one_node_and_its_level)
{
    const struct tt_shape s = {.coll = TT_COLL_bcast, .size = 4, .count = 8, .unit = 1};
    struct tt_rules *rules =
        good("bcast level nic -> chain\nbcast level link -> chain/8K\nbcast nodes 1 ranks_per_node 4 "
             "-> chain/4K");

    ck_assert_int_eq(line_for(rules, tt_facts_of(TT_COLL_bcast, &s, TT_LEVEL_LINK)), 2);
    ck_assert_int_eq(line_for(rules, tt_facts_of(TT_COLL_bcast, &s, TT_LEVEL_NIC)), 1);
    ck_assert_int_eq(line_for(rules, tt_facts_of(TT_COLL_bcast, &s, -1)), 3);
    tt_rules_free(rules);
}
END_TEST

/* A rule whose algorithm needs something is no wall: what it cannot serve goes on to the next. */
START_TEST(what_is_left_over_is_no_error)
{
    struct tt_rules *rules = good("allreduce -> ring\nallreduce bytes 0-16K -> doubling\nreduce -> halving\n");
    const struct tt_facts facts = facts_of(TT_COLL_allreduce, 8, 4);
    const struct tt_rule *rule = tt_rules_next(rules, NULL, &facts);

    ck_assert_int_eq(rule->line, 1);
    ck_assert_int_eq(rule->after, 0);
    rule = tt_rules_next(rules, rule, &facts);
    ck_assert_int_eq(rule->line, 2);
    ck_assert_int_eq(rule->after, 1);
    ck_assert_int_eq(rules->rules[2].after, 0);
    ck_assert_ptr_null(tt_rules_next(rules, rule, &facts));
    tt_rules_free(rules);
}
END_TEST

/* ---- whole files ---- */

/* Is the last of n rules reachable? By trying every call of a small world, against what the parser says. */
struct box {
    struct tt_span bytes, ranks;
};

static bool reachable(const struct box *boxes, int n)
{
    for (int64_t bytes = 0; bytes <= 7; bytes++)
        for (int64_t ranks = 1; ranks <= 6; ranks++) {
            const struct tt_span b = {bytes, bytes}, r = {ranks, ranks};
            bool free = tt_span_holds(boxes[n - 1].bytes, b) && tt_span_holds(boxes[n - 1].ranks, r);

            for (int i = 0; i < n - 1; i++)
                free = free && !(tt_span_holds(boxes[i].bytes, b) && tt_span_holds(boxes[i].ranks, r));
            if (free)
                return true;
        }
    return false;
}

static struct tt_span span_of(int least, int most)
{
    const int a = least + rand() % (most - least + 1), b = least + rand() % (most - least + 1);

    return (struct tt_span){a < b ? a : b, a < b ? b : a};
}

START_TEST(hidden_rules_are_those_that_no_call_reaches)
{
    srand(20261130);
    for (int round = 0; round < 3000; round++) {
        struct box boxes[8];
        char text[1024];
        size_t used = 0;
        int n = 0, stop = 0;

        while (!stop && n < 8) {
            struct tt_rules *rules;

            boxes[n] = (struct box){span_of(0, 7), span_of(1, 6)};
            used += (size_t)snprintf(text + used, sizeof text - used, "allreduce bytes %d-%d ranks %d-%d -> tree\n",
                                     (int)boxes[n].bytes.from, (int)boxes[n].bytes.to, (int)boxes[n].ranks.from,
                                     (int)boxes[n].ranks.to);
            n++;
            rules = parse(text);
            ck_assert_msg((rules != NULL) == reachable(boxes, n), "%s%s", text, why);
            stop = !rules;
            tt_rules_free(rules);
        }
    }
}
END_TEST

START_TEST(many_rules_are_read_in_no_time_and_too_many_refused)
{
    enum { ROOM = 5000 * 64 };
    char *text = malloc(ROOM), *to = text;
    struct tt_rules *rules;

    for (int i = 0; i < 4096; i++)
        to += sprintf(to, "allreduce bytes %d ranks %d -> tree\n", i, i % 7 + 1);
    rules = good(text);
    ck_assert_int_eq(rules->n, 4096);
    ck_assert_int_eq(line_for(rules, facts_of(TT_COLL_allreduce, 4095, 1)), 4096);
    tt_rules_free(rules);
    sprintf(to, "allreduce -> tree\n");
    ck_assert_ptr_null(parse(text));
    ck_assert_ptr_nonnull(strstr(why, "r.txt:4097: out of memory, or more than 4096 rules"));
    free(text);
}
END_TEST

START_TEST(files_are_read)
{
    char name[] = "/tmp/tutti-rules-XXXXXX", where[128];
    const int file = mkstemp(name);
    const char text[] = "# made by hand\nbcast bytes 64K- -> chain/8K\n";
    const struct tt_facts facts = facts_of(TT_COLL_bcast, 1 << 20, 4);
    struct tt_rules *rules;

    ck_assert_int_eq(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    rules = tt_rules_read(name, why, sizeof why);
    ck_assert_msg(rules != NULL, "%s", why);
    ck_assert_int_eq(tt_rules_next(rules, NULL, &facts)->segment, 8192);
    tt_rule_where(rules, &rules->rules[0], where, sizeof where);
    ck_assert(strncmp(where, name, strlen(name)) == 0 && strcmp(where + strlen(name), ":2") == 0);
    tt_rules_free(rules);
    unlink(name);
    ck_assert_ptr_null(tt_rules_read(name, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, ": cannot be read: No such file or directory"));
    ck_assert_ptr_null(tt_rules_read("/tmp", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "/tmp: cannot be read: Is a directory"));
}
END_TEST

/* ---- pins ---- */

static struct tt_rules *pin(const char *text)
{
    why[0] = '\0';
    return tt_pin_parse("TUTTI_ALLREDUCE", TT_COLL_allreduce, text, why, sizeof why);
}

START_TEST(pins_may_have_ranges)
{
    struct tt_rules *rules = pin("doubling:0-16K; ring : 64K- ");
    const struct tt_facts small = facts_of(TT_COLL_allreduce, 16384, 4), gap = facts_of(TT_COLL_allreduce, 20000, 4);
    const struct tt_facts large = facts_of(TT_COLL_allreduce, 65536, 4);
    const struct tt_rule *rule;
    char where[128];

    ck_assert_msg(rules != NULL, "%s", why);
    rule = tt_rules_next(rules, NULL, &small);
    ck_assert_str_eq(tt_rule_algorithm(rule, TT_COLL_allreduce)->name, "doubling");
    ck_assert_str_eq(tt_rule_where(rules, rule, where, sizeof where), "TUTTI_ALLREDUCE, 0-16K");
    ck_assert_ptr_null(tt_rules_next(rules, NULL, &gap));
    rule = tt_rules_next(rules, NULL, &large);
    ck_assert_str_eq(rule->algorithm, "ring");
    ck_assert_str_eq(tt_rule_where(rules, rule, where, sizeof where), "TUTTI_ALLREDUCE, 64K-");
    tt_rules_free(rules);
    rules = tt_pin_parse("TUTTI_BCAST", TT_COLL_bcast, "chain/8K", why, sizeof why);
    ck_assert_int_eq(rules->rules[0].segment, 8192);
    ck_assert_str_eq(tt_rule_where(rules, &rules->rules[0], where, sizeof where), "TUTTI_BCAST");
    tt_rules_free(rules);
    rules = tt_pin_parse("TUTTI_BARRIER", TT_COLL_barrier, "native", why, sizeof why);
    ck_assert_ptr_nonnull(rules);
    tt_rules_free(rules);
}
END_TEST

static const char *const bad_pins[][2] = {
    {"rign", "TUTTI_ALLREDUCE=rign: rign is not an algorithm of allreduce (did you mean ring?): there are "},
    {"", "TUTTI_ALLREDUCE=: \"\" is not an algorithm"},
    {"ring;", "TUTTI_ALLREDUCE=ring;: \"\" is not an algorithm"},
    {"ring;;tree", "TUTTI_ALLREDUCE=ring;;tree: \"\" is not an algorithm"},
    {"ring:", "TUTTI_ALLREDUCE=ring:: bytes : it may be a size or a range"},
    {"ring:0-16Q", "TUTTI_ALLREDUCE=ring:0-16Q: bytes 0-16Q: it may be a size or a range"},
    {"ring:2-1", "TUTTI_ALLREDUCE=ring:2-1: bytes 2-1: the range ends before it begins"},
    {"native/8K", "TUTTI_ALLREDUCE=native/8K: native of allreduce has no segments"},
    {"ring tree", "TUTTI_ALLREDUCE=ring tree: ring tree is not an algorithm"},
    {"tree:0-16K;doubling:4K-8K", "8K: pin 2 can never be reached: pin 1 before it takes all of its calls"},
    {"tree:-8K;doubling:8K-;direct", "direct: pin 3 can never be reached: pins 1 and 2 before it take all"},
};

START_TEST(pins_are_refused_in_words)
{
    ck_assert_msg(pin(bad_pins[_i][0]) == NULL, "\"%s\" was read", bad_pins[_i][0]);
    ck_assert_msg(strstr(why, bad_pins[_i][1]), "\"%s\": expected \"%s\" in: %s", bad_pins[_i][0], bad_pins[_i][1],
                  why);
}
END_TEST

START_TEST(no_ranges_where_sizes_are_not_shared)
{
    ck_assert_ptr_null(tt_pin_parse("TUTTI_BARRIER", TT_COLL_barrier, "native:8", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "no range of bytes for barrier, which moves no bytes"));
    ck_assert_ptr_null(tt_pin_parse("TUTTI_ALLTOALLV", TT_COLL_alltoallv, "native:8", why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "no range of bytes for alltoallv, which has no size that all ranks know"));
}
END_TEST

/* ---- who decides ---- */

static struct tt_choice choose(const struct tt_shape *s, struct tt_orders orders)
{
    return tt_select(TT_COLL_allreduce, s, &orders, NULL, false);
}

START_TEST(the_strongest_decides)
{
    const struct tt_shape s = {
        .coll = TT_COLL_allreduce, .size = 4, .count = 8, .unit = 4, .commutes = true, .segment = 1};
    struct tt_orders orders = {.level = -1};
    struct tt_rules *info = tt_pin_parse("info key tutti_allreduce", TT_COLL_allreduce, "ring:0-1K", why, sizeof why);
    struct tt_rules *env = pin("tree"), *rules = good("bcast -> native\nallreduce ranks 4 -> direct");

    ck_assert_str_eq(choose(&s, orders).why, "no model of the links");
    orders.rules = rules;
    ck_assert_str_eq(choose(&s, orders).alg->name, "direct");
    ck_assert_str_eq(choose(&s, orders).why, "r.txt:2");
    orders.pin = env;
    ck_assert_str_eq(choose(&s, orders).why, "TUTTI_ALLREDUCE");
    orders.info = info;
    ck_assert_str_eq(choose(&s, orders).why, "info key tutti_allreduce, 0-1K");
    ck_assert_str_eq(choose(&s, orders).alg->name, "ring");
    ck_assert_int_eq(choose(&s, orders).segment, 0);
    ck_assert_str_eq(tt_select(TT_COLL_allreduce, &s, &orders, "a user's op", false).why, "a user's op");
    tt_rules_free(info);
    tt_rules_free(env);
    tt_rules_free(rules);
}
END_TEST

/* What holds but cannot serve is passed over, and that is said. */
START_TEST(who_is_passed_over_is_told)
{
    const struct tt_shape s = {
        .coll = TT_COLL_allreduce, .size = 4, .count = 8, .unit = 4, .commutes = false, .segment = 1};
    struct tt_rules *env = pin("ring"), *rules = good("allreduce -> bidirectional_ring\nallreduce commutes no -> tree");
    const struct tt_orders orders = {.pin = env, .rules = rules, .level = -1};
    const struct tt_choice choice = choose(&s, orders), foreign = tt_select(TT_COLL_allreduce, &s, &orders, NULL, true);

    ck_assert_str_eq(choice.alg->name, "tree");
    ck_assert_ptr_nonnull(
        strstr(choice.why, "r.txt:2; TUTTI_ALLREDUCE passed over, because ring is not feasible: it folds "));
    ck_assert_ptr_nonnull(strstr(choice.why, "; r.txt:1 passed over"));
    ck_assert_str_eq(foreign.alg->name, "tree");
    tt_rules_free(env);
    env = pin("native");
    ck_assert_ptr_nonnull(
        strstr(tt_select(TT_COLL_allreduce, &s, &(struct tt_orders){.pin = env, .level = -1}, NULL, true).why,
               "TUTTI_ALLREDUCE passed over, because native is not feasible: the MPI below does not know"));
    tt_rules_free(env);
    tt_rules_free(rules);
}
END_TEST

/* Bytes become elements, one at least. */
START_TEST(segments_are_part_of_the_choice)
{
    struct tt_shape s = {.coll = TT_COLL_bcast, .size = 4, .count = 8, .unit = 1, .segment = 7};
    struct tt_rules *rules = good("bcast bytes 0-99 -> chain/64\nbcast -> chain");
    const struct tt_orders orders = {.rules = rules, .level = -1};

    ck_assert_int_eq(tt_select(TT_COLL_bcast, &s, &orders, NULL, false).segment, 64);
    s.unit = 8;
    ck_assert_int_eq(tt_select(TT_COLL_bcast, &s, &orders, NULL, false).segment, 8);
    s.unit = 99;
    s.count = 1;
    ck_assert_int_eq(tt_select(TT_COLL_bcast, &s, &orders, NULL, false).segment, 1);
    s.count = 2;
    ck_assert_int_ne(tt_select(TT_COLL_bcast, &s, &orders, NULL, false).segment, 1); /* the next rule has none */
    tt_rules_free(rules);
}
END_TEST

/* ---- names ---- */

START_TEST(the_nearest_name_is_the_one_meant)
{
    const struct tt_names names = {4, {"ring", "binomial", "bruck", "two_level"}};
    static const char *const rows[][2] = {
        {"rign", "ring"},
        {"rng", "ring"},
        {"binominal", "binomial"},
        {"twolevel", "two_level"},
        {"burck", "bruck"},
        {"tree", NULL},
        {"x", NULL},
        {"", NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *nearest = tt_names_nearest(&names, rows[i][0], strlen(rows[i][0]));

        ck_assert_msg(nearest == rows[i][1] || (nearest && rows[i][1] && strcmp(nearest, rows[i][1]) == 0),
                      "%s is taken for %s", rows[i][0], nearest ? nearest : "nothing");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *all = tcase_create("rules");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(all, refuses_with_the_line_and_what_may_be_there, 0, sizeof bad / sizeof *bad);
    tcase_add_test(all, refuses_what_is_no_text);
    tcase_add_test(all, a_short_room_for_words_is_kept_to);
    tcase_add_loop_test(all, prints_what_it_read, 0, sizeof same / sizeof *same);
    tcase_add_test(all, an_empty_file_has_no_rules);
    tcase_add_test(all, hashes_tell_decisions_apart);
    tcase_add_test(all, the_first_that_holds_decides_and_both_ends_belong);
    tcase_add_test(all, what_a_call_has_not_is_no_match);
    tcase_add_test(all, nodes_count);
    tcase_add_test(all, one_node_and_its_level);
    tcase_add_test(all, what_is_left_over_is_no_error);
    tcase_add_test(all, hidden_rules_are_those_that_no_call_reaches);
    tcase_add_test(all, many_rules_are_read_in_no_time_and_too_many_refused);
    tcase_add_test(all, files_are_read);
    tcase_add_test(all, pins_may_have_ranges);
    tcase_add_loop_test(all, pins_are_refused_in_words, 0, sizeof bad_pins / sizeof *bad_pins);
    tcase_add_test(all, no_ranges_where_sizes_are_not_shared);
    tcase_add_test(all, the_strongest_decides);
    tcase_add_test(all, who_is_passed_over_is_told);
    tcase_add_test(all, segments_are_part_of_the_choice);
    tcase_add_test(all, the_nearest_name_is_the_one_meant);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
