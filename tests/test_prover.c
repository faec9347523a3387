/* SPDX-License-Identifier: BSD-3-Clause */
/* Every algorithm of the book is proved for 1 to 64 ranks and the counts at which blocks and trees go wrong; and,
 * because a prover that finds nothing is worth nothing, faults are seeded and each must be found by its name.
 * `test_prover allreduce ring` proves one algorithm alone. */
#include "selector/topo.h"
#include "tests/prove.h"

#include <check.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PRIME = 127, FEW = 8 };

/* How ranks may lie on nodes: in blocks of equal length, in blocks of 1, 2, 3, ... ranks, all but the last on one node, in
 * turn, by chance. Every other time each rank has a NIC of its own, else all of a node share one. */
enum layout { EVEN, UNEVEN, LAST_ALONE, IN_TURN, BY_CHANCE, NLAYOUTS };

static struct {
    long algorithms, proofs, plans;
} tally;

/* ---- coverage ---- */

static bool is_rooted(enum tt_coll coll)
{
    return tt_coll_traits(coll) & TT_ROOTED;
}

static bool is_reduction(enum tt_coll coll)
{
    return tt_coll_traits(coll) & TT_REDUCES;
}

/* The distinct ones of n numbers that are not negative; returns how many. */
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

/* Which ranks stage what differs from case to case: all of it everywhere, or as chance has it, some of it here and
 * there. A generator of our own, so that a case is the same on every machine. */
static void choose_memory(unsigned *device_bufs, int size)
{
    static uint32_t state = 1;
    const bool everywhere = tally.proofs % 3 == 0;

    for (int r = 0; r < size; r++) {
        state = state * 1664525 + 1013904223;
        device_bufs[r] = everywhere ? 1 << SEND | 1 << RECV | 1 << TMP : state >> 29;
    }
}

/* Parts of 3 elements, or of more where there would be more than four: parts k and k + 2 share a slot, so three show
 * all that more would. */
static int64_t choose_part(struct tt_plan *const *plans, int size)
{
    int64_t longest = 0;

    for (int r = 0; r < size; r++)
        for (int i = 0; i < plans[r]->nsteps; i++)
            longest = plans[r]->steps[i].n > longest ? plans[r]->steps[i].n : longest;
    return longest > 12 ? longest / 3 : 3;
}

/* Of each rank, the initials of the buffers that it stages: " SR - T" for ranks 0, 1, 2. */
static const char *describe_memory(const unsigned *device_bufs, int size)
{
    static char words[PROVE_MAX_RANKS * (TT_NBUFS + 1) + 1];
    char *at = words;

    for (int r = 0; r < size; r++) {
        *at++ = ' ';
        for (int b = SEND; b <= TMP; b++)
            if (device_bufs[r] & 1u << b)
                *at++ = *tt_buf_name((enum tt_buf)b);
        if (!device_bufs[r])
            *at++ = '-';
    }
    *at = '\0';
    return words;
}

static void must_prove(struct tt_plan *const *plans, const struct tt_shape *s)
{
    const int64_t part = choose_part(plans, s->size);
    struct prove_verdict v;
    unsigned device_bufs[PROVE_MAX_RANKS];

    tally.proofs++;
    tally.plans += 2 * s->size;
    choose_memory(device_bufs, s->size);
    ck_assert_msg(prove_plans(plans, s, &v), "%s", v.why);
    if (!prove_passes(plans, s, part, device_bufs, &v))
        ck_abort_msg("%s; fused and staged in parts of %d elements, by rank:%s", v.why, (int)part,
                     describe_memory(device_bufs, s->size));
}

static bool same_place(struct tt_loc x, struct tt_loc y)
{
    return x.buf == y.buf && x.at == y.at;
}

static bool same_plan(const struct tt_plan *x, const struct tt_plan *y)
{
    if (x->nsteps != y->nsteps || x->nlanes != y->nlanes || x->tmp != y->tmp ||
        memcmp(x->lanes, y->lanes, (size_t)x->nlanes * sizeof *x->lanes) != 0)
        return false;
    for (int i = 0; i < x->nsteps; i++) {
        const struct tt_step *a = &x->steps[i], *b = &y->steps[i];

        if (a->verb != b->verb || a->peer != b->peer || a->n != b->n || !same_place(a->dst, b->dst) ||
            !same_place(a->a, b->a) || !same_place(a->b, b->b))
            return false;
    }
    return true;
}

