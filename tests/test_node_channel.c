/* SPDX-License-Identifier: BSD-3-Clause */
/* Two channels back to back (coll/node_channel.c): that every message comes to the receive it is for, whole, in
 * whatever order either side posts and polls, and whether or not it is waited for. All orders of a few posts and polls
 * are tried in one thread, then many messages between two. (The flags under the messages are test_node_ring.c's.) */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/config.h"
#include "coll/node_channel.h"
#include "coll/node_offer.h"
#include "cuda/cells.h"
#include "cuda/stream.h"

void tt_log(enum tt_log_level level, const char *format, ...)
{
    (void)level;
    (void)format;
}

enum { A, B, SIDES, PIECE = 16 << 10, LARGE = 256 << 10, MOST = 1000, LONGEST = 20 << 10 };

static char rings[SIDES][LARGE] __attribute__((aligned(TT_LINE)));
static struct tt_channel sides[SIDES];

static void open_with(size_t ring)
{
    for (int side = 0; side < SIDES; side++)
        memset(rings[side], 0, ring);
    ck_assert_int_eq(tt_channel_open(&sides[A], rings[A], rings[B], ring), 0);
    ck_assert_int_eq(tt_channel_open(&sides[B], rings[B], rings[A], ring), 0);
}

static void open_sides(void)
{
    open_with(PIECE);
}

static void close_sides(void)
{
    tt_channel_close(&sides[A]);
    tt_channel_close(&sides[B]);
}

/* A message's flight at one end, and its bytes. */
struct end {
    struct tt_flight f;
    char *bytes;
};

static char byte_of(int message, size_t i)
{
    return (char)(message * 31 + (int)(i % 251));
}

static void make(struct end *e, int message, bool incoming, size_t bytes, size_t room)
{
    e->bytes = malloc(room + 1);
    for (size_t i = 0; i < room; i++)
        e->bytes[i] = incoming ? -1 : byte_of(message, i);
    e->f = (struct tt_flight){.buf = e->bytes, .bytes = bytes, .incoming = incoming, .tag = message, .context = 7};
    e->f.touched = message % 2 ? TT_STREAM_CALL : 0;
}

static bool is_right(const struct end *e, int message, size_t sent)
{
    const size_t kept = sent < e->f.bytes ? sent : e->f.bytes;

    if (!e->f.over || e->f.arrived != sent)
        return false;
    for (size_t i = 0; i < e->f.bytes; i++)
        if (e->bytes[i] != (i < kept ? byte_of(message, i) : -1))
            return false;
    return true;
}

/* ---- all orders ---- */

/* What a side does, in its order: posts a send or a receive of message `of`. */
struct act {
    bool receives;
    int of;
};
enum { ACTS = 4, MESSAGES = 4, POLLS = 2 };

struct script {
    size_t sent[MESSAGES], due[MESSAGES];
    int tag[MESSAGES];
    struct act acts[SIDES][ACTS];
};

static const struct script scripts[] = {
    /* an exchange of long ones, with a short one behind each, received in the other order */
    {.sent = {LONGEST, 8, LONGEST, 8},
     .due = {LONGEST, 8, LONGEST, 8},
     .tag = {1, 2, 1, 2},
     .acts = {{{false, 0}, {false, 1}, {true, 3}, {true, 2}}, {{false, 2}, {false, 3}, {true, 1}, {true, 0}}}},
    /* two of one tag, in order; nothing where something is due, and more than is due */
    {.sent = {100, 3000, 0, 9000},
     .due = {100, 3000, 500, 40},
     .tag = {1, 1, 1, 2},
     .acts = {{{false, 0}, {false, 1}, {true, 2}, {true, 3}}, {{true, 0}, {true, 1}, {false, 2}, {false, 3}}}},
    /* one way, the last one first */
    {.sent = {9000, 3, 64, 9000},
     .due = {9000, 3, 64, 9000},
     .tag = {1, 2, 3, 4},
     .acts = {{{false, 0}, {false, 1}, {false, 2}, {false, 3}}, {{true, 3}, {true, 2}, {true, 1}, {true, 0}}}}};

struct play {
    const struct script *script;
    struct end out[MESSAGES], in[MESSAGES];
    int done[SIDES], polled[SIDES];
};

static void act(struct play *p, int side)
{
    const struct act *a = &p->script->acts[side][p->done[side]++];
    struct end *e = a->receives ? &p->in[a->of] : &p->out[a->of];
    const size_t bytes = a->receives ? p->script->due[a->of] : p->script->sent[a->of];

    make(e, a->of, a->receives, bytes, bytes);
    e->f.tag = p->script->tag[a->of];
    tt_channel_post(&sides[side], &e->f);
}

