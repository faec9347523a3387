/* SPDX-License-Identifier: BSD-3-Clause */
/* What tutti bench has that needs no MPI: data whose results are known, bandwidths, crossings, and results on paper. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"
#include "tools/bench_curves.h"
#include "tools/bench_data.h"

#define N(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- data ---- */

/* Every cell, on numbers of ranks that leave a small type's sum no room (so many only for those): what the library's
 * own cell gives, operands in one order and in the other, is what is expected. */
static const int many[] = {1, 2, 3, 8, 20, 300};

static void fold_in(const struct tt_cell *cell, void *sum, const void *next, int64_t n, bool backwards)
{
    const void *sources[2] = {backwards ? next : sum, backwards ? sum : next};
    char *both = malloc((size_t)n * cell->size);

    cell->host(both, sources, 2, (size_t)n);
    memcpy(sum, both, (size_t)n * cell->size);
    free(both);
}

static void input_of(const struct tool_part *part, int rank, int64_t n, void *out)
{
    struct tool_part other = *part;
    struct tool_pattern p;

    other.coll = TT_COLL_reduce;
    other.rank = rank;
    other.root = (rank + 1) % part->size;
    ck_assert_int_eq(tool_pattern_make(&p, &other), 0);
    ck_assert_int_eq(tool_pattern_sent(&p, n), n);
    tool_pattern_fill(&p, 0, n, out);
    tool_pattern_free(&p);
}

static void check_cell(const struct tt_cell *cell, int size, bool backwards)
{
    enum { COUNT = 100 };
    const struct tool_part part = {.coll = TT_COLL_allreduce, .type = cell->type, .op = cell->op, .size = size};
    char *sum = calloc(COUNT, cell->size), *next = calloc(COUNT, cell->size);
    struct tool_pattern p;
    int64_t first = -1;

    input_of(&part, backwards ? size - 1 : 0, COUNT, sum);
    for (int i = 1; i < size; i++) {
        input_of(&part, backwards ? size - 1 - i : i, COUNT, next);
        fold_in(cell, sum, next, COUNT, backwards);
    }
    ck_assert_int_eq(tool_pattern_make(&p, &part), 0);
    ck_assert_msg(tool_pattern_wrong(&p, COUNT, 0, COUNT, sum, &first) == 0, "%s %s on %d ranks: element %lld",
                  tt_op_name(cell->op), tt_type_name(cell->type), size, (long long)first);
    tool_pattern_free(&p);
    free(sum);
    free(next);
}

START_TEST(every_cell_gives_what_is_expected)
{
    for (int type = 0; type < TT_NTYPES; type++)
        for (int op = 0; op < TT_NOPS; op++) {
            const struct tt_cell *cell = tt_cell_find((enum tt_type)type, (enum tt_op)op);

            if (cell && (many[_i] < 100 || cell->size <= 2)) {
                check_cell(cell, many[_i], false);
                check_cell(cell, many[_i], true);
            }
        }
}
END_TEST

/* An operand that is left out, or counted twice, is seen: nearly all elements tell. */
START_TEST(a_missing_operand_is_wrong)
{
    enum { COUNT = 1000, SIZE = 4 };
    const struct tool_part part = {.coll = TT_COLL_allreduce, .type = TT_TYPE_f32, .op = TT_OP_sum, .size = SIZE};
    float sum[COUNT] = {0}, next[COUNT];
    struct tool_pattern p;
    int64_t first = -1, wrong;

    for (int rank = 0; rank < SIZE; rank++) {
        input_of(&part, rank, COUNT, next);
        for (int i = 0; i < COUNT; i++)
            sum[i] += rank == 2 ? 0 : next[i];
    }
    ck_assert_int_eq(tool_pattern_make(&p, &part), 0);
    wrong = tool_pattern_wrong(&p, COUNT, 0, COUNT, sum, &first);
    ck_assert_msg(wrong > 9 * COUNT / 10, "only %lld elements are wrong", (long long)wrong);
    tool_pattern_free(&p);
}
END_TEST

/* What the i-th rank sends, block by block, against what is expected to arrive, for blocks longer than a period. */
static const enum tt_coll movers[] = {TT_COLL_bcast, TT_COLL_allgather, TT_COLL_alltoall, TT_COLL_gather,
                                      TT_COLL_scatter};

