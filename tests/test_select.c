/* SPDX-License-Identifier: BSD-3-Clause */
/* The choice by the cost model: it is the least of all candidates, its segment is nearly the best there is, it does not
 * depend on what ranks do not share, and it costs as many looks at a formula as is said. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algos/pieces.h"
#include "coll/plan.h"
#include "selector/model.h"
#include "selector/nccl.h"
#include "selector/net.h"
#include "selector/select.h"

static const char *const topologies[] = {"h100x8",        "a100x4",     "cpu2x32",           "scale-rails",
                                         "scale-one-nic", "scale-pcie", "scale-round-robin", "scale-uneven"};
enum { NTOPOLOGIES = sizeof topologies / sizeof *topologies };

static struct tt_topo *topo;
static struct tt_net *net;

static void open_machine(const char *name, int ranks, int nodes)
{
    char why[1024] = "";

    ck_assert_msg(tt_topo_read(name, ranks, nodes, NULL, &topo, why, sizeof why) == 0, "%s", why);
    net = tt_net_make(topo);
    ck_assert_ptr_nonnull(net);
}

static void close_machine(void)
{
    tt_net_free(net);
    tt_topo_free(topo);
}

static struct tt_shape shape_of(enum tt_coll coll, int64_t count)
{
    return (struct tt_shape){
        .coll = coll, .size = topo->size, .commutes = true, .unit = 4, .count = count, .nodes = &topo->nodes};
}

static bool is_family(enum tt_coll coll)
{
    return tt_coll_family(coll) == coll && !(tt_coll_traits(coll) & TT_NEIGHBOURS);
}

/* ---- the choice ---- */

static void check_least(const struct tt_shape *s)
{
    const struct tt_orders orders = {.net = net, .level = -1};
    const struct tt_choice choice = tt_select(s->coll, s, &orders, NULL, false);
    double least = INFINITY;

    ck_assert_ptr_nonnull(choice.alg);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_algs[i]->cost && tt_alg_serves(tt_algs[i], s->coll) && !tt_infeasible(tt_algs[i], s)) {
            const struct tt_estimate e = tt_estimate(tt_algs[i], s, net);

            ck_assert_msg(e.seconds >= 0 && isfinite(e.seconds), "%s takes %g", tt_algs[i]->name, e.seconds);
            least = e.seconds < least ? e.seconds : least;
        }
    ck_assert_ptr_nonnull(choice.alg->cost);
    ck_assert_double_le(tt_estimate(choice.alg, s, net).seconds, least * (1 + 2e-6));
    ck_assert_ptr_nonnull(strstr(choice.why, "model: "));
}

START_TEST(the_least_is_chosen)
{
    open_machine(topologies[_i], 0, 0);
    for (int c = 0; c < TT_NCOLLS; c++)
        for (int64_t count = 1; is_family((enum tt_coll)c) && count <= 1 << 28; count *= 5) {
            struct tt_shape s = shape_of((enum tt_coll)c, count);

            check_least(&s);
            s.commutes = false;
            check_least(&s);
        }
    close_machine();
}
END_TEST

/* In place or not, with lengths of its own or not: a rank comes to the same choice. */
START_TEST(what_is_local_plays_no_part)
{
    int64_t *lengths;

    open_machine("h100x8", 0, 0);
    lengths = calloc((size_t)topo->size, sizeof *lengths);
    lengths[1] = 1 << 24;
    for (int c = 0; c < TT_NCOLLS; c++) {
        struct tt_shape s = shape_of((enum tt_coll)c, 1000);
        struct tt_estimate best, next, others;

        if (!is_family((enum tt_coll)c))
            continue;
        tt_model_choose(s.coll, &s, net, &best, &next);
        s.inplace = true;
        if (tt_coll_lengths_local(s.coll)) {
            s.count = 77;
            s.counts = s.sends = lengths;
        }
        tt_model_choose(s.coll, &s, net, &others, &next);
        ck_assert_ptr_eq(best.alg, others.alg);
        ck_assert_int_eq(best.segment, others.segment);
    }
    free(lengths);
    close_machine();
}
END_TEST

/* ---- NCCL ---- */

static struct tt_choice choose_on_gpus(const struct tt_shape *s, struct tt_orders orders)
{
    orders.net = net;
    orders.topo = topo;
    orders.level = -1;
    return tt_select(s->coll, s, &orders, NULL, false);
}

static bool is_nccl(struct tt_choice choice)
{
    return choice.alg->delegate == TT_TO_NCCL;
}