/* The choice-th of what can be done next: 0 and 1 the next act of a side, 2 and 3 a poll. False: it cannot. */
static bool step(struct play *p, int choice)
{
    const int side = choice % SIDES;

    if (choice < SIDES) {
        if (p->done[side] == ACTS)
            return false;
        p->polled[side] = 0;
        act(p, side);
        return true;
    }
    if (p->done[side] == 0 || p->polled[side]++ >= POLLS)
        return false; /* enough for nothing to change any more */
    tt_channel_poll(&sides[side]);
    return true;
}

static void finish(struct play *p)
{
    for (int side = 0; side < SIDES; side++)
        while (p->done[side] < ACTS)
            act(p, side);
    for (int i = 0; i < 200; i++)
        tt_channel_poll(&sides[i % SIDES]);
    for (int m = 0; m < MESSAGES; m++) {
        if (!p->out[m].f.over || !is_right(&p->in[m], m, p->script->sent[m]))
            ck_abort_msg("message %d of script %d has not come, or not as it was sent", m, (int)(p->script - scripts));
        free(p->out[m].bytes);
        free(p->in[m].bytes);
    }
}

/* What either may do with the other's memory: nothing; all; and what only one of them, or only the sender, believes. */
enum sight { BLIND, BOTH, ONE, BELIEVED, SIGHTS };

static void see(enum sight sight)
{
    const int pid = (int)getpid();

    if (sight == BLIND)
        return;
    tt_channel_see(&sides[A], sight == BOTH ? pid : 0, sight != BLIND);
    tt_channel_see(&sides[B], sight == BELIEVED ? 0 : pid, sight == BOTH);
}

/* An order is a number, a choice in each digit. */
static void play(const struct script *script, enum sight sight, unsigned order, int length)
{
    struct play p = {.script = script};

    open_sides();
    see(sight);
    for (int i = 0; i < length; i++, order /= 2 * SIDES)
        if (!step(&p, (int)(order % (2 * SIDES))))
            break;
    finish(&p);
    if (sides[A].expected || sides[B].expected || sides[A].strays || sides[B].strays)
        ck_abort_msg("something is left");
    close_sides();
}

START_TEST(any_order_of_posts_and_polls_will_do)
{
    enum { LENGTH = 6 };

    for (unsigned order = 0; order < 1u << (2 * LENGTH); order++)
        play(&scripts[_i / SIGHTS], _i % SIGHTS, order, LENGTH);
}
END_TEST

/* ---- what comes is sent on ---- */

enum {
    RECORD = 3000,
    RECORDS = 5000,
    LONG_RECORD = 40000,
    ODD = 4
}; /* bytes of one record, of more, of one that is long */

/* A sends to B, who reduces it, or not, and is to send on what he has then, to A again. Sums are where elements are not
 * aligned. */
struct relay {
    struct end first, at_b, onward, last;
    double *mine;
    char *room;
};

static void make_relay(struct relay *r, size_t bytes, bool reduces)
{
    make(&r->first, 1, false, bytes, bytes);
    make(&r->at_b, 1, true, bytes, bytes);
    make(&r->onward, 2, false, bytes, bytes);
    make(&r->last, 2, true, bytes, bytes);
    r->mine = malloc(bytes);
    r->room = malloc(bytes + ODD);
    for (size_t i = 0; i < bytes / sizeof *r->mine; i++) {
        ((double *)(void *)r->first.bytes)[i] = (double)i;
        r->mine[i] = 2 * (double)i;
    }
    if (reduces)
        r->at_b.f.fold = (struct tt_fold){.cell = tt_cell_find(TT_TYPE_f64, TT_OP_sum),
                                          .dst = r->room + ODD,
                                          .other = (const char *)r->mine,
                                          .left = true};
    r->onward.f.buf = reduces ? r->room + ODD : r->at_b.bytes;
    r->onward.f.channel = &sides[B];
    r->at_b.f.onward = &r->onward.f;
    r->first.f.is_segment = true;
}

static void poll_sides(int times)
{
    for (int i = 0; i < times; i++)
        tt_channel_poll(&sides[i % SIDES]);
}

/* The first one arrives, and the other is posted if it has not gone. Had it? Then A takes what B sent before, if he
 * did. */
static bool run_relay(struct relay *r, struct end *before)
{
    bool gone;

    tt_channel_post(&sides[A], &r->first.f);
    tt_channel_post(&sides[B], &r->at_b.f);
    poll_sides(10);
    ck_assert(r->at_b.f.over && r->at_b.f.arrived == r->first.f.bytes);
    gone = r->onward.f.over;
    if (!gone)
        tt_channel_post(&sides[B], &r->onward.f);
    if (before)
        tt_channel_post(&sides[A], &before->f);
    tt_channel_post(&sides[A], &r->last.f);
    poll_sides(100);
    ck_assert(r->onward.f.over && r->last.f.over);
    return gone;
}

