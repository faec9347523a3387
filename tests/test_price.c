/* SPDX-License-Identifier: BSD-3-Clause */
/* Virtual time, against what a person works out on paper; and the fares of patterns, against virtual time. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "algos/pieces.h"
#include "coll/plan.h"
#include "selector/net.h"
#include "selector/price.h"
#include "tests/machines.h"

/* Seconds of the plans that build writes, n elements of a byte; frees the topology. */
static double each[64];
static double price(struct tt_topo *t, int (*build)(struct tt_plan *p, const struct tt_shape *s), int64_t n)
{
    const struct tt_alg alg = {.coll = TT_COLL_allreduce, .name = "by hand", .build = build};
    const struct tt_shape s = {.coll = TT_COLL_allreduce, .size = t->size, .count = n, .segment = 1, .unit = 1};
    const double seconds = tt_price_call(t, &alg, &s, each);

    tt_topo_free(t);
    return seconds;
}

#define expect(got, wanted) ck_assert_double_eq_tol(got, wanted, 1e-8 * fabs((double)(wanted)))

/* From one rank to another, so many times n. */
static void message(struct tt_plan *p, int from, int to, int64_t n)
{
    if (tt_rank(p) == from)
        tt_send(p, to, tt_at(RECV, 0), n);
    if (tt_rank(p) == to)
        tt_recv(p, from, tt_tmp(p, n), n);
}

/* ---- one message ---- */

static int one_message(struct tt_plan *p, const struct tt_shape *s)
{
    message(p, 0, tt_size(p) - 1, s->count);
    return 0;
}

START_TEST(a_message_takes_alpha_and_n_beta)
{
    struct tt_topo *t = machine(H100_NVSWITCH, 8, BLOCK);

    t->overhead = 0;
    expect(price(t, one_message, 450000), 3e-6 + 1e-6);
    t = machine(H100_NVSWITCH, 9, BLOCK);
    t->overhead = 2e-6;
    expect(price(t, one_message, 50000), 2e-6 + 6e-6 + 1e-6);
    expect(price(machine(A100_PCIE, 4, BLOCK), one_message, 25000), 0.5e-6 + 5e-6 + 1e-6);
    t = machine(A100_PCIE, 2, BLOCK);
    t->seats[1].gpu = t->seats[0].gpu;
    expect(price(t, one_message, 700000), 0.5e-6 + 2e-6 + 1e-6);
}
END_TEST

/* ---- sharing ---- */

static int two_from_one(struct tt_plan *p, const struct tt_shape *s)
{
    message(p, 0, 1, s->count);
    message(p, 0, 2, 3 * s->count);
    return 0;
}

START_TEST(an_out_port_is_shared_until_the_shorter_is_over)
{
    expect(price(plain_machine(3), two_from_one, 10), 40);
    expect(each[1], 20);
    expect(each[2], 40);
}
END_TEST

/* Three fall upon rank 2, which leaves each a third; what else rank 0 sends has the other two thirds of its port, and
 * all of it once that is over. */
static int one_is_held_up(struct tt_plan *p, const struct tt_shape *s)
{
    message(p, 0, 2, s->count);
    message(p, 3, 2, s->count);
    message(p, 4, 2, s->count);
    message(p, 0, 1, 3 * s->count);
    return 0;
}

START_TEST(shares_are_fair_and_nothing_is_left_over)
{
    expect(price(plain_machine(5), one_is_held_up, 10), 40);
    expect(each[2], 30);
    expect(each[1], 40);
}
END_TEST

static int both_ways(struct tt_plan *p, const struct tt_shape *s)
{
    const int half = tt_size(p) / 2;

    for (int i = 0; i < half; i++) {
        message(p, i, half + i, s->count);
        message(p, half + i, i, s->count);
    }
    return 0;
}

