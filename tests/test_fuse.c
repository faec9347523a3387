/* SPDX-License-Identifier: BSD-3-Clause */
/* What tt_pass_fuse joins, what it leaves alone and why, and what the passes after it make of that. Plans are small
 * enough to be read; that fused plans are right, of every algorithm, is the prover's business. */
#include "coll/whole.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef int builder(struct tt_plan *p, const struct tt_shape *s);

enum { N = 8 };

/* Rank 0's plan of 4, fused. */
static struct tt_plan *fuse(builder *write, int most)
{
    const struct tt_alg alg = {.coll = TT_COLL_allreduce, .name = "tested", .build = write};
    const struct tt_shape s = {.coll = TT_COLL_allreduce, .size = 4, .count = 2 * N, .segment = 1, .unit = 4};
    struct tt_plan *p = tt_plan_build(&alg, &s, 0), *fused;

    ck_assert_ptr_nonnull(p);
    fused = tt_pass_fuse(p, most);
    ck_assert_ptr_nonnull(fused);
    tt_plan_free(p);
    return fused;
}

/* The verbs, as letters: s r R c + |, where R is a receive that reduces; capital L: a receive that lends; a digit: how
 * many sources a reduction has if there are more than two; *: what comes after it waits for the receives. */
static const char *verbs(const struct tt_plan *p)
{
    static char text[200];
    static const char letters[TT_NVERBS] = {
        [TT_SEND] = 's', [TT_RECV] = 'r', [TT_RECV_REDUCE] = 'R', [TT_COPY] = 'c', [TT_REDUCE] = '+', [TT_FENCE] = '|'};
    char *at = text;

    for (int i = 0; i < p->nsteps; i++) {
        const struct tt_step *s = &p->steps[i];

        if (s->after)
            *at++ = '*';
        *at++ = s->lends ? 'L' : s->more ? (char)('2' + s->more) : letters[s->verb];
    }
    *at = '\0';
    return text;
}

static void must_fuse(builder *write, const char *expected)
{
    struct tt_plan *p = fuse(write, TT_MAX_SOURCES);

    ck_assert_str_eq(verbs(p), expected);
    tt_plan_free(p);
}

/* ---- a receive and its reduction ---- */

static int receive_and_add(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_send(p, 1, tt_at(SEND, N), N);
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, N);
    tt_fence(p);
    tt_send(p, 2, tt_at(RECV, 0), N);
    return 0;
}

START_TEST(a_receive_reduces)
{
    struct tt_plan *p = fuse(receive_and_add, 2);
    const struct tt_step *s = &p->steps[1];

    ck_assert_str_eq(verbs(p), "sR|s");
    ck_assert(s->dst.buf == RECV && s->a.buf == SEND && s->b.buf == TMP && s->lands == 1);
    ck_assert_int_eq(tt_step_landing(s).buf, TMP);
    ck_assert_int_eq(s->n, N);
    ck_assert_int_eq(s->peer, 1);
    ck_assert_int_eq(p->tmp, N);
    ck_assert_int_eq(p->max_round, 2);
    ck_assert_int_eq(tt_plan_totals(p).received, N);
    ck_assert_int_eq(tt_plan_totals(p).reduced, N);
    ck_assert_int_eq(tt_plan_totals(p).reductions, 1);
    tt_plan_free(p);
}
END_TEST

/* What arrives may be the left operand, and land where the result will be. */
static int add_in_its_place(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_recv(p, 1, tt_at(RECV, 0), N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), tt_at(SEND, 0), N);
    return 0;
}

START_TEST(it_may_land_where_the_result_will_be)
{
    struct tt_plan *p = fuse(add_in_its_place, 2);

    ck_assert_str_eq(verbs(p), "R");
    ck_assert_int_eq(p->steps[0].lands, 0);
    ck_assert_int_eq(tt_step_landing(&p->steps[0]).buf, RECV);
    tt_plan_free(p);
}
END_TEST

static int read_twice(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, N);
    tt_fence(p);
    tt_send(p, 2, x, 1);
    return 0;
}

static int a_result_itself(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_recv(p, 1, tt_at(RECV, N), N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), tt_at(RECV, N), N);
    return 0;
}