static void check_relay(const struct relay *r, bool reduces)
{
    double x;

    ck_assert_mem_eq(r->last.bytes, r->onward.f.buf, r->last.f.bytes);
    for (size_t i = 0; i < r->last.f.bytes / sizeof x; i++) {
        memcpy(&x, r->last.bytes + i * sizeof x, sizeof x);
        ck_assert(x == (double)i * (reduces ? 3 : 1));
    }
}

static void free_relay(struct relay *r)
{
    free(r->first.bytes);
    free(r->at_b.bytes);
    free(r->onward.bytes);
    free(r->last.bytes);
    free(r->mine);
    free(r->room);
}

/* One in a few is not passed on, so that its reading is timed: the first one, if it counts at once. */
static void warm(void)
{
    struct relay r;

    sides[A].put.lap = 0;
    make_relay(&r, RECORD, false);
    ck_assert(!run_relay(&r, NULL));
    free_relay(&r);
}

/* At once if it came in one record and nothing waits to be sent before it; and it is the same to who gets it. */
START_TEST(what_comes_in_one_record_is_sent_on_at_once)
{
    static const size_t lengths[] = {RECORD, RECORDS, RECORD, LONG_RECORD};
    const bool reduces = _i % 2, several = _i / 2 == 1, busy = _i / 2 == 2, is_long = _i / 2 == 3;
    struct relay r;
    struct end before, there;

    open_with(is_long ? LARGE : PIECE);
    warm();
    make(&before, 3, false, LONGEST, LONGEST);
    make(&there, 3, true, LONGEST, LONGEST);
    make_relay(&r, lengths[_i / 2], reduces);
    if (busy)
        tt_channel_post(&sides[B], &before.f); /* the ring has no room for all of it */
    ck_assert(run_relay(&r, busy ? &there : NULL) == (!several && !busy));
    check_relay(&r, reduces);
    ck_assert(!sides[A].strays && !sides[B].strays && sides[A].expected == 0 && sides[B].expected == 0);
    close_sides();
    free_relay(&r);
    free(before.bytes);
    free(there.bytes);
}
END_TEST

/* What was spoilt by its sender, or is longer than what is due, is not for others. */
START_TEST(what_is_not_as_it_should_be_is_not_sent_on)
{
    const bool spoilt = _i;
    struct relay r;

    open_sides();
    make_relay(&r, RECORD, true);
    r.at_b.f.bytes = r.onward.f.bytes = spoilt ? RECORD : RECORD - TT_LINE;
    tt_channel_post(&sides[A], &r.first.f);
    sides[A].out.records[0].spoilt = spoilt;
    tt_channel_post(&sides[B], &r.at_b.f);
    poll_sides(10);
    ck_assert(r.at_b.f.over && r.at_b.f.arrived == (spoilt ? 0 : RECORD));
    ck_assert(!r.onward.f.over);
    close_sides();
    free_relay(&r);
}
END_TEST

/* ---- without flights ---- */

enum { CONTEXT = 7, AT_ONCE = 100 };

/* Whatever one side does without a flight is to the other like any message, and it stays out of what is under way. */
START_TEST(what_needs_no_flight_meets_what_has_one)
{
    const size_t lengths[] = {0, TT_INLINE, TT_INLINE + 1, 3000};
    char bytes[3000];
    unsigned more;

    for (int i = 0; i < 4; i++) {
        const size_t n = lengths[i];
        struct end sent, got, other;
        const char *there;

        open_sides();
        make(&sent, 1, false, n, n);
        make(&got, 2, true, n, n);
        make(&other, 3, true, 8, 8);
        ck_assert(tt_channel_is_short(&sides[A], n));
        tt_channel_post(&sides[A], &sent.f);
        more = 3;
        ck_assert_ptr_null(
            tt_channel_look(&sides[B], CONTEXT, 2, n, &more)); /* another is there: no use in looking on */
        ck_assert_int_eq(more, 3);
        there = tt_channel_look(&sides[B], CONTEXT, 1, n, &more);
        ck_assert_ptr_nonnull(there);
        ck_assert_mem_eq(there, sent.bytes, n);
        tt_channel_pass(&sides[B]);
        ck_assert_ptr_null(tt_channel_look(&sides[B], CONTEXT, 1, n, &more)); /* nothing is: it has looked so often */
        ck_assert_int_eq(more, 0);
        for (size_t k = 0; k < n; k++)
            bytes[k] = byte_of(2, k);
        ck_assert(tt_channel_send_now(&sides[B], CONTEXT, 2, bytes, n));
        tt_channel_post(&sides[A], &got.f);
        tt_channel_poll(&sides[A]);
        ck_assert(is_right(&got, 2, n));
        tt_channel_post(&sides[A], &other.f); /* of which the next one is not */
        ck_assert(tt_channel_send_now(&sides[B], CONTEXT, 2, bytes, n));
        ck_assert_ptr_null(tt_channel_look(&sides[A], CONTEXT, 2, n, &more));
        close_sides();
        free(sent.bytes);
        free(got.bytes);
        free(other.bytes);
    }
}
END_TEST

