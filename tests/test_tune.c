/* SPDX-License-Identifier: BSD-3-Clause */
/* Tuning on a bench whose costs and whose noise are known: the rules that must come of it are known, too. */
#include "selector/tune.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/plan.h"
#include "selector/net.h"
#include "selector/rules.h"

enum { RANKS = 8 };

static struct tt_topo *topo;
static struct tt_net *net;
static char file[] = "/tmp/test_tune_XXXXXX";

static void set_up(void)
{
    const int fd = mkstemp(file);

    ck_assert_int_ge(fd, 0);
    close(fd);
    topo = tt_topo_assumed(RANKS);
    net = tt_net_make(topo);
    ck_assert_ptr_nonnull(net);
}

static void tear_down(void)
{
    tt_net_free(net);
    tt_topo_free(topo);
    unlink(file);
    strcpy(file + strlen(file) - 6, "XXXXXX");
}

static struct tt_tuning tuning(uint64_t colls)
{
    return (struct tt_tuning){.colls = colls,
                              .least = 8,
                              .most = 16 << 20,
                              .budget = 1e9,
                              .factor = 1e9,
                              .size = RANKS,
                              .nodes = &topo->nodes,
                              .net = net};
}

/* ---- the bench ---- */

/* True costs: seconds are alpha + beta bytes; who is not named takes ten times the first. */
struct truth {
    const char *name;
    double alpha, beta;
};

struct fake {
    struct tt_bench is; /* first */
    const struct truth *truth;
    double noise; /* of a sample: it is up to so much too long; one in eight is ten times as long */
    double clock;
    int64_t hump;   /* at this size native takes five times as long */
    int calls, end; /* measurements; after how many there is to be an end, 0: never */
    int told;
    enum tt_coll coll; /* of the last visit */
    int64_t bytes;
    int visit;
    int drawn[TT_MOST_CANDIDATES]; /* samples of each candidate in the visit */
    const struct truth *other;     /* the truth of every odd visit, or NULL */
    int since;                     /* or of all visits from that one on, if that is not 0 */
    const char *unable;            /* who cannot serve, or NULL */
    int renewed;
};

