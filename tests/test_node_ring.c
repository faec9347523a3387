/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring between two processes (coll/node_ring.c) under every interleaving of its two sides, on a weak memory: the
 * words by which they tell each other how far they are are replaced by ones of a model. A read of such a word may see
 * any value that the reader has not yet seen overwritten, as C11's release and acquire allow, and not only the last;
 * each choice that there is, of who goes on and of what is seen, is tried in turn. All other memory is watched: a byte
 * that one side writes while the other may still read it, or has not been told of, is a race, which the model finds by
 * vector clocks. The model itself is tried, too: without release, or with a ring that frees too early, it must find
 * one.
 *
 * So is how a side that has nothing to do sleeps until it is called (coll/node_park.h), both being readers of what they
 * wait for: a reader that waits for a record, and a writer that waits for room. A sleep has no end of its own here, so
 * a call that is lost leaves somebody asleep for ever. The fence that the kernel has all pass is the model's, too, and
 * without it the model must find such a loss.
 *
 * Each side is a coroutine that stops before each read of a flag. It need not stop before it raises one: the other,
 * reading later, can still see what was there before. An execution is a list of choices; the next one differs in the
 * last choice that had an alternative. */
#include <check.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define TT_NODE_FLAG_H /* instead of coll/node_flag.h */
#include <stdint.h>
typedef uint32_t tt_flag;
static uint32_t tt_flag_read(tt_flag *flag);
static void tt_flag_raise(tt_flag *flag, uint32_t value);
static uint32_t tt_flag_glance(tt_flag *flag);
static void tt_flag_count(tt_flag *flag, int more);
static void tt_flag_fence_all(void);
#include "coll/node_park.h"
#include "coll/node_ring.c"

/* Check writes a note for each assertion that holds, which takes longer than an execution. */
static void insist(bool holds)
{
    if (!holds)
        ck_abort();
}

/* ---- choices ---- */

enum { MOST_CHOICES = 200 };

static struct {
    int n, used;
    struct {
        int taken, of;
    } at[MOST_CHOICES];
} choices;

static int choose(int of)
{
    const int i = choices.used++;

    insist(i < MOST_CHOICES);
    if (i == choices.n)
        choices.at[choices.n++].taken = 0;
    choices.at[i].of = of;
    return choices.at[i].taken;
}

/* False: all have been tried. */
static bool next_execution(void)
{
    choices.n = choices.used;
    while (choices.n > 0 && choices.at[choices.n - 1].taken == choices.at[choices.n - 1].of - 1)
        choices.n--;
    if (choices.n > 0)
        choices.at[choices.n - 1].taken++;
    choices.used = 0;
    return choices.n > 0;
}

/* ---- weak memory ---- */

enum { WRITER, READER, SIDES };
enum { MOST_FLAGS = 12, MOST_STORES = 32, LINES = 12 };

struct clock {
    int of[SIDES];
};

static struct {
    bool explores; /* else there is one side at a time, and no weakness */
    bool releases; /* as it should */
    bool sleeps, fences;
    tt_flag *until[SIDES]; /* asleep, until this is no longer at */
    uint32_t at[SIDES];
    int lost; /* wakes */
    int side;
    bool started[SIDES], ended[SIDES];
    jmp_buf stopped[SIDES], scheduler;
    struct clock now[SIDES];
    int races;
} model;

/* A flag, and all values that it ever had. */
static struct flag {
    tt_flag *flag;
    int nstores, seen[SIDES];
    struct {
        uint32_t value;
        int side;
        struct clock when;
    } stores[MOST_STORES];
} flags[MOST_FLAGS];

static struct flag *flag_of(tt_flag *at)
{
    struct flag *f = flags;

    while (f->flag && f->flag != at)
        f++;
    insist(f < flags + MOST_FLAGS);
    if (!f->flag) {
        f->flag = at;
        f->nstores = 1; /* the 0 that was there */
    }
    return f;
}

static bool knows(const struct clock *c, int side, int time)
{
    return c->of[side] >= time;
}

static void learn(struct clock *c, const struct clock *from)
{
    for (int i = 0; i < SIDES; i++)
        if (c->of[i] < from->of[i])
            c->of[i] = from->of[i];
}

/* Before a read. */
static void stop_here(void)
{
    if (model.explores && !_setjmp(model.stopped[model.side]))
        _longjmp(model.scheduler, 1);
}

/* Which of its values is seen. */
static int see(struct flag *f)
{
    int oldest, i;

    stop_here();
    oldest = f->seen[model.side];
    for (i = oldest + 1; i < f->nstores; i++)
        if (knows(&model.now[model.side], f->stores[i].side, f->stores[i].when.of[f->stores[i].side]))
            oldest = i;
    i = model.explores ? f->nstores - 1 - choose(f->nstores - oldest) : f->nstores - 1;
    f->seen[model.side] = i;
    return i;
}

static uint32_t tt_flag_read(tt_flag *at)
{
    struct flag *f = flag_of(at);
    const int i = see(f);

    if (model.releases && i > 0)
        learn(&model.now[model.side], &f->stores[i].when);
    return f->stores[i].value;
}

