/* SPDX-License-Identifier: BSD-3-Clause */
/* Which NCCL communicators a process keeps, shares and gives up, and how they go: over an NCCL and places of this file's
 * own, which note what is done to them. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/nccl_group.h"

/* ---- NCCL and places ---- */

enum { MOST = 8 };

static struct ncclComm {
    bool finalized, destroyed, aborted;
    ncclResult_t state;
} comms[MOST];

static ncclResult_t finalize(ncclComm_t comm)
{
    comm->finalized = true;
    comm->state = ncclInProgress;
    return ncclInProgress;
}

static ncclResult_t destroy(ncclComm_t comm)
{
    ck_assert(comm->finalized && comm->state == ncclSuccess && !comm->aborted);
    comm->destroyed = true;
    return ncclSuccess;
}

static ncclResult_t abort_comm(ncclComm_t comm)
{
    ck_assert(!comm->destroyed && !comm->aborted);
    comm->aborted = true;
    return ncclSuccess;
}

static ncclResult_t async_error(ncclComm_t comm, ncclResult_t *state)
{
    ck_assert(!comm->destroyed && !comm->aborted);
    *state = comm->state;
    return ncclSuccess;
}

static const struct tt_nccl nccl = {
    .CommFinalize = finalize, .CommDestroy = destroy, .CommAbort = abort_comm, .CommGetAsyncError = async_error};

static int entered;

static int enter(struct tt_place *place)
{
    (void)place;
    entered++;
    return 0;
}

static void leave(struct tt_place *place)
{
    (void)place;
    entered--;
}

static const struct tt_dev dev = {.enter = enter, .leave = leave};
static struct tt_place here = {&dev}, there = {&dev};
static const struct tt_place *gone;

bool tt_place_is_stale(const struct tt_place *place)
{
    return place == gone;
}

bool tt_place_lives(const struct tt_place *place)
{
    return place != gone;
}

/* ---- groups ---- */

/* The i-th, of ranks first and first + 1, which one communicator uses. */
static struct tt_nccl_group *make(int i, int first, struct tt_place *place)
{
    int *members = malloc(2 * sizeof *members);
    struct tt_nccl_group *g;

    members[0] = first;
    members[1] = first + 1;
    g = tt_nccl_group_new(members, 2, 0);
    g->use = (struct tt_nccl_use){&nccl, &comms[i], NULL, place};
    g->generation = (uint32_t)i + 1;
    tt_nccl_group_hold(g);
    tt_nccl_group_add(g);
    return g;
}

static struct tt_nccl_group *find(int first, const struct tt_place *place)
{
    return tt_nccl_group_find((int[]){first, first + 1}, 2, place);
}

START_TEST(the_last_made_for_the_same_ranks_and_gpu_is_found)
{
    struct tt_nccl_group *a = make(0, 0, &here), *b = make(1, 2, &here), *c = make(2, 0, &here);

    ck_assert_ptr_eq(find(0, &here), c);
    ck_assert_ptr_eq(find(2, &here), b);
    ck_assert_ptr_null(find(1, &here));
    ck_assert_ptr_null(find(0, &there));
    ck_assert_ptr_null(tt_nccl_group_find((int[]){0}, 1, &here));
    ck_assert_ptr_eq(tt_nccl_group_numbered(0, 1), a);
    ck_assert_ptr_null(tt_nccl_group_numbered(2, 1));
    c->failed = true;
    ck_assert_ptr_eq(find(0, &here), a);
    gone = &here;
    ck_assert_ptr_null(find(0, &here));
}
END_TEST

START_TEST(it_goes_with_its_last_user_and_when_it_is_ready_to)
{
    struct tt_nccl_group *g = make(0, 0, &here);

    tt_nccl_group_hold(g);
    tt_nccl_group_drop(g);
    ck_assert(!comms[0].finalized && tt_nccl_group_lives(g));
    tt_nccl_group_drop(g);
    ck_assert(comms[0].finalized && !comms[0].destroyed);
    ck_assert_ptr_null(find(0, &here));
    tt_nccl_groups_poll();
    ck_assert(!comms[0].destroyed);
    comms[0].state = ncclSuccess;
    tt_nccl_groups_poll();
    ck_assert(comms[0].destroyed && !comms[0].aborted);
    ck_assert_ptr_null(tt_nccl_group_numbered(0, 1));
    ck_assert_int_eq(entered, 0);
}
END_TEST

