/* SPDX-License-Identifier: BSD-3-Clause */
/* A prover that finds nothing proves nothing: so faults are seeded here, and each must be found by its name. First by
 * small algorithms that are wrong in one way each, at least one for every kind of fault; then by damaging every
 * step of every algorithm in the book in turn, where what may be found depends on the damage. */
#include "tests/prove.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- small algorithms, each wrong in one way ---- */

static int64_t cut(const struct tt_shape *s, int i)
{
    return tt_cut(s->count, s->size, i);
}

/* The first half of a ring allreduce; the fence before the reduction is missing. */
static int no_fence(struct tt_plan *p, const struct tt_shape *s)
{
    const int rank = tt_rank(p), right = tt_mod(rank + 1, s->size), left = tt_mod(rank - 1, s->size);
    const struct tt_loc arrived = tt_tmp(p, cut(s, 1));

    for (int k = 0; k < s->size - 1; k++) {
        const int out = tt_mod(rank - k, s->size), in = tt_mod(rank - k - 1, s->size);

        tt_send(p, right, tt_at(k ? RECV : SEND, cut(s, out)), cut(s, out + 1) - cut(s, out));
        tt_recv(p, left, arrived, cut(s, in + 1) - cut(s, in));
        tt_reduce(p, tt_at(RECV, cut(s, in)), arrived, tt_at(SEND, cut(s, in)), cut(s, in + 1) - cut(s, in));
        tt_fence(p);
    }
    return 0;
}

/* A chain up to the last rank, the root, which keeps rank order if a is what comes from below. */
static void chain(struct tt_plan *p, const struct tt_shape *s, bool swapped)
{
    const int rank = tt_rank(p);
    const struct tt_loc below = tt_tmp(p, s->count), own = tt_at(SEND, 0);
    const struct tt_loc out = rank == s->size - 1 ? tt_at(RECV, 0) : rank == 0 ? own : tt_tmp(p, s->count);

    if (rank > 0) {
        tt_recv(p, rank - 1, below, s->count);
        tt_fence(p);
        tt_reduce(p, out, swapped ? own : below, swapped ? below : own, s->count);
        tt_fence(p);
    }
    if (rank < s->size - 1)
        tt_send(p, rank + 1, out, s->count);
}

static int chain_in_order(struct tt_plan *p, const struct tt_shape *s)
{
    chain(p, s, false);
    return 0;
}

static int chain_swapped(struct tt_plan *p, const struct tt_shape *s)
{
    chain(p, s, true);
    return 0;
}

/* Everybody sends to the root, which folds: from `first` to `last`, in the order of ranks. */
static void fold_at_root(struct tt_plan *p, const struct tt_shape *s, int times_one, int last)
{
    const struct tt_loc in = tt_tmp(p, s->size * s->count);

    for (int r = 1; r <= last; r++)
        if (tt_rank(p) == r)
            tt_send(p, 0, tt_at(SEND, 0), s->count);
    if (tt_rank(p) != 0)
        return;
    for (int r = 1; r <= last; r++)
        tt_recv(p, r, tt_plus(in, r * s->count), s->count);
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    for (int r = 1; r <= last; r++)
        for (int k = 0; k < (r == 1 ? times_one : 1); k++) {
            tt_fence(p);
            tt_reduce(p, tt_at(RECV, 0), tt_at(RECV, 0), tt_plus(in, r * s->count), s->count);
        }
}

static int added_twice(struct tt_plan *p, const struct tt_shape *s)
{
    fold_at_root(p, s, 2, s->size - 1);
    return 0;
}

static int left_out(struct tt_plan *p, const struct tt_shape *s)
{
    fold_at_root(p, s, 1, s->size - 2);
    return 0;
}

/* Linear scatter, with what can be wrong about it as a parameter. */
struct scatter_fault {
    int64_t shift;   /* of the block that is sent */
    int64_t surplus; /* elements sent too many */
    int deaf;        /* this rank does not receive */
};

static int scatter(struct tt_plan *p, const struct tt_shape *s, struct scatter_fault f)
{
    if (tt_rank(p) != 0 && tt_rank(p) != f.deaf)
        tt_recv(p, 0, tt_at(RECV, 0), s->count);
    if (tt_rank(p) != 0)
        return 0;
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    for (int r = 1; r < s->size; r++)
        tt_send(p, r, tt_at(SEND, r * s->count - f.shift), s->count + (r == 1 ? f.surplus : 0));
    return 0;
}

static int scatter_right(struct tt_plan *p, const struct tt_shape *s)
{
    return scatter(p, s, (struct scatter_fault){0, 0, -1});
}