static void move(enum tt_coll coll, int64_t n, int from, int to, int32_t *got)
{
    enum { SIZE = 3 };
    const unsigned traits = tt_coll_traits(coll);
    const struct tool_part part = {.coll = coll, .type = TT_TYPE_i32, .rank = from, .size = SIZE, .root = 1};
    struct tool_pattern p;

    ck_assert_int_eq(tool_pattern_make(&p, &part), 0);
    if (traits & TT_RECV_BLOCKS || from == part.root)
        tool_pattern_fill(&p, traits & TT_SEND_BLOCKS ? to * n : 0, n, got + (traits & TT_RECV_BLOCKS ? from * n : 0));
    tool_pattern_free(&p);
}

START_TEST(what_moves_is_known_again)
{
    enum { SIZE = 3, LONG = TOOL_PERIOD + 100 };
    static const int64_t counts[] = {1, 5, LONG};
    int32_t *got = calloc(SIZE * LONG, sizeof *got);

    for (int k = 0; k < N(counts); k++)
        for (int to = 0; to < SIZE; to++) {
            const struct tool_part part = {
                .coll = movers[_i], .type = TT_TYPE_i32, .rank = to, .size = SIZE, .root = 1};
            struct tool_pattern p;
            int64_t first = -1, all;

            for (int from = 0; from < SIZE; from++)
                move(movers[_i], counts[k], from, to, got);
            ck_assert_int_eq(tool_pattern_make(&p, &part), 0);
            all = tool_pattern_received(&p, counts[k]);
            ck_assert_int_eq(tool_pattern_wrong(&p, counts[k], 0, all, got, &first), 0);
            if (all > 0) {
                got[all - 1]++;
                ck_assert_int_eq(tool_pattern_wrong(&p, counts[k], 0, all, got, &first), 1);
                ck_assert_int_eq(first, all - 1);
            }
            tool_pattern_free(&p);
        }
    free(got);
}
END_TEST

/* Two blocks that were exchanged are wrong, whatever their length. */
START_TEST(blocks_in_the_wrong_place_are_seen)
{
    enum { COUNT = 40 };
    const struct tool_part part = {.coll = TT_COLL_allgather, .type = TT_TYPE_i32, .size = 3};
    int32_t got[3 * COUNT];
    struct tool_pattern p;
    int64_t first = -1;

    move(TT_COLL_allgather, COUNT, 0, 0, got);
    move(TT_COLL_allgather, COUNT, 1, 0, got);
    memcpy(got + 2 * COUNT, got + COUNT, COUNT * sizeof *got);
    ck_assert_int_eq(tool_pattern_make(&p, &part), 0);
    ck_assert_int_eq(tool_pattern_wrong(&p, COUNT, 0, 3 * COUNT, got, &first), COUNT);
    ck_assert_int_eq(first, 2 * COUNT);
    tool_pattern_free(&p);
}
END_TEST

/* ---- bandwidths ---- */

/* Those that nccl-tests publishes for 4 ranks. */
START_TEST(bus_bandwidths_are_those_of_nccl_tests)
{
    static const struct {
        enum tt_coll coll;
        double factor;
        int64_t whole; /* of 1000 bytes a rank */
    } published[] = {{TT_COLL_allreduce, 1.5, 1000},
                     {TT_COLL_reduce, 1, 1000},
                     {TT_COLL_bcast, 1, 1000},
                     {TT_COLL_allgather, 0.75, 4000},
                     {TT_COLL_reduce_scatter, 0.75, 4000},
                     {TT_COLL_alltoall, 0.75, 4000},
                     {TT_COLL_gather, 0.75, 4000},
                     {TT_COLL_scatter, 0.75, 4000},
                     {TT_COLL_reduce_scatter_block, 0.75, 4000}};

    for (int i = 0; i < N(published); i++) {
        ck_assert_double_eq(tool_bus_factor(published[i].coll, 4), published[i].factor);
        ck_assert_int_eq(tool_whole_bytes(published[i].coll, 4, 1000), published[i].whole);
    }
    ck_assert_double_eq(tool_bus_factor(TT_COLL_scan, 4), 0);
}
END_TEST

/* As osu_iallreduce: all hidden when the call with work takes as long as the work; nothing, and not less, when it takes
 * as long as both. */
START_TEST(overlap_is_that_of_osu)
{
    struct tool_row row = {.median = 100e-6, .compute = 100e-6, .overall = 100e-6};

    ck_assert_double_eq_tol(tool_overlap(&row), 100, 1e-9);
    row.overall = 125e-6;
    ck_assert_double_eq_tol(tool_overlap(&row), 75, 1e-9);
    row.overall = 230e-6;
    ck_assert_double_eq(tool_overlap(&row), 0);
}
END_TEST

/* ---- results ---- */

