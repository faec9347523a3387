/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes as runs, against what the MPI itself packs: random nested types of every constructor, there and back, with
 * bytes in the gaps and around that must not change. Then how few runs the regular ones are, what is contiguous in
 * disguise and what is not, counts beyond 2^31, and that no inner handle is kept. An MPI program of one process. */
#include <check.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "coll/flat.h"

enum { ROOM = 1 << 18, MIDDLE = ROOM / 2, MOST = 4096, TYPES = 3000 };

/* ---- random numbers, the same in every run ---- */

static uint64_t state = 88172645463325252u;

static int below(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (uint64_t)n);
}

/* ---- random types ---- */

static MPI_Datatype any(int depth);

/* Most constructors have one older type; it is freed, as a program would. */
static MPI_Datatype named(void)
{
    static const MPI_Datatype basic[] = {MPI_CHAR,       MPI_SHORT,     MPI_INT,       MPI_DOUBLE,
                                         MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_FLOAT_INT, MPI_LONG_DOUBLE_INT,
                                         MPI_2INT,       MPI_LONG_INT,  MPI_BYTE,      MPI_C_DOUBLE_COMPLEX};

    return basic[below(12)];
}

static MPI_Datatype made_of(MPI_Datatype old, MPI_Datatype made)
{
    int ints, addresses, types, combiner;

    MPI_Type_get_envelope(old, &ints, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&old);
    return made;
}

static MPI_Aint extent_of(MPI_Datatype type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(type, &lb, &extent);
    return extent;
}

static MPI_Datatype any_vector(int depth)
{
    MPI_Datatype old = any(depth), made;
    const int count = below(4) + 1, length = below(3) + 1,
              stride = below(9); /* Open MPI 4.1 errs where it is negative */

    if (below(2))
        MPI_Type_vector(count, length, stride, old, &made);
    else
        MPI_Type_create_hvector(count, length, stride * extent_of(old) + below(2) * 16, old, &made);
    return made_of(old, made);
}

static MPI_Datatype any_indexed(int depth)
{
    MPI_Datatype old = any(depth), made;
    int lengths[5], places[5];
    MPI_Aint bytes[5];
    const int n = below(5) + 1;

    for (int i = 0; i < n; i++) {
        lengths[i] = below(4);
        places[i] = below(20) - 5;
        bytes[i] = places[i] * 8;
    }
    switch (below(4)) {
    case 0:
        MPI_Type_indexed(n, lengths, places, old, &made);
        break;
    case 1:
        MPI_Type_create_hindexed(n, lengths, bytes, old, &made);
        break;
    case 2:
        MPI_Type_create_indexed_block(n, 2, places, old, &made);
        break;
    default:
        MPI_Type_create_hindexed_block(n, 2, bytes, old, &made);
    }
    return made_of(old, made);
}

static MPI_Datatype any_struct(int depth)
{
    MPI_Datatype old[3] = {any(depth), any(depth), any(depth)}, made;
    const int lengths[3] = {below(3), below(3) + 1, below(3)};
    const MPI_Aint bytes[3] = {below(8) * 8, 200 + below(8) * 8, below(4) * 100};

    MPI_Type_create_struct(3, lengths, bytes, old, &made);
    for (int i = 0; i < 3; i++)
        made_of(old[i], made);
    return made;
}

static MPI_Datatype any_subarray(int depth)
{
    MPI_Datatype old = any(depth), made;
    const int n = below(3) + 1, order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int sizes[3], subsizes[3], starts[3];

    for (int i = 0; i < n; i++) {
        sizes[i] = below(4) + 1;
        subsizes[i] = below(sizes[i]) + 1;
        starts[i] = below(sizes[i] - subsizes[i] + 1);
    }
    MPI_Type_create_subarray(n, sizes, subsizes, starts, order, old, &made);
    return made_of(old, made);
}

static MPI_Datatype any_darray(int depth)
{
    static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    MPI_Datatype old = any(depth), made;
    const int n = below(2) + 1, order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int sizes[2], kind[2], arguments[2], grid[2], ranks = 1;

    for (int i = 0; i < n; i++) {
        kind[i] = kinds[below(3)];
        grid[i] = kind[i] == MPI_DISTRIBUTE_NONE ? 1 : below(3) + 1;
        sizes[i] = grid[i] + below(6);
        arguments[i] = kind[i] == MPI_DISTRIBUTE_CYCLIC && below(2) ? below(3) + 1 : MPI_DISTRIBUTE_DFLT_DARG;
        ranks *= grid[i];
    }
    /* Open MPI 4.1 refuses some */
    if (MPI_Type_create_darray(ranks, below(ranks), n, sizes, kind, arguments, grid, order, old, &made) != MPI_SUCCESS)
        return old;
    return made_of(old, made);
}

