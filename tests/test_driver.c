/* SPDX-License-Identifier: BSD-3-Clause */
/* The room cuda/ over the simulated driver: what a pointer is, places and their scratch, queues that do not wait,
 * kernels, failures as words, contexts that vanish. Costs are asserted with the simulator's counters. The driver is
 * loaded by the test itself, as a program would, and late: libcuda.so.1 must be where the loader finds it. Each test
 * runs in a process of its own (Check forks). */
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda/dev.h"
#include "cuda/inside.h"
#include "cuda/marks.h"
#include "cuda/movers.h"
#include "cuda/nccl.h"
#include "cuda/objects.h"
#include "cuda/stream.h"
#include "tests/simcuda/loaded.h"

enum { QUEUE = TT_WITHIN, N = 1000 };

#define TT_OK(call) ck_assert_msg((call) == 0, "%s", tt_fault())

static void *device_memory(size_t bytes)
{
    CUdeviceptr at;

    OK(cu.cuMemAlloc(&at, bytes));
    return (void *)(uintptr_t)at;
}

static struct tt_mem where(const void *p)
{
    struct tt_mem mem;

    TT_OK(tt_mem_where(p, &mem));
    return mem;
}

static struct tt_place *place_at(const void *p)
{
    const struct tt_mem mem = where(p);
    struct tt_place *place = tt_place_of(&mem);

    ck_assert_msg(place != NULL, "%s", tt_fault());
    return place;
}

/* A place on device 0, entered. */
static struct tt_place *enter_place(void)
{
    struct tt_place *place;

    use_device();
    place = place_at(device_memory(16));
    TT_OK(place->dev->enter(place));
    return place;
}

static int wait_for(struct tt_place *place, int queue)
{
    int done;

    while ((done = place->dev->poll(place, queue)) == 0)
        continue;
    return done;
}

/* ---- pointers ---- */

START_TEST(without_a_driver_everything_is_host_memory)
{
    int x = 0;

    ck_assert(!tt_driver_present());
    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST);
    ck_assert_int_eq(where(NULL).kind, TT_MEM_HOST);
    ck_assert_msg(!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "a pointer query has loaded the driver");
}
END_TEST

START_TEST(a_driver_loaded_late_is_noticed)
{
    int x = 0;

    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST);
    load_driver();
    ck_assert(tt_driver_present());
    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST); /* loaded but not initialised */
    use_device();
    ck_assert_int_eq(where(device_memory(64)).kind, TT_MEM_DEVICE);
}
END_TEST

/* ---- what the program loads ---- */

/* What every machine with a C compiler has, and nothing here needs. */
static void *load_another(void)
{
    void *another = dlopen("libanl.so.1", RTLD_NOW);

    ck_assert_msg(another != NULL, "%s", dlerror());
    return another;
}

/* As long as nothing is loaded nobody has to look, whatever is unloaded. */
START_TEST(whether_anything_was_loaded_is_known)
{
    void *another;

    tt_objects_watch(TT_LAST);
    ck_assert(tt_objects_may_be_new()); /* nobody has looked yet */
    tt_objects_seen();
    ck_assert(!tt_objects_may_be_new());
    for (int i = 0; i < 3; i++) {
        another = load_another();
        ck_assert(tt_objects_may_be_new());
        tt_objects_seen();
        ck_assert(!tt_objects_may_be_new());
        dlclose(another);
        ck_assert(!tt_objects_may_be_new());
    }
    tt_objects_unwatch();
    ck_assert(tt_objects_may_be_new());
    tt_objects_watch(TT_LAST); /* that was for good */
    tt_objects_seen();
    ck_assert(tt_objects_may_be_new());
}
END_TEST

START_TEST(a_driver_loaded_late_is_noticed_where_that_is_known)
{
    int x = 0;

    tt_objects_watch(TT_LAST);
    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST);
    dlclose(load_another());
    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST);
    ck_assert(!tt_objects_may_be_new());
    load_driver();
    ck_assert(tt_driver_present());
}
END_TEST

START_TEST(a_driver_loaded_before_is_noticed_where_that_is_known)
{
    load_driver();
    tt_objects_watch(TT_LAST);
    ck_assert(tt_driver_present());
}
END_TEST

START_TEST(where_nothing_can_be_known_one_looks)
{
    tt_objects_watch("/nowhere.so");
    ck_assert(tt_objects_may_be_new());
    load_driver();
    ck_assert(tt_driver_present());
}
END_TEST

/* To load our own again takes as long as some thousand calls. */
START_TEST(who_loads_all_the_time_is_not_kept_up_with)
{
    int kept_up = 0;
    void *another;

    tt_objects_watch(TT_LAST);
    for (int i = 0; i < 1000; i++) {
        another = load_another();
        tt_driver_present();
        kept_up += !tt_objects_may_be_new();
        dlclose(another);
    }
    ck_assert_int_ge(kept_up, 10);
    ck_assert_int_le(kept_up, 200);
    load_driver();
    ck_assert(tt_driver_present());
}
END_TEST

static atomic_bool unwatched;

static void *unwatch_soon(void *unused)
{
    struct timespec soon = {.tv_nsec = rand() % 100000};

    (void)unused;
    nanosleep(&soon, NULL);
    tt_objects_unwatch();
    atomic_store(&unwatched, true);
    return NULL;
}

/* Whatever the one thread is at. */
START_TEST(nothing_is_watched_once_a_thread_has_said_so)
{
    pthread_t other;

    srand((unsigned)_i);
    tt_objects_watch(TT_LAST);
    ck_assert_int_eq(pthread_create(&other, NULL, unwatch_soon, NULL), 0);
    while (!atomic_load(&unwatched)) {
        void *another = load_another();

        tt_objects_seen();
        dlclose(another);
    }
    pthread_join(other, NULL);
    ck_assert(tt_objects_may_be_new());
}
END_TEST