static void add(struct tool_results *r, int64_t bytes, enum tool_path path, const char *algorithm, double us)
{
    struct tool_row row = {.coll = TT_COLL_allreduce,
                           .bytes = bytes,
                           .path = path,
                           .calls = 10,
                           .median = us * 1e-6,
                           .least = us * 0.9e-6,
                           .p99 = us * 2e-6,
                           .noise = us * 0.01e-6,
                           .mean = us * 1.1e-6,
                           .mean_least = us * 1e-6,
                           .mean_most = us * 1.2e-6,
                           .first = us * 1e-5};

    snprintf(row.algorithm, sizeof row.algorithm, "%s", algorithm);
    tool_results_add(r, &row);
}

/* native takes 10 us, ring 20 us and then a tenth of native's: they cross between 64 and 4096 bytes, once. */
static void make_results(struct tool_results *r)
{
    *r = (struct tool_results){.ranks = 4,
                               .nodes = 1,
                               .type = "float",
                               .op = "sum",
                               .type_is = TT_TYPE_f32,
                               .host = "here",
                               .mpi = "an MPI",
                               .memory_words = "host memory",
                               .date = "2026-11-30"};
    add(r, 64, TOOL_NATIVE, "native", 10);
    add(r, 64, TOOL_OWN, "ring", 20);
    add(r, 64, TOOL_CHOICE, "ring", 5);
    add(r, 4096, TOOL_NATIVE, "native", 80);
    add(r, 4096, TOOL_OWN, "ring", 40);
    add(r, 4096, TOOL_CHOICE, "ring", 41);
    add(r, 8192, TOOL_NATIVE, "native", 100);
    add(r, 8192, TOOL_OWN, "ring", 100.5);
}

START_TEST(curves_cross_where_they_do)
{
    static struct tool_curves curves;
    struct tool_results r;
    struct tool_crossing list[TOOL_CURVE_SIZES];

    make_results(&r);
    tool_curves_make(&r, 0, r.n, &curves);
    ck_assert_int_eq(curves.ncurves, 3);
    ck_assert_int_eq(curves.nsizes, 3);
    /* by logarithms the ratio goes from 1/2 to 2: it is 1 halfway; what was chosen is no path of its own; and what is
     * within the noise is no crossing */
    ck_assert_int_eq(tool_crossings(&curves, list), 2);
    ck_assert_str_eq(curves.of[list[0].to].name, "native");
    ck_assert_str_eq(curves.of[list[1].to].name, "ring");
    ck_assert_double_eq_tol(list[1].bytes, 512, 0.5);
    ck_assert_double_eq_tol(tool_curve_time(&curves, 0, 64), 10e-6, 1e-12);
    ck_assert_double_eq_tol(tool_curve_time(&curves, 1, 512), 28.284e-6, 1e-9);
    ck_assert(isnan(tool_curve_time(&curves, 0, 1 << 20)));
    ck_assert(isnan(tool_curve_time(&curves, 2, 8192)));
    tool_results_free(&r);
}
END_TEST

/* Where one of both is missing there is nothing to be said. */
START_TEST(what_is_chosen_is_held_against_the_fastest)
{
    struct tool_results r;
    size_t length;
    char *text;
    FILE *out = open_memstream(&text, &length);

    make_results(&r);
    add(&r, 16384, TOOL_NATIVE, "native", 100);
    add(&r, 16384, TOOL_NCCL, "nccl", 80);
    add(&r, 16384, TOOL_CHOICE, "native", 100);
    add(&r, 32768, TOOL_NATIVE, "native", 100);
    add(&r, 32768, TOOL_CHOICE, "native", 150);
    r.rows[r.n - 1].times = 1.02;
    tool_bench_side_by_side(out, &r, 0, r.n);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "    0.50\n"));
    ck_assert_ptr_nonnull(strstr(text, "    1.25\n"));
    ck_assert_ptr_nonnull(strstr(text, "    1.02\n"));
    ck_assert_ptr_nonnull(strstr(text, "at most 1.10 times the fastest at 3 of 4 sizes; 1.25 times at 16 KiB"));
    free(text);
    tool_results_free(&r);
}
END_TEST