static int off_by_one(struct tt_plan *p, const struct tt_shape *s)
{
    return scatter(p, s, (struct scatter_fault){1, 0, -1});
}

static int unequal(struct tt_plan *p, const struct tt_shape *s)
{
    return scatter(p, s, (struct scatter_fault){0, 1, -1});
}

static int not_received(struct tt_plan *p, const struct tt_shape *s)
{
    return scatter(p, s, (struct scatter_fault){0, 0, 2});
}

/* Every rank sends first and receives then: works only as long as sends are buffered. */
static int circle(struct tt_plan *p, const struct tt_shape *s)
{
    const int right = tt_mod(tt_rank(p) + 1, s->size), left = tt_mod(tt_rank(p) - 1, s->size);

    tt_copy(p, tt_at(RECV, tt_rank(p) * s->count), tt_at(SEND, 0), s->count);
    tt_send(p, right, tt_at(SEND, 0), s->count);
    tt_fence(p);
    tt_recv(p, left, tt_at(RECV, left * s->count), s->count);
    return 0;
}

/* Two lanes whose halves overlap by one element. */
static int lanes_overlap(struct tt_plan *p, const struct tt_shape *s)
{
    const int64_t half = s->count / 2;

    for (int lane = 0; lane < 2; lane++) {
        if (lane == 1)
            tt_lane(p);
        if (tt_rank(p) == s->root)
            for (int r = 0; r < s->size - 1; r++)
                tt_send(p, tt_mod(s->root + 1 + r, s->size), tt_at(RECV, lane * half), half + 1);
        else
            tt_recv(p, s->root, tt_at(RECV, lane * half), half + 1);
    }
    return 0;
}

static int copies_over_itself(struct tt_plan *p, const struct tt_shape *s)
{
    tt_copy(p, tt_at(RECV, 1), tt_at(RECV, 0), s->count - 1);
    return 0;
}

static int writes_send(struct tt_plan *p, const struct tt_shape *s)
{
    tt_reduce(p, tt_at(SEND, 0), tt_at(SEND, 0), tt_at(SEND, 0), s->count);
    return 0;
}

/* A reduce that folds in RECV on every rank, though only the root has one. */
static int recv_of_others(struct tt_plan *p, const struct tt_shape *s)
{
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    return 0;
}

static int send_of_others(struct tt_plan *p, const struct tt_shape *s)
{
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, tt_rank(p) * s->count), s->count);
    return 0;
}

/* Two ranks exchange, and each puts its own part to the left. */
static int own_first(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc other = tt_tmp(p, s->count);

    tt_send(p, 1 - tt_rank(p), tt_at(SEND, 0), s->count);
    tt_recv(p, 1 - tt_rank(p), other, s->count);
    tt_fence(p);
    tt_reduce(p, tt_at(RECV, 0), tt_at(SEND, 0), other, s->count);
    return 0;
}

/* Rank 1 passes on the data before it has come. */
static int passed_too_soon(struct tt_plan *p, const struct tt_shape *s)
{
    const struct tt_loc early = tt_tmp(p, s->count);

    if (tt_rank(p) == 0)
        tt_send(p, 1, tt_at(RECV, 0), s->count);
    if (tt_rank(p) == 1) {
        tt_recv(p, 0, tt_at(RECV, 0), s->count);
        tt_send(p, 2, early, s->count);
    }
    if (tt_rank(p) == 2)
        tt_recv(p, 1, tt_at(RECV, 0), s->count);
    return 0;
}

/* One round of dissemination: enough for two ranks. */
static int one_round(struct tt_plan *p, const struct tt_shape *s)
{
    tt_send(p, tt_mod(tt_rank(p) + 1, s->size), tt_tmp(p, 1), 1);
    tt_recv(p, tt_mod(tt_rank(p) - 1, s->size), tt_tmp(p, 1), 1);
    return 0;
}

/* Both rounds, but together, so that the second carries nothing of the first. */
static int rounds_at_once(struct tt_plan *p, const struct tt_shape *s)
{
    for (int k = 1; k < s->size; k *= 2) {
        tt_send(p, tt_mod(tt_rank(p) + k, s->size), tt_tmp(p, 1), 1);
        tt_recv(p, tt_mod(tt_rank(p) - k, s->size), tt_tmp(p, 1), 1);
    }
    return 0;
}

