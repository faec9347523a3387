/* SPDX-License-Identifier: BSD-3-Clause */
/* Device memory between two processes: what one names and the other opens, over the simulated driver. The owner is the
 * test, the guest its child, forked before either meets CUDA; they take turns by two pipes. An address that comes back
 * as something else must never be read as what it was, whoever remembers what; and a failure is told once and costs no
 * driver call after. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/dev.h"
#include "cuda/ipc.h"
#include "tests/simcuda/loaded.h"

enum { N = 1000, QUEUE = TT_WITHIN };

#define TT_OK(call) ck_assert_msg((call) == 0, "%s", tt_fault())

static int *alias(const void *p)
{
    return cu.alias(p);
}

/* N ints, all of that value. */
static int *ints(int value)
{
    CUdeviceptr at;
    int *p;

    OK(cu.cuMemAlloc(&at, N * sizeof(int)));
    p = (int *)(uintptr_t)at;
    for (int i = 0; i < N; i++)
        alias(p)[i] = value;
    return p;
}

static void drop(int *p)
{
    OK(cu.cuMemFree((uintptr_t)p));
}

/* The context's place, entered for good. */
static struct tt_place *enter_here(void)
{
    struct tt_place *place = tt_place_here();

    ck_assert_msg(place != NULL, "%s", tt_fault());
    TT_OK(place->dev->enter(place));
    return place;
}

static struct tt_name name_of(struct tt_place *place, const int *at)
{
    struct tt_name name;

    ck_assert(place->dev->export(place, at, sizeof *at, &name));
    return name;
}

static void settle(struct tt_place *place)
{
    int done;

    while ((done = place->dev->poll(place, QUEUE)) == 0)
        continue;
    ck_assert_msg(done > 0, "%s", tt_fault());
}

/* ---- two processes ---- */

static int to_owner[2], to_guest[2];

static void tell(int fd, const void *what, size_t bytes)
{
    ck_assert_int_eq(write(fd, what, bytes), (ssize_t)bytes);
}

static void hear(int fd, void *what, size_t bytes)
{
    ck_assert_int_eq(read(fd, what, bytes), (ssize_t)bytes);
}

/* The guest says that it is done with what it was told, and the owner waits for that. */
static void say_done(void)
{
    tell(to_owner[1], "d", 1);
}

static void await_done(void)
{
    char word;

    hear(to_owner[0], &word, 1);
}

static struct tt_name hear_name(void)
{
    struct tt_name name;

    hear(to_guest[0], &name, sizeof name);
    return name;
}

static void tell_name(const struct tt_name *name)
{
    tell(to_guest[1], name, sizeof *name);
}

/* What fails in the guest, fails the test: a Check assertion in a child ends it. */
static pid_t start(void (*guest)(struct tt_place *place))
{
    pid_t child;

    ck_assert_int_eq(pipe(to_owner) | pipe(to_guest), 0);
    child = check_fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close(to_owner[0]);
        close(to_guest[1]);
        use_device();
        guest(enter_here());
        tt_places_close();
        ck_assert_uint_eq(count().opens, count().closes);
        exit(0);
    }
    close(to_owner[1]);
    close(to_guest[0]);
    use_device();
    return child;
}

static void finish(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}

/* What the first int of the name is, read by a copy within the device. */
static int read_by_copy(struct tt_place *place, const struct tt_name *name)
{
    static int *mine;
    const void *at = place->dev->import(place, name);

    ck_assert_msg(at != NULL, "%s", tt_fault());
    mine = mine ? mine : ints(0);
    TT_OK(place->dev->copy(place, QUEUE, mine, at, sizeof *mine));
    settle(place);
    place->dev->release(place, name);
    return *alias(mine);
}

/* ---- the tests ---- */

static void guest_reads_thrice(struct tt_place *place)
{
    const struct tt_name first = hear_name(), later = hear_name(), other = hear_name();

    ck_assert_int_eq(read_by_copy(place, &first), 7);
    ck_assert_int_eq(read_by_copy(place, &other), 11);
    ck_assert_int_eq(read_by_copy(place, &later), 9);
    const unsigned long long before = count().calls;
    ck_assert_ptr_nonnull(place->dev->import(place, &later));
    place->dev->release(place, &later);
    ck_assert_uint_eq(count().calls, before);
    ck_assert_uint_eq(count().opens, 2);
    ck_assert_uint_eq(count().peer_bytes, 3 * sizeof(int));
    say_done();
}

