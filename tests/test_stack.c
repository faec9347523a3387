/* SPDX-License-Identifier: BSD-3-Clause */
/* What is on this thread's stack, and what only might be: everything that is not surely there has to be asked about. */
#include "cuda/stack.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>

enum { SIZE = 64 << 10 };

static char global[64];

static __attribute__((noinline)) bool sees(const volatile char *p)
{
    return tt_is_on_stack((const char *)p);
}

static __attribute__((noinline)) uintptr_t gone(void)
{
    volatile char local[256];

    local[0] = 1;
    return (uintptr_t)local;
}

static void *look(void *shared)
{
    volatile char mine[16] = {0};

    ck_assert(sees(mine));
    ck_assert(!sees(global));
    ck_assert(!sees(shared)); /* the other thread's */
    ck_assert(!sees((const char *)gone()));
    ck_assert(!sees(NULL));
    ck_assert(!sees((const char *)-1)); /* as MPI_IN_PLACE */
    return NULL;
}

START_TEST(variables_of_functions_that_have_not_returned)
{
    char mine[16] = {0}, *block = malloc(SIZE);
    pthread_t thread;

    ck_assert_ptr_nonnull(block);
    ck_assert(sees(mine));
    ck_assert(!sees(block));
    look(block);
    ck_assert_int_eq(pthread_create(&thread, NULL, look, mine), 0);
    pthread_join(thread, NULL);
    free(block);
}
END_TEST

static ucontext_t here, there;
static bool seen;

static void elsewhere(void)
{
    volatile char mine[16] = {0};

    seen = sees(mine) || sees(global);
}

START_TEST(nothing_on_a_stack_of_the_programs_own)
{
    char *stack = malloc(SIZE);

    ck_assert_ptr_nonnull(stack);
    ck_assert_int_eq(getcontext(&there), 0);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = SIZE;
    there.uc_link = &here;
    makecontext(&there, elsewhere, 0);
    seen = true;
    swapcontext(&here, &there);
    ck_assert(!seen);
    free(stack);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stack");
    TCase *all = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(all, variables_of_functions_that_have_not_returned);
    tcase_add_test(all, nothing_on_a_stack_of_the_programs_own);
    suite_add_tcase(suite, all);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