static const struct truth *truth_of(const struct truth *truth, const char *name)
{
    for (const struct truth *t = truth; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

static double cost_by(const struct truth *truth, int64_t hump, const struct tt_alg *alg, int64_t bytes)
{
    const struct truth *t = truth_of(truth, alg->name);
    const double factor = (t ? 1 : 10) * (hump == bytes && alg->delegate == TT_TO_MPI ? 5 : 1);

    t = t ? t : truth;
    return factor * (t->alpha + t->beta * (double)bytes);
}

static double true_cost(const struct fake *f, const struct tt_alg *alg, int64_t bytes)
{
    return cost_by(f->truth, f->hump, alg, bytes);
}

static unsigned mix(unsigned h, unsigned value)
{
    h = (h ^ value) * 2654435761U;
    return h ^ h >> 15;
}

/* The same for the same sample of the same candidate, whenever it is drawn. */
static double luck(const struct fake *f, const struct tt_point *p, int candidate, int sample)
{
    const unsigned h =
        mix(mix(mix(mix(mix(17, (unsigned)p->coll), (unsigned)p->bytes), (unsigned)p->visits), (unsigned)candidate),
            (unsigned)sample);

    return f->noise == 0 ? 1 : h % 8 == 0 ? 10 : 1 + f->noise * (h >> 8 & 1023) / 1024;
}

static const struct truth *truth_now(const struct fake *f, int visit)
{
    return f->other && (f->since ? visit >= f->since : visit % 2) ? f->other : f->truth;
}

static double measure(struct tt_bench *bench, const struct tt_point *point, const struct tt_candidate *c, int calls)
{
    struct fake *f = (struct fake *)bench;
    const int i = (int)(c - point->of);
    double seconds;

    if (f->end && f->calls == f->end)
        return -1;
    if (f->unable && strcmp(c->alg->name, f->unable) == 0)
        return INFINITY;
    f->calls++;
    if (f->coll != point->coll || f->bytes != point->bytes || f->visit != point->visits)
        memset(f->drawn, 0, sizeof f->drawn);
    f->coll = point->coll;
    f->bytes = point->bytes;
    f->visit = point->visits;
    seconds = cost_by(truth_now(f, point->visits), f->hump, c->alg, point->bytes) * luck(f, point, i, f->drawn[i]++);
    f->clock += calls * seconds;
    return seconds;
}

static double now(struct tt_bench *bench)
{
    return ((struct fake *)bench)->clock;
}

static void tell(struct tt_bench *bench, const struct tt_point *point, int done, int left, double seconds_left)
{
    struct fake *f = (struct fake *)bench;

    f->told++;
    ck_assert(point->whole);
    ck_assert_int_eq(done, f->told);
    ck_assert_int_ge(left, 0);
    ck_assert(seconds_left >= 0);
}

static bool renew(struct tt_bench *bench)
{
    ((struct fake *)bench)->renewed++;
    return true;
}

static struct fake fake(const struct truth *truth, double noise)
{
    return (struct fake){.is = {measure, now, tell, renew}, .truth = truth, .noise = noise, .coll = TT_NCOLLS};
}

/* native to about 1 KiB, doubling to about 64 KiB, ring */
static const struct truth three[] = {
    {"native", 1e-6, 4e-9}, {"doubling", 4e-6, 1e-9}, {"ring", 5e-5, 3e-10}, {NULL, 0, 0}};

static char *text_of(const struct tt_tuning *t, struct tt_points *points, int *remarks)
{
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    tt_points_sort(points);
    *remarks = tt_tune_write_rules(out, "made by a test", t, points);
    fclose(out);
    return text;
}

static struct tt_rules *rules_of(const char *text)
{
    char why[1024];
    struct tt_rules *rules = tt_rules_parse("t.rules", text, strlen(text), why, sizeof why);

    ck_assert_msg(rules != NULL, "%s in:\n%s", why, text);
    return rules;
}

static const struct tt_alg *choice(const struct tt_rules *rules, enum tt_coll coll, int64_t bytes)
{
    const int unit = tt_tune_unit(coll);
    const struct tt_shape s = {.coll = coll,
                               .size = RANKS,
                               .commutes = true,
                               .count = bytes / unit,
                               .unit = (size_t)unit,
                               .nodes = &topo->nodes};
    const struct tt_facts facts = tt_facts_of(coll, &s, TT_LEVEL_HOST);
    const struct tt_rule *rule = tt_rules_next(rules, NULL, &facts);

    ck_assert_msg(rule != NULL, "no rule for %s of %lld bytes", tt_coll_name(coll), (long long)bytes);
    return tt_rule_algorithm(rule, coll);
}

/* ---- figures ---- */

START_TEST(a_median_and_its_noise)
{
    double samples[] = {5, 1, 4, 2, 3};
    const struct tt_figure f = tt_figure_of(samples, 5);

    ck_assert_double_eq(f.seconds, 3);
    ck_assert_double_eq_tol(f.noise, 1.57 * 2 / sqrt(5), 1e-12);
    ck_assert_int_eq(f.n, 5);
    ck_assert_int_eq(tt_figure_of(samples, 0).n, 0);
    ck_assert_double_eq(tt_figure_of(samples, 2).seconds, 1.5);
    ck_assert_double_eq(tt_figure_of(samples, 2).noise, 1.5); /* two say nothing of the noise */
}
END_TEST

START_TEST(what_is_spoilt_moves_no_median)
{
    double clean[9], spoilt[9];

    for (int i = 0; i < 9; i++)
        spoilt[i] = clean[i] = 100 + i;
    spoilt[8] = 1e6;
    ck_assert_double_eq(tt_figure_of(clean, 9).seconds, tt_figure_of(spoilt, 9).seconds);
    ck_assert_double_eq(tt_figure_of(clean, 9).noise, tt_figure_of(spoilt, 9).noise);
}
END_TEST

START_TEST(below_means_by_more_than_the_noise_of_both)
{
    const struct tt_figure a = {10, 1, 5}, b = {11.9, 1, 5}, c = {12.1, 1, 5};

    ck_assert(!tt_figure_below(&a, &b));
    ck_assert(tt_figure_below(&a, &c));
    ck_assert(!tt_figure_below(&c, &a));
}
END_TEST

/* ---- what is measured ---- */

START_TEST(sizes_double_up_to_what_fits)
{
    const struct tt_tuning t = {.least = 8, .most = 1000, .size = RANKS};

    for (int k = 0; k <= 6; k++)
        ck_assert_int_eq(tt_tune_size(&t, TT_COLL_allreduce, k), 8 << k);
    ck_assert_int_eq(tt_tune_size(&t, TT_COLL_allreduce, 7), 1000);
    ck_assert_int_eq(tt_tune_size(&t, TT_COLL_allreduce, 8), -1);
    ck_assert_int_eq(tt_tune_size(&t, TT_COLL_alltoall, 4), 125); /* a block of a vector of 1000 bytes */
    ck_assert_int_eq(tt_tune_size(&t, TT_COLL_alltoall, 5), -1);
    ck_assert_int_eq(tt_tune_size(&t, TT_COLL_barrier, 0), 0);
    ck_assert_int_eq(tt_tune_size(&t, TT_COLL_barrier, 1), -1);
}
END_TEST

START_TEST(candidates_are_native_and_what_the_model_cannot_rule_out)
{
    struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct tt_point all, few;

    tt_tune_candidates(&t, TT_COLL_allreduce, 8, &all);
    t.factor = 1.5;
    tt_tune_candidates(&t, TT_COLL_allreduce, 8, &few);
    ck_assert_str_eq(few.of[0].alg->name, "native");
    ck_assert_int_gt(few.n, 1);
    ck_assert_int_lt(few.n, all.n);
    for (int i = 2; i < few.n; i++) {
        ck_assert(few.of[i].expected == 0 || few.of[i].expected >= few.of[i - 1].expected);
        ck_assert(few.of[i].expected <= 1.5 * few.of[1].expected);
    }
    for (int i = 0; i < all.n; i++)
        for (int j = 0; j < i; j++)
            ck_assert(all.of[i].alg != all.of[j].alg || all.of[i].segment != all.of[j].segment);
}
END_TEST

START_TEST(a_pipeline_is_tried_with_two_segments)
{
    const struct tt_tuning t = tuning(1 << TT_COLL_bcast);
    struct tt_point point;
    int chains = 0;

    tt_tune_candidates(&t, TT_COLL_bcast, 16 << 20, &point);
    for (int i = 0; i < point.n; i++) {
        chains += strcmp(point.of[i].alg->name, "chain") == 0;
        ck_assert(point.of[i].alg->segmented == (point.of[i].segment > 0));
    }
    ck_assert_int_eq(chains, 2);
}
END_TEST

START_TEST(every_collective_that_can_be_tuned_has_candidates)
{
    const struct tt_tuning t = tuning(0);

    ck_assert(tt_tunable(TT_COLL_barrier));
    ck_assert(!tt_tunable(TT_COLL_alltoallv));
    ck_assert(!tt_tunable(TT_COLL_neighbor_alltoall));
    for (int c = 0; c < TT_NCOLLS; c++) {
        struct tt_point point;

        if (!tt_tunable((enum tt_coll)c))
            continue;
        tt_tune_candidates(&t, (enum tt_coll)c, tt_tune_size(&t, (enum tt_coll)c, 3) < 0 ? 0 : 64, &point);
        ck_assert_msg(point.n >= 2, "%s has %d candidates", tt_coll_name((enum tt_coll)c), point.n);
    }
}
END_TEST

/* ---- from costs to rules ---- */

/* For every size that was measured: never slower than native by more than 5 %, and the regret's goals. */
static void check_promise(const struct fake *f, const struct tt_tuning *t, const struct tt_rules *rules,
                          enum tt_coll coll)
{
    double sum = 0, worst = 0;
    int n = 0;
    int64_t bytes;

    for (; (bytes = tt_tune_size(t, coll, n)) >= 0; n++) {
        const double chosen = true_cost(f, choice(rules, coll, bytes), bytes);
        double best = INFINITY;

        for (const struct truth *one = f->truth; one->name; one++)
            best = fmin(best, true_cost(f, tt_alg_find(coll, one->name, strlen(one->name)), bytes));
        ck_assert_msg(chosen <= 1.05 * true_cost(f, tt_alg_find(coll, "native", 6), bytes), "%lld bytes: %s takes %g",
                      (long long)bytes, choice(rules, coll, bytes)->name, chosen);
        sum += chosen / best;
        worst = fmax(worst, chosen / best);
    }
    ck_assert_msg(sum / n <= 1.05, "mean regret %g", sum / n);
    ck_assert_msg(worst <= 1.2, "worst regret %g", worst);
}

static const double noises[] = {0, 0.05, 0.3};

START_TEST(known_costs_make_the_known_rules)
{
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(three, noises[_i]);
    struct tt_points points = {0};
    int remarks;
    char *text;
    struct tt_rules *rules;

    ck_assert(tt_tune(&f.is, &t, &points, NULL));
    text = text_of(&t, &points, &remarks);
    rules = rules_of(text);
    ck_assert_msg(rules->n == 3, "%d rules:\n%s", rules->n, text);
    ck_assert_str_eq(rules->rules[0].algorithm, "native");
    ck_assert_str_eq(rules->rules[1].algorithm, "doubling");
    ck_assert_str_eq(rules->rules[2].algorithm, "ring");
    ck_assert_int_eq(rules->rules[0].when[TT_FACT_bytes].from, 0);
    ck_assert_int_eq(rules->rules[0].when[TT_FACT_bytes].to + 1, rules->rules[1].when[TT_FACT_bytes].from);
    ck_assert_int_eq(rules->rules[1].when[TT_FACT_bytes].to + 1, rules->rules[2].when[TT_FACT_bytes].from);
    ck_assert(rules->rules[2].when[TT_FACT_bytes].to == INT64_MAX);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(rules->rules[i].when[TT_FACT_ranks].from, RANKS);
        ck_assert_int_eq(rules->rules[i].when[TT_FACT_ranks].to, RANKS);
        ck_assert_int_eq(rules->rules[i].when[TT_FACT_nodes].to, 1);
        ck_assert_int_eq(rules->rules[i].when[TT_FACT_ranks_per_node].from, RANKS);
    }
    /* the true crossovers are at 1000 and at 65714 bytes */
    ck_assert_int_gt(rules->rules[0].when[TT_FACT_bytes].to, 500);
    ck_assert_int_lt(rules->rules[0].when[TT_FACT_bytes].to, 2000);
    ck_assert_int_gt(rules->rules[1].when[TT_FACT_bytes].to, 32000);
    ck_assert_int_lt(rules->rules[1].when[TT_FACT_bytes].to, 132000);
    ck_assert_int_eq(remarks, 0);
    check_promise(&f, &t, rules, TT_COLL_allreduce);
    tt_rules_free(rules);
    free(text);
    tt_points_free(&points);
}
END_TEST

START_TEST(every_collective_gets_its_rules)
{
    static const struct truth two[] = {{"native", 1e-6, 1e-9}, {NULL, 0, 0}};
    uint64_t colls = 0;
    struct tt_points points = {0};
    struct fake f = fake(two, 0.05);
    struct tt_tuning t;
    struct tt_rules *rules;
    int remarks;
    char *text;

    for (int c = 0; c < TT_NCOLLS; c++)
        colls |= (uint64_t)tt_tunable((enum tt_coll)c) << c;
    t = tuning(colls);
    ck_assert(tt_tune(&f.is, &t, &points, NULL));
    text = text_of(&t, &points, &remarks);
    rules = rules_of(text);
    ck_assert_int_eq(rules->n, __builtin_popcountll(colls));
    for (int i = 0; i < rules->n; i++)
        ck_assert_str_eq(rules->rules[i].algorithm, "native");
    tt_rules_free(rules);
    free(text);
    tt_points_free(&points);
}
END_TEST

START_TEST(where_noise_hides_the_difference_it_is_native)
{
    static const struct truth close[] = {{"doubling", 0.99e-6, 1e-9}, {"native", 1e-6, 1e-9}, {NULL, 0, 0}},
                              far[] = {{"doubling", 0.5e-6, 0.5e-9}, {"native", 1e-6, 1e-9}, {NULL, 0, 0}};
    const struct truth *const truths[] = {close, far};
    static const char *const chosen[] = {"native", "doubling"};
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(truths[_i], 0.2);
    struct tt_point point;

    tt_tune_candidates(&t, TT_COLL_allreduce, 1024, &point);
    ck_assert(tt_tune_visit(&f.is, &point, INFINITY));
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, chosen[_i]);
}
END_TEST

