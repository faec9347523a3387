/* SPDX-License-Identifier: BSD-3-Clause */
/* Every closed form against the priced plans of all ranks: within 15 %, on three machines, ranks in blocks and in turn,
 * 2 to 64 of them, 8 bytes to 256 MiB. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coll/whole.h"
#include "selector/net.h"
#include "selector/price.h"
#include "tests/machines.h"

static const double bound = 1.15;
static const int sizes[] = {2, 3, 4, 5, 6, 7, 8, 11, 12, 16, 23, 24, 32, 48, 63, 64};
static const int64_t lengths[] = {8, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 28};
enum { NSIZES = sizeof sizes / sizeof *sizes, NLENGTHS = sizeof lengths / sizeof *lengths };

/* A whole call of so many bytes: of the vector, or of all blocks together, but no less than one byte a block. */
static struct tt_shape call(enum tt_coll coll, const struct tt_topo *t, int64_t bytes)
{
    const bool blocks = tt_coll_traits(coll) & (TT_SEND_BLOCKS | TT_RECV_BLOCKS);
    struct tt_shape s = {.coll = coll, .size = t->size, .commutes = true, .unit = 1, .nodes = &t->nodes};

    s.count = coll == TT_COLL_barrier ? 0 : blocks ? (bytes + t->size - 1) / t->size : bytes;
    s.segment = s.count / 20 > 4096 ? s.count / 20 : 4096;
    return s;
}

struct tally {
    int cases, off;
    double worst;
    char words[256];
};

static void compare(struct tally *all, const struct tt_alg *alg, const struct tt_topo *t, const struct tt_net *net,
                    int64_t bytes)
{
    const struct tt_shape s = call(alg->coll, t, bytes);
    const double priced = tt_infeasible(alg, &s) ? 0 : tt_price_call(t, alg, &s, NULL);
    double off;

    ck_assert_msg(priced >= 0, "%s %s on %d ranks: no price, errno %d", tt_coll_name(alg->coll), alg->name, t->size,
                  errno);
    if (priced == 0)
        return;
    off = exp(fabs(log(alg->cost(&s, net) / priced)));
    all->cases++;
    all->off += off > bound;
    if (off <= all->worst)
        return;
    all->worst = off;
    snprintf(all->words, sizeof all->words, "%d ranks on %d nodes, %lld bytes: priced %.4g us, cost %.4g us", t->size,
             t->nodes.n, (long long)bytes, priced * 1e6, alg->cost(&s, net) * 1e6);
}

static void compare_on(struct tally *all, const struct tt_alg *alg, enum machine_kind kind, enum machine_place place)
{
    for (int i = 0; i < NSIZES; i++) {
        struct tt_topo *t = machine(kind, sizes[i], place);
        struct tt_net *net = tt_net_make(t);

        for (int j = 0; j < (alg->coll == TT_COLL_barrier ? 1 : NLENGTHS); j++)
            compare(all, alg, t, net, lengths[j]);
        tt_net_free(net);
        tt_topo_free(t);
    }
}

/* TEST_COST_LIST=1 prints what there is to know of every algorithm. */
static void check_algorithm(const struct tt_alg *alg)
{
    struct tally all = {.worst = 1};
    char name[64];

    for (int kind = 0; kind < MACHINE_KINDS; kind++)
        for (int place = 0; place < MACHINE_PLACES; place++)
            compare_on(&all, alg, kind, place);
    snprintf(name, sizeof name, "%s_%s", tt_coll_name(alg->coll), alg->name);
    if (getenv("TEST_COST_LIST"))
        printf("%-34s %3d of %3d are off, by %.2f at most: %s\n", name, all.off, all.cases, all.worst, all.words);
    ck_assert_msg(all.off == 0, "%s: %d of %d cases are off by more than %.2f; the worst by %.3f: %s", name, all.off,
                  all.cases, bound, all.worst, all.words);
}

START_TEST(formulas_are_what_plans_cost)
{
    if (tt_algs[_i]->cost)
        check_algorithm(tt_algs[_i]);
}
END_TEST

/* Of any number of ranks: all candidates of a collective in less than 200 us, of which a slow machine gets 5 times. */
START_TEST(formulas_are_quick)
{
    struct tt_topo *t = machine(H100_NVSWITCH, 4096, BLOCK);
    struct tt_net *net = tt_net_make(t);
    double sum = 0;

    for (int coll = 0; coll < TT_NCOLLS; coll++) {
        const struct tt_shape s = call(tt_coll_family(coll), t, 1 << 20);
        const clock_t start = clock();

        for (int times = 0; times < 20; times++)
            for (int i = 0; tt_algs[i]; i++)
                if (tt_algs[i]->cost && tt_alg_serves(tt_algs[i], coll))
                    sum += tt_algs[i]->cost(&s, net);
        ck_assert_double_lt((double)(clock() - start) / CLOCKS_PER_SEC / 20, 5 * 200e-6);
    }
    ck_assert_double_gt(sum, 0);
    tt_net_free(net);
    tt_topo_free(t);
}
END_TEST

/* A name, as in "test_cost allreduce", chooses the collectives. */
int main(int argc, char **argv)
{
    Suite *suite = suite_create("cost");
    TCase *cost = tcase_create("cost");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cost, 0); /* the machine may be busy */
    for (int i = 0; tt_algs[i]; i++)
        if (argc < 2 || strstr(tt_coll_name(tt_algs[i]->coll), argv[1]))
            tcase_add_loop_test(cost, formulas_are_what_plans_cost, i, i + 1);
    tcase_add_test(cost, formulas_are_quick);
    suite_add_tcase(suite, cost);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
