/* SPDX-License-Identifier: BSD-3-Clause */
/* tutti scaling: the arithmetic of two runs, and the command as its user meets it. It is ./tutti, or what TEST_TUTTI
 * names. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tools/scaling.h"

static char said[1 << 16];
static char scratch[] = "/tmp/tutti-test-XXXXXX";

/* `tutti scaling` with these words; its exit status, and what it said in said. */
static int run(const char *words)
{
    const char *tutti = getenv("TEST_TUTTI") ? getenv("TEST_TUTTI") : "./tutti";
    char line[1024];
    size_t got;
    FILE *out;

    snprintf(line, sizeof line, "{ cd %s && %s scaling %s; } 2>&1", scratch, tutti, words);
    out = popen(line, "r");
    ck_assert_ptr_nonnull(out);
    got = fread(said, 1, sizeof said - 1, out);
    said[got] = '\0';
    return WEXITSTATUS(pclose(out));
}

#define expect(status, words, text)                                                                                    \
    do {                                                                                                               \
        const int status_ = run(words);                                                                                \
        ck_assert_msg(status_ == (status), "%s: exit status %d, it said:\n%s", words, status_, said);                  \
        ck_assert_msg(strstr(said, text), "%s: expected \"%s\" in:\n%s", words, text, said);                           \
    } while (0)

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *out;

    snprintf(path, sizeof path, "%s/%s", scratch, name);
    out = fopen(path, "w");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

/* A report as the library writes it, as far as scaling reads it. */
static void write_report(const char *name, int ranks, double seconds, const double *part, int calls)
{
    char text[512];

    snprintf(text, sizeof text,
             "{\"tutti\": \"report\", \"version\": 1, \"ranks\": %d, \"seconds\": %g, \"simulated\": false,"
             " \"calls_per_rank\": %d, \"time\": {\"compute_s\": %g, \"exposed_s\": %g, \"imbalance_s\": %g,"
             " \"bubble_s\": %g, \"setup_s\": %g}}",
             ranks, seconds, calls, part[0], part[1], part[2], part[3], part[4]);
    write_file(name, text);
}

/* ---- arithmetic ---- */

START_TEST(eight_to_thirty_two)
{
    struct tool_run a, b;

    ck_assert(tool_run_parse("8:800", &a) && tool_run_parse("32:2600", &b));
    ck_assert_double_eq_tol(tool_run_speedup(&a, &b), 3.25, 1e-12);
    ck_assert_double_eq_tol(tool_run_efficiency(&a, &b), 0.8125, 1e-12);
    ck_assert_double_eq_tol(tool_run_serial(&a, &b), (1 / 3.25 - 0.25) / 0.75, 1e-12);
    ck_assert_int_eq(tool_run_problem(&a, &b), TOOL_SAME);
}
END_TEST

START_TEST(words_that_are_no_runs)
{
    static const char *const words[] = {"8",     "8:",       "8:0",      "8:-3",  "8:800x", "0:800",
                                        "1.5:8", "8:800:",   "8:800:0",  ":800",  "x:800",  "8:inf",
                                        "",      "8:800:1x", "9e99:800", "a.json"};
    struct tool_run run;

    ck_assert_msg(!tool_run_parse(words[_i], &run), "\"%s\" was taken for a run", words[_i]);
}
END_TEST

START_TEST(a_problem_is_the_same_grew_or_changed)
{
    struct tool_run a, b;

    ck_assert(tool_run_parse("8:800:256", &a) && tool_run_parse("32:2600:1024", &b));
    ck_assert_int_eq(tool_run_problem(&a, &b), TOOL_GREW);
    b.problem = 256;
    ck_assert_int_eq(tool_run_problem(&a, &b), TOOL_SAME);
    b.problem = 300;
    ck_assert_int_eq(tool_run_problem(&a, &b), TOOL_CHANGED);
}
END_TEST

/* ---- the command ---- */

START_TEST(by_hand)
{
    expect(0, "8:800 32:2600", "3.25x");
    ck_assert_ptr_nonnull(strstr(said, "81.25 %"));
    ck_assert_ptr_nonnull(
        strstr(said, "32 ranks are 3.25x as fast as 8, where 4x would be ideal: an efficiency of 81.25 %."));
    ck_assert_ptr_nonnull(strstr(said, "7.7 % of what 8 ranks do could not be divided further"));
    ck_assert_ptr_null(strstr(said, "warning"));
    expect(0, "32:2600 8:800", "32 ranks are 3.25x as fast as 8"); /* in any order */
    expect(0, "8:800:256 32:2600:1024",
           "warning: the global problem changed from 256 on 8 ranks to 1024 on 32; it grew with the ranks");
}
END_TEST