START_TEST(ports_carry_both_ways_and_a_bus_all_together)
{
    struct tt_topo *t = plain_machine(4);

    expect(price(t, both_ways, 10), 10);
    t = plain_machine(4);
    t->host_shared = true;
    expect(price(t, both_ways, 10), 40);
}
END_TEST

START_TEST(ranks_share_the_nic_they_use)
{
    struct tt_topo *t = machine(H100_NVSWITCH, 16, BLOCK);

    t->overhead = 0;
    expect(price(t, both_ways, 50000), 6e-6 + 1e-6);
    t = machine(H100_NVSWITCH, 16, BLOCK);
    t->overhead = 0;
    t->seats[5].nic = t->seats[4].nic;
    expect(price(t, both_ways, 50000), 6e-6 + 2e-6);
    expect(price(machine(A100_PCIE, 8, BLOCK), both_ways, 12500), 0.5e-6 + 8e-6 + 4e-6);
}
END_TEST

/* ---- who waits for what ---- */

static int receiver_is_late(struct tt_plan *p, const struct tt_shape *s)
{
    if (tt_rank(p) == 1) {
        tt_copy(p, tt_at(RECV, 0), tt_tmp(p, s->count), s->count);
        tt_fence(p);
    }
    message(p, 0, 1, s->count);
    return 0;
}

START_TEST(a_message_waits_for_its_receiver)
{
    struct tt_topo *t = plain_machine(2);

    t->copy = 3;
    t->speed[TT_LEVEL_HOST].alpha = 5;
    expect(price(t, receiver_is_late, 10), 30 + 5 + 10);
    expect(each[0], 45);
}
END_TEST

static int many_messages(struct tt_plan *p, const struct tt_shape *s)
{
    for (int r = 1; r < tt_size(p); r++)
        message(p, 0, r, s->count);
    return 0;
}

START_TEST(overhead_is_spent_message_by_message)
{
    struct tt_topo *t = plain_machine(5);

    t->overhead = 100;
    expect(price(t, many_messages, 10), 410);
    expect(each[1], 110);
    expect(each[3], 310);
}
END_TEST

static int two_lanes(struct tt_plan *p, const struct tt_shape *s)
{
    for (int lane = 0; lane < 2; lane++) {
        const struct tt_loc a = tt_tmp(p, s->count), b = tt_tmp(p, s->count);

        if (lane > 0)
            tt_lane(p);
        tt_copy(p, a, b, s->count);
        message(p, lane, !lane, s->count);
        tt_fence(p);
        tt_reduce(p, a, a, b, s->count);
    }
    return 0;
}

/* Copies of both lanes one after the other, each under its lane's message; then the reductions. */
START_TEST(a_rank_copies_and_reduces_one_at_a_time)
{
    struct tt_topo *t = plain_machine(2);

    t->copy = 2;
    t->gamma = 5;
    expect(price(t, two_lanes, 10), 2 * 20 + 2 * 50);
    t = plain_machine(2);
    t->copy = 2;
    t->gamma = 5;
    t->launch = 1000; /* nobody has a GPU */
    expect(price(t, two_lanes, 10), 140);
    t = plain_machine(2);
    t->copy = 2;
    t->gamma = 5;
    t->launch = 1000;
    t->seats[0].gpu = 0;
    expect(price(t, two_lanes, 10), 2 * 1020 + 2 * 1050);
}
END_TEST

/* ---- whole algorithms ---- */

START_TEST(a_ring_is_its_formula)
{
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);
    const struct tt_shape s = {
        .coll = TT_COLL_allreduce, .size = 8, .count = 8000, .commutes = true, .segment = 1, .unit = 4};
    struct tt_topo *t = machine(H100_NVSWITCH, 8, BLOCK);
    const double step = t->overhead + 3e-6 + 4000 / 450e9, add = t->launch + 4000 * t->gamma;

    expect(tt_price_call(t, ring, &s, NULL), 14 * step + 7 * add);
    tt_topo_free(t);
}
END_TEST

