/* SPDX-License-Identifier: BSD-3-Clause */
/* What builders write and sealing makes of it: places, peers, scopes, lanes, fences, message numbers, totals, refusals;
 * and what the passes make of a sealed plan. Plans here are small enough to be checked step by step. */
#include "coll/whole.h"

#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- helpers ---- */

static struct tt_plan *build_shape(int (*write)(struct tt_plan *, const struct tt_shape *), const struct tt_shape *s,
                                   int rank)
{
    const struct tt_alg alg = {.coll = s->coll, .name = "tested", .build = write};

    return tt_plan_build(&alg, s, rank);
}

static const struct tt_shape six_ranks = {.coll = TT_COLL_allreduce, .size = 6, .count = 8, .unit = 4};

static struct tt_plan *build(int (*write)(struct tt_plan *, const struct tt_shape *), int rank)
{
    struct tt_plan *p = build_shape(write, &six_ranks, rank);

    ck_assert_ptr_nonnull(p);
    return p;
}

static void must_refuse(int (*write)(struct tt_plan *, const struct tt_shape *), int error)
{
    struct tt_plan *p;

    errno = 0;
    p = build_shape(write, &six_ranks, 0);
    ck_assert_ptr_null(p);
    ck_assert_int_eq(errno, error);
}

static void must_be_at(struct tt_loc loc, enum tt_buf buf, int64_t at)
{
    ck_assert_str_eq(tt_buf_name(loc.buf), tt_buf_name(buf));
    ck_assert_int_eq(loc.at, at);
}

/* Step i is that verb, of n elements, with that peer (0 if it has none). */
static const struct tt_step *must_be(const struct tt_plan *p, int i, enum tt_verb verb, int peer, int64_t n)
{
    ck_assert_int_lt(i, p->nsteps);
    ck_assert_msg(p->steps[i].verb == verb, "step %d: expected %s, seen %s", i, tt_verb_name(verb),
                  tt_verb_name(p->steps[i].verb));
    ck_assert_msg(p->steps[i].peer == peer, "step %d: expected peer %d, seen %d", i, peer, p->steps[i].peer);
    ck_assert_msg(p->steps[i].n == n, "step %d: expected %d elements, seen %d", i, (int)n, (int)p->steps[i].n);
    return &p->steps[i];
}

/* ---- arithmetic ---- */

START_TEST(cuts_are_balanced)
{
    for (int64_t n = 0; n <= 40; n++)
        for (int p = 1; p <= 9; p++) {
            ck_assert_int_eq(tt_cut(n, p, 0), 0);
            ck_assert_int_eq(tt_cut(n, p, p), n);
            for (int i = 0; i < p; i++) {
                const int64_t length = tt_cut(n, p, i + 1) - tt_cut(n, p, i);

                ck_assert_int_eq(length, n / p + (i < n % p));
            }
        }
}
END_TEST

START_TEST(powers_and_remainders)
{
    const int expected[][2] = {{1, 1}, {2, 2}, {3, 2}, {4, 4}, {63, 32}, {64, 64}, {65, 64}, {INT_MAX, 1 << 30}};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_int_eq(tt_pow2_below(expected[i][0]), expected[i][1]);
    ck_assert_int_eq(tt_mod(-1, 5), 4);
    ck_assert_int_eq(tt_mod(-5, 5), 0);
    ck_assert_int_eq(tt_mod(7, 5), 2);
    ck_assert_int_eq(tt_mod(0, 1), 0);
}
END_TEST

START_TEST(offsets_of_blocks)
{
    const int64_t counts[] = {3, 0, 5};
    const struct tt_shape even = {.coll = TT_COLL_allgather, .size = 3, .count = 4};
    const struct tt_shape uneven = {.coll = TT_COLL_reduce_scatter, .size = 3, .counts = counts};
    const struct tt_shape huge = {.coll = TT_COLL_allgather, .size = 4, .count = INT64_C(3) << 31};

    ck_assert_int_eq(tt_offset(&even, 0), 0);
    ck_assert_int_eq(tt_offset(&even, 2), 8);
    ck_assert_int_eq(tt_offset(&even, 3), 12);
    ck_assert_int_eq(tt_offset(&uneven, 1), 3);
    ck_assert_int_eq(tt_offset(&uneven, 2), 3);
    ck_assert_int_eq(tt_offset(&uneven, 3), 8);
    ck_assert_int_eq(tt_offset(&huge, 4), INT64_C(3) << 33);
}
END_TEST