static int part_of_it(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, N - 1);
    return 0;
}

/* Of the vector that is on its way to the partner. */
static int sum_is_being_sent(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), N);
    tt_fence(p);
    tt_send(p, 1, tt_at(RECV, 0), N);
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), x, N);
    return 0;
}

/* The other operand is made while the first arrives. */
static int other_is_being_made(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), x, N);
    return 0;
}

static int rounds_between(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_send(p, 2, tt_at(SEND, 0), N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, N);
    return 0;
}

/* A pipeline reduces one segment while the next is on its way. */
static int under_messages(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, N);
    tt_send(p, 2, tt_at(SEND, N), N);
    return 0;
}

static const struct {
    builder *write;
    const char *verbs;
} kept[] = {
    {read_twice, "r|+|s"},         {a_result_itself, "r|+"},  {part_of_it, "r|+"},      {sum_is_being_sent, "c|sr|+"},
    {other_is_being_made, "rc|+"}, {rounds_between, "r|s|+"}, {under_messages, "r|+s"},
};

START_TEST(what_others_see_is_kept)
{
    must_fuse(kept[_i].write, kept[_i].verbs);
}
END_TEST

/* ---- several sources ---- */

static int add_four(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, 3 * N), own = tt_at(SEND, 0);

    (void)s;
    for (int i = 0; i < 3; i++)
        tt_recv(p, 1 + i, tt_plus(x, i * N), N);
    tt_fence(p);
    tt_reduce(p, x, own, x, N);
    tt_reduce(p, tt_plus(x, N), tt_plus(x, N), tt_plus(x, 2 * N), N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), x, tt_plus(x, N), N);
    return 0;
}

START_TEST(reductions_become_one)
{
    struct tt_plan *p = fuse(add_four, TT_MAX_SOURCES);
    const struct tt_step *sum = &p->steps[3];
    struct tt_loc sources[TT_MAX_SOURCES];

    ck_assert_str_eq(verbs(p), "LLL*4");
    ck_assert_int_eq(tt_step_sources(p, sum, sources), 4);
    ck_assert_int_eq(sources[0].buf, SEND);
    for (int i = 0; i < 3; i++)
        ck_assert(sources[1 + i].buf == TMP && sources[1 + i].at == i * N);
    ck_assert_int_eq(sum->order & 0xffff, 0x2010);
    ck_assert_int_eq(sum->dst.buf, RECV);
    ck_assert_int_eq(tt_plan_totals(p).reductions, 1);
    ck_assert_int_eq(tt_plan_totals(p).reduced, 3 * N);
    tt_plan_free(p);
}
END_TEST

/* An op that takes two operands: what arrives is still reduced in its round. */
START_TEST(not_all_can_take_several)
{
    struct tt_plan *p = fuse(add_four, 2);

    ck_assert_str_eq(verbs(p), "RLL*+|+");
    tt_plan_free(p);
}
END_TEST

static int left_to_right(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, 2 * N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_recv(p, 2, tt_plus(x, N), N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), tt_plus(x, N), N);
    return 0;
}

START_TEST(a_chain_keeps_its_order)
{
    struct tt_plan *p = fuse(left_to_right, TT_MAX_SOURCES);

    ck_assert_str_eq(verbs(p), "LL*3");
    ck_assert_int_eq(p->steps[2].order & 0xfff, 0x110);
    tt_plan_free(p);
}
END_TEST

/* From right to left, all but the last one wait: there is room for no more than four. */
static int right_to_left(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, 5 * N);

    (void)s;
    for (int i = 0; i < 5; i++)
        tt_recv(p, 1 + i % 3, tt_plus(x, i * N), N);
    for (int i = 3; i >= 0; i--) {
        tt_fence(p);
        tt_reduce(p, i ? tt_plus(x, i * N) : tt_at(RECV, 0), tt_plus(x, i * N), tt_plus(x, (i + 1) * N), N);
    }
    return 0;
}

START_TEST(no_more_wait_than_there_is_room_for)
{
    must_fuse(right_to_left, "rLLLL*4|+");
}
END_TEST