static uint32_t tt_flag_glance(tt_flag *at)
{
    struct flag *f = flag_of(at);

    return f->stores[see(f)].value;
}

static void tt_flag_raise(tt_flag *at, uint32_t value)
{
    struct flag *f = flag_of(at);

    insist(f->nstores < MOST_STORES);
    f->stores[f->nstores].value = value;
    f->stores[f->nstores].side = model.side;
    f->stores[f->nstores].when = model.now[model.side];
    f->seen[model.side] = f->nstores++;
    model.now[model.side].of[model.side]++; /* what it does from now on, that does not tell */
}

/* Each word that is counted is changed by one side. */
static void tt_flag_count(tt_flag *at, int more)
{
    struct flag *f = flag_of(at);

    tt_flag_raise(at, f->stores[f->nstores - 1].value + (uint32_t)more);
}

/* What is stored by now is seen by all from now on. */
static void tt_flag_fence_all(void)
{
    stop_here();
    for (struct flag *f = flags; model.fences && f->flag; f++)
        for (int side = 0; side < SIDES; side++)
            f->seen[side] = f->nstores - 1;
}

/* ---- sleeping ---- */

static struct tt_parking parkings[SIDES];

void tt_park_wake(struct tt_parking *parking)
{
    tt_flag_count(&parking->wakes, 1);
}

/* The kernel looks at what is there, and not at what may be seen. */
void tt_park_wait(struct tt_parking *parking, uint32_t wakes, long ns)
{
    (void)ns;
    model.until[model.side] = &parking->wakes;
    model.at[model.side] = wakes;
    stop_here();
    model.until[model.side] = NULL;
}

static bool can_go_on(int side)
{
    const struct flag *f = model.until[side] ? flag_of(model.until[side]) : NULL;

    return !model.ended[side] && (!f || f->stores[f->nstores - 1].value != model.at[side]);
}

/* ---- memory that is no flag ---- */

/* The last use of each line, records and bytes alike, by either side. The reader writes, too, to bytes that he has
 * read. */
static struct {
    int used[SIDES];
} lines[LINES];

static char memory[LINES * TT_LINE] __attribute__((aligned(TT_LINE)));

static void use(const void *from, size_t n)
{
    const size_t first = (size_t)((const char *)from - memory) / TT_LINE;
    const int other = 1 - model.side;

    for (size_t i = first; n > 0 && i <= first + (n - 1) / TT_LINE; i++) {
        model.races += !knows(&model.now[model.side], other, lines[i].used[other]);
        lines[i].used[model.side] = model.now[model.side].of[model.side];
    }
}

/* ---- the two sides ---- */

enum { BEFORE = 3, PASSED_BEFORE = 1, MESSAGES = 6, NEWS = 2, TRIES = 2 };
static int last = MESSAGES; /* of them, that there are */

static struct tt_ring out, in;
static uint64_t ends[4];
static int written, got;
static bool frees_early;

/* The ring of bytes has six lines. No bytes: it is the records that run out. */
enum { MIXES = 4 };
static int mix;

static size_t length_of(int message)
{
    static const int in_lines[MIXES][3] = {{0, 0, 0}, {1, 0, 2}, {2, 0, 3}, {3, 1, 2}};

    return (size_t)in_lines[mix][message % 3] * TT_LINE;
}

static void rouse(int side)
{
    if (model.sleeps && model.explores)
        tt_unpark(&parkings[side]);
}

static bool write_one(void)
{
    const size_t n = length_of(written);
    char *bytes;
    struct tt_record *r = tt_ring_claim(&out, n, &bytes);

    if (!r)
        return false;
    use(r, TT_LINE);
    use(bytes, n);
    r->length = (uint32_t)n;
    r->at = tt_ring_offset(&out, bytes);
    r->tag = written;
    memset(bytes, written + 1, n);
    written++;
    tt_ring_publish(&out);
    rouse(READER);
    return true;
}

static bool read_one(void)
{
    struct tt_record *r = tt_ring_look(&in);

    if (!r)
        return false;
    if (frees_early)
        tt_ring_pass(&in);
    use(r, TT_LINE);
    use(in.bytes + r->at, r->length);
    if (!frees_early && model.releases) {
        insist(r->tag == got);
        insist(r->length == length_of(got));
        for (size_t i = 0; i < r->length; i++)
            insist(in.bytes[r->at + i] == got + 1);
    }
    tt_ring_take_lines(in.bytes + r->at, r->length);
    got++;
    if (!frees_early)
        tt_ring_pass(&in);
    rouse(WRITER);
    return true;
}

static bool move(int side)
{
    return side == WRITER ? write_one() : read_one();
}

/* Until it is called, if there is nothing to do. */
static void rest(int side)
{
    const uint32_t wakes = tt_park_enter(&parkings[side]);

    if (!move(side))
        tt_park_wait(&parkings[side], wakes, 0);
    tt_park_leave(&parkings[side]);
}