/* By every message, and as soon as it has been read, since he may wait for room. */
START_TEST(who_sleeps_is_woken)
{
    struct tt_parking parkings[2] = {{.sleepers = 1}, {.sleepers = 1}};
    const size_t lengths[] = {8, 100, 3000, 100000};
    struct end sent, got;
    unsigned more = 0;
    char bytes[100];

    memset(bytes, 1, sizeof bytes);
    open_sides();
    tt_channel_unpark_at(&sides[A], &parkings[B]);
    tt_channel_unpark_at(&sides[B], &parkings[A]);
    for (int i = 0; i < 4; i++) {
        const uint32_t before[] = {parkings[A].wakes, parkings[B].wakes};

        make(&sent, 1, false, lengths[i], lengths[i]);
        make(&got, 1, true, lengths[i], lengths[i]);
        tt_channel_post(&sides[A], &sent.f);
        ck_assert_uint_gt(parkings[B].wakes, before[B]);
        ck_assert_uint_eq(parkings[A].wakes, before[A]);
        tt_channel_post(&sides[B], &got.f);
        poll_sides(500);
        ck_assert(is_right(&got, 1, lengths[i]));
        ck_assert_uint_gt(parkings[A].wakes, before[A]);
        free(sent.bytes);
        free(got.bytes);
    }
    for (size_t n = 1; n <= sizeof bytes; n += 99) {
        const uint32_t before[] = {parkings[A].wakes, parkings[B].wakes};

        ck_assert(tt_channel_send_now(&sides[A], CONTEXT, 1, bytes, n));
        ck_assert_uint_eq(parkings[B].wakes, before[B] + 1);
        ck_assert_ptr_nonnull(tt_channel_look(&sides[B], CONTEXT, 1, n, &more));
        tt_channel_pass(&sides[B]);
        ck_assert_uint_eq(parkings[A].wakes, before[A] + 1);
    }
    close_sides();
}
END_TEST

/* With or without a flight, whoever reads knows then where the next bytes will be, which he may so have fetched. */
START_TEST(where_the_next_bytes_will_be_is_known)
{
    enum { N = 100 };
    struct end due;
    unsigned more = 0;
    const char *expected;
    char bytes[N] = {0};

    open_sides();
    for (int i = 0; i < 2 * AT_ONCE; i++) {
        const size_t n = i % 3 ? N : TT_INLINE;

        make(&due, 0, true, n, n);
        due.f.context = CONTEXT;
        ck_assert(tt_channel_send_now(&sides[A], CONTEXT, due.f.tag, bytes, n));
        expected = tt_ring_expect(&sides[B].in, n);
        if (n > TT_INLINE && i % 2)
            ck_assert_ptr_eq(tt_channel_look(&sides[B], CONTEXT, due.f.tag, n, &more), expected);
        else if (n > TT_INLINE)
            ck_assert_uint_eq(tt_ring_look(&sides[B].in)->at, tt_ring_offset(&sides[B].in, expected));
        if (n > TT_INLINE && i % 2)
            tt_channel_pass(&sides[B]);
        else
            tt_channel_post(&sides[B], &due.f);
        tt_channel_poll(&sides[B]);
        free(due.bytes);
    }
    close_sides();
}
END_TEST

START_TEST(what_needs_no_flight_does_nothing_where_there_is_no_room)
{
    char byte = 0;
    int sent = 0;
    unsigned more = 0;

    open_sides();
    while (sent < AT_ONCE && tt_channel_send_now(&sides[A], CONTEXT, sent, &byte, 1))
        sent++;
    ck_assert(sent > 0 && sent < AT_ONCE);
    for (int i = 0; i < sent; i++) {
        ck_assert_ptr_nonnull(tt_channel_look(&sides[B], CONTEXT, i, 1, &more));
        tt_channel_pass(&sides[B]);
    }
    ck_assert(tt_channel_send_now(&sides[A], CONTEXT, sent, &byte, 1));
    ck_assert(!tt_channel_is_short(&sides[A], PIECE));
    tt_channel_break(&sides[A]);
    ck_assert(!tt_channel_send_now(&sides[A], CONTEXT, sent, &byte, 1));
    close_sides();
}
END_TEST

/* ---- where bytes lie ---- */

enum { LARGEST = 1 << 20, OUT = 64, ROUNDS = 2000 };
static char ring_memory[LARGEST] __attribute__((aligned(TT_LINE)));

struct laid {
    size_t at, n;
};

static bool is_apart(const struct laid *a, const struct laid *b, size_t apart)
{
    return a->at + a->n + apart <= b->at || b->at + b->n + apart <= a->at;
}