/* What is stated locally is no size to decide by. */
START_TEST(sizes_that_all_ranks_know)
{
    const int64_t counts[] = {3, 0, 6};
    struct tt_shape s = {.coll = TT_COLL_allgatherv, .size = 3, .counts = counts, .unit = 8};

    ck_assert_int_eq(tt_shape_bytes(&s), 24);
    for (int i = 0; i < 3; i++) {
        s.coll = ((const enum tt_coll[]){TT_COLL_gatherv, TT_COLL_scatterv, TT_COLL_alltoallv})[i];
        ck_assert_int_eq(tt_shape_bytes(&s), 0);
    }
}
END_TEST

/* Rank 1 of a whole alltoallv and gatherv: its own row and column, and no more of the others than it would know. */
START_TEST(a_rank_sees_its_own_lengths)
{
    const int64_t all[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct tt_shape whole = {.coll = TT_COLL_alltoallv, .size = 3, .counts = all, .inplace = true};
    int64_t room[3];
    struct tt_shape own = tt_whole_part(&whole, 1, room);

    ck_assert(own.inplace && !own.sends);
    whole.inplace = false;
    own = tt_whole_part(&whole, 1, room);
    for (int r = 0; r < 3; r++) {
        ck_assert_int_eq(tt_send_block(&own, r), 4 + r);
        ck_assert_int_eq(tt_block(&own, r), 2 + 3 * r);
    }
    ck_assert_int_eq(tt_send_offset(&own, 2), 9);
    ck_assert_int_eq(tt_offset(&own, 2), 7);
    ck_assert_int_eq(tt_whole_elements(&whole, 1, SEND), 15);
    ck_assert_int_eq(tt_whole_elements(&whole, 1, RECV), 15);
    ck_assert_int_eq(tt_whole_elements(&whole, 2, RECV), 18);
    whole.coll = TT_COLL_gatherv;
    own = tt_whole_part(&whole, 1, room);
    ck_assert_ptr_null(own.counts);
    ck_assert_int_eq(own.count, 2);
    own = tt_whole_part(&whole, 0, room);
    ck_assert_int_eq(tt_offset(&own, 3), 6);
}
END_TEST

/* ---- verbs ---- */

static int four_verbs(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc first = tt_tmp(p, 5), second = tt_tmp(p, 7);

    tt_send(p, 3, tt_at(SEND, 2), s->count - 2);
    tt_recv(p, 4, tt_plus(second, 1), 6);
    tt_fence(p);
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 1), 4);
    tt_reduce(p, tt_at(RECV, 4), first, second, 3);
    return 0;
}

START_TEST(verbs_write_steps)
{
    struct tt_plan *p = build(four_verbs, 1);
    const struct tt_step *reduce;

    ck_assert_int_eq(p->nsteps, 5);
    must_be_at(must_be(p, 0, TT_SEND, 3, 6)->a, SEND, 2);
    must_be_at(must_be(p, 1, TT_RECV, 4, 6)->dst, TMP, 6);
    must_be(p, 2, TT_FENCE, 0, 0);
    must_be_at(must_be(p, 3, TT_COPY, 0, 4)->dst, RECV, 0);
    must_be_at(p->steps[3].a, SEND, 1);
    reduce = must_be(p, 4, TT_REDUCE, 0, 3);
    must_be_at(reduce->dst, RECV, 4);
    must_be_at(reduce->a, TMP, 0);
    must_be_at(reduce->b, TMP, 5);
    ck_assert_int_eq(p->tmp, 12);
    ck_assert_int_eq(p->pin, 0);
    tt_plan_free(p);
}
END_TEST

START_TEST(a_sealed_plan_says_what_it_is)
{
    struct tt_plan *p = build(four_verbs, 1);

    ck_assert(p->sealed);
    ck_assert_ptr_null(p->builder);
    ck_assert_int_eq(p->rank, 1);
    ck_assert_int_eq(p->size, 6);
    ck_assert_int_eq(p->coll, TT_COLL_allreduce);
    ck_assert_int_eq(p->unit, 4);
    ck_assert_str_eq(p->algorithm, "tested");
    tt_plan_free(p);
}
END_TEST

static int steps_of_nothing(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_send(p, 1, tt_at(SEND, 0), 0);
    tt_recv(p, 1, tt_at(RECV, 0), 0);
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), 0);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), tt_at(SEND, 0), 0);
    tt_copy(p, tt_at(RECV, 3), tt_at(RECV, 3), 5);
    tt_fence(p);
    return 0;
}

START_TEST(steps_that_do_nothing_are_dropped)
{
    struct tt_plan *p = build(steps_of_nothing, 0);

    ck_assert_int_eq(p->nsteps, 0);
    ck_assert_int_eq(tt_plan_totals(p).rounds, 0);
    ck_assert_int_eq(p->max_round, 0);
    tt_plan_free(p);
}
END_TEST

static int many_steps(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    for (int i = 0; i < 1000; i++)
        tt_copy(p, tt_at(RECV, i), tt_at(SEND, i), i + 1);
    return 0;
}