static void work(void)
{
    const int side = model.side, *count = side == WRITER ? &written : &got;

    for (int tries = 0; tries < TRIES && *count < last;) {
        const bool moved = move(side);

        tries += !moved && !model.sleeps;
        if (!moved && model.sleeps)
            rest(side);
    }
    model.ended[side] = true;
    _longjmp(model.scheduler, 1);
}

/* One side at a time, each as long as it gets on. */
static void alone(int side, bool (*one)(void), int until, const int *count)
{
    model.explores = false;
    model.side = side;
    while (*count < until && one())
        ;
}

/* A ring that is part full, so that both ends of it are met soon. */
static void prepare(void)
{
    memset(memory, 0, sizeof memory);
    memset(flags, 0, sizeof flags);
    memset(lines, 0, sizeof lines);
    memset(model.now, 0, sizeof model.now);
    written = got = 0;
    insist(tt_ring_open(&out, memory, sizeof memory) && tt_ring_open(&in, memory, sizeof memory));
    insist(out.nrecords == sizeof ends / sizeof *ends);
    out.ends = ends;
    alone(WRITER, write_one, BEFORE, &written);
    alone(READER, read_one, PASSED_BEFORE, &got);
}

/* On a stack of its own. Contexts are for that alone: to swap them takes two system calls. */
static void start(int side)
{
    static char stacks[SIDES][64 << 10];
    ucontext_t context;

    model.started[side] = true;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks[side];
    context.uc_stack.ss_size = sizeof stacks[side];
    makecontext(&context, work, 0);
    setcontext(&context);
}

static void let(int side)
{
    model.side = side;
    if (_setjmp(model.scheduler))
        return;
    if (model.started[side])
        _longjmp(model.stopped[side], 1);
    start(side);
}

static void execute(void)
{
    prepare();
    model.explores = true;
    for (int i = 0; i < SIDES; i++) {
        model.started[i] = model.ended[i] = false;
        model.until[i] = NULL;
    }
    while (can_go_on(WRITER) || can_go_on(READER))
        let(!can_go_on(WRITER) ? READER : !can_go_on(READER) ? WRITER : choose(SIDES));
    model.lost += !model.ended[WRITER] || !model.ended[READER];
}

/* What is left when both have given up gets through once they try again. */
static void finish(void)
{
    for (int i = 0; i < 2 * MESSAGES; i++) {
        alone(WRITER, write_one, MESSAGES, &written);
        alone(READER, read_one, MESSAGES, &got);
    }
    insist(got == MESSAGES);
}

/* How many executions there are, or were until a race was found that is to be. */
static int explore(void)
{
    int n = 0;

    memset(&choices, 0, sizeof choices);
    model.races = model.lost = 0;
    do {
        execute();
        n++;
        if (model.releases && !frees_early)
            finish();
    } while (!(model.races && (frees_early || !model.releases)) && !model.lost && next_execution());
    return n;
}

START_TEST(every_interleaving_brings_all_in_order_without_a_race)
{
    int n;

    model.releases = true;
    frees_early = false;
    for (mix = 0; mix < MIXES; mix++) {
        n = explore();
        ck_assert_int_eq(model.races, 0);
        ck_assert_int_gt(n, 1000);
    }
}
END_TEST

START_TEST(without_release_there_is_a_race)
{
    model.releases = false;
    frees_early = false;
    explore();
    ck_assert_int_gt(model.races, 0);
}
END_TEST

START_TEST(who_frees_before_reading_makes_a_race)
{
    model.releases = true;
    frees_early = true;
    explore();
    ck_assert_int_gt(model.races, 0);
}
END_TEST

/* Fewer messages: there is more to be tried. Records run out, and with them room. */
static int explore_sleep(bool fences)
{
    int n;

    model.releases = model.sleeps = true;
    model.fences = fences;
    frees_early = false;
    mix = 0;
    last = BEFORE + NEWS;
    n = explore();
    model.sleeps = false;
    last = MESSAGES;
    return n;
}

START_TEST(every_interleaving_wakes_who_sleeps)
{
    ck_assert_int_gt(explore_sleep(true), 1000);
    ck_assert_int_eq(model.races, 0);
    ck_assert_int_eq(model.lost, 0);
}
END_TEST

START_TEST(without_the_fence_a_call_is_lost)
{
    explore_sleep(false);
    ck_assert_int_gt(model.lost, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("node_ring");
    TCase *all = tcase_create("all");
    SRunner *r = srunner_create(s);
    int failed;

    if (getenv("TEST_SANITIZED"))
        return 77; /* ASan does not know the stacks that the two sides have */
    tcase_set_timeout(all, 300);
    tcase_add_test(all, every_interleaving_brings_all_in_order_without_a_race);
    tcase_add_test(all, without_release_there_is_a_race);
    tcase_add_test(all, who_frees_before_reading_makes_a_race);
    tcase_add_test(all, every_interleaving_wakes_who_sleeps);
    tcase_add_test(all, without_the_fence_a_call_is_lost);
    suite_add_tcase(s, all);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