/* Nothing is gained by another choice than the size before has. */
START_TEST(a_choice_stays_where_nothing_is_lost)
{
    static const struct truth equal[] = {
        {"ring", 1e-6, 1e-9}, {"doubling", 1.01e-6, 1.01e-9}, {"native", 9e-6, 9e-9}, {NULL, 0, 0}};
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(equal, 0);
    struct tt_point point;
    struct tt_candidate before = {.alg = tt_alg_find(TT_COLL_allreduce, "doubling", 8)};

    tt_tune_candidates(&t, TT_COLL_allreduce, 1024, &point);
    ck_assert(tt_tune_visit(&f.is, &point, INFINITY));
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, "ring");
    ck_assert_str_eq(tt_tune_choose(&point, &before, true)->alg->name, "doubling");
    before.alg = tt_alg_find(TT_COLL_allreduce, "native", 6);
    ck_assert_str_eq(tt_tune_choose(&point, &before, true)->alg->name, "ring");
}
END_TEST

/* Two machines in turn, as where somebody else comes and goes: who is a little faster on the one and far slower on the
 * other is not chosen; nor is who is faster than native on the one alone. */
START_TEST(who_is_good_only_at_times_is_not_chosen)
{
    static const struct truth
        one[] = {{"ring", 0.9e-6, 0}, {"doubling", 1e-6, 0}, {"native", 2e-6, 0}, {"direct", 0.8e-6, 0}, {NULL, 0, 0}},
        other[] = {
            {"ring", 3e-6, 0}, {"doubling", 1.3e-6, 0}, {"native", 2.6e-6, 0}, {"direct", 2.5e-6, 0}, {NULL, 0, 0}};
    static const struct truth never_sure[] = {{"doubling", 1e-6, 0}, {"native", 1.1e-6, 0}, {NULL, 0, 0}},
                              then_slower[] = {{"doubling", 1.3e-6, 0}, {"native", 1.1e-6, 0}, {NULL, 0, 0}};
    struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(one, 0.05), g = fake(never_sure, 0.05);
    struct tt_point point;

    f.other = other;
    g.other = then_slower;
    tt_tune_candidates(&t, TT_COLL_allreduce, 1024, &point);
    for (int i = 0; i < 6; i++)
        ck_assert(tt_tune_visit(&f.is, &point, INFINITY));
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, "doubling");
    tt_tune_candidates(&t, TT_COLL_allreduce, 1024, &point);
    for (int i = 0; i < 6; i++)
        ck_assert(tt_tune_visit(&g.is, &point, INFINITY));
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, "native");
}
END_TEST