START_TEST(plans_grow)
{
    struct tt_plan *p = build(many_steps, 0);

    ck_assert_int_eq(p->nsteps, 1000);
    for (int i = 0; i < 1000; i++)
        must_be_at(must_be(p, i, TT_COPY, 0, i + 1)->dst, RECV, i);
    tt_plan_free(p);
}
END_TEST

/* ---- fences and lanes ---- */

static int fences_everywhere(struct tt_plan *p, const struct tt_shape *s)
{
    tt_fence(p);
    tt_send(p, 1, tt_at(SEND, 0), s->count);
    tt_fence(p);
    tt_fence(p);
    tt_send(p, 2, tt_at(SEND, 0), s->count);
    tt_fence(p);
    tt_lane(p);
    tt_fence(p);
    tt_recv(p, 1, tt_at(RECV, 0), s->count);
    tt_fence(p);
    return 0;
}

START_TEST(fences_that_say_nothing_are_dropped)
{
    struct tt_plan *p = build(fences_everywhere, 0);

    ck_assert_int_eq(p->nsteps, 4);
    ck_assert_int_eq(p->nlanes, 2);
    ck_assert_int_eq(p->lanes[0].first, 0);
    ck_assert_int_eq(p->lanes[0].count, 3);
    ck_assert_int_eq(p->lanes[1].first, 3);
    ck_assert_int_eq(p->lanes[1].count, 1);
    must_be(p, 0, TT_SEND, 1, 8);
    must_be(p, 1, TT_FENCE, 0, 0);
    must_be(p, 2, TT_SEND, 2, 8);
    must_be(p, 3, TT_RECV, 1, 8);
    tt_plan_free(p);
}
END_TEST

static void add_lanes(struct tt_plan *p, int n)
{
    for (int i = 0; i < n; i++) {
        if (i > 0)
            tt_lane(p);
        tt_send(p, i % 6, tt_at(SEND, i), 1);
    }
}

static int all_lanes(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    add_lanes(p, TT_MAX_LANES);
    return 0;
}

static int lanes_too_many(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    add_lanes(p, TT_MAX_LANES + 1);
    return 0;
}

START_TEST(lanes_are_limited)
{
    struct tt_plan *p = build(all_lanes, 0);

    ck_assert_int_eq(p->nlanes, TT_MAX_LANES);
    for (int l = 0; l < TT_MAX_LANES; l++) {
        ck_assert_int_eq(p->lanes[l].first, l);
        ck_assert_int_eq(p->lanes[l].count, 1);
    }
    tt_plan_free(p);
    must_refuse(lanes_too_many, EINVAL);
}
END_TEST

/* ---- refusals ---- */

static int peer_too_high(struct tt_plan *p, const struct tt_shape *s)
{
    tt_send(p, s->size, tt_at(SEND, 0), 1);
    return 0;
}

static int peer_below_zero(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_recv(p, -1, tt_at(RECV, 0), 1);
    return 0;
}

static int receives_into_send(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_recv(p, 1, tt_at(SEND, 0), 1);
    return 0;
}

static int copies_into_send(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_copy(p, tt_at(SEND, 0), tt_at(RECV, 0), 1);
    return 0;
}

static int reduces_into_send(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_reduce(p, tt_at(SEND, 0), tt_at(SEND, 0), tt_at(RECV, 0), 1);
    return 0;
}

static int refuses(struct tt_plan *p, const struct tt_shape *s)
{
    (void)p;
    (void)s;
    return ERANGE;
}

static int peer_too_high_then_refuses(struct tt_plan *p, const struct tt_shape *s)
{
    tt_send(p, s->size, tt_at(SEND, 0), 1);
    return ERANGE;
}

static int scopes_too_deep(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    for (int i = 0; i < 64; i++)
        tt_enter_rotated(p, 0);
    return 0;
}

static int scope_of_strangers(struct tt_plan *p, const struct tt_shape *s)
{
    tt_enter(p, &(struct tt_scope){(const int[]){0, s->size}, 2, tt_at(SEND, 0), tt_at(RECV, 0)});
    tt_leave(p);
    return 0;
}

START_TEST(faults_of_a_builder_are_refused)
{
    must_refuse(peer_too_high, EINVAL);
    must_refuse(peer_below_zero, EINVAL);
    must_refuse(receives_into_send, EINVAL);
    must_refuse(copies_into_send, EINVAL);
    must_refuse(reduces_into_send, EINVAL);
    must_refuse(scopes_too_deep, EINVAL);
    must_refuse(scope_of_strangers, EINVAL);
    must_refuse(refuses, ERANGE);
    must_refuse(peer_too_high_then_refuses, EINVAL);
}
END_TEST

/* ---- scopes ---- */

