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

/* Was it timed, the last that was put? */
static bool timed;

static enum tt_stores put(struct tt_put *p, size_t n)
{
    return tt_put(p, to, from, n, &timed);
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
                tt_put(&p, to + shift, from + 63 - shift, sizes[s], &timed);
                ck_assert(memcmp(to + shift, from + 63 - shift, sizes[s]) == 0);
                ck_assert_int_eq(to[(size_t)shift + sizes[s]], 0);
            }
}
END_TEST

/* The reader takes that long over one way, for which nothing that is measured here makes up; over the other sizes it is
 * the other way round. */
static void slow_down(struct tt_pace *reading, int size, int slow)
{
    for (int s = 0; s < TT_PUT_SIZES; s++) {
        atomic_store(&reading->of[s][(s == size) == slow], SLOW);
        atomic_store(&reading->of[s][(s == size) != slow], 1);
    }
}

enum { LAP = 8 }; /* pieces */

static struct tt_put with_laps(const struct tt_pace *reading, size_t n)
{
    return (struct tt_put){.reading = reading, .lap = LAP * n};
}

/* Nothing counts in the first lap; then one piece is tried past the caches, and one in 128, or 512 of the shorter ones. */
static void stay_plain(size_t n, int size)
{
    struct tt_pace reading = {{{0}}};
    struct tt_put p = with_laps(&reading, n);
    int seen[TT_NSTORES] = {0}, untimed = 0, apart = n < TT_PUT_WHOLE ? 512 : 128;

    slow_down(&reading, size, TT_STORES_PAST);
    for (int turn = 0; turn < TURNS; turn++) {
        seen[put(&p, n)]++;
        untimed += !timed;
    }
    ck_assert(n < TT_PUT_WHOLE || untimed == LAP);
    ck_assert_int_eq(seen[TT_STORES_PAST], 1 + (TURNS - 2) / apart);
    ck_assert(p.way[size].best == TT_STORES_PLAIN);
}

/* It goes past them as soon as that was tried. Then plain ones are tried for two laps in 258, of which the second
 * counts, as does all but the first lap after it; and they are taken again if they are the better ones now. */
static void go_past_and_back(size_t n, int size)
{
    enum { CYCLE = 258 * LAP };
    struct tt_pace reading = {{{0}}};
    struct tt_put p = with_laps(&reading, n);
    int seen[TT_NSTORES] = {0}, untimed = 0;

    slow_down(&reading, size, TT_STORES_PLAIN);
    for (int turn = 0; turn < LAP + 1; turn++)
        put(&p, n);
    ck_assert(p.way[size].best == TT_STORES_PAST);
    for (int turn = 0; turn < CYCLE; turn++) {
        seen[put(&p, n)]++;
        untimed += !timed;
        ck_assert(p.way[size].best == TT_STORES_PAST);
    }
    ck_assert_int_eq(seen[TT_STORES_PLAIN], 2 * LAP);
    ck_assert(n < TT_PUT_WHOLE || untimed == 2 * LAP);
    slow_down(&reading, size, TT_STORES_PAST);
    for (int turn = 0; turn < CYCLE; turn++)
        put(&p, n);
    ck_assert(p.way[size].best == TT_STORES_PLAIN);
}

START_TEST(the_way_that_is_faster_for_both_is_taken)
{
    static const size_t lengths[] = {512, 2047, 2048, TT_PUT_WHOLE, TT_PUT_WHOLE / 2}; /* of each size; long ones twice */
    const int size = _i < TT_PUT_SIZES ? _i : TT_PUT_LONG;

    stay_plain(lengths[_i], size);
    go_past_and_back(lengths[_i], size);
}
END_TEST

/* Of those that are shorter the clock is looked at for one in 32, by both. */
START_TEST(few_are_timed)
{
    const struct tt_pace reading = {{{0}}};
    struct tt_put p = with_laps(&reading, TT_PUT_WHOLE), q = with_laps(&reading, TT_PUT_WHOLE);
    int few = 0, half = 0, all = 0;

    for (int turn = 0; turn < TURNS; turn++) {
        put(&p, TT_PUT_LEAST);
        few += timed;
        put(&p, TT_PUT_WHOLE / 2);
        half += timed;
        put(&q, TT_PUT_WHOLE);
        all += timed;
    }
    ck_assert_int_eq(few, (TURNS - 256) / 32); /* but for the first lap */
    ck_assert_int_eq(half, TURNS / 32 - 1); /* but for the first lap, of 16; the trials are among those that are timed */
    ck_assert_int_eq(all, TURNS - LAP); /* but for the first lap */
}
END_TEST

/* Who writes among them does as they do, in a trial as well; and what he writes counts. */
START_TEST(others_write_along)
{
    struct tt_pace reading = {{{0}}};
    struct tt_put p = with_laps(&reading, TT_PUT_WHOLE);

    ck_assert_int_eq(tt_put_along(&p, TT_PUT_WHOLE), TT_STORES_PLAIN);
    p.way[TT_PUT_LONG].best = TT_STORES_PAST;
    p.way[TT_PUT_LONG].since = 255 * p.lap;
    for (int piece = 0; piece < LAP; piece++)
        ck_assert_int_eq(tt_put_along(&p, TT_PUT_WHOLE), TT_STORES_PAST);
    ck_assert_int_eq(tt_put_along(&p, TT_PUT_WHOLE), TT_STORES_PLAIN);
    ck_assert_int_eq(put(&p, TT_PUT_WHOLE), TT_STORES_PLAIN);
    ck_assert(!timed); /* one of the first lap */
    ck_assert_int_eq(p.way[TT_PUT_LONG].since, 256 * p.lap + 2 * TT_PUT_WHOLE);
}
END_TEST

START_TEST(short_ones_are_written_plainly_and_change_nothing)
{
    const struct tt_pace reading = {{{0}}};
    struct tt_put p = {.reading = &reading};

    for (int size = 0; size < TT_PUT_SIZES; size++)
        p.way[size].best = TT_STORES_PAST;
    ck_assert_int_eq(put(&p, TT_PUT_LEAST - 1), TT_STORES_PLAIN);
    ck_assert(!timed);
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
    tcase_add_loop_test(all, the_way_that_is_faster_for_both_is_taken, 0, TT_PUT_SIZES + 1);
    tcase_add_test(all, few_are_timed);
    tcase_add_test(all, others_write_along);
    tcase_add_test(all, short_ones_are_written_plainly_and_change_nothing);
    tcase_add_test(all, a_pace_falls_at_once_and_rises_slowly);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
