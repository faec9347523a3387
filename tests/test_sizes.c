/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes: what people write must mean what they mean, and what is no size must be refused, not read as a part of it. */
#include "coll/sizes.h"

#include <check.h>
#include <limits.h>
#include <stdlib.h>

static const struct {
    const char *text;
    int64_t bytes;
} good[] = {
    {"0", 0},          {"1", 1},           {"4096", 4096},         {"64K", 65536},   {"64k", 65536},
    {"4M", 4194304},   {"1G", 1073741824}, {"64KiB", 65536},       {"64KB", 64000},  {"1MB", 1000000},
    {"2GB", 2000000000}, {"1T", INT64_C(1) << 40}, {"12B", 12},    {"1.5K", 1536},   {"0.5MiB", 524288},
    {"1.5KB", 1500},   {"64 KiB", 65536},  {"9223372036854775807", INT64_MAX},
};

static const char *const bad[] = {
    "", "K", "-1", "+1", "1.2", "1..2K", "4Q", "4MM", "0x10", " 4", "4M,", "1.0000000001K", "9223372036854775808",
    "9007199254740992K", "inf", "1.", ".5K",
};

START_TEST(reads_sizes)
{
    int64_t bytes = -1;

    ck_assert_msg(tt_size_parse(good[_i].text, &bytes) == 0, "\"%s\" was refused", good[_i].text);
    ck_assert_msg(bytes == good[_i].bytes, "\"%s\" read as %lld, expected %lld", good[_i].text, (long long)bytes,
                  (long long)good[_i].bytes);
}
END_TEST

START_TEST(refuses_what_is_no_size)
{
    int64_t bytes = -1;

    ck_assert_msg(tt_size_parse(bad[_i], &bytes) == -1, "\"%s\" was read as %lld", bad[_i], (long long)bytes);
}
END_TEST

START_TEST(prints_the_unit_that_reads_best)
{
    char text[32];

    ck_assert_str_eq(tt_size_print(text, sizeof text, 8), "8 B");
    ck_assert_str_eq(tt_size_print(text, sizeof text, 65536), "64 KiB");
    ck_assert_str_eq(tt_size_print(text, sizeof text, 3 << 19), "1.5 MiB");
    ck_assert_str_eq(tt_size_print(text, sizeof text, 1048575), "1.0 MiB");
    ck_assert_str_eq(tt_size_print(text, sizeof text, INT64_C(5) << 40), "5 TiB");
}
END_TEST

START_TEST(reads_positive_integers_only)
{
    int n = 7;

    ck_assert_int_eq(tt_int_parse("12", &n), 0);
    ck_assert_int_eq(n, 12);
    ck_assert_int_eq(tt_int_parse("0", &n), -1);
    ck_assert_int_eq(tt_int_parse("-4", &n), -1);
    ck_assert_int_eq(tt_int_parse("4x", &n), -1);
    ck_assert_int_eq(tt_int_parse("2147483648", &n), -1);
    ck_assert_int_eq(n, 12);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sizes");
    TCase *all = tcase_create("sizes");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(all, reads_sizes, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(all, refuses_what_is_no_size, 0, sizeof bad / sizeof *bad);
    tcase_add_test(all, prints_the_unit_that_reads_best);
    tcase_add_test(all, reads_positive_integers_only);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
