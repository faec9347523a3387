/* SPDX-License-Identifier: BSD-3-Clause */
/* How a call's time is divided, a report's words, and that `tutti scaling` reads what the library writes. */
#include <check.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/report_sums.h"
#include "tools/scaling.h"

static struct tt_sums s;

/* Microseconds, for a sum of one call. */
static void divide_with(int64_t entered, int64_t begun, int64_t left, int64_t blocked, int64_t freed, int64_t last,
                        int64_t setup)
{
    s = (struct tt_sums){0};
    tt_sums_add(&s, &(struct tt_call_times){1000 * entered, 1000 * begun, 1000 * left, 1000 * blocked, 1000 * freed,
                                            1000 * last, 1000 * setup});
}

/* All that precedes the first message is set-up. */
static void divide(int64_t entered, int64_t begun, int64_t left, int64_t blocked, int64_t freed, int64_t last)
{
    divide_with(entered, begun, left, blocked, freed, last, begun - entered);
}

#define expect(imbalance_, exposed_, overlapped_, setup_)                                                              \
    do {                                                                                                               \
        ck_assert_double_eq_tol(s.imbalance * 1e6, imbalance_, 1e-6);                                                  \
        ck_assert_double_eq_tol(s.exposed * 1e6, exposed_, 1e-6);                                                      \
        ck_assert_double_eq_tol(s.overlapped * 1e6, overlapped_, 1e-6);                                                \
        ck_assert_double_eq_tol(s.setup * 1e6, setup_, 1e-6);                                                          \
    } while (0)

START_TEST(a_blocking_call_is_divided)
{
    divide(100, 100, 150, 100, 150, 130); /* the last came 30 us later */
    expect(30, 20, 0, 0);
    divide(100, 110, 150, 100, 150, 0); /* this rank was the last, and made something first */
    expect(0, 40, 0, 10);
    divide(100, 110, 150, 100, 150, 105); /* waiting counts before making */
    expect(5, 40, 0, 5);
    divide(100, 110, 150, 100, 150, 140); /* what was made, was made while waiting */
    expect(40, 10, 0, 0);
    divide(100, 100, 150, 100, 150, 500); /* it could end without the last: a root's */
    expect(50, 0, 0, 0);
}
END_TEST

START_TEST(a_nonblocking_call_is_divided)
{
    divide(100, 101, 200, 200, 200, 150); /* it ended under the program */
    expect(0, 0, 99, 1);
    divide(100, 101, 200, 160, 200, 150); /* the program waited for it at the end, all being there */
    expect(0, 40, 59, 1);
    divide(100, 101, 200, 160, 200, 180); /* and one was not */
    expect(20, 20, 59, 1);
}
END_TEST

/* What precedes the first message and makes nothing, as an agreement does, is communication. */
START_TEST(set_up_is_what_was_made)
{
    divide_with(100, 110, 150, 100, 150, 0, 4);
    expect(0, 46, 0, 4);
    divide_with(100, 110, 150, 100, 150, 108, 4); /* most of it while waiting */
    expect(8, 40, 0, 2);
    divide_with(100, 110, 200, 200, 200, 150, 4);
    expect(0, 6, 90, 4);
}
END_TEST

/* Whatever the clocks say, nothing is lost, and nothing negative. */
START_TEST(parts_add_up)
{
    for (int i = 0; i < 1000; i++) {
        const int64_t entered = 1000 + rand() % 100, begun = entered + rand() % 100, left = begun + rand() % 100;

        divide_with(entered, begun, left, entered, left, rand() % 2000, rand() % 200);
        ck_assert_double_eq_tol(1e6 * (s.imbalance + s.exposed + s.setup), left - entered, 1e-6);
        ck_assert(s.imbalance >= 0 && s.exposed >= 0 && s.setup >= 0 && s.overlapped == 0);
    }
}
END_TEST

START_TEST(sizes_have_classes)
{
    static const struct {
        int64_t bytes;
        int class;
        const char *words;
    } rows[] = {{0, 0, "-"},
                {1, 1, "1-64"},
                {63, 1, "1-64"},
                {64, 2, "64-1K"},
                {1023, 2, "64-1K"},
                {1024, 3, "1K-16K"},
                {1 << 20, 5, "256K-4M"},
                {64 << 20, 7, "64M-"},
                {INT64_C(1) << 60, 7, "64M-"}};
    char text[32];

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(tt_size_class(rows[i].bytes), rows[i].class);
        ck_assert_str_eq(tt_size_class_print(text, sizeof text, rows[i].class), rows[i].words);
    }
}
END_TEST

/* ---- a job ---- */

static struct tt_rank_sums ranks[2];
static struct tt_report report;