/* A chain from rank to rank, in which each result has in it what has come from below, and its own part or not. */
static void prefixes(struct tt_plan *p, const struct tt_shape *s, bool own_part)
{
    const int rank = tt_rank(p);
    const struct tt_loc own = tt_at(SEND, 0), below = tt_tmp(p, s->count), sum = tt_tmp(p, s->count);

    if (rank > 0) {
        tt_recv(p, rank - 1, below, s->count);
        tt_fence(p);
        tt_reduce(p, sum, below, own, s->count);
        tt_fence(p);
        tt_copy(p, tt_at(RECV, 0), own_part ? sum : below, s->count);
    }
    if (rank < s->size - 1)
        tt_send(p, rank + 1, rank > 0 ? sum : own, s->count);
}

static int prefixes_with_own(struct tt_plan *p, const struct tt_shape *s)
{
    prefixes(p, s, true);
    return 0;
}

static int prefixes_without_own(struct tt_plan *p, const struct tt_shape *s)
{
    prefixes(p, s, false);
    return 0;
}

static int copies_own(struct tt_plan *p, const struct tt_shape *s)
{
    tt_copy(p, tt_at(RECV, 0), tt_at(SEND, 0), s->count);
    return 0;
}

/* Every block straight to its rank, all at once; `shift` is how many ranks further the block that is sent stands, and
 * arriving ones are laid down that many ranks further too, if they are. */
static void exchange(struct tt_plan *p, const struct tt_shape *s, int sent_shift, int arrived_shift)
{
    const int rank = tt_rank(p);

    tt_copy(p, tt_at(RECV, tt_offset(s, rank)), tt_at(SEND, tt_send_offset(s, rank)), tt_block(s, rank));
    for (int r = 0; r < s->size; r++) {
        if (r == rank)
            continue;
        tt_send(p, r, tt_at(SEND, tt_send_offset(s, r) - sent_shift), tt_send_block(s, r));
        tt_recv(p, r, tt_at(RECV, tt_offset(s, r) + arrived_shift), tt_block(s, r));
    }
}

static int exchange_right(struct tt_plan *p, const struct tt_shape *s)
{
    exchange(p, s, 0, 0);
    return 0;
}

static int block_from_elsewhere(struct tt_plan *p, const struct tt_shape *s)
{
    exchange(p, s, tt_rank(p) == 0, 0);
    return 0;
}

static int block_laid_elsewhere(struct tt_plan *p, const struct tt_shape *s)
{
    exchange(p, s, 0, tt_rank(p) == 1);
    return 0;
}

/* Blocks to the root, which believes that all are as long as its own, if it is told so. */
static int gather_blocks(struct tt_plan *p, const struct tt_shape *s, bool alike)
{
    if (tt_rank(p) != s->root)
        tt_send(p, s->root, tt_at(SEND, 0), s->count);
    else
        tt_copy(p, tt_at(RECV, tt_offset(s, s->root)), tt_at(SEND, 0), s->count);
    for (int r = 0; tt_rank(p) == s->root && r < s->size; r++)
        if (r != s->root)
            tt_recv(p, r, tt_at(RECV, tt_offset(s, r)), alike ? s->count : tt_block(s, r));
    return 0;
}

static int gather_right(struct tt_plan *p, const struct tt_shape *s)
{
    return gather_blocks(p, s, false);
}

static int gather_alike(struct tt_plan *p, const struct tt_shape *s)
{
    return gather_blocks(p, s, true);
}

/* Everybody sends its block to all, who lay it down as if all blocks before it were of the average length. */
static int average_places(struct tt_plan *p, const struct tt_shape *s)
{
    const int64_t average = tt_offset(s, s->size) / s->size;

    tt_copy(p, tt_at(RECV, tt_rank(p) * average), tt_at(SEND, 0), tt_block(s, tt_rank(p)));
    for (int r = 0; r < s->size; r++)
        if (r != tt_rank(p)) {
            tt_send(p, r, tt_at(SEND, 0), tt_block(s, tt_rank(p)));
            tt_recv(p, r, tt_at(RECV, r * average), tt_block(s, r));
        }
    return 0;
}

static const int64_t blocks[] = {1, 3, 2};
static const int64_t matrix[] = {2, 1, 3, 1, 0, 2, 3, 2, 1};       /* what 0, 1 and 2 send to each: alike both ways */
static const int64_t crooked[] = {2, 1, 3, 4, 0, 2, 1, 1, 2};      /* not so */