START_TEST(each_kind_of_memory_is_told)
{
    CUcontext context = use_device();
    void *device = device_memory(100), *pinned;
    CUdeviceptr managed;
    int x = 0;

    OK(cu.cuMemHostAlloc(&pinned, 100, 0));
    OK(cu.cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST);
    ck_assert_int_eq(where(pinned).kind, TT_MEM_PINNED);
    ck_assert_int_eq(where((void *)(uintptr_t)managed).kind, TT_MEM_MANAGED);
    ck_assert_int_eq(where((char *)device + 99).kind, TT_MEM_DEVICE);
    ck_assert_int_eq(where(device).device, 0);
    ck_assert_ptr_eq(where(device).context, context);
    ck_assert_int_eq(where(pinned).device, -1);
}
END_TEST

START_TEST(a_pointer_query_is_one_driver_call)
{
    struct simcuda_counters before, after;
    int x = 0;

    use_device();
    where(&x);
    before = count();
    where(&x);
    after = count();
    ck_assert_uint_eq(after.pointer_queries - before.pointer_queries, 1);
    ck_assert_uint_eq(after.calls - before.calls, 1);
}
END_TEST

/* Nor does it take the host's memory with it: that can still be told, by whether the host can read it. */
START_TEST(a_broken_context_is_never_taken_for_host_memory)
{
    struct tt_place *place = enter_place();
    struct tt_mem mem;
    int x;
    void *a = place->dev->take(place, 64), *b = place->dev->take(place, 64);

    ck_assert_int_eq(cu.inject("sticky:after=1"), 0);
    (void)place->dev->copy(place, QUEUE, a, b, 64);
    ck_assert_int_eq(wait_for(place, QUEUE), -1);
    ck_assert_ptr_nonnull(strstr(tt_fault(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    ck_assert_int_eq(tt_mem_where(a, &mem), -1);
    ck_assert_ptr_nonnull(strstr(tt_fault(), "CUDA_ERROR_ILLEGAL_ADDRESS"));
    ck_assert_int_eq(where(&x).kind, TT_MEM_HOST);
}
END_TEST

/* ---- places ---- */

START_TEST(a_place_is_a_context)
{
    CUcontext second;
    void *a, *b, *elsewhere, *pinned;
    int x = 0;

    use_device();
    a = device_memory(16), b = device_memory(16);
    OK(cu.cuMemHostAlloc(&pinned, 100, 0));
    OK(cu.cuCtxCreate(&second, 0, 0));
    elsewhere = device_memory(16);
    ck_assert_ptr_eq(place_at(a), place_at(b));
    ck_assert_ptr_ne(place_at(a), place_at(elsewhere));
    ck_assert_ptr_eq(place_at(pinned), place_at(&x));
    ck_assert_str_eq(place_at(a)->dev->name, "cuda");
    ck_assert_str_eq(place_at(&x)->dev->name, "host");
}
END_TEST

/* Enters, works, leaves, and finds the thread's context as before. */
static void visit(struct tt_place *place, void *a, void *b)
{
    const CUcontext its = where(a).context;
    CUcontext before, inside, after;

    OK(cu.cuCtxGetCurrent(&before));
    TT_OK(place->dev->enter(place));
    OK(cu.cuCtxGetCurrent(&inside));
    TT_OK(place->dev->copy(place, QUEUE, a, b, 64));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    place->dev->leave(place);
    OK(cu.cuCtxGetCurrent(&after));
    ck_assert_ptr_eq(inside, its);
    ck_assert_ptr_eq(after, before);
}

/* With another context current, and with none; no context is made for it. */
START_TEST(the_callers_context_is_left_as_it_was)
{
    CUcontext second, popped;
    void *a, *b;
    struct tt_place *place;
    unsigned long long contexts;

    use_device();
    a = device_memory(64), b = device_memory(64);
    place = place_at(a);
    OK(cu.cuCtxCreate(&second, 0, 0));
    contexts = count().contexts;
    visit(place, a, b);
    while (cu.cuCtxPopCurrent(&popped) == CUDA_SUCCESS)
        continue;
    visit(place, a, b);
    ck_assert_uint_eq(count().contexts, contexts);
}
END_TEST

/* Told once, known for good: and a place that ends gives it back, unless that went with the context. */
START_TEST(memory_of_others_is_pinned_once)
{
    struct tt_place *place = enter_place();
    char *memory = aligned_alloc(4096, 8192);
    struct simcuda_counters before;

    place->dev->pin(place, memory, 8192);
    ck_assert_uint_eq(count().pinned_allocs, 1);
    ck_assert_int_eq(where(memory + 5000).kind, TT_MEM_PINNED);
    before = count();
    place->dev->pin(place, memory, 8192);
    ck_assert_uint_eq(count().calls, before.calls);
    place->dev->leave(place);
    tt_places_close();
    ck_assert_uint_eq(count().pinned_frees, 1);
    ck_assert_int_eq(where(memory).kind, TT_MEM_HOST);
    free(memory);
}
END_TEST

/* Memory of a stream-ordered pool may belong to no context: then it is served by the caller's. */
START_TEST(memory_without_a_context_is_at_home_on_its_device)
{
    CUcontext context = use_device();
    const struct tt_mem pooled = {TT_MEM_DEVICE, 0, NULL, 0}, other = {TT_MEM_DEVICE, 1, NULL, 0};
    const struct tt_mem its = {TT_MEM_DEVICE, 0, context, 0};

    ck_assert_ptr_nonnull(tt_place_of(&pooled));
    ck_assert_ptr_eq(tt_place_of(&pooled), tt_place_of(&its));
    ck_assert_ptr_null(tt_place_of(&other));
    ck_assert_ptr_nonnull(strstr(tt_fault(), "device 1"));
}
END_TEST

START_TEST(a_context_that_is_gone_is_no_error_at_close)
{
    CUcontext doomed;
    struct tt_place *place;

    use_device();
    OK(cu.cuCtxCreate(&doomed, 0, 0));
    place = place_at(device_memory(16));
    TT_OK(place->dev->enter(place));
    place->dev->give(place, place->dev->take(place, 4096));
    place->dev->give(place, place->dev->take_pinned(place, 4096));
    TT_OK(place->dev->copy(place, QUEUE, place->dev->take(place, 8), place->dev->take(place, 8), 8));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    place->dev->leave(place);
    OK(cu.cuCtxDestroy(doomed));
    tt_places_close();
}
END_TEST

/* A reset primary context has the same handle and another life: what the first one owned must not be used. */
START_TEST(a_reset_context_is_another_place)
{
    struct tt_place *old = enter_place(), *new;
    void *scratch = old->dev->take(old, 4096);
    struct simcuda_counters before;

    old->dev->give(old, scratch);
    old->dev->leave(old);
    OK(cu.cuDevicePrimaryCtxReset(0));
    use_device();
    new = place_at(device_memory(16));
    ck_assert_ptr_ne(old, new);
    TT_OK(new->dev->enter(new));
    before = count();
    ck_assert_ptr_nonnull(new->dev->take(new, 4096));
    ck_assert_uint_eq(count().device_allocs - before.device_allocs, 1);
    new->dev->leave(new);
    tt_places_close();
}
END_TEST

/* Pinning fails: the memory is there, and copies through it are right. */
START_TEST(nccl_works_in_primary_contexts_alone)
{
    const struct tt_nccl simulated = {.simulated = true}, real = {.simulated = false};
    CUcontext own, primary = use_device();
    struct tt_place *place = tt_place_here(), *other;

    ck_assert(tt_place_suits(place, &simulated));
    ck_assert(!tt_place_suits(place, &real));
    OK(cu.cuCtxCreate(&own, 0, 0));
    other = tt_place_here();
    ck_assert_ptr_ne(other, place);
    ck_assert(!tt_place_suits(other, &simulated) && tt_place_suits(place, &simulated));
    OK(cu.cuCtxDestroy(own));
    ck_assert(tt_place_lives(place) && !tt_place_lives(other));
    OK(cu.cuCtxSetCurrent(primary));
    OK(cu.cuDevicePrimaryCtxReset(0));
    ck_assert(!tt_place_lives(place) && !tt_place_suits(place, &simulated));
    OK(cu.cuDevicePrimaryCtxRetain(&primary, 0));
    ck_assert(!tt_place_lives(place));
    OK(cu.cuCtxSetCurrent(primary));
    ck_assert_ptr_ne(tt_place_here(), place);
    ck_assert(tt_place_is_stale(place) && tt_place_lives(tt_place_here()));
    tt_places_close();
}
END_TEST

START_TEST(memory_that_cannot_be_pinned_serves_as_well)
{
    struct tt_place *place = enter_place();
    char *device = place->dev->take(place, 4096), *host;

    ck_assert_int_eq(cu.inject("pinned:after=1"), 0);
    host = place->dev->take_pinned(place, 4096);
    ck_assert_ptr_nonnull(host);
    ck_assert_int_eq(where(host).kind, TT_MEM_HOST);
    memset(host, 7, 4096);
    TT_OK(place->dev->copy(place, QUEUE, device, host, 4096));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    memset(host, 0, 4096);
    TT_OK(place->dev->copy(place, QUEUE, host, device, 4096));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_int_eq(host[4095], 7);
    place->dev->leave(place);
    tt_places_close();
}
END_TEST

START_TEST(close_gives_everything_back)
{
    struct tt_place *place = enter_place();
    const struct simcuda_counters before = count();
    struct simcuda_counters after;

    place->dev->give(place, place->dev->take(place, 4096));
    place->dev->give(place, place->dev->take(place, 1 << 20));
    place->dev->give(place, place->dev->take_pinned(place, 4096));
    place->dev->leave(place);
    tt_places_close();
    after = count();
    ck_assert_uint_eq(after.device_allocs - before.device_allocs, 1 + 1);
    ck_assert_uint_eq(after.device_frees - before.device_frees, 2);
    ck_assert_uint_eq(after.pinned_frees - before.pinned_frees, 1);
}
END_TEST

/* ---- scratch ---- */

START_TEST(scratch_given_back_is_taken_again_without_a_driver_call)
{
    struct tt_place *place = enter_place();
    void *block = place->dev->take(place, 100000), *pinned = place->dev->take_pinned(place, 100000);
    struct simcuda_counters before;

    ck_assert_msg(block && pinned, "%s", tt_fault());
    place->dev->give(place, block);
    place->dev->give(place, pinned);
    place->dev->give(place, NULL);
    before = count();
    ck_assert_ptr_eq(place->dev->take(place, 99999), block);
    ck_assert_ptr_eq(place->dev->take_pinned(place, 1), pinned);
    ck_assert_uint_eq(count().calls, before.calls);
    ck_assert_ptr_ne(place->dev->take(place, 8), block);
}
END_TEST

START_TEST(unused_scratch_is_bounded)
{
    struct tt_place *place = enter_place();
    const size_t size = TT_POOL_IDLE / 4;
    const struct simcuda_counters before = count();
    void *blocks[7];

    for (int i = 0; i < 7; i++)
        blocks[i] = place->dev->take(place, size);
    for (int i = 0; i < 7; i++)
        place->dev->give(place, blocks[i]);
    ck_assert_uint_eq(count().device_frees, before.device_frees);
    ck_assert_ptr_nonnull(place->dev->take(place, 2 * size));
    ck_assert_uint_eq(count().device_frees - before.device_frees, 3);
    ck_assert_ptr_eq(place->dev->take(place, size), blocks[6]);
}
END_TEST

START_TEST(a_failed_allocation_gives_up_unused_scratch_and_tries_again)
{
    struct tt_place *place = enter_place();
    const struct simcuda_counters before = count();

    place->dev->give(place, place->dev->take(place, 4096));
    ck_assert_int_eq(cu.inject("oom:after=1"), 0);
    ck_assert_msg(place->dev->take(place, 1 << 20) != NULL, "%s", tt_fault());
    ck_assert_uint_eq(count().device_frees - before.device_frees, 1);
}
END_TEST

START_TEST(out_of_memory_is_said_in_words)
{
    struct tt_place *place = enter_place();

    ck_assert_ptr_null(place->dev->take(place, (size_t)1 << 40));
    ck_assert_str_eq(tt_fault(), "cuMemAlloc of 1099511627776 bytes: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
}
END_TEST

/* ---- queues ---- */

START_TEST(copies_do_not_wait_and_queues_are_separate)
{
    struct tt_place *place = enter_place();
    char *device = place->dev->take(place, 4096), *up = place->dev->take_pinned(place, 4096);
    char *down = place->dev->take_pinned(place, 4096);
    const struct simcuda_counters before = count();

    memset(up, 7, 4096);
    memset(down, 0, 4096);
    ck_assert_int_eq(cu.inject("hold"), 0);
    TT_OK(place->dev->copy(place, TT_UP, device, up, 4096));
    ck_assert_int_eq(place->dev->poll(place, TT_UP), 0);
    ck_assert_int_eq(place->dev->poll(place, TT_DOWN), 1);
    ck_assert_int_eq(cu.inject("release"), 0);
    ck_assert_int_eq(wait_for(place, TT_UP), 1);
    TT_OK(place->dev->copy(place, TT_DOWN, down, device, 4096));
    ck_assert_int_eq(wait_for(place, TT_DOWN), 1);
    ck_assert_mem_eq(down, up, 4096);
    ck_assert_uint_eq(count().syncs, before.syncs);
    ck_assert_uint_eq(count().bytes[SIMCUDA_H2D] - before.bytes[SIMCUDA_H2D], 4096);
    ck_assert_uint_eq(count().bytes[SIMCUDA_D2H] - before.bytes[SIMCUDA_D2H], 4096);
    ck_assert_uint_eq(count().streams - before.streams, 2);
}
END_TEST

/* From the middle of one page to the middle of the third, of which the second alone is registered. */
START_TEST(memory_that_is_registered_in_part_is_copied)
{
    enum { PAGE = 4096, AT = PAGE / 2, BYTES = 2 * PAGE };
    struct tt_place *place = enter_place();
    char *device = place->dev->take(place, BYTES), *up = NULL, *down = NULL;

    ck_assert(!posix_memalign((void **)&up, PAGE, 3 * PAGE) && !posix_memalign((void **)&down, PAGE, 3 * PAGE));
    for (int i = 0; i < 3 * PAGE; i++)
        up[i] = (char)(i % 251);
    OK(cu.cuMemHostRegister(up + PAGE, PAGE, 0));
    OK(cu.cuMemHostRegister(down + PAGE, PAGE, 0));
    TT_OK(place->dev->copy(place, TT_UP, device, up + AT, BYTES));
    ck_assert_int_eq(wait_for(place, TT_UP), 1);
    TT_OK(place->dev->copy(place, TT_DOWN, down + AT, device, BYTES));
    ck_assert_int_eq(wait_for(place, TT_DOWN), 1);
    ck_assert_mem_eq(down + AT, up + AT, BYTES);
    ck_assert_int_ne(place->dev->copy(place, TT_UP, device, up, (size_t)1 << 40), 0);
    ck_assert_ptr_nonnull(strstr(tt_fault(), "cuMemcpyAsync of 1099511627776 bytes"));
    OK(cu.cuMemHostUnregister(up + PAGE));
    OK(cu.cuMemHostUnregister(down + PAGE));
    free(up);
    free(down);
}
END_TEST

/* What the program has given to its default stream takes five times as long as our copy, which does not stand in
 * line. */
/* Each piece of work is known to be done before the next is. */
START_TEST(marks_tell_how_far_a_queue_has_come)
{
    enum { PIECES = 3 * TT_MARKS };
    struct tt_place *place = enter_place();
    void *p = device_memory(64), *q = device_memory(64);
    uint64_t marks[PIECES], first, second;

    cu.inject("hold");
    TT_OK(place->dev->copy(place, QUEUE, p, q, 64));
    TT_OK(place->dev->mark(place, QUEUE, &first));
    ck_assert_int_eq(place->dev->reached(place, QUEUE, first), 0);
    cu.inject("release");
    while (place->dev->reached(place, QUEUE, first) == 0)
        continue;
    cu.inject("hold");
    TT_OK(place->dev->copy(place, QUEUE, p, q, 64));
    TT_OK(place->dev->mark(place, QUEUE, &second));
    const unsigned long long before = count().calls;
    ck_assert_int_eq(place->dev->reached(place, QUEUE, first), 1); /* known */
    ck_assert_uint_eq(count().calls, before);
    ck_assert_int_eq(place->dev->reached(place, QUEUE, second), 0);
    for (int i = 0; i < PIECES; i++) {
        TT_OK(place->dev->copy(place, QUEUE, p, q, 64));
        TT_OK(place->dev->mark(place, QUEUE, &marks[i]));
    }
    ck_assert_int_eq(place->dev->reached(place, QUEUE, second), 0);
    ck_assert_int_eq(place->dev->reached(place, QUEUE, marks[0]), 0);
    ck_assert_uint_eq(count().events, TT_MARKS);
    cu.inject("release");
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_int_eq(place->dev->reached(place, QUEUE, second), 1);
    for (int i = 0; i < PIECES; i++)
        ck_assert_int_eq(place->dev->reached(place, QUEUE, marks[i]), 1);
    cu.inject("sticky:after=1");
    TT_OK(place->dev->copy(place, QUEUE, p, q, 64));
    if (place->dev->mark(place, QUEUE, &first)) /* it broke at once */
        return;
    while (place->dev->reached(place, QUEUE, first) == 0)
        continue;
    ck_assert_int_eq(place->dev->reached(place, QUEUE, first), -1);
}
END_TEST

START_TEST(our_queues_do_not_wait_for_the_programs_streams)
{
    struct tt_place *place = enter_place();
    void *a = device_memory(64), *b = device_memory(64), *c = device_memory(64), *d = device_memory(64);

    ck_assert_int_eq(cu.inject("delay:us=40000"), 0);
    for (int i = 0; i < 5; i++)
        OK(cu.cuMemcpyAsync((CUdeviceptr)(uintptr_t)a, (CUdeviceptr)(uintptr_t)b, 64, NULL));
    TT_OK(place->dev->copy(place, QUEUE, c, d, 64));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_int_eq(cu.cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    TT_OK(place->dev->settle(place));
    ck_assert_int_eq(cu.cuStreamQuery(NULL), CUDA_SUCCESS);
}
END_TEST

/* ---- reductions ---- */

/* dst = a + b + c on the device, in place of b, in one launch; bit for bit what the host computes. */
START_TEST(a_reduction_is_one_launch_and_equals_the_hosts)
{
    struct tt_place *place = enter_place();
    const struct tt_cell *cell = tt_cell_find(TT_TYPE_f32, TT_OP_sum);
    float host[3][N], expected[N], *device[3];
    const void *src[3], *host_src[3] = {host[0], host[1], host[2]};
    unsigned long long launches;

    for (int j = 0; j < 3; j++) {
        src[j] = device[j] = place->dev->take(place, sizeof host[j]);
        for (int i = 0; i < N; i++)
            ((float *)cu.alias(device[j]))[i] = host[j][i] = (float)(i * 3 + j) / 7;
    }
    cell->host(expected, host_src, 3, N);
    ck_assert(place->dev->reduces(place, cell));
    launches = count().launches;
    TT_OK(place->dev->reduce(place, QUEUE, cell, device[1], src, 3, TT_ACCUMULATE, N));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_mem_eq(cu.alias(device[1]), expected, sizeof expected);
    ck_assert_uint_eq(count().launches - launches, 1);
    TT_OK(place->dev->reduce(place, QUEUE, cell, device[1], src, 3, TT_ACCUMULATE, 0));
    ck_assert_uint_eq(count().launches - launches, 1);
}
END_TEST

/* ---- orders ---- */

enum { FEW = 37, ORDERED_BYTES = FEW * 32 };

/* A tree over k sources, by chance; at the first try always left to right. */
static unsigned some_order(int k, bool chain)
{
    const int left = chain ? k - 1 : 1 + rand() % (k - 1 + (k == 1));

    if (k == 1)
        return 0;
    return (some_order(left, chain) | some_order(k - left, chain) << 4 * left) + (1u << 4 * (k - 1));
}

static int most_waiting(unsigned order, int k)
{
    int waiting = 0, most = 0;

    for (int j = 0; j < k; j++) {
        waiting += 1 - tt_foldings(order, j);
        most = waiting > most ? waiting : most;
    }
    return most;
}

/* What as many reductions of two make of them: every sum is stored. */
static void fold_by_twos(const struct tt_cell *cell, unsigned order, const void *const *src, int k, char *out)
{
    static char value[TT_MAX_SOURCES][ORDERED_BYTES];
    int n = 0;

    for (int j = 0; j < k; j++) {
        memcpy(value[n++], src[j], FEW * cell->size);
        for (int i = tt_foldings(order, j); i > 0; i--, n--) {
            const void *const two[] = {value[n - 2], value[n - 1]};

            cell->host(value[n - 2], two, 2, FEW);
        }
    }
    memcpy(out, value[0], FEW * cell->size);
}

/* Aside, or in place of the last one; every other k at an address from which kernels read elements one by one. */
static void try_order(struct tt_place *place, bool alias, const struct tt_cell *cell, char *const *block, int k,
                      unsigned order)
{
    static char expected[ORDERED_BYTES];
    const void *src[TT_MAX_SOURCES], *seen[TT_MAX_SOURCES];
    const size_t shift = k % 2 ? cell->size : 0;
    char *const dst = block[k % 3 ? TT_MAX_SOURCES : k - 1] + (k % 3 ? 0 : shift);

    for (int j = 0; j < k; j++) {
        src[j] = block[j] + shift;
        seen[j] = alias ? cu.alias((void *)src[j]) : (void *)src[j];
        for (size_t i = 0; i < FEW * cell->size; i++)
            ((char *)seen[j])[i] = (char)(rand() & 0x3f); /* no NaN in any type */
    }
    fold_by_twos(cell, order, seen, k, expected);
    TT_OK(place->dev->reduce(place, QUEUE, cell, dst, src, k, order, FEW));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_msg(memcmp(alias ? cu.alias(dst) : (void *)dst, expected, FEW * cell->size) == 0, "%s %s, %s, order %x of %d",
                  place->dev->name, tt_op_name(cell->op), tt_type_name(cell->type), order, k);
}

/* Of no meaning, and not to be compared. */
static bool has_padding(enum tt_type type)
{
    return type == TT_TYPE_f64_int || type == TT_TYPE_i64_int || type == TT_TYPE_i16_int;
}

static void try_orders(struct tt_place *place, bool alias)
{
    char *block[TT_MAX_SOURCES + 1];

    for (int j = 0; j <= TT_MAX_SOURCES; j++)
        block[j] = place->dev->take(place, ORDERED_BYTES + 64);
    for (int type = 0; type < TT_NTYPES; type++)
        for (int op = 0; op < TT_NOPS; op++) {
            const struct tt_cell *cell = tt_cell_find((enum tt_type)type, (enum tt_op)op);

            for (int k = 2; cell && cell->kernel && !has_padding(cell->type) && k <= TT_MAX_SOURCES; k++)
                for (int i = 0; i < 3; i++) {
                    unsigned order = some_order(k, i == 0);

                    while (most_waiting(order, k) > TT_MAX_WAITING)
                        order = some_order(k, false);
                    try_order(place, alias, cell, block, k, order);
                }
        }
}

/* On the host and on the device, for every type that GPUs have and every op. */
START_TEST(orders_are_kept_to_the_bit)
{
    try_orders(tt_host_place(), false);
    try_orders(enter_place(), true);
}
END_TEST

/* To any address, to the byte, and what others then see is all of it. */
START_TEST(results_past_the_caches_are_the_same)
{
    const size_t usual = tt_stream_from;
    struct tt_place *host = tt_host_place();
    char from[512], to[512], expected[512];

    tt_stream_from = 1;
    try_orders(host, false);
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)(i * 7);
    for (size_t at = 0; at < 70; at++)
        for (size_t n = 0; n < 300; n += 1 + n / 9) {
            memset(to, 1, sizeof to);
            memset(expected, 1, sizeof expected);
            memcpy(expected + at, from + 3, n);
            TT_OK(host->dev->copy(host, QUEUE, to + at, from + 3, n));
            ck_assert_msg(memcmp(to, expected, sizeof to) == 0, "%zu bytes to byte %zu", n, at);
        }
    tt_stream_from = usual;
}
END_TEST

START_TEST(every_kernel_can_be_launched)
{
    struct tt_place *place = enter_place();
    void *block = place->dev->take(place, 4096);
    const void *src[2] = {block, block};

    for (int type = 0; type < TT_NTYPES; type++)
        for (int op = 0; op < TT_NOPS; op++) {
            const struct tt_cell *cell = tt_cell_find((enum tt_type)type, (enum tt_op)op);

            if (cell && place->dev->reduces(place, cell))
                TT_OK(place->dev->reduce(place, QUEUE, cell, block, src, 2, TT_ACCUMULATE, 100));
        }
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert(!place->dev->reduces(place, tt_cell_find(TT_TYPE_f80, TT_OP_sum)));
}
END_TEST

START_TEST(a_misaligned_buffer_is_refused_before_it_breaks_the_context)
{
    struct tt_place *place = enter_place();
    char *block = place->dev->take(place, 4096);
    const void *src[2] = {block, block + 2};

    ck_assert_int_eq(place->dev->reduce(place, QUEUE, tt_cell_find(TT_TYPE_f32, TT_OP_sum), block, src, 2, TT_ACCUMULATE, 10), -1);
    ck_assert_ptr_nonnull(strstr(tt_fault(), "aligned to 4 bytes"));
}
END_TEST

/* ---- data with gaps ---- */

enum { SPREAD = 1 << 16, AROUND = 256, MANY = 40 };

/* Between the two: a buffer on the device and its like on the host, the first filled with noise, the others with a
 * byte. */
struct mirror {
    char *device, *seen; /* seen: where the test sees it */
    char host[SPREAD];
};

static void mirror_fill(struct mirror *m, struct tt_place *place, int byte)
{
    m->device = m->device ? m->device : place->dev->take(place, SPREAD);
    m->seen = cu.alias(m->device);
    for (int i = 0; i < SPREAD; i++)
        m->seen[i] = m->host[i] = byte >= 0 ? (char)byte : (char)(rand() >> 5);
}

/* There and back, of which the device does one half and the host the other: whatever is not of the runs stays. */
static void check_moves(struct tt_place *place, const struct tt_runs *runs, int64_t count, int64_t at, int64_t to)
{
    static struct mirror spread, packed;

    mirror_fill(&spread, place, -1);
    mirror_fill(&packed, place, 77);
    TT_OK(place->dev->pack(place, QUEUE, runs, count, spread.device + at, packed.device + to));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    tt_runs_pack(runs, count, spread.host + at, packed.host + to);
    ck_assert_mem_eq(packed.seen, packed.host, SPREAD);
    mirror_fill(&spread, place, 55);
    TT_OK(place->dev->unpack(place, QUEUE, runs, count, spread.device + at, packed.device + to));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    tt_runs_unpack(runs, count, spread.host + at, packed.host + to);
    ck_assert_mem_eq(spread.seen, spread.host, SPREAD);
}

/* Runs that do not overlap, all numbers multiples of a word; some go backwards. Returns how far they reach. */
static int64_t make_runs(struct tt_runs *runs, struct tt_run *run, int n, int word, uint64_t id)
{
    int64_t at = 0;

    for (int i = 0; i < n; i++) {
        const int64_t length = word * (1 + rand() % 5), rows = 1 + rand() % 4;
        const int64_t stride = length + word * (rand() % 3);
        const bool back = rand() % 4 == 0;

        run[i] = (struct tt_run){back ? at + (rows - 1) * stride : at, length, rows, back ? -stride : stride, 0};
        at += rows * stride + word * (rand() % 3);
    }
    *runs = (struct tt_runs){.nruns = n, .extent = at, .id = id};
    tt_runs_sum(runs, run);
    return at;
}

/* Every word size, one run, few and many, elements that follow each other or are shuffled, addresses that are aligned
 * to the word and to no more. */
static void check_all_moves(struct tt_place *place)
{
    static const int numbers[] = {1, 2, TT_FEW_RUNS, TT_FEW_RUNS + 1, MANY};
    static struct tt_run run[MANY];
    struct tt_runs runs;
    uint64_t id = 0;

    for (int word = 1; word <= 32; word *= 2)
        for (int i = 0; i < 5; i++)
            for (int count = 1; count < 4; count++) {
                const int64_t extent = make_runs(&runs, run, numbers[i], word, ++id);

                ck_assert_int_lt(extent * 4 + 2 * AROUND, SPREAD);
                check_moves(place, &runs, count, AROUND + word, AROUND + word * 3);
                runs.extent += word;
                check_moves(place, &runs, count, AROUND, AROUND);
                runs.extent = -runs.extent;
                check_moves(place, &runs, count, SPREAD / 2, AROUND);
            }
}

START_TEST(gaps_are_packed_on_the_device_as_on_the_host)
{
    struct tt_place *place = enter_place();

    check_all_moves(place);
    place->dev->leave(place);
    tt_places_close();
}
END_TEST

START_TEST(gaps_are_packed_without_kernels_too)
{
    struct tt_place *place = enter_place();
    const struct simcuda_counters before = count();

    ck_assert_int_eq(cu.inject("code:from=1"), 0);
    check_all_moves(place);
    ck_assert_uint_eq(count().launches, before.launches);
    ck_assert(!place->dev->reduces(place, tt_cell_find(TT_TYPE_f32, TT_OP_sum)));
}
END_TEST

/* A column of a matrix, and several elements of what is as regular: one launch, and nothing else. */
START_TEST(a_vector_is_one_launch_and_no_upload)
{
    struct tt_place *place = enter_place();
    struct tt_run run[MANY] = {{.at = 16, .length = 8, .n = 50, .stride = 400}};
    struct tt_runs runs = {.nruns = 1, .extent = 8};
    char *spread = place->dev->take(place, SPREAD), *packed = place->dev->take(place, SPREAD);
    struct simcuda_counters before, after;

    tt_runs_sum(&runs, run);
    TT_OK(place->dev->pack(place, QUEUE, &runs, 3, spread, packed));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    before = count();
    TT_OK(place->dev->pack(place, QUEUE, &runs, 3, spread, packed));
    TT_OK(place->dev->unpack(place, QUEUE, &runs, 3, spread, packed));
    after = count();
    ck_assert_uint_eq(after.launches - before.launches, 2);
    ck_assert_uint_eq(after.calls - before.calls, 2 + 1); /* one to find the kernel that unpacks */
    make_runs(&runs, run, TT_FEW_RUNS, 4, 0);
    before = count();
    TT_OK(place->dev->pack(place, QUEUE, &runs, 3, spread, packed));
    TT_OK(place->dev->pack(place, QUEUE, &runs, 0, spread, packed));
    after = count();
    ck_assert_uint_eq(after.launches - before.launches, 1);
    ck_assert_uint_eq(after.copies[SIMCUDA_H2D], before.copies[SIMCUDA_H2D]);
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
}
END_TEST

/* Many runs go up once, whichever queue they are used in; where they may not have arrived, once more. */
START_TEST(a_table_is_uploaded_once)
{
    struct tt_place *place = enter_place();
    struct tt_run run[MANY];
    struct tt_runs runs;
    char *spread = place->dev->take(place, SPREAD), *packed = place->dev->take(place, SPREAD);
    const unsigned long long before = count().copies[SIMCUDA_H2D];

    make_runs(&runs, run, MANY, 4, 77);
    ck_assert_int_eq(cu.inject("hold"), 0);
    TT_OK(place->dev->pack(place, TT_WITHIN, &runs, 2, spread, packed));
    TT_OK(place->dev->pack(place, TT_WITHIN, &runs, 1, spread, packed));
    ck_assert_uint_eq(count().copies[SIMCUDA_H2D] - before, 1);
    TT_OK(place->dev->pack(place, TT_UP, &runs, 2, spread, packed));
    ck_assert_uint_eq(count().copies[SIMCUDA_H2D] - before, 2);
    ck_assert_int_eq(cu.inject("release"), 0);
    ck_assert_int_eq(wait_for(place, TT_WITHIN), 1);
    ck_assert_int_eq(wait_for(place, TT_UP), 1);
    TT_OK(place->dev->unpack(place, TT_DOWN, &runs, 2, spread, packed));
    ck_assert_int_eq(wait_for(place, TT_DOWN), 1);
    ck_assert_uint_eq(count().copies[SIMCUDA_H2D] - before, 2);
    runs.id = 78;
    TT_OK(place->dev->unpack(place, TT_DOWN, &runs, 2, spread, packed));
    ck_assert_int_eq(wait_for(place, TT_DOWN), 1);
    ck_assert_uint_eq(count().copies[SIMCUDA_H2D] - before, 3);
}
END_TEST

/* Ever new datatypes: what is kept of them is bounded. */
START_TEST(unused_tables_are_bounded)
{
    struct tt_place *place = enter_place();
    struct tt_run run[MANY];
    struct tt_runs runs;
    char *spread = place->dev->take(place, SPREAD), *packed = place->dev->take(place, SPREAD);
    unsigned long long allocs;

    for (int i = 1; i <= 400; i++) {
        make_runs(&runs, run, MANY, 4, (uint64_t)i);
        TT_OK(place->dev->pack(place, QUEUE, &runs, 1, spread, packed));
        ck_assert_int_eq(wait_for(place, QUEUE), 1);
        allocs = i == 200 ? count().device_allocs + count().pinned_allocs : allocs;
    }
    ck_assert_uint_eq(count().device_allocs + count().pinned_allocs, allocs);
    place->dev->leave(place);
    tt_places_close();
}
END_TEST

/* With kernels and without. Of the memory between the rows only addresses are used. */
START_TEST(strides_and_offsets_are_64_bits_wide)
{
    struct tt_place *place = enter_place();
    const int64_t stride = INT64_C(3) << 30;
    struct tt_run run[2] = {{.at = stride / 2, .length = 12, .n = 2, .stride = stride},
                            {.at = 64, .length = 4, .n = 1}};
    struct tt_runs runs = {.nruns = 2, .extent = 0};
    char *spread = device_memory((size_t)stride * 2), *packed = place->dev->take(place, 64), *seen = cu.alias(spread);

    if (_i == 1)
        ck_assert_int_eq(cu.inject("code:from=1"), 0);
    tt_runs_sum(&runs, run);
    ck_assert_int_eq(runs.high, stride / 2 + stride + 12);
    memset(seen + stride / 2, 'a', 12);
    memset(seen + stride / 2 + stride, 'b', 12);
    memset(seen + 64, 'c', 4);
    TT_OK(place->dev->pack(place, QUEUE, &runs, 1, spread, packed));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_mem_eq(cu.alias(packed), "aaaaaaaaaaaabbbbbbbbbbbbcccc", 28);
}
END_TEST

/* More than 2^31 elements, with a gap in the middle; takes 4.5 GB of memory, so it must be asked for:
 * TUTTI_TEST_HUGE=1. */
START_TEST(more_than_two_to_the_31_elements)
{
    const int64_t n = (INT64_C(1) << 30) + 16, gap = 32, last = 2 * n - 1;
    struct tt_run run[1] = {{.at = 0, .length = 1, .n = 1}}, halves[1] = {{.length = n, .n = 2, .stride = n + gap}};
    struct tt_runs bytes = {.nruns = 1, .extent = 1}, runs = {.nruns = 1, .extent = 0};
    struct tt_place *place;
    char *spread, *packed;

    if (!getenv("TUTTI_TEST_HUGE"))
        return;
    place = enter_place();
    spread = device_memory((size_t)(2 * n + gap));
    packed = device_memory((size_t)(2 * n));
    tt_runs_sum(&bytes, run);
    tt_runs_sum(&runs, halves);
    ((char *)cu.alias(spread))[n - 1] = 'a';
    ((char *)cu.alias(spread))[n] = 'x';
    ((char *)cu.alias(spread))[last + gap] = 'b';
    TT_OK(place->dev->pack(place, QUEUE, &runs, 1, spread, packed));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_int_eq(((char *)cu.alias(packed))[n - 1], 'a');
    ck_assert_int_eq(((char *)cu.alias(packed))[n], 0);
    ck_assert_int_eq(((char *)cu.alias(packed))[last], 'b');
    TT_OK(place->dev->unpack(place, QUEUE, &bytes, 2 * n, spread, packed));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_int_eq(((char *)cu.alias(spread))[last], 'b');
    ck_assert_int_eq(((char *)cu.alias(spread))[last + gap], 'b');
    ck_assert_int_eq(((char *)cu.alias(spread))[n], 0);
}
END_TEST

/* Runs of an absolute datatype: two allocations, seen from no address at all. */
START_TEST(runs_may_be_in_several_allocations)
{
    struct tt_place *place = enter_place();
    char *a = device_memory(4096), *b = device_memory(4096), *packed = place->dev->take(place, 4096);
    struct tt_run run[2] = {{.at = (int64_t)(uintptr_t)b, .length = 8, .n = 1},
                            {.at = (int64_t)(uintptr_t)a + 8, .length = 8, .n = 1}};
    struct tt_runs runs = {.nruns = 2};

    tt_runs_sum(&runs, run);
    memset(cu.alias(a), 'a', 4096);
    memset(cu.alias(b), 'b', 4096);
    TT_OK(place->dev->pack(place, QUEUE, &runs, 1, NULL, packed));
    ck_assert_int_eq(wait_for(place, QUEUE), 1);
    ck_assert_mem_eq(cu.alias(packed), "bbbbbbbbaaaaaaaa", 16);
}
END_TEST

/* ---- the host as a place, and the look ---- */

START_TEST(the_host_is_a_place_like_any_other)
{
    int a[N] = {0}, b[N];
    const void *src[2] = {a, b};
    struct tt_place *place = place_at(a);
    int *sum = place->dev->take(place, sizeof a);

    for (int i = 0; i < N; i++)
        a[i] = i, b[i] = 2 * i;
    TT_OK(place->dev->enter(place));
    TT_OK(place->dev->reduce(place, QUEUE, tt_cell_find(TT_TYPE_i32, TT_OP_sum), sum, src, 2, TT_ACCUMULATE, N));
    TT_OK(place->dev->copy(place, QUEUE, b, sum, sizeof b));
    ck_assert_int_eq(place->dev->poll(place, QUEUE), 1);
    ck_assert_int_eq(b[N - 1], 3 * (N - 1));
    place->dev->give(place, sum);
    ck_assert_ptr_eq(place->dev->take_pinned(place, 8), sum);
    place->dev->leave(place);
    tt_places_close();
}
END_TEST

START_TEST(the_look_says_that_it_is_simulated)
{
    const struct tt_driver_info info = tt_driver_look();

    ck_assert_msg(info.version > 0, "%s", info.why_not);
    ck_assert(info.simulated);
    ck_assert_int_eq(info.devices, 2);
    ck_assert_ptr_nonnull(strstr(info.first, "simulated"));
}
END_TEST

static TCase *everything(void)
{
    TCase *all = tcase_create("driver");

    if (getenv("TUTTI_TEST_HUGE"))
        tcase_set_timeout(all, 120);
    tcase_add_test(all, without_a_driver_everything_is_host_memory);
    tcase_add_test(all, a_driver_loaded_late_is_noticed);
    tcase_add_test(all, whether_anything_was_loaded_is_known);
    tcase_add_test(all, a_driver_loaded_late_is_noticed_where_that_is_known);
    tcase_add_test(all, a_driver_loaded_before_is_noticed_where_that_is_known);
    tcase_add_test(all, where_nothing_can_be_known_one_looks);
    tcase_add_test(all, who_loads_all_the_time_is_not_kept_up_with);
    tcase_add_loop_test(all, nothing_is_watched_once_a_thread_has_said_so, 0, 50);
    tcase_add_test(all, each_kind_of_memory_is_told);
    tcase_add_test(all, a_pointer_query_is_one_driver_call);
    tcase_add_test(all, a_broken_context_is_never_taken_for_host_memory);
    tcase_add_test(all, a_place_is_a_context);
    tcase_add_test(all, the_callers_context_is_left_as_it_was);
    tcase_add_test(all, memory_without_a_context_is_at_home_on_its_device);
    tcase_add_test(all, a_context_that_is_gone_is_no_error_at_close);
    tcase_add_test(all, a_reset_context_is_another_place);
    tcase_add_test(all, nccl_works_in_primary_contexts_alone);
    tcase_add_test(all, memory_that_cannot_be_pinned_serves_as_well);
    tcase_add_test(all, memory_of_others_is_pinned_once);
    tcase_add_test(all, close_gives_everything_back);
    tcase_add_test(all, scratch_given_back_is_taken_again_without_a_driver_call);
    tcase_add_test(all, unused_scratch_is_bounded);
    tcase_add_test(all, a_failed_allocation_gives_up_unused_scratch_and_tries_again);
    tcase_add_test(all, out_of_memory_is_said_in_words);
    tcase_add_test(all, copies_do_not_wait_and_queues_are_separate);
    tcase_add_test(all, memory_that_is_registered_in_part_is_copied);
    tcase_add_test(all, marks_tell_how_far_a_queue_has_come);
    tcase_add_test(all, our_queues_do_not_wait_for_the_programs_streams);
    tcase_add_test(all, a_reduction_is_one_launch_and_equals_the_hosts);
    tcase_add_test(all, orders_are_kept_to_the_bit);
    tcase_add_test(all, results_past_the_caches_are_the_same);
    tcase_add_test(all, every_kernel_can_be_launched);
    tcase_add_test(all, a_misaligned_buffer_is_refused_before_it_breaks_the_context);
    tcase_add_test(all, gaps_are_packed_on_the_device_as_on_the_host);
    tcase_add_test(all, gaps_are_packed_without_kernels_too);
    tcase_add_test(all, a_vector_is_one_launch_and_no_upload);
    tcase_add_test(all, a_table_is_uploaded_once);
    tcase_add_test(all, unused_tables_are_bounded);
    tcase_add_loop_test(all, strides_and_offsets_are_64_bits_wide, 0, 2);
    tcase_add_test(all, more_than_two_to_the_31_elements);
    tcase_add_test(all, runs_may_be_in_several_allocations);
    tcase_add_test(all, the_host_is_a_place_like_any_other);
    tcase_add_test(all, the_look_says_that_it_is_simulated);
    return all;
}

int main(void)
{
    Suite *suite = suite_create("driver");
    SRunner *runner;
    int failed;

    setenv("TUTTI_SIM_GPUS", "2", 1);
    suite_add_tcase(suite, everything());
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