START_TEST(everybody_to_everybody_fills_every_port)
{
    const struct tt_alg *direct = tt_alg_find(TT_COLL_allgather, "direct", 6);
    const struct tt_shape s = {.coll = TT_COLL_allgather, .size = 64, .count = 1 << 20, .segment = 1, .unit = 1};
    struct tt_topo *t = machine(A100_PCIE, 64, ROUND_ROBIN);

    t->overhead = 0;
    expect(tt_price_call(t, direct, &s, NULL), 8e-6 + 4 * 60 * (1 << 20) / 12.5e9);
    tt_topo_free(t);
}
END_TEST

static int never_received(struct tt_plan *p, const struct tt_shape *s)
{
    if (tt_rank(p) == 0)
        tt_send(p, 1, tt_at(RECV, 0), s->count);
    return 0;
}

static int other_length(struct tt_plan *p, const struct tt_shape *s)
{
    if (tt_rank(p) == 0)
        tt_send(p, 1, tt_at(RECV, 0), s->count);
    else
        tt_recv(p, 0, tt_at(RECV, 0), s->count - 1);
    return 0;
}

static int after_you(struct tt_plan *p, const struct tt_shape *s)
{
    tt_recv(p, !tt_rank(p), tt_at(RECV, 0), s->count);
    tt_fence(p);
    tt_send(p, !tt_rank(p), tt_at(RECV, 0), s->count);
    return 0;
}

START_TEST(plans_that_do_not_fit_have_no_price)
{
    ck_assert_double_lt(price(plain_machine(2), never_received, 10), 0);
    ck_assert_int_eq(errno, EPROTO);
    ck_assert_double_lt(price(plain_machine(2), other_length, 10), 0);
    ck_assert_int_eq(errno, EPROTO);
    ck_assert_double_lt(price(plain_machine(2), after_you, 10), 0);
    ck_assert_int_eq(errno, EPROTO);
}
END_TEST

/* ---- the fares of patterns are what a round of them costs ---- */

enum { SHIFT, CLIMB, FOLD, FOLDED, TREE, ALL, ONE, PATTERNS };
static int pattern, bit, hub;

/* The place of a rank among those that stay when pairs fold. -1: it sits out. */
static int place_of(int rank, int size)
{
    const int pairs = size - tt_pow2_below(size);

    return rank >= 2 * pairs ? rank - pairs : rank % 2 ? rank / 2 : -1;
}

/* Does a send to b in the pattern? */
static bool sends(int a, int b, int size)
{
    const int place = place_of(a, size), other = place_of(b, size);

    if (a == b)
        return false;
    switch (pattern) {
    case SHIFT:
        return (b - a + size) % size == 1 << bit;
    case CLIMB:
        return (a ^ b) == 1 << bit && (a < b || a + (1 << bit) < size);
    case FOLD:
        return place < 0 && b == a + 1;
    case FOLDED:
        return place >= 0 && other >= 0 && (place ^ other) == 1 << bit;
    case TREE:
        return b - a == 1 << bit && a % (2 << bit) == 0;
    case ONE:
        return b == hub;
    default:
        return true;
    }
}

static int one_round(struct tt_plan *p, const struct tt_shape *s)
{
    for (int b = 0; b < tt_size(p); b++)
        for (int a = 0; a < tt_size(p); a++)
            if (sends(a, b, tt_size(p)))
                message(p, a, b, s->count);
    return 0;
}

static double fare(const struct tt_fares *f, double n)
{
    return fmax(f->near.alpha + n * f->near.beta, f->far.alpha + n * f->far.beta);
}

static double slowest_meeting(const struct tt_meetings *step, double n)
{
    double most = 0;

    for (int i = 0; i < step->n; i++)
        most = fmax(most, step->of[i].fare.alpha + n * step->of[i].fare.beta);
    return most;
}

