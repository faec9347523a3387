/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels whose flights are on GPUs: both ends in one process, over the simulated device. Whatever memory the two
 * have, and whoever comes first, the bytes arrive; between GPUs none of them passes through the host; and what fails
 * spoils its own message and no other. */
#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "coll/config.h"
#include "coll/node_channel.h"
#include "cuda/dev.h"
#include "tests/simcuda/loaded.h"

enum { PIPE = 256 << 10, MOST = 3 << 20, QUEUE = 0 };

void tt_log(enum tt_log_level level, const char *format, ...)
{
    (void)level;
    (void)format;
}

/* ---- two ends ---- */

static struct tt_place *gpu;
static struct tt_channel ends[2]; /* 0 sends, 1 receives */

static void begin(size_t pipe)
{
    char *there, *back;

    use_device();
    gpu = tt_place_here();
    ck_assert_ptr_nonnull(gpu);
    ck_assert_int_eq(posix_memalign((void **)&there, 4096, pipe) | posix_memalign((void **)&back, 4096, pipe), 0);
    memset(there, 0, pipe);
    memset(back, 0, pipe);
    ck_assert_int_eq(tt_channel_open(&ends[0], there, back, pipe), 0);
    ck_assert_int_eq(tt_channel_open(&ends[1], back, there, pipe), 0);
}

enum kind { HOST, DEVICE, POOL, MANAGED, NKINDS };

static char *take(enum kind kind, size_t bytes)
{
    CUdeviceptr at = 0;

    if (kind == HOST)
        return malloc(bytes + 1);
    if (kind == DEVICE)
        OK(cu.cuMemAlloc(&at, bytes + 1));
    else if (kind == POOL)
        OK(cu.cuMemAllocAsync(&at, bytes + 1, NULL));
    else
        OK(cu.cuMemAllocManaged(&at, bytes + 1, CU_MEM_ATTACH_GLOBAL));
    return (char *)(uintptr_t)at;
}

static void give(enum kind kind, char *at)
{
    if (kind == HOST)
        free(at);
    else
        OK(cu.cuMemFree((uintptr_t)at));
}

static char *look(const char *at)
{
    char *there = cu.alias(at);

    return there ? there : (char *)at;
}

static struct tt_flight flight(enum kind kind, bool incoming, int tag, char *buf, size_t bytes)
{
    return (struct tt_flight){.buf = buf,
                              .bytes = bytes,
                              .incoming = incoming,
                              .tag = tag,
                              .context = 77,
                              .place = kind == HOST ? NULL : gpu,
                              .queue = QUEUE};
}

static char pattern(int salt, size_t i)
{
    return (char)((i * 31 + (size_t)salt * 17) % 251);
}

static void fill(char *at, size_t bytes, int salt)
{
    char *there = look(at);

    for (size_t i = 0; i < bytes; i++)
        there[i] = pattern(salt, i);
}

static bool holds(const char *at, size_t bytes, int salt)
{
    const char *there = look(at);
    size_t i = 0;

    while (i < bytes && there[i] == pattern(salt, i))
        i++;
    return i == bytes;
}

static void poll_both(void)
{
    tt_channel_poll(&ends[0]);
    tt_channel_poll(&ends[1]);
}

static void finish(struct tt_flight *flights, int n)
{
    for (int i = 0; i < n; i++)
        while (!flights[i].over)
            poll_both();
}

/* ---- the tests ---- */

static const size_t sizes[] = {0, 1, 8, 40, 41, 5000, 70000, MOST};
enum { NSIZES = sizeof sizes / sizeof *sizes };