START_TEST(nccl_is_for_buffers_on_gpus)
{
    struct tt_shape s;

    open_machine("h100x8", 32, 4);
    s = shape_of(TT_COLL_allreduce, 64 << 20);
    ck_assert(is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true})));
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){0})));
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true, .no_nccl = "so it is"})));
    s.reproducible = true;
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true})));
    s = shape_of(TT_COLL_scan, 64 << 20);
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true})));
    s = shape_of(TT_COLL_alltoallv, 0);
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true})));
    close_machine();
    open_machine("cpu2x32", 0, 0);
    s = shape_of(TT_COLL_allreduce, 64 << 20);
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true})));
    close_machine();
}
END_TEST

/* More bytes take longer, nothing negative, and nobody waits in vain for a vote: where it takes longer than NCCL gains,
 * another is chosen. */
START_TEST(a_vote_has_its_price)
{
    double before = 0;

    open_machine("h100x8", 8, 1);
    for (int64_t count = 1; count <= 1 << 28; count *= 4) {
        const struct tt_shape s = shape_of(TT_COLL_allreduce, count);
        const double seconds = tt_nccl_seconds(&s, topo);
        struct tt_estimate best, next;

        tt_model_choose(s.coll, &s, net, &best, &next);
        ck_assert_double_ge(seconds, before);
        before = seconds;
        ck_assert_int_eq(is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true})), seconds < best.seconds);
        ck_assert_int_eq(is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true, .votes = true})),
                         seconds + tt_vote_seconds(net) < best.seconds);
    }
    ck_assert_double_gt(tt_vote_seconds(net), 0);
    close_machine();
}
END_TEST

/* What an allreduce of NCCL took is what the model then says of it, and of other collectives and fewer ranks
 * accordingly. */
START_TEST(what_nccl_took_is_learnt)
{
    const double slow = 50, assumed = 10e-6; /* times as slow per byte; and what steps may take */
    struct tt_shape s, gather;
    double least, longest, gathered;

    open_machine("h100x8", 8, 1);
    s = shape_of(TT_COLL_allreduce, 2);
    gather = shape_of(TT_COLL_allgather, 16 << 20);
    gathered = tt_nccl_seconds(&gather, topo);
    tt_nccl_learn(topo, 1e-3, slow * topo->speed[TT_LEVEL_LINK].beta);
    least = tt_nccl_seconds(&s, topo);
    s = shape_of(TT_COLL_allreduce, 16 << 20);
    longest = tt_nccl_seconds(&s, topo);
    ck_assert_double_eq_tol(least, 1e-3, 1e-6);
    ck_assert_double_eq_tol(longest, 1e-3 + 4 * (16 << 20) * slow * topo->speed[TT_LEVEL_LINK].beta, assumed);
    ck_assert_double_gt(tt_nccl_seconds(&gather, topo), 10 * gathered);
    s = shape_of(TT_COLL_allreduce, 2);
    tt_nccl_learn(topo, 1e-9, 1e-12); /* less than the steps alone were thought to take */
    ck_assert_double_gt(tt_nccl_seconds(&s, topo), 0);
    close_machine();
}
END_TEST

/* Where ours go by the host, they are weighed with the speeds that they have there. */
START_TEST(ours_may_be_staged)
{
    struct tt_topo slow;
    struct tt_net *staged;
    struct tt_shape s;

    open_machine("h100x8", 8, 1);
    slow = *topo;
    slow.speed[TT_LEVEL_LINK] = (struct tt_speed){1, 1};
    staged = tt_net_make(&slow);
    s = shape_of(TT_COLL_bcast, 2);
    ck_assert(is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true, .votes = true, .staged = staged})));
    ck_assert(!is_nccl(choose_on_gpus(&s, (struct tt_orders){.on_gpus = true, .votes = true})));
    tt_net_free(staged);
    close_machine();
}
END_TEST

START_TEST(rules_ask_where_buffers_are)
{
    static const char text[] = "allreduce memory device -> nccl\nallreduce -> ring\n";
    char why[256] = "";
    struct tt_rules *rules = tt_rules_parse("r.txt", text, strlen(text), why, sizeof why);
    struct tt_shape s;

    ck_assert_msg(rules, "%s", why);
    open_machine("h100x8", 8, 1);
    s = shape_of(TT_COLL_allreduce, 2);
    ck_assert_str_eq(choose_on_gpus(&s, (struct tt_orders){.rules = rules}).alg->name, "ring");
    ck_assert_str_eq(choose_on_gpus(&s, (struct tt_orders){.rules = rules, .on_gpus = true}).alg->name, "nccl");
    ck_assert(tt_rules_ask_memory(rules, TT_COLL_allreduce));
    ck_assert(!tt_rules_ask_memory(rules, TT_COLL_bcast));
    ck_assert(!tt_rules_ask_memory(NULL, TT_COLL_bcast));
    close_machine();
    tt_rules_free(rules);
}
END_TEST

/* ---- segments ---- */