static double slowest(const struct tt_net *net, double n)
{
    const struct tt_fares *const of[] = {net->shift + bit, net->climb + bit,         &net->fold, NULL, net->tree + bit,
                                         &net->all,        net->one + net->node[hub]};

    return pattern == FOLDED ? slowest_meeting(&net->folded[TT_HALVES_FAR][bit], n) : fare(of[pattern], n);
}

static bool any(int size)
{
    for (int a = 0; a < size; a++)
        for (int b = 0; b < size; b++)
            if (sends(a, b, size))
                return true;
    return false;
}

static void check_machine(enum machine_kind kind, int size, enum machine_place place)
{
    static const int64_t lengths[] = {8, 4096, 1 << 20};
    struct tt_topo *t = machine(kind, size, place);
    struct tt_net *net = tt_net_make(t);

    for (pattern = 0; pattern < PATTERNS; pattern++)
        for (bit = 0; 1 << bit < size; bit++)
            for (size_t i = 0; any(size) && i < sizeof lengths / sizeof *lengths; i++) {
                struct tt_topo *same = machine(kind, size, place);
                double seconds;

                same->overhead = 0;
                hub = t->nodes.ranks[t->nodes.first[t->nodes.n - 1]];
                seconds = price(same, one_round, lengths[i]);
                ck_assert_msg(fabs(slowest(net, (double)lengths[i]) - seconds) <= 1e-6 * seconds,
                              "%s, %d ranks, %s, pattern %d of bit %d, %d bytes: %g, not %g", machine_names[kind], size,
                              place_names[place], pattern, bit, (int)lengths[i], slowest(net, (double)lengths[i]),
                              seconds);
            }
    tt_net_free(net);
    tt_topo_free(t);
}

START_TEST(fares_are_what_a_round_costs)
{
    for (int size = 1; size < 40; size += size < 9 ? 1 : 10)
        for (int place = 0; place < MACHINE_PLACES; place++)
            check_machine(_i, size, place);
}
END_TEST

static void expect_shared(const struct tt_fares *f, int messages)
{
    expect(f->far.beta, messages / 12.5e9);
}

static void expect_met(const struct tt_meetings *step, int number, int a, int b, int messages)
{
    const struct tt_meeting *m = &step->of[number];

    ck_assert_int_lt(number, step->n);
    ck_assert(m->any);
    ck_assert_int_eq(m->of[0], a);
    ck_assert_int_eq(m->of[1], b);
    expect(m->fare.beta, messages / 12.5e9);
}

/* Ranks 0 to 11 are on nodes 0, 1, 2 in turn, which have a NIC each. Who is a step ahead shares it with those who are
 * then under way: ranks 8 and 0 send at once to 10 and 4, who are both on node 1. */
START_TEST(ranks_ahead_share_links)
{
    struct tt_topo *t = machine(A100_PCIE, 12, ROUND_ROBIN);
    struct tt_net *net = tt_net_make(t);

    expect_shared(&net->served[3], 1); /* 0 to 8 */
    expect_shared(&net->served[2], 2); /* 0 to 4 */
    expect_shared(&net->served[1], 2); /* 8 to 10; 0 to 2 and 4 to 6, while 8 and 10 send to 9 and 11 */
    expect_shared(&net->served[0], 2); /* those, and then the others to their neighbours */
    ck_assert_int_eq(net->serving.after, 0);
    expect(net->serving.fare.beta, 5 / 12.5e9);             /* 0 to 8, 4, 2 and 1; 6 to 7 */
    expect_met(&net->merge[0], 0, TT_SINGLE, TT_SINGLE, 2); /* 1 to 0, and 7 to 6; 3 to 2 as 9 to 8, and so on */
    ck_assert(!net->merge[0].of[1].any);                    /* 8 to 11 wait: they are of the second kind */
    expect_met(&net->merge[1], 0, 0, 0, 1);                 /* 2 to 0, and 6 to 4 */
    expect_met(&net->merge[1], 1, 1, 1, 2);                 /* 9 to 8, at the same time as 3 to 2 */
    expect_met(&net->merge[3], 0, 0, 1, 1);                 /* 8 to 0 */
    ck_assert_int_eq(net->merge[3].n, 1);
    tt_net_free(net);
    tt_topo_free(t);
}
END_TEST