/* What must be found, and words that the sentence must contain. */
static const struct seed {
    const char *name;
    int (*build)(struct tt_plan *p, const struct tt_shape *s);
    struct tt_shape shape;
    enum prove_fault fault;
    const char *words;
} seeds[] = {
    {"fence dropped", no_fence, {.coll = TT_COLL_allreduce, .size = 3, .count = 7, .commutes = true}, PROVE_HAZARD,
     "runs at the same time as rank 0, lane 0"},
    {"in order", chain_in_order, {.coll = TT_COLL_reduce, .size = 4, .root = 3, .count = 2}, PROVED, ""},
    {"in order, in place", chain_in_order,
     {.coll = TT_COLL_reduce, .size = 4, .root = 3, .count = 2, .inplace = true}, PROVED, ""},
    {"operands swapped", chain_swapped, {.coll = TT_COLL_reduce, .size = 4, .root = 3, .count = 2}, PROVE_ORDER,
     "folds 1 of element 0 with 0 of element 0"},
    {"operands swapped, but the op commutes", chain_swapped,
     {.coll = TT_COLL_reduce, .size = 4, .root = 3, .count = 2, .commutes = true}, PROVED, ""},
    {"added twice", added_twice, {.coll = TT_COLL_reduce, .size = 3, .count = 2}, PROVE_WRONG_CONTRIBUTIONS,
     "folds (0 op 1) of element 0 with 1 of element 0"},
    {"left out", left_out, {.coll = TT_COLL_reduce, .size = 4, .count = 2}, PROVE_WRONG_CONTRIBUTIONS,
     "rank 0, RECV[0]: expected the parts of ranks 0 to 3, each once, of element 0, seen ((0 op 1) op 2) of element 0"},
    {"scattered right", scatter_right, {.coll = TT_COLL_scatter, .size = 4, .count = 3}, PROVED, ""},
    {"off by one", off_by_one, {.coll = TT_COLL_scatter, .size = 4, .count = 3}, PROVE_MISPLACED,
     "rank 1, RECV[0]: expected 0 of element 3, seen 0 of element 2"},
    {"not received", not_received, {.coll = TT_COLL_scatter, .size = 4, .count = 3}, PROVE_MATCHING,
     "ranks 0 and 2: rank 0, lane 0, step 2 (send SEND[6..9) to 2)"},
    {"unequal lengths", unequal, {.coll = TT_COLL_scatter, .size = 4, .count = 3}, PROVE_LENGTH,
     "(send SEND[3..7) to 1) meets rank 1, lane 0, step 0 (recv from 0 into RECV[0..3))"},
    {"sends before receives", circle, {.coll = TT_COLL_allgather, .size = 3, .count = 1}, PROVE_DEADLOCK,
     "rank 2, lane 0, step 1 (send SEND[0..1) to 0) waits for rank 0"},
    {"lanes overlap", lanes_overlap, {.coll = TT_COLL_bcast, .size = 3, .count = 5}, PROVE_HAZARD,
     "rank 1, lane 1, step 1 (recv from 0 into RECV[2..5))"},
    {"copies over itself", copies_over_itself, {.coll = TT_COLL_bcast, .size = 1, .count = 4}, PROVE_HAZARD,
     "overlaps its own source"},
    {"writes SEND", writes_send, {.coll = TT_COLL_allreduce, .size = 2, .count = 4}, PROVE_NOT_BUILT, "rank 0"},
    {"RECV of others", recv_of_others, {.coll = TT_COLL_reduce, .size = 3, .root = 1, .count = 1}, PROVE_BOUNDS,
     "rank 0, lane 0, step 0 (copy RECV[0..1) = SEND[0..1)) reaches outside"},
    {"SEND of others", send_of_others, {.coll = TT_COLL_scatter, .size = 3, .root = 1, .count = 1}, PROVE_BOUNDS,
     "rank 0, lane 0, step 0"},
    {"own part first", own_first, {.coll = TT_COLL_allreduce, .size = 2, .count = 2, .commutes = true},
     PROVE_TREES_DIFFER, "seen (0 op 1) of element 0 and (1 op 0) of element 0"},
    {"own part first, ordered", own_first, {.coll = TT_COLL_allreduce, .size = 2, .count = 2}, PROVE_ORDER, "rank 1"},
    {"passed on too soon", passed_too_soon, {.coll = TT_COLL_bcast, .size = 3, .count = 2}, PROVE_UNINITIALISED,
     "rank 1, lane 0, step 1 (send TMP[0..2) to 2) reads TMP[0..1)"},
    {"one round for two", one_round, {.coll = TT_COLL_barrier, .size = 2}, PROVED, ""},
    {"one round for three", one_round, {.coll = TT_COLL_barrier, .size = 3}, PROVE_EARLY,
     "rank 0: expected to know that ranks 0 to 2 have entered, seen that it cannot know of rank 1"},
    {"folded along a chain", chain_in_order,
     {.coll = TT_COLL_reduce, .size = 4, .root = 3, .count = 2, .reproducible = true}, PROVE_NOT_CANONICAL,
     "rank 3, RECV[0]: expected ((0 op 1) op (2 op 3)) of element 0, seen (((0 op 1) op 2) op 3) of element 0"},
    {"folded along a chain, of three", chain_in_order,
     {.coll = TT_COLL_reduce, .size = 3, .root = 2, .count = 2, .reproducible = true}, PROVED, ""},
    {"prefixes along a chain", prefixes_without_own,
     {.coll = TT_COLL_exscan, .size = 5, .count = 2, .reproducible = true}, PROVE_NOT_CANONICAL,
     "rank 4, RECV[0]: expected ((0 op 1) op (2 op 3)) of element 0, seen (((0 op 1) op 2) op 3) of element 0"},
    {"prefixes with their own part", prefixes_with_own, {.coll = TT_COLL_exscan, .size = 3, .count = 2},
     PROVE_WRONG_CONTRIBUTIONS, "rank 1, RECV[0]: expected 0 of element 0, seen (0 op 1) of element 0"},
    {"prefixes without", prefixes_without_own, {.coll = TT_COLL_exscan, .size = 4, .count = 2}, PROVED, ""},
    {"prefixes without, in a scan", prefixes_without_own, {.coll = TT_COLL_scan, .size = 1, .count = 2},
     PROVE_WRONG_CONTRIBUTIONS, "rank 0, RECV[0]: expected 0 of element 0, seen nothing"},
    {"own part in a scan", copies_own, {.coll = TT_COLL_scan, .size = 3, .count = 1}, PROVE_WRONG_CONTRIBUTIONS,
     "rank 1, RECV[0]: expected the parts of ranks 0 to 1, each once, of element 0, seen 1 of element 0"},
    {"exscan at rank 0", copies_own, {.coll = TT_COLL_exscan, .size = 1, .count = 2}, PROVE_BOUNDS, "rank 0, lane 0"},
    {"blocks exchanged", exchange_right, {.coll = TT_COLL_alltoallv, .size = 3, .counts = crooked}, PROVED, ""},
    {"blocks exchanged in place", exchange_right,
     {.coll = TT_COLL_alltoallv, .size = 3, .counts = matrix, .inplace = true}, PROVE_HAZARD,
     "rank 0, lane 0, step 0 (send RECV[2..3) to 1) runs at the same time as rank 0, lane 0, step 1"},
    {"block from elsewhere", block_from_elsewhere, {.coll = TT_COLL_alltoallv, .size = 3, .counts = crooked},
     PROVE_MISPLACED, "rank 1, RECV[0]: expected 0 of element 2, seen 0 of element 1"},
    {"block laid elsewhere", block_laid_elsewhere, {.coll = TT_COLL_alltoallv, .size = 3, .counts = crooked},
     PROVE_BOUNDS, "rank 1, lane 0, step 3 (recv from 2 into RECV[2..3)) reaches outside"},
    {"blocks gathered", gather_right, {.coll = TT_COLL_gatherv, .size = 3, .root = 1, .counts = blocks}, PROVED, ""},
    {"blocks gathered as if alike", gather_alike, {.coll = TT_COLL_gatherv, .size = 3, .counts = blocks}, PROVE_LENGTH,
     "(send SEND[0..3) to 0) meets rank 0, lane 0, step 1 (recv from 1 into RECV[1..2))"},
    {"blocks at average places", average_places, {.coll = TT_COLL_allgatherv, .size = 3, .counts = blocks},
     PROVE_HAZARD, "rank 0, lane 0"},
    {"rounds at once", rounds_at_once, {.coll = TT_COLL_barrier, .size = 4}, PROVE_EARLY, "cannot know of rank 1"},
};
enum { NSEEDS = sizeof seeds / sizeof *seeds };