START_TEST(an_allocation_is_named_once_and_opened_once)
{
    const pid_t guest = start(guest_reads_thrice);
    struct tt_place *place = enter_here();
    int *p = ints(7);
    struct tt_name name;

    alias(p)[500] = 9;
    name = name_of(place, p);
    tell_name(&name);
    const struct simcuda_counters before = count();
    name = name_of(place, p + 500);
    ck_assert_uint_eq(count().calls, before.calls + 1);
    ck_assert_uint_eq(count().pointer_queries, before.pointer_queries + 1);
    ck_assert_uint_eq(count().exports, 1);
    tell_name(&name);
    name = name_of(place, ints(11));
    tell_name(&name);
    await_done();
    finish(guest);
}
END_TEST

static void guest_reduces(struct tt_place *place)
{
    const struct tt_name name = hear_name();
    const struct tt_cell *cell = tt_cell_find(TT_TYPE_i32, TT_OP_sum);
    int *mine = ints(1), *sum = ints(0);
    const void *source[] = {mine, place->dev->import(place, &name), mine};

    ck_assert_ptr_nonnull(source[1]);
    const struct simcuda_counters before = count();
    TT_OK(place->dev->reduce(place, QUEUE, cell, sum, source, 3, TT_ACCUMULATE, N));
    settle(place);
    ck_assert_int_eq(alias(sum)[N - 1], 42);
    ck_assert_uint_eq(count().launches - before.launches, 1);
    ck_assert_uint_eq(count().peer_bytes, N * sizeof(int));
    place->dev->release(place, &name);
    say_done();
}

START_TEST(a_kernel_reads_another_processs_memory)
{
    const pid_t guest = start(guest_reduces);
    const struct tt_name name = name_of(enter_here(), ints(40));

    tell_name(&name);
    await_done();
    finish(guest);
}
END_TEST

static void guest_sees_each(struct tt_place *place)
{
    for (int i = 0; i < 3; i++) {
        const struct tt_name name = hear_name();

        ck_assert_int_eq(read_by_copy(place, &name), i);
        say_done();
    }
    ck_assert_uint_eq(count().opens, 3);
    ck_assert_uint_eq(count().closes, 2);
}

START_TEST(a_freed_address_that_comes_back_is_another_allocation)
{
    const pid_t guest = start(guest_sees_each);
    struct tt_place *place = enter_here();
    int *p = NULL;

    for (int i = 0; i < 3; i++) {
        int *last = p;

        p = ints(i);
        ck_assert(!last || p == last);
        const struct tt_name name = name_of(place, p);
        tell_name(&name);
        await_done();
        drop(p);
    }
    finish(guest);
}
END_TEST

/* The first is in use when its successor is named: that cannot be opened, and can when the first is let go. */
static void guest_holds_on(struct tt_place *place)
{
    const struct tt_name first = hear_name();
    struct tt_name second;

    ck_assert_ptr_nonnull(place->dev->import(place, &first));
    say_done();
    second = hear_name();
    ck_assert_ptr_null(place->dev->import(place, &second));
    ck_assert_ptr_nonnull(strstr(tt_fault(), "CUDA_ERROR_ALREADY_MAPPED"));
    place->dev->release(place, &first);
    ck_assert_int_eq(read_by_copy(place, &second), 2);
    say_done();
}

START_TEST(what_is_in_use_is_not_closed)
{
    const pid_t guest = start(guest_holds_on);
    struct tt_place *place = enter_here();
    struct tt_name name = name_of(place, ints(1));

    tell_name(&name);
    await_done();
    drop((int *)(uintptr_t)name.base);
    name = name_of(place, ints(2));
    tell_name(&name);
    await_done();
    finish(guest);
}
END_TEST

/* One that was freed before it was opened. */
static void guest_is_late(struct tt_place *place)
{
    const struct tt_name name = hear_name();

    ck_assert_ptr_null(place->dev->import(place, &name));
    ck_assert_ptr_nonnull(strstr(tt_fault(), "cuIpcOpenMemHandle"));
    say_done();
}

START_TEST(what_is_gone_is_refused)
{
    const pid_t guest = start(guest_is_late);
    const struct tt_name name = name_of(enter_here(), ints(1));

    drop((int *)(uintptr_t)name.base);
    ints(2);
    tell_name(&name);
    await_done();
    finish(guest);
}
END_TEST

enum { MANY = TT_IPC_OPENED + 10 };