/* Ranks 5, 3, 1 of the communicator; of these the last and the first: 1, 5. */
static int nested_scopes(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_scope outer = {(const int[]){5, 3, 1}, 3, tt_at(RECV, 10), tt_at(TMP, 20)};
    const struct tt_scope inner = {(const int[]){2, 0}, 2, tt_at(SEND, 1), tt_at(RECV, 2)};

    (void)s;
    tt_tmp(p, 40);
    if (tt_enter(p, &outer)) {
        tt_send(p, tt_rank(p), tt_at(SEND, tt_size(p)), 1);
        if (tt_enter(p, &inner)) {
            tt_send(p, 1 - tt_rank(p), tt_at(SEND, 100), tt_size(p));
            tt_recv(p, 1 - tt_rank(p), tt_at(RECV, 100), tt_size(p));
            tt_leave(p);
        }
        tt_send(p, 0, tt_at(RECV, 0), tt_size(p));
        tt_leave(p);
    }
    tt_send(p, 0, tt_at(SEND, 0), tt_size(p));
    return 0;
}

START_TEST(scopes_renumber_and_move)
{
    struct tt_plan *p = build(nested_scopes, 1);

    ck_assert_int_eq(p->nsteps, 5);
    must_be_at(must_be(p, 0, TT_SEND, 1, 1)->a, RECV, 13);
    must_be_at(must_be(p, 1, TT_SEND, 5, 2)->a, RECV, 111);
    must_be_at(must_be(p, 2, TT_RECV, 5, 2)->dst, TMP, 122);
    must_be_at(must_be(p, 3, TT_SEND, 5, 3)->a, TMP, 20);
    must_be_at(must_be(p, 4, TT_SEND, 0, 6)->a, SEND, 0);
    tt_plan_free(p);
}
END_TEST

START_TEST(those_outside_a_scope_do_not_enter)
{
    struct tt_plan *in_outer = build(nested_scopes, 3), *in_none = build(nested_scopes, 0);

    ck_assert_int_eq(in_outer->nsteps, 3);
    must_be(in_outer, 0, TT_SEND, 3, 1);
    must_be(in_outer, 1, TT_SEND, 5, 3);
    must_be(in_outer, 2, TT_SEND, 0, 6);
    ck_assert_int_eq(in_none->nsteps, 1);
    must_be(in_none, 0, TT_SEND, 0, 6);
    tt_plan_free(in_outer);
    tt_plan_free(in_none);
}
END_TEST

/* A scope's peers are its own: rank 2 of a pair is a fault although the communicator has one. */
static int stranger_to_scope(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_enter(p, &(struct tt_scope){(const int[]){0, 1}, 2, tt_at(SEND, 0), tt_at(RECV, 0)});
    tt_send(p, 2, tt_at(SEND, 0), 1);
    tt_leave(p);
    return 0;
}

/* Rotated inside of a scope: of ranks 1, 2, 4, 5, from the second on. */
static int rotated(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_enter(p, &(struct tt_scope){(const int[]){1, 2, 4, 5}, 4, tt_at(SEND, 3), tt_at(RECV, 3)});
    tt_enter_rotated(p, 1);
    for (int r = 0; r < tt_size(p); r++)
        tt_send(p, r, tt_at(SEND, 10 * tt_rank(p)), 1);
    tt_leave(p);
    tt_send(p, 0, tt_at(SEND, tt_rank(p)), 1);
    tt_leave(p);
    return 0;
}

START_TEST(scopes_rotate)
{
    const int expected[] = {2, 4, 5, 1};
    struct tt_plan *p = build(rotated, 1);

    ck_assert_int_eq(p->nsteps, 5);
    for (int r = 0; r < 4; r++)
        must_be_at(must_be(p, r, TT_SEND, expected[r], 1)->a, SEND, 33);
    must_be_at(must_be(p, 4, TT_SEND, 1, 1)->a, SEND, 3);
    tt_plan_free(p);
    must_refuse(stranger_to_scope, EINVAL);
}
END_TEST

/* A scope left open is closed by sealing, not leaked: the sanitizers see to that. */
static int leaves_scope_open(struct tt_plan *p, const struct tt_shape *s)
{
    tt_enter_rotated(p, 2);
    tt_send(p, 0, tt_at(SEND, 0), s->count);
    return 0;
}

START_TEST(an_open_scope_is_closed)
{
    struct tt_plan *p = build(leaves_scope_open, 0);

    must_be(p, 0, TT_SEND, 2, 8);
    tt_plan_free(p);
}
END_TEST

/* ---- in place ---- */

static int send_and_recv(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_send(p, 0, tt_at(SEND, 1), 2);
    tt_copy(p, tt_at(TMP, 0), tt_at(RECV, 1), 2);
    return 0;
}