static void must_find(const char *what, const struct prove_verdict *v, enum prove_fault fault, const char *words)
{
    ck_assert_msg(v->fault == fault, "%s: expected %s (%s), seen %s: %s", what, prove_fault_name(fault),
                  prove_fault_words(fault), prove_fault_name(v->fault), v->why);
    ck_assert_msg(strstr(v->why, words) != NULL, "%s: expected \"...%s...\", seen \"%s\"", what, words, v->why);
}

START_TEST(seed_is_named)
{
    const struct seed *seed = &seeds[_i];
    const struct tt_alg alg = {.coll = seed->shape.coll, .name = "seeded", .build = seed->build};
    struct prove_verdict v;

    ck_assert_int_eq(prove(&alg, &seed->shape, &v), seed->fault == PROVED);
    must_find(seed->name, &v, seed->fault, seed->words);
}
END_TEST

/* ---- faults that no builder can write ---- */

static const struct tt_alg scattered = {.coll = TT_COLL_scatter, .name = "linear", .build = scatter_right};
static const struct tt_shape scatter_shape = {.coll = TT_COLL_scatter, .size = 3, .count = 8, .segment = 1, .unit = 1};

static void build_scatter(struct tt_plan **plans)
{
    struct prove_verdict v;

    ck_assert_msg(prove_build(&scattered, &scatter_shape, plans, &v), "%s", v.why);
}