static struct tt_point visited(const double *ours, const double *native, int n)
{
    struct tt_point p = {.coll = TT_COLL_allreduce, .bytes = 1024, .n = 2, .visits = n, .whole = true};

    p.of[0].alg = tt_alg_find(TT_COLL_allreduce, "native", 6);
    p.of[1].alg = tt_alg_find(TT_COLL_allreduce, "ring", 4);
    for (int v = 0; v < n; v++) {
        p.of[0].of[v] = (struct tt_figure){native[v], 0, 5};
        p.of[1].of[v] = (struct tt_figure){ours[v], 0, 5};
    }
    tt_point_sum_up(&p);
    return p;
}

/* Who wins by nothing between two sizes that are others' is not chosen: the larger one's choice is, unless that loses.
 */
START_TEST(a_choice_goes_with_the_next_size_where_nothing_is_lost)
{
    static const char *const names[] = {"native", "oneshot", "doubling", "ring"};
    static const double seconds[3][4] = {{9, 1, 2, 3}, {9, 2, 1, 1.02}, {9, 4, 3, 1}};
    static const struct {
        double ring;
        const char *chosen;
    } tries[] = {{1.02, "ring"}, {1.1, "doubling"}};
    struct tt_point at[3];
    struct tt_points points = {3, at};

    for (int i = 0; i < 3; i++) {
        at[i] = (struct tt_point){.coll = TT_COLL_allreduce, .bytes = 1024 << i, .n = 4, .visits = 1, .whole = true};
        for (int k = 0; k < 4; k++) {
            at[i].of[k].alg = tt_alg_find(TT_COLL_allreduce, names[k], strlen(names[k]));
            at[i].of[k].of[0] = (struct tt_figure){i == 1 && k == 3 ? tries[_i].ring : seconds[i][k], 0, 5};
        }
        tt_point_sum_up(&at[i]);
    }
    ck_assert_str_eq(tt_tune_choose_at(&points, 0, NULL, true)->alg->name, "oneshot");
    ck_assert_str_eq(tt_tune_choose_at(&points, 1, &at[0].of[1], true)->alg->name, tries[_i].chosen);
    ck_assert_str_eq(tt_tune_choose_at(&points, 2, &at[1].of[3], true)->alg->name, "ring");
}
END_TEST