START_TEST(in_place_is_resolved)
{
    const int64_t counts[] = {1, 2, 3};
    const struct {
        struct tt_shape shape;
        enum tt_buf send, recv;
        int64_t send_at, recv_at;
    } expected[] = {
        {{.coll = TT_COLL_allreduce, .size = 3, .count = 5}, RECV, RECV, 1, 1},
        {{.coll = TT_COLL_reduce, .size = 3, .count = 5}, RECV, RECV, 1, 1},
        {{.coll = TT_COLL_alltoall, .size = 3, .count = 5}, RECV, RECV, 1, 1},
        {{.coll = TT_COLL_reduce_scatter, .size = 3, .count = 5}, RECV, RECV, 1, 1},
        {{.coll = TT_COLL_reduce_scatter, .size = 3, .counts = counts}, RECV, RECV, 1, 1},
        {{.coll = TT_COLL_allgather, .size = 3, .count = 5}, RECV, RECV, 11, 1},
        {{.coll = TT_COLL_gather, .size = 3, .count = 5}, RECV, RECV, 11, 1},
        {{.coll = TT_COLL_scatter, .size = 3, .count = 5}, SEND, SEND, 1, 11},
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct tt_shape s = expected[i].shape;
        struct tt_plan *p;

        s.inplace = true;
        p = build_shape(send_and_recv, &s, 2);
        must_be_at(p->steps[0].a, expected[i].send, expected[i].send_at);
        must_be_at(p->steps[1].a, expected[i].recv, expected[i].recv_at);
        tt_plan_free(p);
    }
}
END_TEST

/* What every algorithm does with a rank's own block: in place there is nothing left to do. */
static int own_block(struct tt_plan *p, const struct tt_shape *s)
{
    if (s->coll == TT_COLL_scatter)
        tt_copy(p, tt_at(RECV, 0), tt_at(SEND, tt_rank(p) * s->count), s->count);
    else
        tt_copy(p, tt_at(RECV, tt_rank(p) * s->count), tt_at(SEND, 0), s->count);
    return 0;
}

START_TEST(in_place_drops_the_own_block)
{
    const enum tt_coll colls[] = {TT_COLL_scatter, TT_COLL_gather, TT_COLL_allgather};

    for (int i = 0; i < 6; i++) {
        const struct tt_shape s = {.coll = colls[i / 2], .size = 3, .root = 1, .count = 5, .inplace = i % 2};
        struct tt_plan *p = build_shape(own_block, &s, 1);

        ck_assert_ptr_nonnull(p);
        ck_assert_int_eq(p->nsteps, i % 2 ? 0 : 1);
        tt_plan_free(p);
    }
}
END_TEST

/* ---- message numbers, rounds, totals ---- */

static int conversation(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_send(p, 1, tt_at(SEND, 0), 1);
    tt_recv(p, 1, tt_at(RECV, 0), 1);
    tt_send(p, 2, tt_at(SEND, 0), 1);
    tt_fence(p);
    tt_send(p, 1, tt_at(SEND, 0), 2);
    tt_recv(p, 1, tt_at(RECV, 0), 3);
    tt_reduce(p, tt_at(RECV, 4), tt_at(RECV, 4), tt_at(SEND, 4), 4);
    tt_lane(p);
    tt_send(p, 1, tt_at(SEND, 0), 1);
    tt_copy(p, tt_at(RECV, 5), tt_at(SEND, 5), 3);
    return 0;
}

START_TEST(messages_are_numbered)
{
    const int expected[] = {0, 0, 0, -1, 1, 1, -1, 0, -1};
    struct tt_plan *p = build(conversation, 0);

    ck_assert_int_eq(p->nsteps, 9);
    for (int i = 0; i < 9; i++)
        if (expected[i] >= 0)
            ck_assert_msg(p->steps[i].message == expected[i], "step %d: expected message %d, seen %d", i, expected[i],
                          p->steps[i].message);
    ck_assert_int_eq(p->max_round, 3);
    tt_plan_free(p);
}
END_TEST

START_TEST(totals_add_up)
{
    struct tt_plan *p = build(conversation, 0);
    const struct tt_totals t = tt_plan_totals(p);

    ck_assert_int_eq(t.rounds, 2);
    ck_assert_int_eq(t.messages, 4);
    ck_assert_int_eq(t.sent, 5);
    ck_assert_int_eq(t.received, 4);
    ck_assert_int_eq(t.copied, 3);
    ck_assert_int_eq(t.reduced, 4);
    ck_assert_int_eq(t.reductions, 1);
    tt_plan_free(p);
}
END_TEST

