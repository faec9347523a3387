/* SPDX-License-Identifier: BSD-3-Clause */
/* How bytes are written for another core: all of them, wherever they lie, and in the way that the two of them together
 * have seen to be faster. */
#include "coll/node_put.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 64 << 10, SLOW = 1U << 30, TURNS = 1280 };

static char from[ROOM + 64], *to;

static void set_up(void)
{
    to = malloc(ROOM + 64);
    ck_assert_ptr_nonnull(to);
    for (int i = 0; i < ROOM + 64; i++)
        from[i] = (char)(i * 7 + i / 251);
}

static void tear_down(void)
{
    free(to);
}

START_TEST(all_bytes_are_written)
{
    static const size_t sizes[] = {1, 40, TT_PUT_LEAST - 1, TT_PUT_LEAST, TT_PUT_LEAST + 13, 16 << 10, ROOM};
    const struct tt_pace reading = {{{0}}};
    struct tt_put p = {.reading = &reading};

    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int shift = 0; shift < 64; shift += 21)
            for (int way = 0; way < TT_NSTORES; way++) {
                for (int size = 0; size < TT_PUT_SIZES; size++)
                    p.way[size].best = (enum tt_stores)way;
                memset(to, 0, ROOM + 64);
                tt_put(&p, to + shift, from + 63 - shift, sizes[s]);
                ck_assert(memcmp(to + shift, from + 63 - shift, sizes[s]) == 0);
                ck_assert_int_eq(to[(size_t)shift + sizes[s]], 0);
            }
}
END_TEST

/* What the reader says decides, if it is enough: nothing that is measured here takes that long. Each size for itself: so
 * here two of them have it the other way round. */
static void try_ways(size_t n, int size, int slow)
{
    struct tt_pace reading = {{{0}}};
    struct tt_put p = {.reading = &reading};
    int others = 0;

    for (int s = 0; s < TT_PUT_SIZES; s++) {
        atomic_store(&reading.of[s][(s == size) == slow], SLOW);
        atomic_store(&reading.of[s][(s == size) != slow], 1);
    }
    for (int turn = 0; turn < 128; turn++)
        tt_put(&p, to, from, n);
    for (int turn = 0; turn < TURNS; turn++) {
        const unsigned before = p.way[size].turn;
        const size_t most = tt_put_most(&p, n);
        const enum tt_stores way = tt_put(&p, to, from, most);

        ck_assert_uint_eq(p.way[size].turn, before + 1);
        others += (int)way == slow;
        ck_assert(most == n || ((int)way == slow && most < n));
        ck_assert(p.way[size].best != (enum tt_stores)slow);
    }
    ck_assert_int_eq(others, TURNS / 128);
}

START_TEST(the_way_that_is_faster_for_both_is_taken)
{
    for (int slow = 0; slow < TT_NSTORES; slow++) {
        try_ways(512, 0, slow);
        try_ways(2047, 1, slow);
        try_ways(2048, 2, slow);
        try_ways(4096, 3, slow);
        try_ways(ROOM, 3, slow);
    }
}
END_TEST

/* Of those that are not long, the clock is looked at for one in eight, by both. */
START_TEST(few_are_timed)
{
    const struct tt_pace reading = {{{0}}};
    struct tt_put p = {.reading = &reading};
    int timed = 0, all = 0;

    for (int turn = 0; turn < TURNS; turn++) {
        timed += tt_put(&p, to, from, TT_PUT_LEAST) < TT_NSTORES;
        all += tt_put(&p, to, from, TT_PUT_WHOLE) < TT_NSTORES;
    }
    ck_assert_int_eq(timed, TURNS / 8);
    ck_assert_int_eq(all, TURNS);
}
END_TEST

START_TEST(short_ones_are_written_plainly_and_change_nothing)
{
    const struct tt_pace reading = {{{0}}};
    struct tt_put p = {.reading = &reading};

    for (int size = 0; size < TT_PUT_SIZES; size++)
        p.way[size].best = TT_STORES_PAST;
    ck_assert_int_eq(tt_put(&p, to, from, TT_PUT_LEAST - 1), TT_NSTORES);
    for (int size = 0; size < TT_PUT_SIZES; size++) {
        ck_assert_uint_eq(p.way[size].turn, 0);
        ck_assert_uint_eq(atomic_load(&p.writing.of[size][TT_STORES_PLAIN]), 0);
    }
}
END_TEST

/* One that was disturbed is not believed, many that are slow are. */
START_TEST(a_pace_falls_at_once_and_rises_slowly)
{
    struct tt_pace p = {{{0}}};
    uint32_t known;

    tt_pace_see(&p, TT_STORES_PAST, 1000, 1 << 10);
    known = atomic_load(&p.of[1][TT_STORES_PAST]);
    ck_assert_uint_eq(known, 1000 * 1024 + 1);
    tt_pace_see(&p, TT_STORES_PAST, 1000000, 1 << 10);
    ck_assert_uint_eq(atomic_load(&p.of[1][TT_STORES_PAST]), known + known / 4 + 1);
    tt_pace_see(&p, TT_STORES_PAST, 500, 1 << 10);
    ck_assert_uint_eq(atomic_load(&p.of[1][TT_STORES_PAST]), 500 * 1024 + 1);
    for (int i = 0; i < 20; i++)
        tt_pace_see(&p, TT_STORES_PAST, 4000, 1 << 10);
    ck_assert_uint_eq(atomic_load(&p.of[1][TT_STORES_PAST]), 4000 * 1024 + 1);
    ck_assert_uint_eq(atomic_load(&p.of[1][TT_STORES_PLAIN]), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_put");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, all_bytes_are_written);
    tcase_add_test(all, the_way_that_is_faster_for_both_is_taken);
    tcase_add_test(all, few_are_timed);
    tcase_add_test(all, short_ones_are_written_plainly_and_change_nothing);
    tcase_add_test(all, a_pace_falls_at_once_and_rises_slowly);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