static const double two[] = {10, 0.5, 0.25, 0.25, 0.1}, eight[] = {2.5, 0.5, 0.8, 0.1, 0.1},
                    weak[] = {10, 0.6, 1.5, 0.2, 0.1};

START_TEST(reports_of_the_same_problem)
{
    write_report("a.json", 2, 11.1, two, 100);
    write_report("b.json", 8, 4, eight, 100);
    expect(0, "a.json b.json", "8 ranks are 2.77x as fast as 2, where 4x would be ideal: an efficiency of 69.38 %.");
    ck_assert_ptr_nonnull(
        strstr(said, "What grew most from 2 to 8 ranks: imbalance, from 2.3 % to 20.0 % of the time."));
    ck_assert_ptr_null(strstr(said, "warning"));
}
END_TEST

START_TEST(reports_of_another_problem)
{
    write_report("a.json", 2, 11.1, two, 100);
    write_report("w.json", 8, 12.4, weak, 100);
    expect(
        0, "a.json w.json",
        "warning: the global problem changed: all ranks together computed for 20 s on 2 ranks, for 80 s on 8; it grew");
    ck_assert_ptr_nonnull(strstr(said, "a weak scaling efficiency of 89.52 %"));
    write_report("s.json", 8, 4, eight, 50);
    expect(0, "a.json s.json",
           "warning: a rank called 100 collectives on 2 ranks and 50 on 8: are these as many steps?");
}
END_TEST

START_TEST(pictures)
{
    expect(0, "2:10 4:18 8:30 --plot -", "a measured");
    expect(system("command -v gnuplot > /dev/null") == 0 ? 0 : 1, "2:10 4:18 8:30 --plot s.svg", "s.svg");
}
END_TEST

START_TEST(errors_say_what_and_what_to_do)
{
    write_file("no.json", "{\"tutti\": \"bench\"}");
    write_file("old.json", "{\"tutti\": \"report\", \"version\": 99}");
    write_file("torn.json", "{\"tutti\": \"rep");
    write_report("a.json", 2, 11.1, two, 100);
    write_file("short.json", "{\"tutti\": \"report\", \"version\": 1, \"ranks\": 4, \"seconds\": 3, \"time\": {}}");
    expect(2, "8:800", "wants two runs or more: tutti scaling 8:800 32:2600");
    expect(2, "8:800 8:900", "8:800 and 8:900 are both on 8 ranks");
    expect(1, "8:800 nowhere.json", "nowhere.json");
    expect(1, "8:800 32:fast", "by hand a run is RANKS:THROUGHPUT, as 32:2600");
    expect(1, "8:800 no.json", "no.json: this is no report: TUTTI_REPORT=FILE.json writes one");
    expect(1, "8:800 old.json", "old.json: a report of another version of Tutti");
    expect(1, "8:800 torn.json", "torn.json:1: ");
    expect(1, "8:800 short.json", "short.json: \"time\" lacks a part");
    expect(2, "8:800 a.json", "a throughput given by hand and a report's time cannot be compared");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tutti scaling");
    TCase *all = tcase_create("scaling");
    SRunner *runner = srunner_create(suite);
    char line[64];
    int failed;

    if (!getenv("TEST_TUTTI")) { /* the command is run from another directory */
        static char here[512], path[1024];

        if (!realpath("./tutti", here))
            return EXIT_FAILURE;
        snprintf(path, sizeof path, "%s", here);
        setenv("TEST_TUTTI", path, 1);
    }
    if (!mkdtemp(scratch))
        return EXIT_FAILURE;
    tcase_add_test(all, eight_to_thirty_two);
    tcase_add_loop_test(all, words_that_are_no_runs, 0, 16);
    tcase_add_test(all, a_problem_is_the_same_grew_or_changed);
    tcase_add_test(all, by_hand);
    tcase_add_test(all, reports_of_the_same_problem);
    tcase_add_test(all, reports_of_another_problem);
    tcase_add_test(all, pictures);
    tcase_add_test(all, errors_say_what_and_what_to_do);
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    snprintf(line, sizeof line, "rm -r %s", scratch);
    return system(line) || failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
