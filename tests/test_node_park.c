/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping until another process wakes it (coll/node_park.c), with the kernel that there is: two processes take turns,
 * each sleeping without an end until it is its turn, after works of random lengths, so that wakes come before, while
 * and after the other lies down. A call that is lost leaves both asleep, and the test ends by its time-out. (All orders
 * are tried on a model, in test_node_ring.c.) */
#include "coll/node_park.h"

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { A, B, SIDES, ROUNDS = 20000, LONG_NS = 999999999 };

static struct shared {
    struct tt_parking parkings[SIDES];
    tt_flag turn;
} * shared;

static void set_up(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    ck_assert(tt_park_open());
}

static void tear_down(void)
{
    munmap(shared, sizeof *shared);
}

/* A time-out of the kernel's is no call: it goes to sleep again. */
static void wait_for(int side, uint32_t turn)
{
    uint32_t wakes;

    while (tt_flag_read(&shared->turn) != turn) {
        wakes = tt_park_enter(&shared->parkings[side]);
        while (tt_flag_read(&shared->turn) != turn && tt_flag_read(&shared->parkings[side].wakes) == wakes)
            tt_park_wait(&shared->parkings[side], wakes, LONG_NS);
        tt_park_leave(&shared->parkings[side]);
    }
}

/* Not longer than it takes to fall asleep. */
static void work(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    for (volatile unsigned i = *seed >> 16 & 4095; i > 0; i--)
        ;
}

static void take_turns(int side, uint32_t rounds)
{
    unsigned seed = (unsigned)side;

    for (uint32_t turn = (uint32_t)side; turn < rounds; turn += SIDES) {
        wait_for(side, turn);
        work(&seed);
        tt_flag_raise(&shared->turn, turn + 1);
        tt_unpark(&shared->parkings[1 - side]);
    }
}

START_TEST(no_call_is_lost)
{
    const pid_t other = fork();
    int status;

    if (other == 0) {
        tt_park_open();
        take_turns(B, ROUNDS);
        _exit(0);
    }
    take_turns(A, ROUNDS);
    ck_assert_int_eq(waitpid(other, &status, 0), other);
    ck_assert_int_eq(status, 0);
    ck_assert_uint_eq(tt_flag_read(&shared->turn), ROUNDS);
    ck_assert_uint_eq(tt_flag_read(&shared->parkings[A].sleepers), 0);
}
END_TEST

START_TEST(who_is_awake_is_not_called)
{
    tt_unpark(&shared->parkings[A]);
    ck_assert_uint_eq(tt_flag_read(&shared->parkings[A].wakes), 0);
}
END_TEST

/* He is called for ever after, which does no harm. */
START_TEST(who_is_killed_in_his_sleep_keeps_nobody_waiting)
{
    const pid_t other = fork();

    if (other == 0) {
        wait_for(B, 1);
        _exit(0);
    }
    while (tt_flag_read(&shared->parkings[B].sleepers) == 0)
        usleep(1000);
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    for (int i = 0; i < 10; i++)
        tt_unpark(&shared->parkings[B]);
    ck_assert_uint_eq(tt_flag_read(&shared->parkings[B].wakes), 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_park");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (!tt_park_open())
        return 77; /* a kernel without membarrier, or where it is forbidden */
    tcase_set_timeout(all, 60);
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, no_call_is_lost);
    tcase_add_test(all, who_is_awake_is_not_called);
    tcase_add_test(all, who_is_killed_in_his_sleep_keeps_nobody_waiting);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