/* Never slower and often much faster is no noise, nor is as fast mostly and much faster at times; twice slower in five
 * visits is, unless native loses far more. */
START_TEST(visits_are_judged_each_by_itself)
{
    static const double as_good[] = {1, 1, 1, 1, 1}, better[] = {1, 1, 2, 4, 4}, unsure[] = {0.8, 0.9, 1.2, 1.3, 1.3},
                        slow[] = {0.8, 0.9, 2, 4, 4}, alike[] = {1.01, 1.01, 1.01, 0.99, 0.99},
                        at_times[] = {1, 1, 1, 1.02, 1.5}, once_more[] = {1, 1, 0.9, 0.9, 1.9};
    const struct tt_point sure = visited(as_good, better, 5), torn = visited(as_good, unsure, 5),
                          far_behind = visited(as_good, slow, 5), same = visited(as_good, alike, 5),
                          gains = visited(as_good, at_times, 5), loses_too = visited(as_good, once_more, 5);

    ck_assert_str_eq(tt_tune_choose(&sure, NULL, true)->alg->name, "ring");
    ck_assert_str_eq(tt_tune_choose(&torn, NULL, true)->alg->name, "native");
    ck_assert_str_eq(tt_tune_choose(&far_behind, NULL, true)->alg->name, "ring");
    ck_assert_str_eq(tt_tune_choose(&same, NULL, true)->alg->name, "native");
    ck_assert_str_eq(tt_tune_choose(&gains, NULL, true)->alg->name, "ring");
    ck_assert_str_eq(tt_tune_choose(&loses_too, NULL, true)->alg->name, "native");
}
END_TEST

/* ---- on GPUs ---- */

/* native to about 1 KiB, doubling to about 16 KiB, NCCL */
static const struct truth with_nccl[] = {
    {"native", 1e-6, 4e-9}, {"doubling", 4e-6, 1e-9}, {"nccl", 1.2e-5, 5e-10}, {NULL, 0, 0}};

START_TEST(nccl_is_chosen_where_all_are_known_to_have_their_buffers_on_gpus)
{
    struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(with_nccl, 0.05);
    struct tt_points points = {0};
    const struct tt_rule *first;
    struct tt_rules *rules;
    int remarks;
    char *text;

    t.on_gpus = true;
    ck_assert(tt_tune(&f.is, &t, &points, NULL));
    text = text_of(&t, &points, &remarks);
    rules = rules_of(text);
    first = &rules->rules[0];
    ck_assert_msg(rules->n == 3, "%d rules:\n%.2000s", rules->n, text);
    ck_assert_str_eq(first->algorithm, "nccl");
    ck_assert_int_eq(first->when[TT_FACT_memory].from, 1);
    ck_assert_int_gt(first->when[TT_FACT_bytes].from, 8000);
    ck_assert_int_lt(first->when[TT_FACT_bytes].from, 32000);
    ck_assert(first->when[TT_FACT_bytes].to == INT64_MAX);
    ck_assert_str_eq(choice(rules, TT_COLL_allreduce, 256)->name, "native"); /* where buffers are is not known */
    ck_assert_str_eq(choice(rules, TT_COLL_allreduce, 1 << 20)->name, "doubling");
    ck_assert(rules->rules[1].when[TT_FACT_memory].from == tt_fact_any(TT_FACT_memory).from);
    tt_rules_free(rules);
    free(text);
    tt_points_free(&points);
}
END_TEST