/* The promise of the ring: 2(p-1)/p n elements sent, p-1 reductions of n/p, and 2(p-1) messages. */
/* What is folded as it comes lies nowhere in between. */
START_TEST(what_a_plan_touches_is_counted)
{
    struct tt_shape two = {.coll = TT_COLL_allreduce, .size = 2, .count = 9, .unit = 4};
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);

    for (int inplace = 0; inplace < 2; inplace++) {
        struct tt_plan *p, *fused;

        two.inplace = inplace;
        p = tt_plan_build(ring, &two, 1);
        fused = tt_pass_fuse(p, 2);
        ck_assert_ptr_nonnull(fused);
        ck_assert_int_eq(fused->touched, inplace ? 9 : 18);
        tt_plan_free(fused);
        tt_plan_free(p);
    }
}
END_TEST

START_TEST(the_ring_costs_what_it_says)
{
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);
    const struct tt_shape s = {
        .coll = TT_COLL_allreduce, .size = 6, .count = 60, .commutes = true, .segment = 1, .unit = 4};

    for (int rank = 0; rank < s.size; rank++) {
        struct tt_plan *p = tt_plan_build(ring, &s, rank);
        const struct tt_totals t = tt_plan_totals(p);

        ck_assert_int_eq(t.messages, 10);
        ck_assert_int_eq(t.sent, 100);
        ck_assert_int_eq(t.received, 100);
        ck_assert_int_eq(t.reductions, 5);
        ck_assert_int_eq(t.reduced, 50);
        ck_assert_int_eq(t.copied, 0);
        tt_plan_free(p);
    }
}
END_TEST

/* ---- names ---- */

START_TEST(names_are_found)
{
    for (int c = 0; c < TT_NCOLLS; c++)
        ck_assert_int_eq(tt_coll_find(tt_coll_name((enum tt_coll)c), strlen(tt_coll_name((enum tt_coll)c))), c);
    ck_assert_int_eq(tt_coll_find("allreduce;ring", 9), TT_COLL_allreduce);
    ck_assert_int_eq(tt_coll_find("all", 3), TT_NCOLLS);
    ck_assert_int_eq(tt_coll_find("allreduces", 10), TT_NCOLLS);
    ck_assert_str_eq(tt_coll_name(TT_COLL_any), "any");
    ck_assert_int_eq(tt_coll_family(TT_COLL_reduce_scatter_block), TT_COLL_reduce_scatter);
    ck_assert_int_eq(tt_coll_family(TT_COLL_bcast), TT_COLL_bcast);
    ck_assert_int_eq(tt_coll_family(TT_COLL_any), TT_COLL_any);
}
END_TEST

START_TEST(algorithms_are_found)
{
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);

    ck_assert_ptr_nonnull(ring);
    ck_assert_int_eq(ring->coll, TT_COLL_allreduce);
    ck_assert_ptr_eq(tt_alg_find(TT_COLL_allreduce, "ring;x", 4), ring);
    ck_assert_ptr_null(tt_alg_find(TT_COLL_allreduce, "rin", 3));
    ck_assert_ptr_null(tt_alg_find(TT_COLL_barrier, "ring", 4));
    ck_assert_int_eq(tt_alg_find(TT_COLL_barrier, "native", 6)->delegate, TT_TO_MPI);
    ck_assert(tt_alg_serves(ring, TT_COLL_allreduce));
    ck_assert(!tt_alg_serves(ring, TT_COLL_reduce));
    ck_assert(tt_alg_serves(&(struct tt_alg){.coll = TT_COLL_reduce_scatter}, TT_COLL_reduce_scatter_block));
}
END_TEST

/* Two rows of one name and collective could not both be pinned. */
START_TEST(names_of_algorithms_are_distinct)
{
    for (int i = 0; tt_algs[i]; i++) {
        ck_assert_ptr_nonnull(tt_algs[i]->summary);
        ck_assert((tt_algs[i]->delegate == TT_OWN) == (tt_algs[i]->build != NULL));
        for (int j = 0; j < i; j++)
            ck_assert_msg(tt_algs[i]->coll != tt_algs[j]->coll || strcmp(tt_algs[i]->name, tt_algs[j]->name) != 0,
                          "%s %s is there twice", tt_coll_name(tt_algs[i]->coll), tt_algs[i]->name);
    }
}
END_TEST

START_TEST(needs_make_infeasible)
{
    const struct tt_alg free = {.needs = 0}, commuting = {.needs = TT_COMMUTATIVE}, power = {.needs = TT_POWER_OF_TWO};
    const struct tt_shape six = {.size = 6}, eight = {.size = 8, .commutes = true};

    ck_assert_ptr_null(tt_infeasible(&free, &six));
    ck_assert_str_eq(tt_infeasible(&commuting, &six),
                     "it folds operands out of rank order and the op does not commute");
    ck_assert_ptr_null(tt_infeasible(&commuting, &eight));
    ck_assert_str_eq(tt_infeasible(&power, &six), "it needs a power of two of ranks");
    ck_assert_ptr_null(tt_infeasible(&power, &eight));
}
END_TEST