static void guest_opens_many(struct tt_place *place)
{
    const struct tt_name held = hear_name();
    const void *at = place->dev->import(place, &held);

    for (int i = 1; i < MANY; i++) {
        const struct tt_name name = hear_name();

        ck_assert_int_eq(read_by_copy(place, &name), i);
        ck_assert_uint_le(count().opens - count().closes, TT_IPC_OPENED);
    }
    ck_assert_uint_eq(count().opens, MANY);
    ck_assert_ptr_eq(place->dev->import(place, &held), at);
    ck_assert_uint_eq(count().opens, MANY);
    place->dev->release(place, &held);
    place->dev->release(place, &held);
    say_done();
}

START_TEST(what_is_open_is_bounded)
{
    const pid_t guest = start(guest_opens_many);
    struct tt_place *place = enter_here();

    for (int i = 0; i < MANY; i++) {
        const struct tt_name name = name_of(place, ints(i));

        tell_name(&name);
    }
    await_done();
    finish(guest);
}
END_TEST

static void guest_may_not(struct tt_place *place)
{
    const struct tt_name name = hear_name();

    ck_assert_int_eq(cu.inject("ipc-open:from=1"), 0);
    ck_assert_ptr_null(place->dev->import(place, &name));
    ck_assert_ptr_nonnull(strstr(tt_fault(), "CUDA_ERROR_MAP_FAILED"));
    const unsigned long long before = count().calls;
    ck_assert_ptr_null(place->dev->import(place, &name));
    ck_assert_uint_eq(count().calls, before);
    say_done();
}

START_TEST(a_refusal_is_remembered)
{
    const pid_t guest = start(guest_may_not);
    struct tt_place *place = enter_here();
    const int *p = ints(1), *q = ints(2);
    struct tt_name name = name_of(place, p);

    tell_name(&name);
    await_done();
    finish(guest);
    ck_assert_int_eq(cu.inject("ipc-export:from=1"), 0);
    ck_assert(!place->dev->export(place, q, sizeof *q, &name));
    const unsigned long long before = count().calls;
    ck_assert(!place->dev->export(place, q, sizeof *q, &name));
    ck_assert_uint_eq(count().calls, before + 1); /* the pointer query */
    ck_assert(place->dev->export(place, p, sizeof *p, &name));
}
END_TEST

START_TEST(what_has_no_name)
{
    struct tt_place *place;
    CUdeviceptr pooled, managed;
    struct tt_name name;
    int here = 0;

    use_device();
    place = enter_here();
    OK(cu.cuMemAllocAsync(&pooled, 64, NULL));
    OK(cu.cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
    ck_assert(!place->dev->export(place, (void *)(uintptr_t)pooled, 64, &name));
    ck_assert(!place->dev->export(place, (void *)(uintptr_t)managed, 64, &name));
    ck_assert(!place->dev->export(place, &here, sizeof here, &name));
    ck_assert(!place->dev->export(place, ints(1), N * sizeof(int) + 1, &name)); /* not all of it is there */
    ck_assert_ptr_null(tt_host_place()->dev->export);
}
END_TEST

/* The context is reset: its place is another, which has nothing open. */
static void guest_begins_anew(struct tt_place *place)
{
    const struct tt_name name = hear_name();
    CUcontext context;

    ck_assert_ptr_nonnull(place->dev->import(place, &name));
    place->dev->leave(place);
    OK(cu.cuDevicePrimaryCtxReset(0));
    OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
    OK(cu.cuCtxSetCurrent(context));
    place = enter_here();
    ck_assert_ptr_nonnull(place->dev->import(place, &name));
    ck_assert_uint_eq(count().opens, 2);
    place->dev->release(place, &name);
    say_done();
    tt_places_close();
    ck_assert_uint_eq(count().closes, 1); /* what went with its context is not closed again */
    _exit(0);
}

START_TEST(what_is_open_goes_with_its_context)
{
    const pid_t guest = start(guest_begins_anew);
    const struct tt_name name = name_of(enter_here(), ints(3));

    tell_name(&name);
    await_done();
    finish(guest);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        an_allocation_is_named_once_and_opened_once,
        a_kernel_reads_another_processs_memory,
        a_freed_address_that_comes_back_is_another_allocation,
        what_is_in_use_is_not_closed,
        what_is_gone_is_refused,
        what_is_open_is_bounded,
        a_refusal_is_remembered,
        what_has_no_name,
        what_is_open_goes_with_its_context,
    };
    Suite *suite = suite_create("ipc");
    TCase *tcase = tcase_create("device memory between processes");
    SRunner *runner;
    int failed;

    setenv("TUTTI_SIM_GPUS", "2", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    tcase_set_timeout(tcase, 60);
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