static bool same_plans(struct tt_plan *const *x, struct tt_plan *const *y, int size)
{
    for (int r = 0; r < size; r++)
        if (!same_plan(x[r], y[r]))
            return false;
    return true;
}

/* A call as op and segment vary. A builder may choose by either; but most do not, and the same plans, proved in order,
 * need no second proof: without order there is less to show. */
static void prove_variants(const struct tt_alg *alg, struct tt_shape s)
{
    struct tt_plan *plans[2][PROVE_MAX_RANKS];
    struct prove_verdict v;
    int built = 0;

    for (int i = 0; i < 4; i++) {
        s.commutes = !is_reduction(s.coll) || i >= 2;
        s.segment = i % 2 ? 3 + s.count / 20 : 1 + s.count / 5;
        if (tt_infeasible(alg, &s) || (!is_reduction(s.coll) && i >= 2) || (s.nodes && s.size > FEW && i % 2 == 0))
            continue;
        ck_assert_msg(prove_build(alg, &s, plans[built & 1], &v), "%s", v.why);
        if (built == 0 || !same_plans(plans[0], plans[1], s.size))
            must_prove(plans[built & 1], &s);
        if (built > 0)
            prove_free(plans[~built & 1], s.size);
        built++;
    }
    if (built > 0)
        prove_free(plans[~built & 1], s.size);
}

static void prove_roots(const struct tt_alg *alg, struct tt_shape s)
{
    const bool has_in_place = tt_coll_traits(s.coll) & (TT_INPLACE_ALL | TT_INPLACE_ROOT);
    int64_t roots[] = {0, s.size / 2, s.size - 1};
    const int n = is_rooted(s.coll) ? distinct(roots, 3) : 1;

    for (int i = 0; i < n; i++)
        for (int inplace = 0; inplace <= has_in_place; inplace++) {
            s.root = (int)roots[i];
            s.inplace = inplace;
            prove_variants(alg, s);
        }
}

/* Blocks of very different sizes: zeros among them; all in one rank; falling. */
static void prove_uneven(const struct tt_alg *alg, struct tt_shape s)
{
    int64_t counts[PROVE_MAX_RANKS];

    s.counts = counts;
    s.count = 0;
    for (int pattern = 0; pattern < 4; pattern++) {
        if (s.nodes && s.size > FEW && s.size / NLAYOUTS % 4 != pattern)
            continue;
        for (int r = 0; r < s.size; r++)
            counts[r] = pattern == 0   ? (r * 7 + 3) % 5
                        : pattern == 1 ? (r == s.size / 2) * PRIME
                        : pattern == 2 ? s.size - r
                                       : r + 1; /* in place, own blocks partly overlap their results */
        prove_roots(alg, s);
    }
}

/* How much goes from a rank to another in an alltoallv: much the same as above; and short blocks, all of a length. */
static int64_t length_between(int pattern, int from, int to, int size)
{
    switch (pattern) {
    case 0: return (from * 7 + to * 3 + 3) % 5;
    case 1: return (to == size / 2) * PRIME / 4;
    case 2: return (2 * size - from - to) / 4;
    default: return 2;
    }
}

/* In place, what goes to a rank is as long as what comes from it: so there the lengths are mirrored. */
static void prove_matrices(const struct tt_alg *alg, struct tt_shape s)
{
    int64_t counts[PROVE_MAX_RANKS * PROVE_MAX_RANKS];

    s.counts = counts;
    for (int i = 0; i < 8; i++) {
        s.inplace = i % 2;
        for (int from = 0; from < s.size; from++)
            for (int to = 0; to < s.size; to++)
                counts[from * s.size + to] = s.inplace && from > to ? length_between(i / 2, to, from, s.size)
                                                                    : length_between(i / 2, from, to, s.size);
        prove_variants(alg, s);
    }
}

/* Blocks are not cut, so all that their length can do is to be cut into messages of several parts. */
static bool in_blocks(enum tt_coll coll)
{
    return tt_coll_traits(coll) & (TT_SEND_BLOCKS | TT_RECV_BLOCKS);
}

/* Where lengths are stated one by one in every call of the family. */
static bool only_uneven(enum tt_coll coll)
{
    return tt_coll_traits(coll) & (TT_SEND_COUNTS | TT_RECV_COUNTS);
}

/* Sanitizers look at the prover and the passes, not at the algorithms, and are five times slower: for them, the sizes
 * up to 9 and those around the last powers of two. */