START_TEST(writing_send_is_named)
{
    struct tt_plan *plans[3];
    struct prove_verdict v;

    build_scatter(plans);
    plans[0]->steps[0].dst = tt_at(SEND, 8);
    ck_assert(!prove_plans(plans, &scatter_shape, &v));
    must_find("a copy into SEND", &v, PROVE_WRITES_SEND, "rank 0, lane 0, step 0 (copy SEND[8..16) = SEND[0..8))");
    prove_free(plans, 3);
}
END_TEST

START_TEST(overtaking_is_named)
{
    struct tt_plan *plans[3], *split[3];
    struct tt_step *s, x;
    struct prove_verdict v;

    build_scatter(plans);
    for (int r = 0; r < 3; r++)
        split[r] = tt_pass_split(plans[r], 4);
    ck_assert_msg(prove_plans(split, &scatter_shape, &v), "%s", v.why);
    s = split[1]->steps;
    x = s[0];
    s[0] = s[1];
    s[1] = x;
    ck_assert(!prove_plans(split, &scatter_shape, &v));
    must_find("parts swapped", &v, PROVE_OVERTAKING, "RECV[0..4)) is an earlier part of the same message than");
    prove_free(plans, 3);
    prove_free(split, 3);
}
END_TEST

static const unsigned all_on_device[] = {1 << SEND | 1 << RECV, 1 << SEND | 1 << RECV, 1 << SEND | 1 << RECV};

START_TEST(device_memory_on_the_wire_is_named)
{
    struct tt_plan *plans[3];
    struct prove_verdict v;

    build_scatter(plans);
    ck_assert(!prove_staging(plans, plans, &scatter_shape, all_on_device, &v));
    must_find("nothing staged", &v, PROVE_UNSTAGED, "rank 0, lane 0, step 1 (send SEND[8..16) to 1)");
    ck_assert_msg(prove_staging(plans, plans, &scatter_shape, (const unsigned[]){0, 0, 0}, &v), "%s", v.why);
    prove_free(plans, 3);
}
END_TEST

START_TEST(changed_wire_is_named)
{
    struct tt_plan *plans[3], *split[3];
    struct prove_verdict v;

    build_scatter(plans);
    for (int r = 0; r < 3; r++)
        split[r] = tt_pass_split(plans[r], 4);
    ck_assert(!prove_staging(split, plans, &scatter_shape, (const unsigned[]){0, 0, 0}, &v));
    must_find("cut by those who stage alone", &v, PROVE_WIRE,
              "expected rank 0, lane 0, step 1 (send SEND[8..16) to 1)");
    prove_free(plans, 3);
    prove_free(split, 3);
}
END_TEST

/* Two slots are needed: with one, a part is overwritten under way. */
START_TEST(a_lost_slot_is_a_hazard)
{
    struct tt_plan *plans[3], *split[3], *staged[3];
    struct prove_verdict v;

    build_scatter(plans);
    for (int r = 0; r < 3; r++) {
        split[r] = tt_pass_split(plans[r], 2);
        staged[r] = tt_pass_stage(split[r], all_on_device[r]);
    }
    ck_assert_msg(prove_staging(staged, split, &scatter_shape, all_on_device, &v), "%s", v.why);
    for (int i = 0; i < staged[1]->nsteps; i++) {
        struct tt_step *s = &staged[1]->steps[i];

        s->dst.at -= s->dst.buf == PIN && s->dst.at >= 2 ? 2 : 0;
        s->a.at -= s->a.buf == PIN && s->a.at >= 2 ? 2 : 0;
    }
    ck_assert(!prove_staging(staged, split, &scatter_shape, all_on_device, &v));
    must_find("one slot", &v, PROVE_HAZARD, "rank 1, lane 0");
    prove_free(plans, 3);
    prove_free(split, 3);
    prove_free(staged, 3);
}
END_TEST

/* ---- the book, damaged step by step ---- */

enum {
    /* what is lent would wait for messages of the round after */
    UNFENCED = 1 << PROVED | 1 << PROVE_HAZARD | 1 << PROVE_EARLY | 1 << PROVE_DEADLOCK,
    MAY_BE_FOUND_IN_PLACES = 1 << PROVE_BOUNDS | 1 << PROVE_HAZARD | 1 << PROVE_UNINITIALISED | 1 << PROVE_MISPLACED |
                             1 << PROVE_WRONG_CONTRIBUTIONS | 1 << PROVE_ORDER | 1 << PROVE_TREES_DIFFER,
    NOT_DONE = 1 << PROVE_UNINITIALISED | 1 << PROVE_MISPLACED | 1 << PROVE_WRONG_CONTRIBUTIONS | 1 << PROVE_ORDER
};