static void make_report(void)
{
    static const double parts[] = {7.1, 1.8, 0.9, 0.2, 0};

    memset(&report, 0, sizeof report);
    report = (struct tt_report){.ranks = 2, .gpus = true, .aligned = true, .rank = ranks};
    for (int r = 0; r < 2; r++) {
        ranks[r] = (struct tt_rank_sums){.seconds = 10, .calls = 50, .overlapped = 0.5};
        memcpy(ranks[r].part, parts, sizeof parts);
        strcpy(ranks[r].host, "a\"b\\c");
    }
    ranks[0].part[TT_PART_compute] = 6.1;
    ranks[1].part[TT_PART_compute] = 8.1;
    report.sums[TT_COLL_allreduce][5] = (struct tt_sums){
        .calls = 100, .bytes = 100 << 20, .moved = 100 << 20, .imbalance = 1.8, .exposed = 3.6, .bound = 1.8};
    report.most[TT_COLL_allreduce][5] = (struct tt_sums){.moved = 50 << 20};
    report.sums[TT_COLL_alltoallv][3] = (struct tt_sums){.calls = 2, .bytes = 4096, .moved = 8192, .exposed = 1};
    report.most[TT_COLL_alltoallv][3] = (struct tt_sums){.moved = 6144};
}

static char *words_of(void (*write)(FILE *, const struct tt_report *))
{
    static char text[1 << 14];
    FILE *out = fmemopen(text, sizeof text, "w");

    ck_assert_ptr_nonnull(out);
    write(out, &report);
    fclose(out);
    return text;
}

#define expect_said(text, words) ck_assert_msg(strstr(text, words), "expected \"%s\" in:\n%s", words, text)

START_TEST(a_report_in_words)
{
    const char *text;

    make_report();
    text = words_of(tt_report_print);
    expect_said(text, "tutti: report of 2 ranks, 10 s from MPI_Init to MPI_Finalize\n");
    expect_said(text,
                "per GPU: compute 71 %, exposed communication 18 %, imbalance 9 %, bubble 2 %, set-up 0 %; 500 ms of "
                "communication under compute.\n");
    expect_said(text, "Slowest: rank 1 on a\"b\\c computes for 8.1 s, 14 % longer than the mean of 7.1 s.\n");
    expect_said(text, "29.13 MB/s  29.13 MB/s    50 %\n"); /* 2 (p-1)/p is 1 */
    expect_said(text, "Uneven: in alltoallv of 1K-16K one rank moves 1.5 times as much as the mean.\n");
    ck_assert_ptr_null(strstr(text, "SIMULATED"));
    report.simulated = true;
    report.aligned = false;
    text = words_of(tt_report_print);
    expect_said(text, "; SIMULATED GPUs: no GPU's times\n");
    expect_said(text, "Arrivals were not compared");
}
END_TEST

static void try_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};

    for (int i = 0; i < 3; i++)
        if (setlocale(LC_ALL, names[i]))
            return;
}

START_TEST(a_report_for_machines)
{
    static char name[] = "/tmp/tutti-test-XXXXXX";
    const int file = mkstemp(name);
    struct tool_run run;
    char why[256] = "";
    json_t *all;
    FILE *out;

    make_report();
    ck_assert_int_ge(file, 0);
    out = fdopen(file, "w");
    try_locale();
    tt_report_write(out, &report);
    setlocale(LC_ALL, "C");
    fclose(out);
    ck_assert_msg(tool_run_read(name, &run, why, sizeof why) == 0, "%s", why);
    ck_assert_int_eq(run.ranks, 2);
    ck_assert_double_eq_tol(run.seconds, 10, 1e-9);
    ck_assert_double_eq_tol(run.part[TOOL_PART_compute], 7.1, 1e-9);
    ck_assert_double_eq_tol(run.part[TOOL_PART_bubble], 0.2, 1e-9);
    ck_assert_double_eq_tol(run.calls, 50, 1e-9);
    all = json_load_file(name, 0, NULL);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(all, "per_rank"), 1), "host")),
                     "a\"b\\c");
    ck_assert_uint_eq(json_array_size(json_object_get(all, "calls")), 2);
    json_decref(all);
    unlink(name);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("report");
    TCase *all = tcase_create("report");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(all, a_blocking_call_is_divided);
    tcase_add_test(all, a_nonblocking_call_is_divided);
    tcase_add_test(all, set_up_is_what_was_made);
    tcase_add_test(all, parts_add_up);
    tcase_add_test(all, sizes_have_classes);
    tcase_add_test(all, a_report_in_words);
    tcase_add_test(all, a_report_for_machines);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