/* late: the message comes before it is asked for; and something behind it is waited for, so that it must make way. */
static void try(enum kind from, enum kind to, size_t bytes, bool late)
{
    char *a = take(from, bytes), *b = take(to, bytes), first = 0, second = 5;
    struct tt_flight f[] = {flight(from, false, 1, a, bytes), flight(HOST, false, 2, &second, 1),
                            flight(to, true, 1, b, bytes), flight(HOST, true, 2, &first, 1)};

    fill(a, bytes, 3);
    tt_channel_post(&ends[0], &f[0]);
    tt_channel_post(&ends[0], &f[1]);
    if (late) {
        tt_channel_post(&ends[1], &f[3]);
        finish(&f[3], 1);
        tt_channel_post(&ends[1], &f[2]);
    } else {
        tt_channel_post(&ends[1], &f[2]);
        tt_channel_post(&ends[1], &f[3]);
    }
    finish(f, 4);
    ck_assert_uint_eq(f[2].arrived, bytes);
    ck_assert_msg(holds(b, bytes, 3), "%zu bytes from kind %d to kind %d, %s", bytes, from, to,
                  late ? "late" : "awaited");
    ck_assert(!f[0].failed && !f[2].failed);
    ck_assert_int_eq(first, 5);
    ck_assert_uint_eq(ends[0].expected | ends[1].expected, 0);
    give(from, a);
    give(to, b);
}

START_TEST(bytes_arrive_whatever_the_memory)
{
    begin(_i ? 4096 : PIPE);
    for (int from = 0; from < NKINDS; from++)
        for (int to = 0; to < NKINDS; to++)
            for (int i = 0; i < (_i ? NSIZES - 1 : NSIZES); i++) {
                try((enum kind)from, (enum kind)to, sizes[i], false);
                try((enum kind)from, (enum kind)to, sizes[i], true);
            }
}
END_TEST

START_TEST(between_gpus_nothing_passes_through_the_host)
{
    begin(PIPE);
    char *a = take(DEVICE, MOST), *b = take(DEVICE, MOST);
    struct tt_flight f[] = {flight(DEVICE, false, 1, a, MOST), flight(DEVICE, true, 1, b, MOST)};
    fill(a, MOST, 1);
    cu.reset();
    tt_channel_post(&ends[0], &f[0]);
    tt_channel_post(&ends[1], &f[1]);
    finish(f, 2);
    const struct simcuda_counters c = count();
    ck_assert(holds(b, MOST, 1));
    ck_assert_uint_eq(c.copies[SIMCUDA_D2D], 1);
    ck_assert_uint_eq(c.bytes[SIMCUDA_D2H] + c.bytes[SIMCUDA_H2D], 0);
    ck_assert_uint_eq(c.pinned_allocs, 0);
    ck_assert_uint_eq(c.syncs, 0);
}
END_TEST

/* Each byte goes down once and up once, asynchronously, through memory that is pinned. */
START_TEST(without_names_bytes_pass_through_pinned_memory)
{
    begin(PIPE);
    char *a = take(POOL, MOST), *b = take(DEVICE, MOST);
    struct tt_flight f[] = {flight(DEVICE, false, 1, a, MOST), flight(DEVICE, true, 1, b, MOST)};
    fill(a, MOST, 1);
    cu.reset();
    tt_channel_post(&ends[1], &f[1]);
    tt_channel_post(&ends[0], &f[0]);
    finish(f, 2);
    const struct simcuda_counters c = count();
    ck_assert(holds(b, MOST, 1));
    ck_assert_uint_eq(c.bytes[SIMCUDA_D2H], MOST);
    ck_assert_uint_eq(c.bytes[SIMCUDA_H2D], MOST);
    ck_assert_uint_eq(c.pinned_allocs, 1); /* the same memory is both ends' here */
    ck_assert_uint_eq(c.syncs, 0);
}
END_TEST

/* The sender is not let go before what it lent has been released. */
START_TEST(what_is_lent_stays_with_its_sender)
{
    begin(PIPE);
    char *a = take(DEVICE, 1000), *b = take(DEVICE, 1000);
    struct tt_flight f[] = {flight(DEVICE, false, 1, a, 1000), flight(DEVICE, true, 1, b, 1000)};

    f[1].lends = true;
    tt_channel_post(&ends[0], &f[0]);
    tt_channel_post(&ends[1], &f[1]);
    finish(&f[1], 1);
    ck_assert_ptr_eq(f[1].at, a);
    ck_assert_uint_eq(f[1].arrived, 1000);
    for (int i = 0; i < 100; i++)
        poll_both();
    ck_assert(!f[0].over);
    tt_channel_release(&ends[1], &f[1]);
    finish(f, 2);
    ck_assert_ptr_null(f[1].at);
    ck_assert_uint_eq(count().copies[SIMCUDA_D2D], 0);
    ck_assert_uint_eq(ends[0].expected | ends[1].expected, 0);
}
END_TEST