/* Each damages one step and says whether the step can be damaged so. */

static void remove_step(struct tt_plan *p, int i)
{
    memmove(&p->steps[i], &p->steps[i + 1], (size_t)(p->nsteps - i - 1) * sizeof *p->steps);
    p->nsteps--;
    for (int l = 0; l < p->nlanes; l++) {
        if (p->lanes[l].first > i)
            p->lanes[l].first--;
        else if (i < p->lanes[l].first + p->lanes[l].count)
            p->lanes[l].count--;
    }
}

static bool drop_fence(struct tt_plan *p, int i)
{
    if (p->steps[i].verb != TT_FENCE)
        return false;
    remove_step(p, i);
    return true;
}

static bool drop_message(struct tt_plan *p, int i)
{
    if (!tt_step_is_message(&p->steps[i]))
        return false;
    remove_step(p, i);
    return true;
}

static bool drop_local_work(struct tt_plan *p, int i)
{
    if (tt_step_is_message(&p->steps[i]) || p->steps[i].verb == TT_FENCE)
        return false;
    remove_step(p, i);
    return true;
}

static bool swap_operands(struct tt_plan *p, int i)
{
    struct tt_step *s = &p->steps[i];
    const struct tt_loc a = s->a;

    s->a = s->b;
    s->b = a;
    s->lands ^= 1; /* what arrives is still put in the same place */
    return tt_step_reduces(s);
}

static bool shift_source(struct tt_plan *p, int i)
{
    const struct tt_step *s = &p->steps[i];

    p->steps[i].a.at++;
    return s->verb != TT_RECV && s->verb != TT_FENCE && p->coll != TT_COLL_barrier &&
           !(s->verb == TT_RECV_REDUCE && s->lands == 0); /* room, where nothing may notice */
}

static bool shift_destination(struct tt_plan *p, int i)
{
    p->steps[i].dst.at++;
    return p->steps[i].verb != TT_SEND && p->steps[i].verb != TT_FENCE && p->coll != TT_COLL_barrier;
}

static bool shorten_message(struct tt_plan *p, int i)
{
    return tt_step_is_message(&p->steps[i]) && --p->steps[i].n > 0;
}

static bool shorten_local_work(struct tt_plan *p, int i)
{
    return !tt_step_is_message(&p->steps[i]) && p->steps[i].verb != TT_FENCE && --p->steps[i].n > 0;
}

static bool change_peer(struct tt_plan *p, int i)
{
    p->steps[i].peer = tt_mod(p->steps[i].peer + 1, p->size);
    return tt_step_is_message(&p->steps[i]);
}

/* Which faults a damage may be found as; PROVED among them where it can be harmless: a fence that happens not to be
 * needed, operands of an op that commutes. */
static const struct damage {
    const char *name;
    bool (*inflict)(struct tt_plan *p, int i);
    unsigned commuting, ordered;
} damages[] = {
    {"fence dropped", drop_fence, UNFENCED, UNFENCED},
    {"message dropped", drop_message, 1 << PROVE_MATCHING, 1 << PROVE_MATCHING},
    {"local work dropped", drop_local_work, NOT_DONE, NOT_DONE},
    {"operands swapped", swap_operands, 1 << PROVED | 1 << PROVE_TREES_DIFFER, 1 << PROVE_ORDER},
    {"source off by one", shift_source, MAY_BE_FOUND_IN_PLACES, MAY_BE_FOUND_IN_PLACES},
    {"destination off by one", shift_destination, MAY_BE_FOUND_IN_PLACES, MAY_BE_FOUND_IN_PLACES},
    {"message shortened", shorten_message, 1 << PROVE_LENGTH, 1 << PROVE_LENGTH},
    {"local work shortened", shorten_local_work, NOT_DONE, NOT_DONE},
    {"peer off by one", change_peer, 1 << PROVE_MATCHING, 1 << PROVE_MATCHING},
};
enum { NDAMAGES = sizeof damages / sizeof *damages };

static long found[PROVE_NFAULTS];

/* As built, or as they are run: fused. */
static void build_plans(const struct tt_alg *alg, const struct tt_shape *s, bool fused, struct tt_plan **plans)
{
    struct prove_verdict v;

    ck_assert_msg(prove_build(alg, s, plans, &v), "%s", v.why);
    for (int r = 0; fused && r < s->size; r++) {
        struct tt_plan *p = plans[r];

        plans[r] = tt_pass_fuse(p, TT_MAX_SOURCES);
        ck_assert_ptr_nonnull(plans[r]);
        tt_plan_free(p);
    }
}