/* The same ranks: 0 to 7 are pairs, all across, of whom 1, 3, 5 and 7 stay, and 8 to 11 are not. By the bits of their
 * numbers 1 and 3 meet, 5 and 7, 8 and 9, 10 and 11; in the last step 1 and 8, 3 and 9, 5 and 10, 7 and 11. */
START_TEST(ranks_are_of_kinds)
{
    struct tt_topo *t = machine(A100_PCIE, 12, ROUND_ROBIN);
    struct tt_net *net = tt_net_make(t);
    const struct tt_meetings *near = net->folded[TT_HALVES_NEAR], *far = net->folded[TT_HALVES_FAR];
    const double nic = t->speed[TT_LEVEL_NIC].beta;

    expect_met(&near[0], 0, TT_PAIR_FAR, TT_PAIR_FAR, 3);
    expect_met(&near[0], 1, TT_SINGLE, TT_SINGLE, 3);
    ck_assert_int_eq(near[0].n, 2);
    expect_met(&far[2], 0, TT_PAIR_FAR, TT_SINGLE, 3);
    ck_assert_int_eq(near[2].of[1].of[0], 1); /* 3 and 9 are both on node 0 */
    expect(near[2].of[1].fare.alpha, t->speed[TT_LEVEL_HOST].alpha);
    ck_assert_uint_eq(near[0].of[0].pairs, 1 << TT_PAIR_FAR);
    ck_assert_uint_eq(near[0].of[1].pairs, 0);
    ck_assert(near[1].of[0].first && !near[1].of[1].first);   /* 1 and 5 are left with the first parts */
    expect(near[0].of[0].own.beta, 2 * nic);                  /* 3 to 1 and 5 to 7 on node 1, */
    expect(near[0].of[0].next.beta, 1 * nic);                 /* where 10 sends to 8 by then */
    expect(net->ahead[TT_HALVES_NEAR][TT_PAIR_FAR], 1 * nic); /* 0 and 6 leave node 0, and 9 does */
    expect(net->turned[0][0], 2 * nic);                       /* 1 to 0 leaves node 1, as 4 to 5 does, */
    expect(net->turned[0][1], 3 * nic);                       /* and 10 to 11 */
    expect(near[0].of[0].blocks, 8);                          /* of 12: 1 and 3 halve parts of two blocks each */
    tt_net_free(net);
    tt_topo_free(t);
}
END_TEST

/* Two levels: all rails at once share what they share. */
START_TEST(levels_have_fares_of_their_own)
{
    struct tt_topo *t = machine(H100_NVSWITCH, 64, BLOCK);
    struct tt_net *net = tt_net_make(t);

    ck_assert_int_eq(net->within->size, 8);
    ck_assert_int_eq(net->across->size, 8);
    expect(net->within->all.near.beta, 7 / 450e9);
    expect(net->across->all.far.beta, 7 / 50e9);
    expect(net->across->one[5].far.beta, 7 / 50e9);
    tt_net_free(net);
    tt_topo_free(t);
    t = machine(A100_PCIE, 15, BLOCK); /* 4, 4, 4, and 3 */
    net = tt_net_make(t);
    ck_assert_int_eq(net->within->size, 4);
    ck_assert_int_eq(net->across->size, 4);
    expect(net->across->shift[0].far.beta, 3 / 12.5e9);
    expect(net->across->all.far.beta, 3 * 3 / 12.5e9);
    expect(net->across->one[0].far.beta, 3 * 3 / 12.5e9);
    ck_assert_int_eq(net->classes, 2); /* one NIC each, whatever the ranks */
    ck_assert_int_eq(net->class[net->class_of[3]].ranks, 3);
    expect(net->class[0].owned, 0.25);
    expect(net->class[1].owned, 0.25);
    tt_net_free(net);
    tt_topo_free(t);
}
END_TEST