START_TEST(who_cannot_serve_is_no_candidate)
{
    static const char *const unable[] = {NULL, "nccl", "doubling"};
    struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(with_nccl, 0);
    struct tt_point point;
    int there = 0;

    t.on_gpus = _i > 0;
    f.unable = unable[_i];
    tt_tune_candidates(&t, TT_COLL_allreduce, 1 << 20, &point);
    ck_assert(tt_tune_visit(&f.is, &point, INFINITY));
    for (int i = 0; i < point.n; i++) {
        ck_assert_int_gt(point.of[i].is.n, 0);
        there += strcmp(point.of[i].alg->name, "nccl") == 0;
        ck_assert(!f.unable || strcmp(point.of[i].alg->name, f.unable));
    }
    ck_assert_int_eq(there, _i == 2);
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, _i == 2 ? "nccl" : "doubling");
}
END_TEST

START_TEST(what_is_not_monotone_is_remarked)
{
    static const struct truth alone[] = {{"native", 1e-6, 1e-9}, {NULL, 0, 0}};
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(alone, 0.02);
    struct tt_points points = {0};
    int remarks;
    char *text;

    f.hump = 128;
    ck_assert(tt_tune(&f.is, &t, &points, NULL));
    text = text_of(&t, &points, &remarks);
    ck_assert_msg(remarks == 2, "%d remarks:\n%s", remarks, text); /* at 512 and 2K; 8K takes longer than the hump */
    ck_assert_ptr_nonnull(strstr(text, "# not monotone: native of allreduce takes 5."));
    ck_assert_ptr_nonnull(strstr(text, " at 128, but 1.5"));
    tt_rules_free(rules_of(text));
    free(text);
    tt_points_free(&points);
}
END_TEST

/* ---- the budget ---- */

START_TEST(the_budget_is_kept_and_all_collectives_get_their_share)
{
    const uint64_t colls = 1 << TT_COLL_allreduce | 1 << TT_COLL_bcast | 1 << TT_COLL_alltoall;
    struct tt_tuning t = tuning(colls);
    struct fake f = fake(three, 0);
    struct tt_points points = {0};
    int of[TT_NCOLLS] = {0};

    t.budget = 40;
    tt_tune(&f.is, &t, &points, NULL);
    ck_assert_msg(f.clock < 42, "it took %g s", f.clock);
    for (int i = 0; i < points.n; i++)
        of[points.at[i].coll]++;
    ck_assert_int_ge(of[TT_COLL_allreduce], 11);
    ck_assert_int_ge(of[TT_COLL_bcast], 11);
    ck_assert_int_ge(of[TT_COLL_alltoall], 10);
    tt_points_free(&points);
}
END_TEST

/* What is left of it goes into coming again, to all alike, with other memory each time. */
START_TEST(the_rest_of_the_budget_goes_into_more_visits)
{
    struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(three, 0.05);
    struct tt_points points = {0};
    int least = TT_MOST_VISITS, most = 0;

    t.budget = 50;
    ck_assert(tt_tune(&f.is, &t, &points, NULL));
    ck_assert_msg(f.clock > 47 && f.clock < 53, "it took %g s", f.clock);
    for (int i = 0; i < points.n; i++) {
        const int visits = points.at[i].visits;

        least = visits < least ? visits : least;
        most = visits > most ? visits : most;
    }
    ck_assert_int_gt(least, 1);
    ck_assert_int_lt(most, TT_MOST_VISITS);
    ck_assert_int_le(most - least, 4); /* where choices change sizes are found late */
    ck_assert_int_ge(f.renewed, most - 1);
    tt_points_free(&points);
}
END_TEST

/* Where time is short, who is far off is given up after a turn or two; but native never, for nobody could be chosen
 * over what is not known. */
START_TEST(native_is_known_however_short_the_time)
{
    static const struct truth slow[] = {
        {"native", 1, 1e-9}, {"ring", 1e-3, 1e-9}, {"doubling", 1.1e-3, 1e-9}, {"direct", 1, 0}, {NULL, 0, 0}};
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(slow, 0);
    struct tt_point point;

    tt_tune_candidates(&t, TT_COLL_allreduce, 1024, &point);
    ck_assert(tt_tune_visit(&f.is, &point, 0));
    ck_assert_int_eq(tt_point_native(&point)->is.n, 3);
    ck_assert_int_eq(tt_point_find(&point, tt_alg_find(TT_COLL_allreduce, "direct", 6), 0)->is.n, 1);
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, "ring");
}
END_TEST

/* What was not measured is not claimed. */
START_TEST(a_session_cut_short_says_nothing_of_larger_sizes)
{
    struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(three, 0);
    struct tt_points points = {0};
    struct tt_rules *rules;
    int remarks;
    char *text;

    t.budget = 1e-9;
    f.clock = 0;
    ck_assert(!tt_tune(&f.is, &t, &points, NULL));
    ck_assert_int_eq(points.n, 1);
    text = text_of(&t, &points, &remarks);
    rules = rules_of(text);
    ck_assert_int_eq(rules->rules[0].when[TT_FACT_bytes].to, 16);
    tt_rules_free(rules);
    free(text);
    tt_points_free(&points);
}
END_TEST