static void damage_step(const struct tt_alg *alg, const struct tt_shape *s, bool fused, const struct damage *d, int rank,
                        int step)
{
    const unsigned allowed = s->commutes ? d->commuting : d->ordered;
    struct tt_plan *plans[PROVE_MAX_RANKS];
    struct prove_verdict v;

    build_plans(alg, s, fused, plans);
    if (d->inflict(plans[rank], step)) {
        prove_plans(plans, s, &v);
        found[v.fault]++;
        ck_assert_msg(allowed & 1u << v.fault, "%s %s, %d ranks, %s at rank %d, step %d: seen %s: %s",
                      tt_coll_name(alg->coll), alg->name, s->size, d->name, rank, step, prove_fault_name(v.fault),
                      v.why);
    }
    prove_free(plans, s->size);
}

static void damage_all(const struct tt_alg *alg, const struct tt_shape *s, bool fused, const struct damage *d)
{
    struct tt_plan *plans[PROVE_MAX_RANKS];
    int nsteps[PROVE_MAX_RANKS];

    if (tt_infeasible(alg, s))
        return;
    build_plans(alg, s, fused, plans);
    for (int r = 0; r < s->size; r++)
        nsteps[r] = plans[r]->nsteps;
    prove_free(plans, s->size);
    for (int r = 0; r < s->size; r++)
        for (int i = 0; i < nsteps[r]; i++)
            damage_step(alg, s, fused, d, r, i);
}

static void damage_algorithm(const struct tt_alg *alg, bool fused, const struct damage *d)
{
    const bool uneven = tt_coll_traits(alg->coll) & (TT_SEND_COUNTS | TT_RECV_COUNTS);
    int64_t counts[6 * 6];

    for (int size = 4; size <= 6; size++) {
        for (int i = 0; i < size * size; i++)
            counts[i] = 2 + (i / size + i % size) % 4; /* the same from a rank as to it */
        for (int i = 0; i < 4; i++)
            damage_all(alg, &(struct tt_shape){.coll = alg->coll, .size = size, .root = i % 2, .count = uneven ? 0 : 13,
                                               .counts = uneven ? counts : NULL, .segment = 5, .unit = 1,
                                               .inplace = i & 1, .commutes = i & 2}, fused, d);
    }
}

/* Reports how much was found as what: a damage that never applied would show here as a line of zeros. */
START_TEST(damage_is_named)
{
    const struct damage *d = &damages[_i / 2];
    const bool fused = _i % 2;
    long total = 0;

    memset(found, 0, sizeof found);
    for (int i = 0; tt_algs[i]; i++)
        if (tt_algs[i]->build && (!fused || tt_coll_traits(tt_algs[i]->coll) & TT_REDUCES))
            damage_algorithm(tt_algs[i], fused, d);
    printf("%s%s:", d->name, fused ? ", fused" : "");
    for (int f = 0; f < PROVE_NFAULTS; f++) {
        total += f == PROVED ? 0 : found[f];
        if (found[f])
            printf(" %s %ld", prove_fault_name((enum prove_fault)f), found[f]);
    }
    printf("\n");
    ck_assert_msg(total > 0, "%s: expected faults, seen none", d->name);
}
END_TEST

/* In the ring every fence is needed, and every one that is dropped must be missed. */
START_TEST(every_fence_of_the_ring_is_needed)
{
    const struct tt_alg *ring = tt_alg_find(TT_COLL_allreduce, "ring", 4);
    const struct damage strict = {"fence dropped", drop_fence, 1 << PROVE_HAZARD, 1 << PROVE_HAZARD};

    damage_all(ring, &(struct tt_shape){.coll = TT_COLL_allreduce, .size = 5, .count = 11, .segment = 1, .unit = 1,
                                        .commutes = true}, false, &strict);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("prover: seeded faults");
    TCase *t = tcase_create("seeds");

    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, seed_is_named, 0, NSEEDS);
    tcase_add_test(t, writing_send_is_named);
    tcase_add_test(t, overtaking_is_named);
    tcase_add_test(t, device_memory_on_the_wire_is_named);
    tcase_add_test(t, changed_wire_is_named);
    tcase_add_test(t, a_lost_slot_is_a_hazard);
    tcase_add_loop_test(t, damage_is_named, 0, 2 * NDAMAGES);
    tcase_add_test(t, every_fence_of_the_ring_is_needed);
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