static int source_is_overwritten(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, 2 * N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_fence(p);
    tt_reduce(p, tt_plus(x, N), tt_at(SEND, 0), x, N);
    tt_fence(p);
    tt_recv(p, 2, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_plus(x, N), x, N);
    return 0;
}

static int sum_is_sent_too(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, 2 * N);

    (void)s;
    tt_recv(p, 1, x, N);
    tt_recv(p, 2, tt_plus(x, N), N);
    tt_fence(p);
    tt_reduce(p, x, tt_at(SEND, 0), x, N);
    tt_fence(p);
    tt_send(p, 3, x, N);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), x, tt_plus(x, N), N);
    return 0;
}

START_TEST(sums_that_are_needed_are_made)
{
    must_fuse(source_is_overwritten, "R|R");
    must_fuse(sum_is_sent_too, "Rr|s|+");
}
END_TEST

/* ---- the book ---- */

static struct tt_plan *fuse_algorithm(const char *name, int size, int rank)
{
    const struct tt_alg *alg = tt_alg_find(TT_COLL_allreduce, name, strlen(name));
    const struct tt_shape s = {
        .coll = TT_COLL_allreduce, .size = size, .count = 20 * size, .commutes = true, .segment = 1, .unit = 4};
    struct tt_plan *p = tt_plan_build(alg, &s, rank), *fused = tt_pass_fuse(p, TT_MAX_SOURCES);

    ck_assert_int_eq(tt_plan_totals(p).sent, tt_plan_totals(fused).sent);
    ck_assert_int_eq(tt_plan_totals(p).messages, tt_plan_totals(fused).messages);
    ck_assert_int_eq(tt_plan_totals(p).reduced, tt_plan_totals(fused).reduced);
    tt_plan_free(p);
    return fused;
}

/* Each reduction makes one of up to eight: as few as that allows. */
START_TEST(direct_reduces_once)
{
    for (int size = 2; size <= 17; size++)
        for (int rank = 0; rank < size; rank++) {
            struct tt_plan *p = fuse_algorithm("direct", size, rank);
            const struct tt_totals t = tt_plan_totals(p);

            ck_assert_int_eq(t.reductions, (size - 1 + TT_MAX_SOURCES - 2) / (TT_MAX_SOURCES - 1));
            ck_assert_int_eq(t.reduced, 20 * (size - 1));
            if (size <= TT_MAX_SOURCES)
                ck_assert_int_eq(t.rounds, 2);
            ck_assert_int_eq(t.copied, 0);
            tt_plan_free(p);
        }
}
END_TEST

START_TEST(a_ring_has_no_rounds_to_reduce_in)
{
    for (int rank = 0; rank < 5; rank++) {
        struct tt_plan *p = fuse_algorithm("ring", 5, rank);

        ck_assert_str_eq(verbs(p), "sR|sR|sR|sR|sr|sr|sr|sr");
        tt_plan_free(p);
    }
}
END_TEST

/* ---- the passes that follow ---- */

START_TEST(parts_reduce_too)
{
    struct tt_plan *p = fuse(receive_and_add, 2), *q = tt_pass_split(p, 6);

    ck_assert_str_eq(verbs(q), "sRsR|ss");
    for (int i = 1; i <= 3; i += 2) {
        const struct tt_step *s = &q->steps[i];

        ck_assert_int_eq(s->n, i == 1 ? 6 : 2);
        ck_assert_int_eq(s->part, i / 2);
        ck_assert(s->dst.at == i / 2 * 6 && s->a.at == i / 2 * 6 && s->b.at == i / 2 * 6);
    }
    tt_plan_free(p);
    tt_plan_free(q);
}
END_TEST

/* What is lent is given back when all have arrived: parts that are sent later would be waited for. */
START_TEST(parts_are_not_lent)
{
    struct tt_plan *p = fuse(add_four, TT_MAX_SOURCES), *whole = tt_pass_split(p, N), *q = tt_pass_split(p, N - 1);

    ck_assert_str_eq(verbs(whole), "LLL*4");
    ck_assert_str_eq(verbs(q), "rrr*4rrr");
    tt_plan_free(p);
    tt_plan_free(whole);
    tt_plan_free(q);
}
END_TEST