/* The last one that was claimed, among those that have not been read. */
static void check_laid(const struct tt_ring *r, const struct laid *laid, int first, int last)
{
    const struct laid *mine = &laid[last % OUT];

    ck_assert_uint_eq(mine->at % (2 * r->apart + TT_LINE), 0);
    ck_assert(mine->at + mine->n <= r->nbytes);
    for (int i = first; i < last; i++)
        ck_assert(is_apart(mine, &laid[i % OUT], r->apart));
}

/* One record is read: who reads knew where its bytes would be. */
static void read_laid(struct tt_ring *in, const struct laid *laid)
{
    const struct tt_record *r = tt_ring_look(in);

    ck_assert_ptr_nonnull(r);
    ck_assert_uint_eq(tt_ring_offset(in, tt_ring_expect(in, laid->n)), laid->at);
    ck_assert_uint_eq(r->at, laid->at);
    tt_ring_told(in, r);
    tt_ring_pass(in);
}

/* Messages of random lengths; some are read when there is no room. */
static void fill_and_read(size_t size)
{
    struct tt_ring out, in;
    struct tt_record *r;
    struct laid laid[OUT];
    uint64_t ends[OUT];
    int first = 0, last = 0;
    char *bytes;

    ck_assert(tt_ring_open(&out, ring_memory, size) && tt_ring_open(&in, ring_memory, size));
    out.ends = ends;
    for (int round = 0; round < ROUNDS; round++) {
        const size_t room = tt_ring_room(&out, 4), n = 1 + (size_t)rand() % (round % 3 ? room / 16 + 1 : room);

        r = tt_ring_claim(&out, n, &bytes);
        ck_assert(r || last > first); /* an empty one has room */
        if (r) {
            r->length = (uint32_t)n;
            r->at = tt_ring_offset(&out, bytes);
            laid[last % OUT] = (struct laid){r->at, n};
            check_laid(&out, laid, first, last++);
            tt_ring_publish(&out);
        }
        for (int some = r ? 0 : 1 + rand() % (last - first); some > 0; some--, first++)
            read_laid(&in, &laid[first % OUT]);
    }
}

/* At multiples of one step, whatever the length of the ring; and four of the longest fit. */
START_TEST(bytes_of_records_lie_apart)
{
    static const size_t sizes[] = {768, 2 << 10, 4 << 10, 31 << 10, 32 << 10, 100 << 10, 216 << 10, LARGEST};
    const size_t size = sizes[_i];
    struct tt_ring r;
    uint64_t ends[OUT];
    char *bytes;

    memset(ring_memory, 0, size);
    fill_and_read(size);
    memset(ring_memory, 0, size);
    ck_assert(tt_ring_open(&r, ring_memory, size));
    r.ends = ends;
    ck_assert_uint_eq(tt_ring_room(&r, 4) % TT_LINE, 0);
    for (int i = 0; i < 4; i++)
        ck_assert_ptr_nonnull(tt_ring_claim(&r, tt_ring_room(&r, 4), &bytes));
}
END_TEST

/* A rank that has failed sends so. */
START_TEST(nothing_may_be_nowhere)
{
    struct tt_flight sent = {.tag = 1, .context = CONTEXT}, due = {.tag = 1, .context = CONTEXT, .incoming = true};

    open_sides();
    tt_channel_post(&sides[A], &sent);
    tt_channel_post(&sides[B], &due);
    tt_channel_poll(&sides[B]);
    ck_assert(sent.over && due.over && due.arrived == 0);
    close_sides();
}
END_TEST

/* ---- how many records ---- */

static unsigned count_records(size_t n, bool expects, bool is_segment)
{
    struct end sent, due;
    unsigned records;

    open_with(LARGE);
    make(&due, 1, true, n, n);
    make(&sent, 2, false, n, n);
    sent.f.is_segment = is_segment;
    if (expects)
        tt_channel_post(&sides[A], &due.f);
    tt_channel_post(&sides[A], &sent.f);
    for (int i = 0; i < 10; i++)
        tt_channel_poll(&sides[A]);
    ck_assert(sent.f.over);
    records = sides[A].out.next;
    close_sides();
    free(sent.bytes);
    free(due.bytes);
    return records;
}

/* So that the other reads one while the next is written; unless he has something to write as well. */
START_TEST(a_long_message_is_cut_if_the_other_would_wait)
{
    const size_t n = 60 << 10;

    ck_assert_uint_eq(count_records(n, false, false), 2);
    ck_assert_uint_eq(count_records(n, true, false), 1);
    ck_assert_uint_eq(count_records(n, false, true), 1);
    ck_assert_uint_eq(count_records(2 * n, true, false), 2);
}
END_TEST

/* ---- whose lines ---- */