static MPI_Datatype any_other(int depth)
{
    MPI_Datatype old = any(depth), made;

    switch (below(3)) {
    case 0:
        MPI_Type_dup(old, &made);
        break;
    case 1:
        MPI_Type_contiguous(below(4) + 1, old, &made);
        break;
    default:
        MPI_Type_create_resized(old, below(5) * 8 - 16, extent_of(old) + below(5) * 8 - 8, &made);
    }
    return made_of(old, made);
}

static MPI_Datatype any(int depth)
{
    static MPI_Datatype (*const makers[])(int) = {any_vector,   any_indexed, any_struct,
                                                  any_subarray, any_darray,  any_other};

    return depth == 0 ? named() : makers[below(6)](depth - 1);
}

/* ---- there and back ---- */

static char memory[ROOM], ours[ROOM], theirs[ROOM], packed[ROOM], packed_by_mpi[ROOM];

static const struct tt_runs *flat(MPI_Datatype type)
{
    const struct tt_runs *runs;

    ck_assert_int_eq(tt_flat_make(type, &runs), MPI_SUCCESS);
    return runs;
}

/* Does any byte belong to two pieces? Then what a receive leaves there is undefined. */
static bool overlaps(MPI_Datatype type, int count, int bytes)
{
    int at = 0, set = 0;

    memset(packed_by_mpi, -1, (size_t)bytes);
    memset(theirs, 0, ROOM);
    MPI_Unpack(packed_by_mpi, bytes, &at, theirs + MIDDLE, count, type, MPI_COMM_SELF);
    for (int i = 0; i < ROOM; i++)
        set += theirs[i] != 0;
    return set != bytes;
}

static bool check_pack(MPI_Datatype type, const struct tt_runs *runs, int count)
{
    const int bytes = (int)runs->size * count;
    int at = 0;

    memset(packed, 77, ROOM);
    memset(packed_by_mpi, 77, ROOM);
    tt_runs_pack(runs, count, memory + MIDDLE, packed + 64);
    MPI_Pack(memory + MIDDLE, count, type, packed_by_mpi + 64, bytes, &at, MPI_COMM_SELF);
    return at == bytes && memcmp(packed, packed_by_mpi, ROOM) == 0;
}

static bool check_unpack(MPI_Datatype type, const struct tt_runs *runs, int count)
{
    const int bytes = (int)runs->size * count;
    int at = 0;

    if (overlaps(type, count, bytes))
        return true;
    memset(ours, 55, ROOM);
    memset(theirs, 55, ROOM);
    tt_runs_unpack(runs, count, ours + MIDDLE, memory);
    MPI_Unpack(memory, bytes, &at, theirs + MIDDLE, count, type, MPI_COMM_SELF);
    return memcmp(ours, theirs, ROOM) == 0;
}

/* Small enough to be compared in the memory there is. */
static bool fits(const struct tt_runs *runs, int count)
{
    int64_t low, high;

    tt_runs_span(runs, count, &low, &high);
    return runs->size * count < MIDDLE - 64 && low > -MIDDLE && high < MIDDLE;
}

START_TEST(random_types_are_packed_as_the_mpi_packs_them)
{
    int tried = 0;

    for (int i = 0; i < ROOM; i++)
        memory[i] = (char)below(256);
    for (int i = 0; i < TYPES; i++) {
        const int count = below(5), depth = i % 4;
        MPI_Datatype type = any(depth);
        const struct tt_runs *runs = flat(type);

        MPI_Type_commit(&type);
        if (runs->nruns < MOST && fits(runs, count)) {
            ck_assert_msg(check_pack(type, runs, count), "type %d, count %d: packed", i, count);
            ck_assert_msg(check_unpack(type, runs, count), "type %d, count %d: unpacked", i, count);
            tried++;
        }
        tt_flat_drop(runs);
        made_of(type, type);
    }
    ck_assert_int_gt(tried, TYPES * 3 / 4);
}
END_TEST