/* The sender's context goes when its bytes have been read, or are to be: whoever read them cannot know which. */
START_TEST(what_did_not_stand_is_spoilt)
{
    CUcontext first, second;
    CUdeviceptr there;
    struct tt_mem mem;

    begin(PIPE);
    char *a = take(DEVICE, 1000);
    OK(cu.cuCtxGetCurrent(&first));
    OK(cu.cuDevicePrimaryCtxRetain(&second, 1));
    OK(cu.cuCtxSetCurrent(second));
    OK(cu.cuMemAlloc(&there, 1000));
    ck_assert_int_eq(tt_mem_where((void *)(uintptr_t)there, &mem), 0);
    struct tt_flight f[] = {flight(DEVICE, false, 1, a, 1000), flight(DEVICE, true, 1, (char *)(uintptr_t)there, 1000)};
    f[1].place = tt_place_of(&mem);
    f[1].lends = _i == 1;
    tt_channel_post(&ends[0], &f[0]);
    tt_channel_post(&ends[1], &f[1]);
    if (_i < 2)
        while (!(_i ? f[1].over : ends[1].confirming.first != NULL))
            tt_channel_poll(&ends[1]);
    OK(cu.cuDevicePrimaryCtxReset(0));
    if (_i == 1)
        tt_channel_release(&ends[1], &f[1]);
    finish(f, 2);
    ck_assert(f[1].spoilt || f[1].failed);
    ck_assert_uint_eq(ends[0].expected | ends[1].expected, 0);
}
END_TEST

/* To a peer whose memory is the host's, or who cannot open ours; until one day it can. */
START_TEST(offers_end_where_nobody_takes_them)
{
    uint32_t offers;

    begin(PIPE);
    for (int i = 0; i < 100; i++)
        try(DEVICE, HOST, 5000, false);
    offers = ends[0].offers;
    ck_assert_uint_le(offers, 8 + 2);
    for (int i = 0; i < 65; i++)
        try(DEVICE, DEVICE, 5000, false);
    cu.reset();
    offers = ends[0].offers;
    for (int i = 0; i < 10; i++)
        try(DEVICE, DEVICE, 5000, false);
    ck_assert_uint_eq(ends[0].offers, offers + 10);
    ck_assert_uint_eq(count().bytes[SIMCUDA_D2H], 0);
}
END_TEST

/* Of many with one tag each gets its own, in order, whichever way they come. */
START_TEST(equal_tags_arrive_in_order)
{
    enum { MANY = 200 };
    static struct tt_flight out[MANY], in[MANY];
    char *a[MANY], *b[MANY];

    begin(PIPE);
    srand(1);
    for (int i = 0; i < MANY; i++) {
        const enum kind from = (enum kind)(rand() % NKINDS), to = (enum kind)(rand() % NKINDS);
        const size_t bytes = (size_t)rand() % 9000;

        a[i] = take(from, bytes);
        b[i] = take(to, bytes);
        fill(a[i], bytes, i);
        out[i] = flight(from, false, 9, a[i], bytes);
        in[i] = flight(to, true, 9, b[i], bytes);
    }
    for (int i = 0, j = 0; i < MANY || j < MANY;) {
        if (i < MANY && rand() % 2)
            tt_channel_post(&ends[0], &out[i++]);
        if (j < MANY && rand() % 2)
            tt_channel_post(&ends[1], &in[j++]);
        if (rand() % 4 == 0)
            poll_both();
    }
    finish(out, MANY);
    finish(in, MANY);
    for (int i = 0; i < MANY; i++) {
        ck_assert_uint_eq(in[i].arrived, out[i].bytes);
        ck_assert_msg(holds(b[i], in[i].arrived, i), "message %d", i);
    }
}
END_TEST