/* ---- passes ---- */

static int exchange(struct tt_plan *p, const struct tt_shape *s)
{
    tt_send(p, 1, tt_at(SEND, 0), 10);
    tt_recv(p, 2, tt_at(RECV, 20), 5);
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), 20);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    tt_lane(p);
    tt_send(p, 1, tt_at(SEND, 50), 4);
    return 0;
}

/* Part k of all messages before part k+1 of any; local work is not cut. */
START_TEST(splitting_cuts_messages)
{
    struct tt_plan *p = build(exchange, 0), *q = tt_pass_split(p, 4);
    const int parts[] = {0, 0, -1, 1, 1, 2, -1, -1, 0};

    ck_assert_ptr_nonnull(q);
    ck_assert_int_eq(q->nsteps, 9);
    must_be_at(must_be(q, 0, TT_SEND, 1, 4)->a, SEND, 0);
    must_be_at(must_be(q, 1, TT_RECV, 2, 4)->dst, RECV, 20);
    must_be(q, 2, TT_COPY, 0, 20);
    must_be_at(must_be(q, 3, TT_SEND, 1, 4)->a, SEND, 4);
    must_be_at(must_be(q, 4, TT_RECV, 2, 1)->dst, RECV, 24);
    must_be_at(must_be(q, 5, TT_SEND, 1, 2)->a, SEND, 8);
    must_be(q, 6, TT_FENCE, 0, 0);
    must_be(q, 7, TT_REDUCE, 0, 8);
    must_be_at(must_be(q, 8, TT_SEND, 1, 4)->a, SEND, 50);
    for (int i = 0; i < 9; i++)
        if (parts[i] >= 0) {
            ck_assert_int_eq(q->steps[i].part, parts[i]);
            ck_assert_int_eq(q->steps[i].message, 0);
        }
    ck_assert_int_eq(q->lanes[0].count, 8);
    ck_assert_int_eq(q->lanes[1].first, 8);
    ck_assert_int_eq(q->lanes[1].count, 1);
    ck_assert_int_eq(q->max_round, 5);
    ck_assert_int_eq(p->nsteps, 6);
    tt_plan_free(p);
    tt_plan_free(q);
}
END_TEST

static void must_be_equal(const struct tt_plan *x, const struct tt_plan *y)
{
    ck_assert_int_eq(x->nsteps, y->nsteps);
    ck_assert_int_eq(x->nlanes, y->nlanes);
    ck_assert_int_eq(x->pin, y->pin);
    ck_assert_int_eq(x->max_round, y->max_round);
    for (int i = 0; i < x->nsteps; i++) {
        must_be(x, i, y->steps[i].verb, y->steps[i].peer, y->steps[i].n);
        must_be_at(x->steps[i].dst, y->steps[i].dst.buf, y->steps[i].dst.at);
        must_be_at(x->steps[i].a, y->steps[i].a.buf, y->steps[i].a.at);
        must_be_at(x->steps[i].b, y->steps[i].b.buf, y->steps[i].b.at);
    }
}

START_TEST(passes_change_nothing_without_need)
{
    struct tt_plan *p = build(exchange, 0), *split = tt_pass_split(p, 10), *staged = tt_pass_stage(p, 0);

    must_be_equal(split, p);
    must_be_equal(staged, p);
    tt_plan_free(p);
    tt_plan_free(split);
    tt_plan_free(staged);
}
END_TEST

static int one_send(struct tt_plan *p, const struct tt_shape *s)
{
    (void)s;
    tt_send(p, 1, tt_at(SEND, 0), 10);
    return 0;
}

/* Part k+1 is copied down under part k, into the other of two slots. */
START_TEST(staging_overlaps)
{
    struct tt_plan *p = build(one_send, 0), *split = tt_pass_split(p, 4), *q = tt_pass_stage(split, 1 << SEND);

    ck_assert_int_eq(q->pin, 8);
    ck_assert_int_eq(q->nsteps, 9);
    must_be_at(must_be(q, 0, TT_COPY, 0, 4)->dst, PIN, 0);
    must_be(q, 1, TT_FENCE, 0, 0);
    for (int i = 2; i < 4; i++)
        if (q->steps[i].verb == TT_SEND)
            must_be_at(must_be(q, i, TT_SEND, 1, 4)->a, PIN, 0);
        else
            must_be_at(must_be(q, i, TT_COPY, 0, 4)->dst, PIN, 4);
    must_be(q, 4, TT_FENCE, 0, 0);
    for (int i = 5; i < 7; i++)
        if (q->steps[i].verb == TT_SEND)
            must_be_at(must_be(q, i, TT_SEND, 1, 4)->a, PIN, 4);
        else
            must_be_at(must_be(q, i, TT_COPY, 0, 2)->dst, PIN, 0);
    must_be(q, 7, TT_FENCE, 0, 0);
    must_be_at(must_be(q, 8, TT_SEND, 1, 2)->a, PIN, 0);
    ck_assert_int_eq(q->steps[2].verb + q->steps[3].verb, TT_SEND + TT_COPY);
    ck_assert_int_eq(q->steps[5].verb + q->steps[6].verb, TT_SEND + TT_COPY);
    tt_plan_free(p);
    tt_plan_free(split);
    tt_plan_free(q);
}
END_TEST

