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
    ck_assert_str_eq(tt_size_print_tens(text, sizeof text, 999), "999 B");
    ck_assert_str_eq(tt_size_print_tens(text, sizeof text, 64000), "64 KB");
    ck_assert_str_eq(tt_size_print_tens(text, sizeof text, 1500000), "1.5 MB");
    ck_assert_str_eq(tt_size_print_tens(text, sizeof text, 999960), "1.0 MB");
}
END_TEST

static const struct {
    const char *text;
    double value;
} good_times[] = {{"0", 0},        {"0.0", 0},      {"0us", 0},      {"20us", 20e-6}, {"1.5ms", 1.5e-3},
                  {"3ns", 3e-9},   {"2s", 2},       {"2.5 us", 2.5e-6}, {"0.1us", 1e-7}},
  good_rates[] = {{"25GB/s", 25e9},     {"12.5GB/s", 12.5e9}, {"1500GB/s", 1.5e12}, {"1TB/s", 1e12},
                  {"1GiB/s", 1 << 30},  {"2K/s", 2048},       {"400Gbit/s", 50e9},  {"100gbit/s", 12.5e9},
                  {"8B/s", 8},          {"8 bit/s", 1},       {"0.5 MB/s", 5e5}};

static const char *const bad_times[] = {"", "20", "us", "-1us", "+1us", "1e-6s", "20US", "20u", "20us ", "1..5ms", "1.ms",
                                        "20 m s", "inf", "0x1s", "20h", "1.0000000001s"},
                  *const bad_rates[] = {"", "25", "25GB", "25GB/S", "25Gb/s", "25gb/s", "25b/s", "0GB/s", "0.0GB/s", "-1GB/s",
                                        "/s", "25/s", "GB/s", "25GB/ss", "25GB /s", "25Qbit/s", "inf", "1e9B/s",
                                        "25GB/s/s", "25GigaByte/s"};

static void expect_value(double got, double expected, const char *text)
{
    ck_assert_msg(got == expected, "\"%s\" read as %.17g, expected %.17g", text, got, expected);
}

START_TEST(tells_powers_of_ten)
{
    static const char *const tens[] = {"64KB", "1gb"}, *const others[] = {"64", "64B", "64K", "64KiB"};

    for (size_t i = 0; i < sizeof tens / sizeof *tens; i++)
        ck_assert(tt_size_is_decimal(tens[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert(!tt_size_is_decimal(others[i]));
}
END_TEST

START_TEST(reads_times_and_rates)
{
    double value;

    for (size_t i = 0; i < sizeof good_times / sizeof *good_times; i++) {
        ck_assert_msg(tt_time_parse(good_times[i].text, &value) == 0, "\"%s\" was refused", good_times[i].text);
        expect_value(value, good_times[i].value, good_times[i].text);
    }
    for (size_t i = 0; i < sizeof good_rates / sizeof *good_rates; i++) {
        ck_assert_msg(tt_rate_parse(good_rates[i].text, &value) == 0, "\"%s\" was refused", good_rates[i].text);
        expect_value(value, good_rates[i].value, good_rates[i].text);
    }
}
END_TEST

START_TEST(refuses_what_is_no_time_or_rate)
{
    double value = 7;

    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++)
        ck_assert_msg(tt_time_parse(bad_times[i], &value) == -1, "\"%s\" was read as %g s", bad_times[i], value);
    for (size_t i = 0; i < sizeof bad_rates / sizeof *bad_rates; i++)
        ck_assert_msg(tt_rate_parse(bad_rates[i], &value) == -1, "\"%s\" was read as %g", bad_rates[i], value);
    ck_assert(value == 7);
}
END_TEST

START_TEST(prints_times_and_rates)
{
    static const struct {
        double value;
        const char *time, *rate;
    } both[] = {
        {0, "0 s", "0 B/s"},          {4.02e-3, "4.02 ms", NULL}, {35e-3, "35 ms", NULL},   {20e-6, "20 us", NULL},
        {999.7e-6, "1 ms", NULL},     {1.5, "1.5 s", "1.5 B/s"},  {2e-10, "0.2 ns", NULL},  {12.5e9, NULL, "12.5 GB/s"},
        {1.5e12, NULL, "1.5 TB/s"},   {999.96e6, NULL, "1 GB/s"}, {112.5e9, NULL, "112.5 GB/s"},
    };
    char text[32];

    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        if (both[i].time)
            ck_assert_str_eq(tt_time_print(text, sizeof text, both[i].value), both[i].time);
        if (both[i].rate)
            ck_assert_str_eq(tt_rate_print(text, sizeof text, both[i].value), both[i].rate);
    }
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
    tcase_add_test(all, tells_powers_of_ten);
    tcase_add_test(all, reads_times_and_rates);
    tcase_add_test(all, refuses_what_is_no_time_or_rate);
    tcase_add_test(all, prints_times_and_rates);
    tcase_add_test(all, reads_positive_integers_only);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