/* Of the bytes of what A sent first: how many lines B has written to. */
static size_t count_taken(size_t n)
{
    const struct tt_record *r = sides[A].out.records;
    size_t taken = 0;

    for (size_t at = 0; at < n; at += TT_LINE)
        taken += sides[A].out.bytes[r->at + at] == 0;
    return taken;
}

/* B reads it, with a flight or without. */
static void read_with(bool flies, size_t n)
{
    struct end got;
    unsigned more = 0;

    make(&got, 1, true, n, n);
    if (flies)
        tt_channel_post(&sides[B], &got.f);
    tt_channel_poll(&sides[B]);
    if (!flies) {
        ck_assert_ptr_nonnull(tt_channel_look(&sides[B], CONTEXT, 1, n, &more));
        tt_channel_pass(&sides[B]);
    }
    ck_assert(got.f.over == flies);
    free(got.bytes);
}

/* Each line is taken of what was stored plainly, as short messages always are; none of what went past the caches. */
START_TEST(lines_that_were_read_are_taken_where_that_pays)
{
    static const size_t lengths[] = {100, TT_PUT_LEAST, 5000, TT_PUT_WHOLE};
    const bool flies = _i % 2;
    const enum tt_stores stores = _i / 2 % 2;
    const size_t n = lengths[_i / 4];
    struct end sent;

    open_with(LARGE);
    for (int size = 0; size < TT_PUT_SIZES; size++)
        sides[A].put.way[size].best = stores;
    make(&sent, 1, false, n, n);
    memset(sent.bytes, 1, n);
    tt_channel_post(&sides[A], &sent.f);
    read_with(flies, n);
    ck_assert_uint_eq(count_taken(n), stores == TT_STORES_PLAIN || n < TT_PUT_LEAST ? (n + TT_LINE - 1) / TT_LINE : 0);
    close_sides();
    free(sent.bytes);
}
END_TEST

/* ---- the end of one ---- */

START_TEST(what_a_dead_one_sent_is_there_and_the_rest_is_over)
{
    struct end sent, got, due, late, cut, part, *const all[] = {&sent, &got, &due, &late, &cut, &part};

    open_sides();
    make(&sent, 1, false, 3000, 3000);
    make(&got, 1, true, 3000, 3000);
    make(&due, 2, true, 10, 10);
    make(&late, 3, true, 10, 10);
    make(&cut, 4, false, LONGEST, LONGEST);
    make(&part, 4, true, LONGEST, LONGEST);
    tt_channel_post(&sides[A], &sent.f);
    tt_channel_post(&sides[A], &cut.f); /* it does not fit, and there it ends */
    tt_channel_post(&sides[B], &due.f);
    tt_channel_post(&sides[B], &part.f);
    tt_channel_break(&sides[B]);
    ck_assert(due.f.over && due.f.arrived == 0);
    ck_assert(part.f.over && part.f.arrived == 0);
    tt_channel_post(&sides[B], &got.f);
    ck_assert(is_right(&got, 1, 3000));
    tt_channel_post(&sides[B], &late.f);
    ck_assert(late.f.over && late.f.arrived == 0);
    ck_assert(due.f.lost && part.f.lost && late.f.lost && !got.f.lost);
    close_sides();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->bytes);
}
END_TEST

/* ---- long messages are read from where they are ---- */

static void poll_both(int times)
{
    for (int i = 0; i < times; i++)
        tt_channel_poll(&sides[i % SIDES]);
}

/* Of so many bytes, where so many are due. How many pass through the rings is what it returns. */
static uint64_t pass(size_t sent, size_t due, enum sight sight)
{
    struct end out, in;
    uint64_t through;

    open_sides();
    see(sight);
    make(&out, 1, false, sent, sent);
    make(&in, 1, true, due, due);
    tt_channel_post(&sides[A], &out.f);
    poll_both(2);
    tt_channel_post(&sides[B], &in.f);
    poll_both(20000); /* a piece each */
    ck_assert(out.f.over && in.f.over && in.f.arrived == sent);
    ck_assert(due < sent || is_right(&in, 1, sent));
    ck_assert(sides[A].expected == 0 && sides[B].expected == 0);
    through = sides[A].out.used;
    close_sides();
    free(out.bytes);
    free(in.bytes);
    return through;
}

START_TEST(no_byte_of_a_long_message_passes_through_the_ring)
{
    const size_t lengths[] = {TT_READ_LEAST, 100001, 5 << 20};

    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(pass(lengths[i], lengths[i], BOTH), 0);
        ck_assert_uint_eq(pass(lengths[i], lengths[i] + 100, BOTH), 0);
        ck_assert_uint_eq(pass(lengths[i], lengths[i] - 100, BOTH), 0); /* nor anywhere: there is no room for it */
        ck_assert_uint_ge(pass(lengths[i], lengths[i], BLIND), lengths[i]);
        ck_assert_uint_ge(pass(lengths[i], lengths[i], BELIEVED), lengths[i]);
    }
    ck_assert_uint_ge(pass(TT_READ_LEAST - 1, TT_READ_LEAST - 1, BOTH), TT_READ_LEAST - 1);
}
END_TEST

