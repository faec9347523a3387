/* SPDX-License-Identifier: BSD-3-Clause */
/* Every algorithm of the book is proved for 1 to 64 ranks and the counts at which blocks and trees go wrong; and,
 * because a prover that finds nothing is worth nothing, faults are seeded and each must be found by its name.
 * `test_prover allreduce ring` proves one algorithm alone. */
#include "tests/prove.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRIME = 127 };

static struct {
    long algorithms, proofs, plans;
} tally;

/* ---- coverage ---- */

static bool is_rooted(enum tt_coll coll)
{
    return coll == TT_COLL_reduce || coll == TT_COLL_bcast || coll == TT_COLL_gather || coll == TT_COLL_scatter;
}

static bool is_reduction(enum tt_coll coll)
{
    return coll == TT_COLL_reduce || coll == TT_COLL_allreduce || coll == TT_COLL_reduce_scatter;
}

static void must_prove(const struct tt_alg *alg, const struct tt_shape *s)
{
    struct prove_verdict v;

    if (tt_infeasible(alg, s))
        return;
    tally.proofs++;
    tally.plans += s->size;
    ck_assert_msg(prove(alg, s, &v), "%s", v.why);
}

/* The distinct ones of n numbers; returns how many. */
static int distinct(int64_t *x, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        bool seen = x[i] < 0;

        for (int j = 0; j < kept; j++)
            seen |= x[j] == x[i];
        if (!seen)
            x[kept++] = x[i];
    }
    return kept;
}

/* Order is demanded where the op does not commute, and a builder may choose by it: so both. */
static void prove_ops(const struct tt_alg *alg, struct tt_shape s)
{
    for (int commutes = 0; commutes <= is_reduction(s.coll); commutes++) {
        s.commutes = commutes;
        must_prove(alg, &s);
    }
}

static void prove_segments(const struct tt_alg *alg, struct tt_shape s)
{
    int64_t segments[] = {3, 1 + s.count / 5};
    const int n = distinct(segments, 2);

    for (int i = 0; i < n; i++) {
        s.segment = segments[i];
        prove_ops(alg, s);
    }
}

static void prove_roots(const struct tt_alg *alg, struct tt_shape s)
{
    int64_t roots[] = {0, s.size / 2, s.size - 1};
    const int n = is_rooted(s.coll) ? distinct(roots, 3) : 1;

    for (int i = 0; i < n; i++)
        for (int inplace = 0; inplace <= prove_in_place(&(struct tt_shape){.coll = s.coll, .inplace = true}, 0); inplace++) {
            s.root = (int)roots[i];
            s.inplace = inplace;
            prove_segments(alg, s);
        }
}

/* Blocks of very different sizes: zeros among them; all in one rank; falling. */
static void prove_uneven(const struct tt_alg *alg, struct tt_shape s)
{
    int64_t counts[PROVE_MAX_RANKS];

    s.counts = counts;
    s.count = 0;
    for (int pattern = 0; pattern < 3; pattern++) {
        for (int r = 0; r < s.size; r++)
            counts[r] = pattern == 0 ? (r * 7 + 3) % 5 : pattern == 1 ? (r == s.size / 2) * PRIME : s.size - r;
        prove_roots(alg, s);
    }
}

static void prove_algorithm(const struct tt_alg *alg)
{
    tally.algorithms++;
    for (int size = 1; size <= PROVE_MAX_RANKS; size++) {
        struct tt_shape s = {.coll = alg->coll, .size = size, .unit = 1};
        int64_t counts[] = {0, 1, size - 1, size, size + 1, PRIME};
        const int n = s.coll == TT_COLL_barrier ? 1 : distinct(counts, 6);

        for (int i = 0; i < n; i++) {
            s.count = counts[i];
            prove_roots(alg, s);
        }
        if (s.coll == TT_COLL_reduce_scatter)
            prove_uneven(alg, s);
    }
}

static const char *only_coll, *only_name;

/* One test per collective: all of its algorithms. */
START_TEST(algorithms_are_proved)
{
    const clock_t start = clock();

    memset(&tally, 0, sizeof tally);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_algs[i]->coll == (enum tt_coll)_i && tt_algs[i]->build &&
            (!only_name || strcmp(only_name, tt_algs[i]->name) == 0))
            prove_algorithm(tt_algs[i]);
    if (tally.algorithms > 0)
        printf("proved %s: %ld algorithms, %ld cases, %ld plans in %.1f s\n", tt_coll_name((enum tt_coll)_i),
               tally.algorithms, tally.proofs, tally.plans, (double)(clock() - start) / CLOCKS_PER_SEC);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("prover");
    TCase *t = tcase_create("book");
    const int only = only_coll ? (int)tt_coll_find(only_coll, strlen(only_coll)) : -1;

    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, algorithms_are_proved, only < 0 ? 0 : only, only < 0 ? TT_NCOLLS : only + 1);
    suite_add_tcase(s, t);
    return s;
}

int main(int argc, char **argv)
{
    SRunner *runner;
    int failed;

    only_coll = argc > 1 ? argv[1] : NULL;
    only_name = argc > 2 ? argv[2] : NULL;
    runner = srunner_create(suite());
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