START_TEST(what_cannot_leave_is_aborted)
{
    struct tt_nccl_group *late = make(0, 0, &here), *failing = make(1, 2, &here), *failed = make(2, 4, &here);

    tt_nccl_group_drop(late);
    late->deadline = 0;
    tt_nccl_group_drop(failing);
    ck_assert(comms[0].aborted && !comms[1].aborted);
    comms[1].state = ncclRemoteError;
    tt_nccl_groups_poll();
    ck_assert(comms[1].aborted);
    failed->failed = true;
    tt_nccl_group_drop(failed);
    ck_assert(comms[2].aborted && !comms[2].finalized);
    ck_assert_int_eq(entered, 0);
}
END_TEST

START_TEST(what_another_says_has_failed_is_not_waited_for)
{
    struct tt_nccl_group *g = make(0, 0, &here);

    tt_nccl_group_drop(g);
    g->failed = true;
    tt_nccl_groups_poll();
    ck_assert(comms[0].aborted);
}
END_TEST

START_TEST(nothing_is_called_without_a_context)
{
    struct tt_nccl_group *a = make(0, 0, &here), *b = make(1, 2, &here);

    tt_nccl_group_drop(b);
    gone = &here;
    tt_nccl_group_drop(a);
    b->deadline = 0;
    tt_nccl_groups_poll();
    ck_assert(!comms[0].finalized && !comms[0].aborted && !comms[1].destroyed && !comms[1].aborted);
    ck_assert_ptr_null(tt_nccl_group_numbered(0, 1));
    ck_assert_ptr_null(tt_nccl_group_numbered(2, 2));
}
END_TEST

START_TEST(the_one_used_longest_ago_makes_room)
{
    struct tt_nccl_group *g[4];

    tt_config.nccl_comms = 3;
    for (int i = 0; i < 3; i++) {
        ck_assert(tt_nccl_group_has_room());
        tt_nccl_group_make_room();
        g[i] = make(i, i, &here);
    }
    tt_nccl_group_touch(g[0]);
    tt_nccl_group_make_room();
    ck_assert(!comms[0].finalized && comms[1].finalized && !comms[2].finalized);
    ck_assert_msg(tt_nccl_group_numbered(1, 2) == g[1], "it was freed under its user");
    ck_assert(!tt_nccl_group_lives(g[1]));
    g[3] = make(3, 3, &here);
    tt_nccl_group_make_room();
    ck_assert(comms[2].finalized && !comms[0].finalized && !comms[3].finalized);
    comms[1].state = ncclSuccess;
    tt_nccl_groups_poll();
    ck_assert(comms[1].destroyed);
    tt_nccl_group_drop(g[1]);
    ck_assert_ptr_null(tt_nccl_group_numbered(1, 2));
}
END_TEST

START_TEST(what_is_kept_is_not_given_up)
{
    struct tt_nccl_group *a, *b;

    tt_config.nccl_comms = 2;
    a = make(0, 0, &here);
    b = make(1, 1, &here);
    a->keepers++;
    tt_nccl_group_touch(b);
    ck_assert(tt_nccl_group_has_room());
    b->keepers++;
    ck_assert(!tt_nccl_group_has_room());
    tt_nccl_group_make_room();
    ck_assert(!comms[0].finalized && !comms[1].finalized);
    b->keepers--;
    tt_nccl_group_make_room();
    ck_assert(!comms[0].finalized && comms[1].finalized);
}
END_TEST

START_TEST(the_end_waits_only_so_long)
{
    const double begun = tt_nccl_now();

    make(0, 0, &here);
    tt_nccl_group_drop(make(1, 2, &here));
    comms[1].state = ncclSuccess;
    tt_nccl_groups_close();
    ck_assert(comms[0].finalized && comms[0].aborted && comms[1].destroyed);
    ck_assert_double_lt(tt_nccl_now() - begun, 4);
    ck_assert_ptr_null(tt_nccl_group_numbered(0, 1));
    ck_assert_int_eq(entered, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("groups with NCCL");
    TCase *all = tcase_create("all");
    SRunner *runner;
    int failed;

    tcase_add_test(all, the_last_made_for_the_same_ranks_and_gpu_is_found);
    tcase_add_test(all, it_goes_with_its_last_user_and_when_it_is_ready_to);
    tcase_add_test(all, what_cannot_leave_is_aborted);
    tcase_add_test(all, what_another_says_has_failed_is_not_waited_for);
    tcase_add_test(all, nothing_is_called_without_a_context);
    tcase_add_test(all, the_one_used_longest_ago_makes_room);
    tcase_add_test(all, what_is_kept_is_not_given_up);
    tcase_add_test(all, the_end_waits_only_so_long);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