/* Each element that passes is copied once, and no other; what passes is what passed. In a staged ring nothing is
 * copied as a whole. */
START_TEST(staging_copies_what_passes)
{
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);
    const struct tt_shape s = {
        .coll = TT_COLL_allreduce, .size = 5, .count = 103, .inplace = true, .commutes = true, .segment = 1, .unit = 4};

    for (int rank = 0; rank < s.size; rank++) {
        struct tt_plan *p = tt_plan_build(ring, &s, rank), *split = tt_pass_split(p, 6);
        struct tt_plan *q = tt_pass_stage(split, 1 << SEND | 1 << RECV | 1 << TMP);
        const struct tt_totals before = tt_plan_totals(split), after = tt_plan_totals(q);

        ck_assert_int_eq(tt_plan_totals(p).sent, before.sent);
        ck_assert_int_eq(after.messages, before.messages);
        ck_assert_int_eq(after.sent, before.sent);
        ck_assert_int_eq(after.received, before.received);
        ck_assert_int_eq(after.copied, before.sent + before.received);
        ck_assert_int_eq(after.reduced, before.reduced);
        ck_assert_int_eq(after.reductions, before.reductions);
        ck_assert_int_eq(q->pin, 2 * 6 + 2 * 6);
        tt_plan_free(p);
        tt_plan_free(split);
        tt_plan_free(q);
    }
}
END_TEST

/* Lanes run together, so none may use another's slots. */
START_TEST(lanes_do_not_share_pinned_memory)
{
    struct tt_plan *p = build(exchange, 0), *split = tt_pass_split(p, 4);
    struct tt_plan *q = tt_pass_stage(split, 1 << SEND | 1 << RECV);

    ck_assert_int_eq(q->pin, 2 * 4 + 2 * 4 + 2 * 4);
    for (int i = 0; i < q->nsteps; i++) {
        const struct tt_step *s = &q->steps[i];
        const struct tt_loc pin = s->dst.buf == PIN ? s->dst : s->a;

        if (pin.buf == PIN)
            ck_assert_int_eq(pin.at >= 16, i >= q->lanes[1].first);
    }
    tt_plan_free(p);
    tt_plan_free(split);
    tt_plan_free(q);
}
END_TEST

static void add_tests(Suite *s, const char *name, const TTest *const *tests)
{
    TCase *t = tcase_create(name);

    for (; *tests; tests++)
        tcase_add_test(t, *tests);
    suite_add_tcase(s, t);
}

static Suite *suite(void)
{
    Suite *s = suite_create("plan");

    add_tests(s, "arithmetic",
              (const TTest *const[]){cuts_are_balanced, powers_and_remainders, offsets_of_blocks,
                                     sizes_that_all_ranks_know, a_rank_sees_its_own_lengths, NULL});
    add_tests(s, "verbs",
              (const TTest *const[]){verbs_write_steps, a_sealed_plan_says_what_it_is,
                                     steps_that_do_nothing_are_dropped, plans_grow, fences_that_say_nothing_are_dropped,
                                     lanes_are_limited, faults_of_a_builder_are_refused, NULL});
    add_tests(s, "scopes",
              (const TTest *const[]){scopes_renumber_and_move, those_outside_a_scope_do_not_enter, scopes_rotate,
                                     an_open_scope_is_closed, in_place_is_resolved, in_place_drops_the_own_block,
                                     NULL});
    add_tests(s, "figures",
              (const TTest *const[]){messages_are_numbered, totals_add_up, what_a_plan_touches_is_counted,
                                     the_ring_costs_what_it_says, NULL});
    add_tests(s, "names",
              (const TTest *const[]){names_are_found, algorithms_are_found, names_of_algorithms_are_distinct,
                                     needs_make_infeasible, NULL});
    add_tests(s, "passes",
              (const TTest *const[]){splitting_cuts_messages, passes_change_nothing_without_need, staging_overlaps,
                                     staging_copies_what_passes, lanes_do_not_share_pinned_memory, NULL});
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