/* Four ranks move 8 n, at 1 GB/s; what caches may hold has no bound, and what was not measured is not told. */
START_TEST(what_is_chosen_is_held_against_bare_cores)
{
    struct tool_results r;
    size_t length;
    char *text;
    FILE *out = open_memstream(&text, &length);

    make_results(&r);
    tool_bench_bare(out, &r, 0, r.n);
    fflush(out);
    ck_assert_uint_eq(length, 0);
    tool_results_free(&r);
    r = (struct tool_results){.ranks = 4, .memory_rate = 1e9};
    add(&r, 64, TOOL_BARE, "bare", 2);
    add(&r, 64, TOOL_CHOICE, "ring", 5);
    add(&r, 1 << 20, TOOL_BARE, "bare", 2);
    add(&r, 1 << 20, TOOL_CHOICE, "ring", 16777.216);
    add(&r, 2 << 20, TOOL_CHOICE, "ring", 16777.216);
    tool_bench_bare(out, &r, 0, r.n);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "the vector of each of 4 ranks is read, and one written, at 1.0 GB/s"));
    ck_assert_ptr_nonnull(strstr(text, "      64 B       5.00       2.00        2.5          -          -\n"));
    ck_assert_ptr_nonnull(strstr(text, "     1 MiB   16777.22       2.00          -    8388.61       50 %\n"));
    ck_assert_ptr_null(strstr(text, "2 MiB"));
    free(text);
    tool_results_free(&r);
}
END_TEST

/* They are no path that a call could take: neither the fastest, nor a curve. */
START_TEST(bare_cores_are_no_path)
{
    static struct tool_curves curves;
    struct tool_results r;
    size_t length;
    char *text;
    FILE *out = open_memstream(&text, &length);

    make_results(&r);
    add(&r, 16384, TOOL_BARE, "bare", 1);
    add(&r, 16384, TOOL_NATIVE, "native", 100);
    add(&r, 16384, TOOL_CHOICE, "ring", 50);
    tool_curves_make(&r, 0, r.n, &curves);
    ck_assert_int_eq(curves.ncurves, 3);
    tool_bench_side_by_side(out, &r, 0, r.n);
    tool_bench_tell(out, TOOL_TABLE, &r, r.n - 3, r.n, false);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, "    0.50\n"));
    ck_assert_ptr_nonnull(strstr(text, "chosen ring               *     "));
    ck_assert_ptr_null(strstr(text, "bare               *"));
    ck_assert(tool_algbw(&r, &r.rows[r.n - 3]) == 0);
    free(text);
    tool_results_free(&r);
}
END_TEST

START_TEST(what_is_written_is_read)
{
    char name[] = "/tmp/tutti-bench-XXXXXX", why[256];
    struct tool_results r, again;
    FILE *out = fdopen(mkstemp(name), "w");

    make_results(&r);
    r.rows[1].wrong = 7;
    r.simulated = true;
    r.form = TOOL_NONBLOCKING;
    r.rows[1].kept = 0.75;
    r.rows[2].times = 1.5;
    r.memory_rate = 50e9;
    ck_assert_int_eq(tool_bench_write(&r, out), 0);
    fclose(out);
    ck_assert_msg(tool_bench_read(name, &again, why, sizeof why) == 0, "%s", why);
    remove(name);
    ck_assert_int_eq(again.n, r.n);
    ck_assert_int_eq(again.ranks, 4);
    ck_assert_str_eq(again.op, "sum");
    ck_assert(again.simulated);
    ck_assert_double_eq_tol(again.memory_rate, 50e9, 1);
    for (int i = 0; i < r.n; i++) {
        ck_assert_int_eq(again.rows[i].bytes, r.rows[i].bytes);
        ck_assert_int_eq(again.rows[i].path, r.rows[i].path);
        ck_assert_int_eq(again.rows[i].wrong, r.rows[i].wrong);
        ck_assert_str_eq(again.rows[i].algorithm, r.rows[i].algorithm);
        ck_assert_double_eq_tol(again.rows[i].median, r.rows[i].median, 1e-12);
        ck_assert_double_eq_tol(again.rows[i].noise, r.rows[i].noise, 1e-12);
        ck_assert_double_eq_tol(again.rows[i].kept, r.rows[i].kept, 1e-9);
        ck_assert_double_eq_tol(again.rows[i].times, r.rows[i].times, 1e-12);
    }
    tool_results_free(&r);
    tool_results_free(&again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bench");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, all);
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, every_cell_gives_what_is_expected, 0, N(many));
    tcase_add_test(all, a_missing_operand_is_wrong);
    tcase_add_loop_test(all, what_moves_is_known_again, 0, N(movers));
    tcase_add_test(all, blocks_in_the_wrong_place_are_seen);
    tcase_add_test(all, bus_bandwidths_are_those_of_nccl_tests);
    tcase_add_test(all, overlap_is_that_of_osu);
    tcase_add_test(all, curves_cross_where_they_do);
    tcase_add_test(all, what_is_chosen_is_held_against_the_fastest);
    tcase_add_test(all, what_is_chosen_is_held_against_bare_cores);
    tcase_add_test(all, bare_cores_are_no_path);
    tcase_add_test(all, what_is_written_is_read);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