/* ---- what becomes of the usual ones ---- */

/* Frees type. */
static const struct tt_runs *flat_once(MPI_Datatype type)
{
    const struct tt_runs *runs = flat(type);

    made_of(type, type);
    return runs;
}

static void expect_run(MPI_Datatype type, struct tt_run want)
{
    const struct tt_runs *runs = flat_once(type);
    const struct tt_run *r = runs->run;

    ck_assert_int_eq(runs->nruns, 1);
    ck_assert_msg(r->at == want.at && r->length == want.length && r->n == want.n &&
                      (r->n == 1 || r->stride == want.stride),
                  "got %lld: %lld x %lld, stride %lld", (long long)r->at, (long long)r->n, (long long)r->length,
                  (long long)r->stride);
    tt_flat_drop(runs);
}

static MPI_Datatype vector(int count, int length, int stride, MPI_Datatype old)
{
    MPI_Datatype made;

    MPI_Type_vector(count, length, stride, old, &made);
    return made_of(old, made);
}

static MPI_Datatype contiguous(int count, MPI_Datatype old)
{
    MPI_Datatype made;

    MPI_Type_contiguous(count, old, &made);
    return made_of(old, made);
}

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype made;

    MPI_Type_create_resized(old, lb, extent, &made);
    return made_of(old, made);
}

static MPI_Datatype box(int n, const int *sizes, const int *subsizes, const int *starts)
{
    MPI_Datatype made;

    MPI_Type_create_subarray(n, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &made);
    return made;
}

START_TEST(regular_types_are_one_run)
{
    const int sizes[] = {6, 7, 8}, subsizes[] = {2, 3, 4}, starts[] = {1, 2, 3}, lines[] = {2, 7, 8},
              zero[] = {1, 0, 0};

    expect_run(vector(3, 4, 6, MPI_INT), (struct tt_run){0, 16, 3, 24, 0});
    expect_run(vector(3, 4, -6, MPI_INT), (struct tt_run){0, 16, 3, -24, 0});
    expect_run(vector(100, 1, 50, MPI_DOUBLE), (struct tt_run){0, 8, 100, 400, 0});
    expect_run(vector(5, 1, 1, vector(4, 1, 1, MPI_INT)), (struct tt_run){0, 80, 1, 0, 0});
    expect_run(contiguous(3, resized(vector(4, 1, 2, MPI_INT), 0, 32)), (struct tt_run){0, 4, 12, 8, 0});
    expect_run(contiguous(9, MPI_DOUBLE_INT), (struct tt_run){0, 12, 9, 16, 0});
    expect_run(box(2, sizes, subsizes, starts), (struct tt_run){36, 12, 2, 28, 0});
    expect_run(box(3, sizes, lines, zero), (struct tt_run){224, 448, 1, 0, 0});
}
END_TEST

START_TEST(a_box_is_a_run_for_each_plane)
{
    const int sizes[] = {6, 7, 8}, subsizes[] = {2, 3, 4}, starts[] = {1, 2, 3};
    const struct tt_runs *runs = flat_once(box(3, sizes, subsizes, starts));

    ck_assert_int_eq(runs->nruns, 2);
    ck_assert_int_eq(runs->run[1].at - runs->run[0].at, 7 * 8 * 4);
    ck_assert_int_eq(runs->run[1].before, 3 * 4 * 4);
    ck_assert_int_eq(runs->run[0].n, 3);
    tt_flat_drop(runs);
}
END_TEST

/* at: where the data begin; -1: gaps. */
static void expect_solid(MPI_Datatype type, int count, int64_t at)
{
    const struct tt_runs *runs = flat_once(type);
    int64_t begins = -1;

    ck_assert(tt_runs_solid(runs, count, &begins) == (at >= 0));
    ck_assert(at < 0 || begins == at);
    tt_flat_drop(runs);
}

static MPI_Datatype structure(MPI_Aint second)
{
    const int lengths[] = {2, 1};
    const MPI_Aint places[] = {0, second};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    MPI_Datatype made;

    MPI_Type_create_struct(2, lengths, places, types, &made);
    return made;
}

static MPI_Datatype moved(MPI_Aint at, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype made;

    MPI_Type_create_hindexed_block(1, 12, &at, MPI_INT, &made);
    return resized(made, lb, extent);
}