/* Nodes of so many ranks, each with a NIC of its own of 1 byte a second; within nodes they are far quicker. */
static struct tt_topo *uneven_nodes(const int *ranks, int n)
{
    int size = 0;
    struct tt_topo *t;

    for (int i = 0; i < n; i++)
        size += ranks[i];
    t = tt_topo_new(size, n);
    ck_assert_ptr_nonnull(t);
    for (int i = 0, r = 0; i < n; i++)
        for (int k = 0; k < ranks[i]; k++, r++)
            t->seats[r] = (struct tt_seat){.node = i, .socket = -1, .gpu = -1, .nic = k};
    ck_assert_int_eq(tt_topo_settle(t), 0);
    t->speed[TT_LEVEL_HOST].beta = 1e-3;
    t->speed[TT_LEVEL_NIC].beta = 1;
    return t;
}

/* However uneven nodes are, an allreduce of n bytes takes no longer than they must go through the smallest node's NICs,
 * or 2(N-1) n through all together; and a little, for the first segments and the last. */
START_TEST(uneven_nodes_are_at_work_to_the_end)
{
    static const struct {
        int n, ranks[6];
        double bound;
    } rows[] = {
        {2, {8, 3}, 1 / 3.0},    {3, {4, 4, 3}, 4 / 11.0},           {4, {4, 4, 2, 1}, 1},
        {4, {8, 8, 8, 4}, 0.25}, {6, {4, 4, 4, 4, 4, 3}, 10 / 23.0},
    };
    const struct tt_alg *alg = tt_alg_find(TT_COLL_allreduce, "two_level", 9);
    const int64_t n = 1 << 20;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tt_topo *t = uneven_nodes(rows[i].ranks, rows[i].n);
        const struct tt_shape s = {.coll = TT_COLL_allreduce,
                                   .size = t->size,
                                   .commutes = true,
                                   .unit = 1,
                                   .count = n,
                                   .segment = n / 64,
                                   .nodes = &t->nodes};
        const double time = tt_price_call(t, alg, &s, NULL) / (double)n;

        ck_assert_double_ge(time, rows[i].bound * 0.999);
        ck_assert_msg(time <= rows[i].bound * 1.12, "nodes %d: %g of a vector through a NIC, not %g", (int)i, time,
                      rows[i].bound);
        tt_topo_free(t);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("price");
    TCase *paper = tcase_create("on paper");
    TCase *fares = tcase_create("fares");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(paper, a_message_takes_alpha_and_n_beta);
    tcase_add_test(paper, an_out_port_is_shared_until_the_shorter_is_over);
    tcase_add_test(paper, shares_are_fair_and_nothing_is_left_over);
    tcase_add_test(paper, ports_carry_both_ways_and_a_bus_all_together);
    tcase_add_test(paper, ranks_share_the_nic_they_use);
    tcase_add_test(paper, a_message_waits_for_its_receiver);
    tcase_add_test(paper, overhead_is_spent_message_by_message);
    tcase_add_test(paper, a_rank_copies_and_reduces_one_at_a_time);
    tcase_add_test(paper, a_ring_is_its_formula);
    tcase_add_test(paper, everybody_to_everybody_fills_every_port);
    tcase_add_test(paper, plans_that_do_not_fit_have_no_price);
    suite_add_tcase(suite, paper);
    tcase_add_loop_test(fares, fares_are_what_a_round_costs, 0, MACHINE_KINDS);
    tcase_add_test(fares, ranks_ahead_share_links);
    tcase_add_test(fares, ranks_are_of_kinds);
    tcase_add_test(fares, levels_have_fares_of_their_own);
    tcase_add_test(fares, uneven_nodes_are_at_work_to_the_end);
    tcase_set_timeout(fares, 60);
    suite_add_tcase(suite, fares);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