/* It is reduced as it is read, not once more, in either order, with other things moving on in between. */
START_TEST(what_is_read_is_reduced_on_its_way)
{
    enum { N = (3 << 20) / 8 + 5 };
    const struct tt_cell *cell = tt_cell_find(TT_TYPE_f64, TT_OP_sum);
    double *theirs = malloc(N * sizeof *theirs), *mine = malloc(N * sizeof *mine), *sum = malloc(N * sizeof *sum);
    struct tt_flight out, in;
    int polls = 0;

    open_sides();
    see(BOTH);
    for (int i = 0; i < N; i++) {
        theirs[i] = i;
        mine[i] = 3 * i + 1;
    }
    out = (struct tt_flight){.buf = theirs, .bytes = N * sizeof *theirs, .context = 7};
    in = (struct tt_flight){.buf = sum, .bytes = N * sizeof *sum, .incoming = true, .context = 7};
    in.fold = (struct tt_fold){.cell = cell, .dst = (char *)mine, .other = (const char *)mine, .left = _i};
    tt_channel_post(&sides[B], &in);
    tt_channel_post(&sides[A], &out);
    while (!in.over && polls++ < 100)
        tt_channel_poll(&sides[B]);
    tt_channel_poll(&sides[A]);
    ck_assert(in.over && in.folded && out.over && in.arrived == out.bytes);
    ck_assert_int_ge(polls, 4); /* a MiB each */
    for (int i = 0; i < N; i++)
        ck_assert(mine[i] == 4.0 * i + 1);
    close_sides();
    free(theirs);
    free(mine);
    free(sum);
}
END_TEST

/* The rest comes through the ring, and what was read before is not reduced twice. */
START_TEST(what_cannot_be_read_is_had_by_the_other_way)
{
    enum { N = (1 << 20) / 8, HALF = 1 << 19 };
    double *hole = mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    double *sums = calloc(N, sizeof *sums);
    struct tt_flight out = {.buf = hole, .bytes = 2 * HALF, .context = 7}, in = out;

    ck_assert(hole != MAP_FAILED && sums);
    in.buf = sums;
    in.incoming = true;
    if (_i)
        in.fold =
            (struct tt_fold){.cell = tt_cell_find(TT_TYPE_f64, TT_OP_sum), .dst = (char *)sums, .other = (char *)sums};
    for (int i = 0; i < N; i++) {
        hole[i] = i;
        sums[i] = _i;
    }
    open_sides();
    see(BOTH);
    ck_assert_int_eq(mprotect(hole + N / 2, HALF, PROT_NONE), 0);
    tt_channel_post(&sides[A], &out);
    tt_channel_post(&sides[B], &in);
    for (int i = 0; i < 10; i++)
        tt_channel_poll(&sides[B]);
    ck_assert_int_eq(mprotect(hole, 2 * HALF, PROT_READ), 0); /* for the sender */
    ck_assert(!in.over && (in.had > 0) == (_i != 0));
    poll_both(2000);
    ck_assert(out.over && in.over && in.arrived == out.bytes && in.folded == (_i != 0));
    for (int i = 0; i < N; i++)
        ck_assert(sums[i] == i + _i);
    ck_assert(sides[A].expected == 0 && sides[B].expected == 0);
    close_sides();
    free(sums);
    munmap(hole, 2 * HALF);
}
END_TEST