START_TEST(who_is_out_of_it_is_measured_no_more)
{
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(three, 0.3);
    struct tt_point point;

    tt_tune_candidates(&t, TT_COLL_allreduce, 16 << 20, &point);
    ck_assert(tt_tune_visit(&f.is, &point, INFINITY));
    ck_assert_str_eq(tt_point_best(&point)->alg->name, "ring");
    ck_assert_int_lt(tt_point_native(&point)->is.n, tt_point_best(&point)->is.n + 1);
    for (int i = 0; i < point.n; i++)
        ck_assert_int_ge(point.of[i].is.n, 1);
}
END_TEST

/* The machine is another one from the third visit on, for longer than it was the first. */
START_TEST(who_was_out_of_it_is_heard_again)
{
    static const struct truth first[] = {{"native", 10e-6, 0}, {"ring", 1e-6, 0}, {"tree", 3e-6, 0}, {NULL, 0, 0}},
                              then[] = {{"native", 10e-6, 0}, {"ring", 4e-6, 0}, {"tree", 2e-6, 0}, {NULL, 0, 0}};
    const struct tt_tuning t = tuning(1 << TT_COLL_allreduce);
    struct fake f = fake(first, 0.05);
    struct tt_point point;

    f.other = then;
    f.since = 2;
    tt_tune_candidates(&t, TT_COLL_allreduce, 16 << 10, &point);
    for (int visit = 0; visit < 12; visit++)
        ck_assert(tt_tune_visit(&f.is, &point, INFINITY));
    ck_assert_str_eq(tt_tune_choose(&point, NULL, true)->alg->name, "tree");
}
END_TEST

/* ---- the journal ---- */

/* Ended after so many measurements, and gone on with, as often as it takes: as if it had never been ended. */
START_TEST(a_resumed_session_equals_an_uninterrupted_one)
{
    const struct tt_tuning t =
        tuning(1 << TT_COLL_allreduce | 1 << TT_COLL_reduce | 1 << TT_COLL_alltoall | 1 << TT_COLL_bcast);
    struct fake whole = fake(three, 0.3);
    struct tt_points at_once = {0}, in_parts = {0};
    char *expected, *text, why[512];
    int remarks, parts = 0;
    bool done = false;

    ck_assert(tt_tune(&whole.is, &t, &at_once, NULL));
    expected = text_of(&t, &at_once, &remarks);
    for (; !done; parts++) {
        struct fake f = fake(three, 0.3);
        FILE *journal;

        tt_points_free(&in_parts);
        journal = tt_journal_open(file, "# a machine", &in_parts, why, sizeof why);
        ck_assert_msg(journal != NULL, "%s", why);
        f.end = 4000;
        done = tt_tune(&f.is, &t, &in_parts, journal);
        fclose(journal);
    }
    ck_assert_int_gt(parts, 3);
    text = text_of(&t, &in_parts, &remarks);
    ck_assert(strcmp(text, expected) == 0);
    free(text);
    free(expected);
    tt_points_free(&at_once);
    tt_points_free(&in_parts);
}
END_TEST

static struct tt_point one_point(void)
{
    struct tt_point p = {.coll = TT_COLL_bcast, .bytes = 64 << 10, .n = 2, .visits = 1, .whole = true};

    p.of[0] = (struct tt_candidate){.alg = tt_alg_find(TT_COLL_bcast, "native", 6), .of = {{12.34e-6, 0.4e-6, 9}}};
    p.of[1] = (struct tt_candidate){
        .alg = tt_alg_find(TT_COLL_bcast, "chain", 5), .segment = 16 << 10, .of = {{10e-6, 0, 5}}};
    tt_point_sum_up(&p);
    return p;
}

/* Writes a journal of the one point and, behind it, more. */
static void write_journal(const char *more)
{
    struct tt_points points = {0};
    struct tt_point p = one_point();
    char why[512];
    FILE *journal;

    unlink(file);
    journal = tt_journal_open(file, "# a machine", &points, why, sizeof why);
    ck_assert_msg(journal != NULL, "%s", why);
    tt_figures_write(journal, &p, 0);
    fputs(more, journal);
    fclose(journal);
}

START_TEST(a_journal_gives_back_what_is_whole)
{
    static const char *const torn[] = {"", "#: allreduce 8 native 1.0",
                                       "#: allreduce 8 native 1.0 us +- 0.1 us, 5 times\n",
                                       "#: allreduce 8 native 1.0 us +- 0.1 us, 5 times\n#", "garbage\n\n#: \n"};
    struct tt_points points = {0};
    char why[512];

    write_journal(torn[_i]);
    fclose(tt_journal_open(file, "# a machine", &points, why, sizeof why));
    ck_assert_int_eq(points.n, 1);
    ck_assert_int_eq(points.at[0].n, 2);
    ck_assert_str_eq(points.at[0].of[1].alg->name, "chain");
    ck_assert_int_eq(points.at[0].of[1].segment, 16 << 10);
    ck_assert_double_eq_tol(points.at[0].of[0].is.seconds, 12.34e-6, 1e-9);
    ck_assert_double_eq_tol(points.at[0].of[0].is.noise, 0.4e-6, 1e-9);
    ck_assert_int_eq(points.at[0].of[0].is.n, 9);
    tt_points_free(&points);
}
END_TEST