/* What is longer or shorter than it should be arrives as such, and nothing is written behind the buffer. */
START_TEST(lengths_may_differ)
{
    begin(PIPE);
    for (int from = 0; from < NKINDS; from++)
        for (int to = 0; to < NKINDS; to++) {
            char *a = take((enum kind)from, 6000), *b = take((enum kind)to, 6000);
            struct tt_flight f[] = {flight((enum kind)from, false, 1, a, 6000), flight((enum kind)to, true, 1, b, 4000),
                                    flight((enum kind)from, false, 1, a, 100),  flight((enum kind)to, true, 1, b, 4000),
                                    flight((enum kind)from, false, 1, a, 6000), flight(HOST, true, 1, NULL, 0)};

            fill(a, 6000, 1);
            fill(b, 6000, 2);
            for (int i = 0; i < 6; i++)
                tt_channel_post(&ends[i % 2], &f[i]);
            finish(f, 6);
            ck_assert_uint_eq(f[1].arrived, 6000);
            ck_assert_uint_eq(f[3].arrived, 100);
            ck_assert(holds(b, 100, 1));
            ck_assert_int_eq(look(b)[4500], pattern(2, 4500));
            give((enum kind)from, a);
            give((enum kind)to, b);
        }
}
END_TEST

/* A broken context spoils what passes through it; all flights end, and other messages are whole. */
START_TEST(a_broken_context_spoils_its_own_message)
{
    char here[100], there[100];

    begin(PIPE);
    char *a = take(_i ? POOL : DEVICE, MOST), *b = take(_i == 2 ? HOST : DEVICE, MOST);
    struct tt_flight f[] = {flight(DEVICE, false, 1, a, MOST), flight(HOST, false, 2, here, 100),
                            flight(_i == 2 ? HOST : DEVICE, true, 1, b, MOST), flight(HOST, true, 2, there, 100)};

    fill(here, 100, 4);
    cu.inject("sticky:after=2");
    if (_i == 0)
        cu.inject("sticky:after=1");
    for (int i = 0; i < 4; i++)
        tt_channel_post(&ends[i / 2], &f[i]);
    finish(f, 4);
    ck_assert(f[2].failed || f[2].arrived != MOST);
    ck_assert(holds(there, 100, 4));
    ck_assert_uint_eq(f[3].arrived, 100);
    if (_i == 2)
        give(HOST, b);
}
END_TEST

START_TEST(a_dead_peer_ends_all_flights)
{
    begin(PIPE);
    char *a = take(DEVICE, MOST), *b = take(DEVICE, MOST), *c = take(POOL, MOST);
    struct tt_flight f[] = {flight(DEVICE, false, 1, a, MOST), flight(DEVICE, true, 1, b, MOST),
                            flight(POOL, false, 2, c, MOST), flight(HOST, false, 3, a, 8)};

    for (int i = 0; i < 4; i++)
        tt_channel_post(&ends[0], &f[i]);
    tt_channel_poll(&ends[0]);
    tt_channel_break(&ends[0]);
    for (int i = 0; i < 4; i++)
        ck_assert(f[i].over);
    tt_channel_poll(&ends[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node_gpu");
    TCase *tcase = tcase_create("channels of GPUs");
    SRunner *runner;
    int failed;

    setenv("TUTTI_SIM_GPUS", "2", 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, bytes_arrive_whatever_the_memory, 0, 2);
    tcase_add_test(tcase, between_gpus_nothing_passes_through_the_host);
    tcase_add_test(tcase, without_names_bytes_pass_through_pinned_memory);
    tcase_add_test(tcase, what_is_lent_stays_with_its_sender);
    tcase_add_loop_test(tcase, what_did_not_stand_is_spoilt, 0, 3);
    tcase_add_test(tcase, offers_end_where_nobody_takes_them);
    tcase_add_test(tcase, equal_tags_arrive_in_order);
    tcase_add_test(tcase, lengths_may_differ);
    tcase_add_loop_test(tcase, a_broken_context_spoils_its_own_message, 0, 3);
    tcase_add_test(tcase, a_dead_peer_ends_all_flights);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