START_TEST(one_that_has_died_is_found_dead_by_who_reads)
{
    struct end out, in, next;
    const pid_t pid = fork();

    if (pid == 0)
        _exit(0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    open_sides();
    see(BOTH);
    sides[B].pid = (int)pid;
    make(&out, 1, false, 1 << 20, 1 << 20);
    make(&in, 1, true, 1 << 20, 1 << 20);
    make(&next, 2, true, 8, 8);
    tt_channel_post(&sides[A], &out.f);
    tt_channel_post(&sides[B], &in.f);
    tt_channel_post(&sides[B], &next.f);
    for (int i = 0; i < 3; i++)
        tt_channel_poll(&sides[B]);
    ck_assert(sides[B].broken && in.f.over && in.f.arrived == 0 && next.f.over && next.f.arrived == 0);
    close_sides();
    free(out.bytes);
    free(in.bytes);
    free(next.bytes);
}
END_TEST

/* ---- two threads ---- */

static size_t length_of(int message)
{
    static const size_t lengths[] = {8, 0, 40, 41, 600, 5000, 8, 9, 20000, LONGEST};

    return lengths[message % 10];
}

/* Sends a message and receives the other's; every third time, of two that are sent the second is received first. */
static void exchange(struct tt_channel *c, int message)
{
    const int n = message % 3 == 0 ? 2 : 1;
    struct end out[2], in[2];

    for (int i = 0; i < n; i++) {
        make(&out[i], message + i, false, length_of(message + i), length_of(message + i));
        tt_channel_post(c, &out[i].f);
    }
    for (int i = n - 1; i >= 0; i--) {
        make(&in[i], message + i, true, length_of(message + i), length_of(message + i));
        tt_channel_post(c, &in[i].f);
        while (!in[i].f.over) {
            tt_channel_poll(c);
            sched_yield();
        }
        if (!is_right(&in[i], message + i, length_of(message + i)))
            abort();
    }
    for (int i = 0; i < n; i++) {
        while (!out[i].f.over)
            tt_channel_poll(c);
        free(out[i].bytes);
        free(in[i].bytes);
    }
}

static void *chat(void *side)
{
    for (int message = 0; message < MOST; message += 2)
        exchange(side, message);
    return NULL;
}

START_TEST(two_threads_get_what_the_other_sent)
{
    pthread_t other;

    open_sides();
    see(_i);
    ck_assert_int_eq(pthread_create(&other, NULL, chat, &sides[B]), 0);
    chat(&sides[A]);
    pthread_join(other, NULL);
    close_sides();
}
END_TEST

/* Without a flight: each length that fits in a record, and some that do not; and only the message that is due. */
START_TEST(short_messages_need_no_flight)
{
    char from[TT_INLINE + 3], to[TT_INLINE + 3];
    unsigned more = 0;

    open_sides();
    for (size_t n = 0; n <= sizeof from; n++) {
        const int tag = (int)n;
        const char *bytes;

        for (size_t i = 0; i < sizeof from; i++)
            from[i] = (char)(n + i * 3);
        ck_assert_ptr_null(tt_channel_look(&sides[B], 7, tag, n, &more));
        ck_assert(tt_channel_send_now(&sides[A], 7, tag, from, n));
        ck_assert_ptr_null(tt_channel_look(&sides[B], 7, tag + 1, n, &more));
        ck_assert_ptr_null(tt_channel_look(&sides[B], 8, tag, n, &more));
        ck_assert_ptr_null(tt_channel_look(&sides[B], 7, tag, n + 1, &more));
        bytes = tt_channel_look(&sides[B], 7, tag, n, &more);
        ck_assert_ptr_nonnull(bytes);
        memset(to, 0, sizeof to);
        if (n <= TT_INLINE)
            tt_copy_few(to, bytes, n);
        ck_assert(memcmp(n <= TT_INLINE ? to : bytes, from, n) == 0);
        ck_assert(n >= TT_INLINE || to[n] == 0);
        tt_channel_pass(&sides[B]);
    }
    close_sides();
}
END_TEST

int main(void)
{
    Suite *s = suite_create("node_channel");
    TCase *all = tcase_create("all");
    SRunner *r = srunner_create(s);
    int failed;

    tcase_set_timeout(all, 300);
    tcase_add_loop_test(all, any_order_of_posts_and_polls_will_do, 0, SIGHTS * (int)(sizeof scripts / sizeof *scripts));
    tcase_add_loop_test(all, what_comes_in_one_record_is_sent_on_at_once, 0, 8);
    tcase_add_loop_test(all, what_is_not_as_it_should_be_is_not_sent_on, 0, 2);
    tcase_add_test(all, what_needs_no_flight_meets_what_has_one);
    tcase_add_test(all, who_sleeps_is_woken);
    tcase_add_test(all, where_the_next_bytes_will_be_is_known);
    tcase_add_test(all, what_needs_no_flight_does_nothing_where_there_is_no_room);
    tcase_add_loop_test(all, bytes_of_records_lie_apart, 0, 8);
    tcase_add_test(all, nothing_may_be_nowhere);
    tcase_add_test(all, a_long_message_is_cut_if_the_other_would_wait);
    tcase_add_loop_test(all, lines_that_were_read_are_taken_where_that_pays, 0, 16);
    tcase_add_test(all, what_a_dead_one_sent_is_there_and_the_rest_is_over);
    tcase_add_test(all, no_byte_of_a_long_message_passes_through_the_ring);
    tcase_add_loop_test(all, what_is_read_is_reduced_on_its_way, 0, 2);
    tcase_add_loop_test(all, what_cannot_be_read_is_had_by_the_other_way, 0, 2);
    tcase_add_test(all, one_that_has_died_is_found_dead_by_who_reads);
    tcase_add_test(all, short_messages_need_no_flight);
    tcase_add_loop_test(all, two_threads_get_what_the_other_sent, BLIND, SIGHTS);
    suite_add_tcase(s, all);
    srunner_run_all(r, CK_NORMAL);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