START_TEST(another_machines_journal_is_not_read)
{
    struct tt_points points = {0};
    char why[512];

    write_journal("");
    fclose(tt_journal_open(file, "# another machine", &points, why, sizeof why));
    ck_assert_int_eq(points.n, 0);
    ck_assert_ptr_null(tt_journal_open("/nowhere/at/all", "# x", &points, why, sizeof why));
    ck_assert_ptr_nonnull(strstr(why, "/nowhere/at/all: No such file"));
}
END_TEST

/* A rules file has its figures in it, for --regret and for explain. */
START_TEST(a_rules_file_gives_back_its_figures)
{
    const struct tt_tuning t = tuning(1 << TT_COLL_bcast);
    const struct tt_point p = one_point();
    struct tt_points points = {0}, back = {0};
    int remarks;
    char *text;
    FILE *in;

    ck_assert_int_eq(tt_points_add(&points, &p), 0);
    text = text_of(&t, &points, &remarks);
    in = fmemopen(text, strlen(text), "r");
    ck_assert_int_eq(tt_figures_read(in, &back), 0);
    fclose(in);
    ck_assert_int_eq(back.n, 1);
    ck_assert_int_eq(back.at[0].bytes, 64 << 10);
    ck_assert_int_eq(back.at[0].n, 2);
    ck_assert_ptr_nonnull(strstr(text, "bcast bytes 0-128K ranks 8 nodes 1 ranks_per_node 8 -> chain/16K\n"));
    ck_assert_ptr_nonnull(strstr(text, "# made by a test\n"));
    free(text);
    tt_points_free(&points);
    tt_points_free(&back);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tune");
    TCase *figures = tcase_create("figures"), *sizes = tcase_create("sizes"), *rules = tcase_create("rules");
    TCase *budget = tcase_create("budget"), *journal = tcase_create("journal");
    TCase *const with_net[] = {sizes, rules, budget, journal};
    SRunner *runner;
    int failed;

    for (size_t i = 0; i < sizeof with_net / sizeof *with_net; i++)
        tcase_add_checked_fixture(with_net[i], set_up, tear_down);
    tcase_add_test(figures, a_median_and_its_noise);
    tcase_add_test(figures, what_is_spoilt_moves_no_median);
    tcase_add_test(figures, below_means_by_more_than_the_noise_of_both);
    tcase_add_test(sizes, sizes_double_up_to_what_fits);
    tcase_add_test(sizes, candidates_are_native_and_what_the_model_cannot_rule_out);
    tcase_add_test(sizes, a_pipeline_is_tried_with_two_segments);
    tcase_add_test(sizes, every_collective_that_can_be_tuned_has_candidates);
    tcase_add_loop_test(rules, known_costs_make_the_known_rules, 0, 3);
    tcase_add_test(rules, every_collective_gets_its_rules);
    tcase_add_loop_test(rules, where_noise_hides_the_difference_it_is_native, 0, 2);
    tcase_add_test(rules, a_choice_stays_where_nothing_is_lost);
    tcase_add_loop_test(rules, a_choice_goes_with_the_next_size_where_nothing_is_lost, 0, 2);
    tcase_add_test(rules, who_is_good_only_at_times_is_not_chosen);
    tcase_add_test(rules, visits_are_judged_each_by_itself);
    tcase_add_test(rules, nccl_is_chosen_where_all_are_known_to_have_their_buffers_on_gpus);
    tcase_add_loop_test(rules, who_cannot_serve_is_no_candidate, 0, 3);
    tcase_add_test(rules, what_is_not_monotone_is_remarked);
    tcase_add_test(budget, the_budget_is_kept_and_all_collectives_get_their_share);
    tcase_add_test(budget, the_rest_of_the_budget_goes_into_more_visits);
    tcase_add_test(budget, native_is_known_however_short_the_time);
    tcase_add_test(budget, a_session_cut_short_says_nothing_of_larger_sizes);
    tcase_add_test(budget, who_is_out_of_it_is_measured_no_more);
    tcase_add_test(budget, who_was_out_of_it_is_heard_again);
    tcase_add_test(journal, a_resumed_session_equals_an_uninterrupted_one);
    tcase_add_loop_test(journal, a_journal_gives_back_what_is_whole, 0, 5);
    tcase_add_test(journal, another_machines_journal_is_not_read);
    tcase_add_test(journal, a_rules_file_gives_back_its_figures);
    suite_add_tcase(suite, figures);
    for (size_t i = 0; i < sizeof with_net / sizeof *with_net; i++)
        suite_add_tcase(suite, with_net[i]);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