/* On a device what arrives comes up first; what waits for all is a sub-round of its own. */
START_TEST(staged_receives_are_reduced_above)
{
    struct tt_plan *p = fuse(receive_and_add, 2), *q = tt_pass_stage(p, 1 << SEND | 1 << RECV | 1 << TMP);
    struct tt_plan *four = fuse(add_four, TT_MAX_SOURCES), *r = tt_pass_stage(four, 1 << TMP);

    ck_assert_str_eq(verbs(q), "c|sr|c|+|c|s");
    ck_assert_str_eq(verbs(r), "rrr|ccc|4");
    tt_plan_free(p);
    tt_plan_free(q);
    tt_plan_free(four);
    tt_plan_free(r);
}
END_TEST

/* ---- what is sent as soon as it is made ---- */

enum { LONG = 1024 };

/* A receive of n elements, as it is or reduced, and what the next round sends of it, and before. */
static int pass_some_on(struct tt_plan *p, bool reduces, int64_t n, int64_t sent, bool another)
{
    const struct tt_loc x = reduces ? tt_tmp(p, n) : tt_at(RECV, 0);

    tt_recv(p, 1, x, n);
    tt_fence(p);
    if (reduces)
        tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), x, n);
    tt_fence(p);
    if (another)
        tt_send(p, 3, tt_at(SEND, 0), n);
    tt_send(p, 2, tt_at(RECV, 0), sent);
    return 0;
}

static int pass_on(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    return pass_some_on(p, false, LONG, LONG, false);
}

static int pass_sum_on(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    return pass_some_on(p, true, LONG, LONG, false);
}

static int pass_little_on(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    return pass_some_on(p, true, LONG - 1, LONG - 1, false);
}

static int pass_part_on(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    return pass_some_on(p, true, 2 * LONG, LONG, false);
}

static int pass_on_later(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    return pass_some_on(p, true, LONG, LONG, true);
}

/* The sum of two is where the first one came. */
static int pass_on_two(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc x = tt_tmp(p, LONG);

    (void)s;
    tt_recv(p, 1, tt_at(RECV, 0), LONG);
    tt_recv(p, 2, x, LONG);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), x, LONG);
    tt_fence(p);
    tt_send(p, 3, tt_at(RECV, 0), LONG);
    return 0;
}

/* The first send of the next round, if it is of all that a receive makes, and that is not little. */
START_TEST(what_is_made_may_be_sent_at_once)
{
    static const struct {
        builder *write;
        const char *verbs;
        int onward;
    } cases[] = {{pass_on, "r|s", 2},
                 {pass_sum_on, "R|s", 2},
                 {pass_little_on, "R|s", 0},
                 {pass_part_on, "R|s", 0},
                 {pass_on_later, "R|ss", 0},
                 {pass_on_two, "LL*+|s", 0}};
    struct tt_plan *p = fuse(cases[_i].write, 2);

    ck_assert_str_eq(verbs(p), cases[_i].verbs);
    ck_assert_int_eq(p->steps[0].onward, cases[_i].onward);
    ck_assert(p->passes_on == (cases[_i].onward > 0));
    tt_plan_free(p);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("fuse");
    TCase *t = tcase_create("fuse");

    tcase_add_test(t, a_receive_reduces);
    tcase_add_test(t, it_may_land_where_the_result_will_be);
    tcase_add_loop_test(t, what_others_see_is_kept, 0, sizeof kept / sizeof *kept);
    tcase_add_test(t, reductions_become_one);
    tcase_add_test(t, not_all_can_take_several);
    tcase_add_test(t, a_chain_keeps_its_order);
    tcase_add_test(t, no_more_wait_than_there_is_room_for);
    tcase_add_test(t, sums_that_are_needed_are_made);
    tcase_add_test(t, direct_reduces_once);
    tcase_add_test(t, a_ring_has_no_rounds_to_reduce_in);
    tcase_add_test(t, parts_reduce_too);
    tcase_add_test(t, parts_are_not_lent);
    tcase_add_test(t, staged_receives_are_reduced_above);
    tcase_add_loop_test(t, what_is_made_may_be_sent_at_once, 0, 6);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