/* Of all segments, a finer choice than the model's: seconds. */
static double best_by_trying(const struct tt_alg *alg, struct tt_shape s)
{
    double least = INFINITY;

    for (double bytes = 4 << 10; bytes <= 64 << 20; bytes *= 1.05) {
        double seconds;

        s.segment = (int64_t)bytes / 4;
        seconds = alg->cost(&s, net);
        least = seconds < least ? seconds : least;
    }
    return least;
}

START_TEST(a_segment_is_nearly_the_best)
{
    open_machine(topologies[_i], 0, 0);
    for (int a = 0; tt_algs[a]; a++)
        for (int64_t count = 1 << 8; tt_algs[a]->segmented && tt_algs[a]->cost && count <= 1 << 28; count *= 4) {
            const struct tt_shape s = shape_of(tt_algs[a]->coll, count);
            double chosen, best;

            if (tt_infeasible(tt_algs[a], &s))
                continue;
            chosen = tt_estimate(tt_algs[a], &s, net).seconds;
            best = best_by_trying(tt_algs[a], s);
            ck_assert_msg(chosen <= best * 1.15, "%s %s of %lld bytes on %s: %g s, with the best segment %g s",
                          tt_coll_name(s.coll), tt_algs[a]->name, (long long)count * 4, topologies[_i], chosen, best);
        }
    close_machine();
}
END_TEST

/* ---- what it costs to choose ---- */

static int looks;

/* Least at a segment of 256 KiB. */
static double watched(const struct tt_shape *s, const struct tt_net *ignored)
{
    const double x = log2((double)s->segment * (double)s->unit) - 18;

    (void)ignored;
    looks++;
    return 1e-3 * (1 + x * x);
}

START_TEST(a_formula_is_looked_at_a_few_times)
{
    struct tt_alg alg = {.coll = TT_COLL_bcast, .name = "watched", .cost = watched};
    struct tt_shape s;

    open_machine("h100x8", 0, 0);
    s = shape_of(TT_COLL_bcast, 1 << 24);
    looks = 0;
    tt_estimate(&alg, &s, net);
    ck_assert_int_eq(looks, 1);
    alg.segmented = true;
    looks = 0;
    ck_assert_int_eq(tt_estimate(&alg, &s, net).segment, (256 << 10) / 4);
    ck_assert_int_le(looks, 15);
    looks = 0;
    s.segment = 1000;
    ck_assert_int_eq(tt_estimate(&alg, &s, net).segment, 1000);
    ck_assert_int_eq(looks, 1);
    close_machine();
}
END_TEST

/* An algorithm's own formulas, counted. */
static const struct tt_alg *counted;
static int fulls, longs, roughs;

/* Longs are those of more than eight segments. */
static double count_full(const struct tt_shape *s, const struct tt_net *n)
{
    fulls++;
    longs += s->segment < tt_longest(s) / 8;
    return counted->cost(s, n);
}

static double count_rough(const struct tt_shape *s, const struct tt_net *n)
{
    roughs++;
    return counted->rough(s, n);
}

/* What a new shape costs is nearly all in the full formulas of pipelines of many segments: one of these at most. */
START_TEST(pipelines_are_followed_once)
{
    open_machine(topologies[_i], 0, 0);
    for (int a = 0; tt_algs[a]; a++)
        for (int64_t count = 1; tt_algs[a]->rough && count <= 1 << 28; count *= 2) {
            const struct tt_shape s = shape_of(tt_algs[a]->coll, count);
            struct tt_alg alg = *tt_algs[a];

            counted = tt_algs[a];
            alg.cost = count_full;
            alg.rough = count_rough;
            fulls = longs = roughs = 0;
            if (tt_infeasible(counted, &s))
                continue;
            tt_estimate(&alg, &s, net);
            ck_assert_int_le(fulls, 3);
            ck_assert_int_le(longs, 1);
            ck_assert_int_le(roughs, 10);
        }
    close_machine();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("the selector");
    TCase *all = tcase_create("model");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(all, the_least_is_chosen, 0, NTOPOLOGIES);
    tcase_add_test(all, what_is_local_plays_no_part);
    tcase_add_loop_test(all, a_segment_is_nearly_the_best, 0, NTOPOLOGIES);
    tcase_add_test(all, a_formula_is_looked_at_a_few_times);
    tcase_add_loop_test(all, pipelines_are_followed_once, 0, NTOPOLOGIES);
    tcase_add_test(all, nccl_is_for_buffers_on_gpus);
    tcase_add_test(all, a_vote_has_its_price);
    tcase_add_test(all, what_nccl_took_is_learnt);
    tcase_add_test(all, ours_may_be_staged);
    tcase_add_test(all, rules_ask_where_buffers_are);
    tcase_set_timeout(all, 120);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