START_TEST(contiguous_in_disguise)
{
    expect_solid(MPI_INT, 5, 0);
    expect_solid(contiguous(6, contiguous(2, MPI_INT)), 5, 0);
    expect_solid(resized(contiguous(12, MPI_INT), 0, 48), 5, 0);
    expect_solid(structure(8), 5, 0);
    expect_solid(vector(3, 4, 4, MPI_INT), 5, 0);
    expect_solid(resized(contiguous(12, MPI_INT), 4, 48), 5, 0); /* a lower bound moves no element */
    expect_solid(moved(16, 0, 48), 5, 16);
    expect_solid(moved(16, 16, 48), 5, 16);
    expect_solid(resized(contiguous(12, MPI_INT), 0, 64), 1, 0); /* one element: its extent does not matter */
    expect_solid(resized(contiguous(12, MPI_INT), 0, 64), 0, 0);
}
END_TEST

START_TEST(not_contiguous_though_it_may_look_so)
{
    expect_solid(resized(contiguous(12, MPI_INT), 0, 64), 2, -1);
    expect_solid(resized(contiguous(12, MPI_INT), -8, 64), 2, -1);
    expect_solid(resized(contiguous(12, MPI_INT), 0, 40), 2, -1);
    expect_solid(structure(16), 1, -1);
    expect_solid(MPI_DOUBLE_INT, 2, -1);
    expect_solid(MPI_SHORT_INT, 1, -1);
    expect_solid(vector(3, 4, 5, MPI_INT), 1, -1);
}
END_TEST

START_TEST(counts_beyond_two_to_the_31_need_no_memory)
{
    const int many = 1 << 30;
    const struct tt_runs *runs;

    expect_run(contiguous(many, contiguous(8, MPI_DOUBLE)), (struct tt_run){0, (int64_t)many * 64, 1, 0, 0});
    expect_run(contiguous(4, contiguous(many, resized(contiguous(3, MPI_INT), 0, 16))),
               (struct tt_run){0, 12, (int64_t)many * 4, 16, 0});
    runs = flat_once(contiguous(2, vector(many, 1, 3, MPI_INT)));
    ck_assert_int_eq(runs->nruns, 2);
    ck_assert_int_eq(runs->run[1].at, (int64_t)many * 12 - 8);
    ck_assert_int_eq(runs->size, (int64_t)many * 8);
    tt_flat_drop(runs);
}
END_TEST

/* ---- handles ---- */

static int deleted;

static int on_delete(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type;
    (void)key;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

/* An inner type goes when the outer one that was made of it goes, unless somebody kept a handle. */
START_TEST(inner_handles_are_given_back)
{
    MPI_Datatype inner = contiguous(3, MPI_INT), outer;
    int key;

    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete, &key, NULL);
    MPI_Type_set_attr(inner, key, &deleted);
    MPI_Type_vector(2, 1, 2, inner, &outer);
    MPI_Type_free(&inner);
    deleted = 0;
    tt_flat_drop(flat(outer));
    tt_flat_drop(flat(outer));
    ck_assert_int_eq(deleted, 0);
    MPI_Type_free(&outer);
    ck_assert_int_eq(deleted, 1);
    MPI_Type_free_keyval(&key);
}
END_TEST

START_TEST(runs_live_as_long_as_they_are_held)
{
    const struct tt_runs *runs = flat(MPI_SHORT_INT), *again = flat(MPI_SHORT_INT);

    ck_assert(runs->id && again->id && runs->id != again->id);
    tt_flat_hold(runs);
    tt_flat_drop(runs);
    ck_assert_int_eq(runs->run[1].at, 4);
    tt_flat_drop(runs);
    tt_flat_drop(again);
    tt_flat_drop(NULL);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("flat");
    TCase *all = tcase_create("flat");
    SRunner *runner;
    int failed;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tcase_add_test(all, random_types_are_packed_as_the_mpi_packs_them);
    tcase_add_test(all, regular_types_are_one_run);
    tcase_add_test(all, a_box_is_a_run_for_each_plane);
    tcase_add_test(all, contiguous_in_disguise);
    tcase_add_test(all, not_contiguous_though_it_may_look_so);
    tcase_add_test(all, counts_beyond_two_to_the_31_need_no_memory);
    tcase_add_test(all, inner_handles_are_given_back);
    tcase_add_test(all, runs_live_as_long_as_they_are_held);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    MPI_Finalize();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