#ifdef __SANITIZE_ADDRESS__
static const uint64_t sizes_proved = UINT64_C(0xc0000001c00001ff);
#else
static const uint64_t sizes_proved = ~UINT64_C(0);
#endif

/* Every count at which blocks and trees go wrong, for so many ranks; of more of them on nodes, the two that ask most, as
 * the others have shown in small what they can. */
static void prove_counts(const struct tt_alg *alg, struct tt_shape s)
{
    int64_t counts[] = {0, 1, s.size - 1, s.size, s.size + 1, PRIME}, blocks[] = {0, 1, 13};
    const int64_t *count = in_blocks(s.coll) ? blocks : counts;
    const int n = only_uneven(s.coll)         ? 0
                  : s.coll == TT_COLL_barrier ? 1
                  : in_blocks(s.coll)         ? 3
                                              : distinct(counts, 6);

    for (int i = s.nodes && s.size > FEW && n > 2 ? n - 2 : 0; i < n; i++) {
        s.count = count[i];
        prove_roots(alg, s);
    }
    if (tt_coll_traits(s.coll) & (TT_COUNTS | TT_SEND_COUNTS | TT_RECV_COUNTS))
        (s.coll == TT_COLL_alltoallv ? prove_matrices : prove_uneven)(alg, s);
}

/* The node of a rank. As chance has it, the first is alone. About as many nodes as ranks on each. */
static int node_of(enum layout layout, int rank, int size)
{
    static uint32_t state = 1;
    int n = 2;

    while (n * n < size)
        n++;
    switch (layout) {
    case EVEN: return rank / n;
    case UNEVEN:
        for (n = 0; rank > n; n++)
            rank -= n + 1;
        return n;
    case LAST_ALONE: return rank == size - 1;
    case IN_TURN: return rank % n;
    default: state = state * 1664525 + 1013904223; return rank ? 1 + (int)(state >> 16) % n : 0;
    }
}

static struct tt_topo *lay_out(enum layout layout, int size)
{
    struct tt_topo *t = tt_topo_new(size, size + 1);

    ck_assert_ptr_nonnull(t);
    for (int r = 0; r < size; r++)
        t->seats[r] = (struct tt_seat){.node = node_of(layout, r, size), .nic = (size + (int)layout) % 2 ? r : 0};
    ck_assert_int_eq(tt_topo_settle(t), 0);
    return t;
}

/* Few ranks in every layout, many in one after the other. */
static void prove_layouts(const struct tt_alg *alg, struct tt_shape s)
{
    for (int layout = 0; layout < NLAYOUTS; layout++) {
        struct tt_topo *t;

        if (s.size > FEW && s.size % NLAYOUTS != layout)
            continue;
        t = lay_out((enum layout)layout, s.size);
        s.nodes = &t->nodes;
        prove_counts(alg, s);
        tt_topo_free(t);
    }
}

static void prove_algorithm(const struct tt_alg *alg)
{
    tally.algorithms++;
    for (int size = 1; size <= PROVE_MAX_RANKS; size++) {
        const struct tt_shape s = {.coll = alg->coll, .size = size, .unit = 1, .reproducible = alg->canonical};

        if (sizes_proved & UINT64_C(1) << (size - 1))
            (alg->needs & TT_TWO_LEVELS ? prove_layouts : prove_counts)(alg, s);
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
        printf("proved %s: %ld algorithms, %ld cases staged and not, %ld plans in %.1f s\n",
               tt_coll_name((enum tt_coll)_i), tally.algorithms, tally.proofs, tally.plans,
               (double)(clock() - start) / CLOCKS_PER_SEC);
}
END_TEST

/* A name asked for that proves nothing must not look like a proof. */
static bool is_known(void)
{
    const enum tt_coll coll = tt_coll_find(only_coll, strlen(only_coll));

    return coll < TT_NCOLLS && (!only_name || tt_alg_find(coll, only_name, strlen(only_name)));
}

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

    /* A proof takes and gives back the same few megabytes; going to the kernel for them doubles the time. */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_MMAP_THRESHOLD, 256 << 20);
    only_coll = argc > 1 ? argv[1] : NULL;
    only_name = argc > 2 ? argv[2] : NULL;
    if (only_coll && !is_known()) {
        fprintf(stderr, "there is no algorithm %s of %s\n", only_name ? only_name : "at all", only_coll);
        return EXIT_FAILURE;
    }
    runner = srunner_create(suite());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
