/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of ranks held against one another: what differs is named, the larger group first, at any number of ranks. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/check_record.h"

enum { MOST = 4096 };

static struct tt_record records[MOST];
static char text[480];

/* n ranks that agree. */
static void fill(int n)
{
    for (int r = 0; r < n; r++) {
        records[r] = (struct tt_record){.call = "MPI_Reduce", .root = "0", .op = "MPI_SUM", .block = "8 x MPI_INT"};
        for (int i = 0; i < TT_NCHECKED; i++)
            records[r].value[i] = 1 + (uint64_t)i;
    }
}

static void differ(int rank, enum tt_checked row, uint64_t value, const char *words)
{
    records[rank].value[row] = value;
    strcpy(row == TT_CHECKED_root ? records[rank].root : records[rank].block, words);
}

#define expect(n, words)                                                                                               \
    do {                                                                                                               \
        ck_assert_msg(!tt_records_agree(records, n, "work", text, sizeof text), "they agree");                         \
        ck_assert_str_eq(text, words);                                                                                 \
    } while (0)

START_TEST(equal_records_agree)
{
    fill(MOST);
    ck_assert(tt_records_agree(records, MOST, "work", text, sizeof text));
    records[7].value[TT_CHECKED_count] = 0; /* no say */
    ck_assert(tt_records_agree(records, MOST, "work", text, sizeof text));
}
END_TEST

START_TEST(the_larger_group_comes_first)
{
    fill(4);
    differ(0, TT_CHECKED_count, 99, "9 x MPI_INT");
    expect(
        4,
        "calls of MPI_Reduce on work do not match: the count differs: 8 x MPI_INT on ranks 1-3; 9 x MPI_INT on rank 0");
    fill(2);
    differ(1, TT_CHECKED_root, 99, "1");
    expect(2, "calls of MPI_Reduce on work do not match: the root differs: 0 on rank 0; 1 on rank 1");
}
END_TEST

/* A root that differs explains a count that does. */
START_TEST(the_first_difference_is_told)
{
    fill(3);
    differ(1, TT_CHECKED_count, 99, "9 x MPI_INT");
    differ(1, TT_CHECKED_root, 99, "2");
    expect(3, "calls of MPI_Reduce on work do not match: the root differs: 0 on ranks 0,2; 2 on rank 1");
}
END_TEST

START_TEST(a_fault_comes_after_the_collective_and_before_the_rest)
{
    fill(4);
    strcpy(records[2].fault, "a count is negative");
    differ(1, TT_CHECKED_count, 99, "9 x MPI_INT");
    expect(4, "MPI_Reduce on work: rank 2: a count is negative");
    strcpy(records[3].fault, "a count is negative");
    expect(4, "MPI_Reduce on work: rank 2: a count is negative (and 1 more rank)");
    records[0].value[TT_CHECKED_collective] = 99;
    strcpy(records[0].call, "MPI_Scan");
    expect(4, "calls on work do not match: the collective differs: MPI_Reduce on ranks 1-3; MPI_Scan on rank 0");
}
END_TEST

START_TEST(thousands_of_ranks_are_ranges)
{
    fill(MOST);
    differ(31, TT_CHECKED_count, 99, "9 x MPI_INT");
    expect(MOST, "calls of MPI_Reduce on work do not match: the count differs: 8 x MPI_INT on ranks 0-30,32-4095; 9 x "
                 "MPI_INT on rank 31");
    fill(MOST);
    for (int r = 0; r < MOST; r += 4)
        differ(r, TT_CHECKED_count, 99, "9 x MPI_INT");
    ck_assert(!tt_records_agree(records, MOST, "work", text, sizeof text));
    ck_assert_ptr_nonnull(
        strstr(text, "8 x MPI_INT on ranks 1-3,5-7,9-11,13-15,17-19,21-23,25-27,29-31,33-35,37-39,41-43,45-47,49-51,"
                     "53-55,... (3072 in all)"));
    ck_assert_ptr_nonnull(
        strstr(text, "9 x MPI_INT on ranks 0,4,8,12,16,20,24,28,32,36,40,44,48,52,56,60,64,68,72,76,80,84,88,92,96,"
                     "100,104,... (1024 in all)"));
}
END_TEST

/* However many groups there are, the text ends where it has to. */
START_TEST(every_rank_says_something_else)
{
    fill(64);
    for (int r = 0; r < 64; r++)
        differ(r, TT_CHECKED_count, 100 + (uint64_t)r, "a count of its own, in many words, as long as they may be");
    ck_assert(!tt_records_agree(records, 64, "work", text, sizeof text));
    ck_assert_uint_lt(strlen(text), sizeof text);
    for (size_t size = 1; size < sizeof text; size += 7) {
        memset(text, 'x', sizeof text);
        ck_assert(!tt_records_agree(records, 64, "work", text, size));
        ck_assert_uint_lt(strlen(text), size);
    }
}
END_TEST

/* What is true of the records of all is true of their digests, joined in any order: here as a tree's nodes do. */
static bool digests_agree(int n)
{
    struct tt_digest all[64];

    for (int r = n - 1; r >= 0; r--) {
        all[r] = tt_digest_of(&records[r]);
        for (int far = 1; r + far < n && !(r & far); far *= 2)
            tt_digest_join(&all[r], &all[r + far]);
    }
    return tt_digest_agrees(&all[0]);
}

START_TEST(digests_say_whether_to_look_closer)
{
    for (int n = 1; n <= 64; n++) {
        fill(n);
        ck_assert(digests_agree(n));
        for (int odd = 0; odd < n && n > 1; odd++) {
            for (int row = 0; row < TT_NCHECKED; row++) {
                fill(n);
                records[odd].value[row] = 99;
                ck_assert(!digests_agree(n));
                records[odd].value[row] = 0; /* no say */
                ck_assert(digests_agree(n));
            }
            strcpy(records[odd].fault, "a count is negative");
            ck_assert(!digests_agree(n));
            fill(n);
            records[odd].pairs = 7;
            ck_assert(!digests_agree(n));
            records[n - 1 - odd].pairs -= 7;
            ck_assert(digests_agree(n) == (n - 1 - odd != odd || records[odd].pairs == 0));
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("check mode");
    TCase *all = tcase_create("records");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(all, equal_records_agree);
    tcase_add_test(all, the_larger_group_comes_first);
    tcase_add_test(all, the_first_difference_is_told);
    tcase_add_test(all, a_fault_comes_after_the_collective_and_before_the_rest);
    tcase_add_test(all, thousands_of_ranks_are_ranges);
    tcase_add_test(all, every_rank_says_something_else);
    tcase_add_test(all, digests_say_whether_to_look_closer);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
