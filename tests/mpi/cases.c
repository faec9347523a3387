/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: see cases.h. Where the row moves data and no more, the bytes are random, so that a block in the wrong place
 * is found for certain; where it reduces, they are what the op takes. */
#include "tests/mpi/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t SEND_SALT = 500000000, RECV_SALT = 900000000; /* random numbers for several ends, apart */

struct test_case case_make(void)
{
    return (struct test_case){.sent = malloc(CASE_BYTES),
                              .before = malloc(CASE_BYTES),
                              .want = malloc(CASE_BYTES),
                              .matters = malloc(CASE_BYTES)};
}

void case_free(struct test_case *t)
{
    free(t->sent);
    free(t->before);
    free(t->want);
    free(t->matters);
}

/* ---- how much each block holds ---- */

static uint64_t mixed(const struct test_case *t, int a, int b)
{
    return test_random(t->key * 8191 + (uint64_t)(a + 8) * 64 + (uint64_t)(b + 8));
}

/* What goes from one rank to the other: the same number for all that have to know it, and for none else to know. */
static int count_between(const struct test_case *t, int sender, int receiver)
{
    const int a = has(t, TT_RECV_BLOCKS) ? sender : 0, b = has(t, TT_SEND_BLOCKS) ? receiver : 0;
    uint64_t r;
    int n;

    if (!has(t, TT_COUNTS | TT_SEND_COUNTS | TT_RECV_COUNTS))
        return t->count;
    r = t->inplace && a > b ? mixed(t, b, a) : mixed(t, a, b); /* in place as much comes as goes */
    n = t->count * (int)(r % 3);
    return n > 1 ? n - (int)(r >> 8 & 1) : n;
}

static const struct kind *kind_between(const struct test_case *t, enum side_name side, int sender, int receiver)
{
    return t->kind_of ? t->kind_of(t, side, sender, receiver) : t->kind;
}

static int blocks_of(const struct test_case *t, enum side_name side)
{
    if (!has(t, side == SEND_SIDE ? TT_SEND_BLOCKS : TT_RECV_BLOCKS))
        return 1;
    if (has(t, TT_NEIGHBOURS))
        return side == SEND_SIDE ? t->group->ndestinations : t->group->nsources;
    return t->group->size;
}

static int peer_of(const struct test_case *t, enum side_name side, int block)
{
    if (!has(t, side == SEND_SIDE ? TT_SEND_BLOCKS : TT_RECV_BLOCKS))
        return t->group->rank;
    if (has(t, TT_NEIGHBOURS))
        return side == SEND_SIDE ? t->group->destinations[block] : t->group->sources[block];
    return block;
}

/* ---- where each block lies ---- */

static void shuffle(int *order, int n, uint64_t r)
{
    for (int i = 0; i < n; i++) {
        const int j = (int)(test_random(r + (uint64_t)i) % (unsigned)(i + 1));

        order[i] = i;
        order[i] = order[j];
        order[j] = i;
    }
}

/* A type of no bytes may have no extent. */
static MPI_Aint up_to_multiple(MPI_Aint n, MPI_Aint of)
{
    const MPI_Aint rest = of ? n % of : 0;

    return rest > 0 ? n + of - rest : n - rest;
}

static MPI_Aint end_of(const struct block *b)
{
    return b->at + b->kind->lb + (b->count - 1) * b->kind->extent + b->kind->span;
}

/* Out of order, with holes, from in front of the buffer's address; a block of nothing anywhere. */
static void scatter_blocks(struct side *s, uint64_t r)
{
    int order[CASE_BLOCKS];
    MPI_Aint end = -(MPI_Aint)(r % 4) * 16;

    shuffle(order, s->nblocks, r);
    for (int i = 0; i < s->nblocks; i++) {
        struct block *b = &s->blocks[order[i]];
        const uint64_t gap = test_random(r + 64 + (uint64_t)i) % 3;

        b->at = up_to_multiple(end - b->kind->lb, b->kind->extent) + (MPI_Aint)gap * b->kind->extent;
        if (b->count > 0)
            end = end_of(b);
        else
            b->at += 1000 * b->kind->extent;
    }
}

static void line_up_blocks(struct side *s)
{
    MPI_Aint at = 0;

    for (int i = 0; i < s->nblocks; i++) {
        s->blocks[i].at = at;
        at += s->blocks[i].count * s->blocks[i].kind->extent;
    }
}

static void span_blocks(struct side *s)
{
    MPI_Aint low = 0, high = 0;
    bool any = false;

    for (int i = 0; i < s->nblocks; i++) {
        const struct block *b = &s->blocks[i];

        if (b->count == 0)
            continue;
        low = !any || b->at + b->kind->lb < low ? b->at + b->kind->lb : low;
        high = !any || end_of(b) > high ? end_of(b) : high;
        any = true;
    }
    s->low = low;
    s->bytes = (size_t)(high - low);
    if (s->bytes > CASE_BYTES) {
        fprintf(stderr, "FAIL rank %d: %zu bytes do not fit a case\n", test_rank, s->bytes);
        exit(1);
    }
}

static void write_arrays(const struct test_case *t, struct side *s)
{
    for (int i = 0; i < s->nblocks; i++) {
        const struct block *b = &s->blocks[i];

        s->counts[i] = b->count;
        s->wide_counts[i] = b->count;
        s->wide_displs[i] = has(t, TT_TYPES) ? b->at : b->at / b->kind->extent;
        s->displs[i] = (int)s->wide_displs[i];
        s->types[i] = b->kind->type;
    }
}

/* as: whose blocks they are; the receive buffer of a reduction in place holds what is sent. */
static void arrange_side(struct test_case *t, struct side *s, enum side_name side, enum side_name as)
{
    const uint64_t r = test_random(t->key + (side == SEND_SIDE ? SEND_SALT : RECV_SALT)) + (uint64_t)t->group->rank;

    s->nblocks = blocks_of(t, as);
    for (int i = 0; i < s->nblocks; i++) {
        const int peer = peer_of(t, as, i), me = t->group->rank;
        const int sender = as == SEND_SIDE ? me : peer, receiver = as == SEND_SIDE ? peer : me;

        s->blocks[i].count = count_between(t, sender, receiver);
        s->blocks[i].kind = kind_between(t, side, sender, receiver);
    }
    if (has(t, side == SEND_SIDE ? TT_SEND_COUNTS : TT_RECV_COUNTS))
        scatter_blocks(s, r);
    else
        line_up_blocks(s);
    span_blocks(s);
    write_arrays(t, s);
}

/* ---- what matters ---- */

static void spare_padding(struct test_case *t, const struct block *b)
{
    for (int i = 0; i < b->count; i++) {
        const MPI_Aint at = b->at - t->recv.low + i * b->kind->extent;

        for (MPI_Aint j = b->kind->payload; j < b->kind->extent && at + j < (MPI_Aint)t->recv.bytes; j++)
            t->matters[at + j] = 0;
    }
}

static void mark(struct test_case *t)
{
    memset(t->matters, 1, t->recv.bytes);
    for (int i = 0; i < t->recv.nblocks; i++)
        spare_padding(t, &t->recv.blocks[i]);
}

/* In place, a reduce_scatter's result is at the front; what is behind it may be anything. */
static void spare_scratch(struct test_case *t)
{
    const struct kind *k = t->recv.nblocks ? t->recv.blocks[0].kind : t->kind;
    const size_t result = (size_t)(count_between(t, t->group->rank, t->group->rank) * k->extent);

    if (t->here_inplace && has(t, TT_REDUCES) && has(t, TT_SEND_BLOCKS))
        memset(t->matters + result, 0, t->recv.bytes - result);
}

void case_arrange(struct test_case *t)
{
    const bool root = t->group->rank == t->root, scatter = has(t, TT_SEND_AT_ROOT);
    const bool left_out = has(t, TT_RECV_NOT_FIRST) && t->group->rank == 0;

    t->here_inplace = t->inplace && (has(t, TT_INPLACE_ALL) || root);
    t->send.means = !has(t, TT_NO_BUFFER | TT_ONE_BUFFER) && (!scatter || root) && (!t->here_inplace || scatter);
    t->recv.means =
        !has(t, TT_NO_BUFFER) && (!has(t, TT_RECV_AT_ROOT) || root) && !(t->here_inplace && scatter) && !left_out;
    arrange_side(t, &t->send, SEND_SIDE, SEND_SIDE);
    arrange_side(t, &t->recv, RECV_SIDE, t->here_inplace && has(t, TT_REDUCES) ? SEND_SIDE : RECV_SIDE);
    mark(t);
    spare_scratch(t);
}

/* ---- bytes ---- */

static void fill_side(const struct test_case *t, const struct side *s, char *data, uint64_t key)
{
    for (size_t i = 0; i < s->bytes; i += 8) {
        const uint64_t r = test_random(key + i);

        memcpy(data + i, &r, s->bytes - i < 8 ? s->bytes - i : 8);
    }
    for (int i = 0; i < s->nblocks && has(t, TT_REDUCES); i++)
        s->blocks[i].kind->fill(data + (s->blocks[i].at - s->low), (size_t)s->blocks[i].count,
                                key + (uint64_t)i * 4096);
}

void case_fill(struct test_case *t, uint64_t key)
{
    const uint64_t r = test_random(key) + (uint64_t)t->group->rank * 1000000;

    fill_side(t, &t->send, t->sent, r);
    fill_side(t, &t->recv, t->before, r + SEND_SALT);
    memcpy(t->want, t->before, t->recv.bytes);
}

/* ---- the call ---- */

static void give_nonsense(const struct test_case *t, struct tt_call *c)
{
    const void *nowhere = (const void *)3; /* 1 is Open MPI's MPI_IN_PLACE */

    if (!t->send.means && !has(t, TT_ONE_BUFFER | TT_NO_BUFFER)) {
        if (c->send.buf != MPI_IN_PLACE)
            c->send.buf = nowhere;
        c->send.counts = c->send.displs = nowhere;
        c->send.types = nowhere;
        c->send.count = has(t, TT_REDUCES) ? c->send.count : -7;
    }
    if (!t->recv.means && !t->here_inplace && !has(t, TT_NO_BUFFER))
        c->recv.out = (void *)nowhere;
    if (!t->recv.means && !has(t, TT_NO_BUFFER | TT_REDUCES)) {
        c->recv.counts = c->recv.displs = nowhere;
        c->recv.types = nowhere;
        c->recv.count = -7;
    }
}

struct tt_call case_call(const struct test_case *t, const char *send, char *recv)
{
    const struct kind *from = t->send.nblocks ? t->send.blocks[0].kind : t->kind;
    const struct kind *to = t->recv.nblocks ? t->recv.blocks[0].kind : t->kind;
    const bool wide = t->large, wide_displs = wide || has(t, TT_WIDE_DISPLS);
    struct tt_call c = {.send = {send - t->send.low, has(t, TT_SEND_BLOCKS) ? t->count : t->send.counts[0], from->type},
                        .recv = {recv - t->recv.low, has(t, TT_RECV_BLOCKS) ? t->count : t->recv.counts[0], to->type},
                        .wide = wide,
                        .op = t->kind->op,
                        .root = t->root,
                        .comm = t->group->comm};

    c.send.counts = wide ? (const void *)t->send.wide_counts : t->send.counts;
    c.recv.counts = wide ? (const void *)t->recv.wide_counts : t->recv.counts;
    if (has(t, TT_COUNTS))
        c.recv.counts = wide ? (const void *)t->send.wide_counts : t->send.counts;
    c.send.displs = wide_displs ? (const void *)t->send.wide_displs : t->send.displs;
    c.recv.displs = wide_displs ? (const void *)t->recv.wide_displs : t->recv.displs;
    c.send.types = t->send.types;
    c.recv.types = t->recv.types;
    if (t->here_inplace && has(t, TT_SEND_AT_ROOT))
        c.recv.out = MPI_IN_PLACE;
    else if (t->here_inplace)
        c.send.buf = MPI_IN_PLACE;
    if (t->nonsense)
        give_nonsense(t, &c);
    return c;
}

struct tt_call case_put(const struct test_case *t, struct region *send, struct region *recv, size_t shift)
{
    const char *from = region_set(send, shift, t->sent, t->send.bytes);

    return case_call(t, from, region_set(recv, shift, t->before, t->recv.bytes));
}

/* ---- what comes out ---- */

/* MPICH 4.0.2 crashes in MPI_Reduce in place at a root that is not rank 0, from 4 KiB on (it copies from
 * MPI_IN_PLACE). */
static bool breaks_in_place(const struct test_case *t)
{
    return t->inplace && has(t, TT_REDUCES) && has(t, TT_ROOTED) && t->root > 0;
}

/* On one rank, MPICH 4.0.2 knows no displacement in MPI_Allgatherv, and Open MPI 4.1.4 takes those of MPI_Alltoallw for
 * extents. */
static bool loses_displacement(const struct test_case *t)
{
    return t->group->size == 1 && has(t, TT_RECV_COUNTS) && !has(t, TT_ROOTED | TT_NEIGHBOURS) && !t->inplace;
}

/* MPICH 4.0.2 returns from MPI_Neighbor_alltoallw, and completes MPI_Ineighbor_alltoallw, before all is there, at a
 * rank that receives from more neighbours than it sends to. */
static bool leaves_too_early(const struct test_case *t)
{
    return t->group->lopsided && has(t, TT_NEIGHBOURS) && has(t, TT_TYPES);
}

/* MPICH 4.0.2 mixes up blocks of unequal length in MPI_Ialltoallw in place, which Tutti has it do for a blocking call
 * too. */
static bool mixes_blocks(const struct test_case *t)
{
    return t->inplace && has(t, TT_TYPES);
}

bool case_breaks_native(const struct test_case *t)
{
    return mixes_blocks(t) || breaks_in_place(t) || loses_displacement(t) || leaves_too_early(t);
}

/* Does a rank receive nothing at all, not even from itself? */
static bool is_idle(const struct test_case *t, int rank)
{
    for (int i = 0; i < t->group->size; i++)
        if (count_between(t, i, rank) > 0)
            return false;
    return true;
}

/* In MPI_Ialltoallv in place a rank of Open MPI 4.1.4 whose blocks are all empty takes no tag, and others do: from then
 * on the two send their nonblocking collectives on that communicator by different tags, and never complete them. */
static bool loses_count(const struct test_case *t)
{
    int idle = 0;

    if (!test_open_mpi || !t->inplace || !has(t, TT_SEND_COUNTS))
        return false;
    for (int i = 0; i < t->group->size; i++)
        idle += is_idle(t, i);
    return idle > 0 && idle < t->group->size;
}

/* Open MPI 4.1.4 has the two neighbours in a dimension of one or two ranks change places in MPI_Ineighbor_, but not in
 * MPI_Neighbor_. */
static bool swaps_neighbours(const struct test_case *t)
{
    return test_open_mpi && has(t, TT_NEIGHBOURS) && t->group->narrow;
}

bool case_breaks_nonblocking(const struct test_case *t)
{
    return case_breaks_native(t) || swaps_neighbours(t) || loses_count(t);
}

/* Where the two neighbours in a dimension are one rank, what is sent to the left comes from the right in Open
 * MPI 4.1.4, so that blocks of other types and lengths than this program gives them would have to meet. */
static bool turns_around(const struct test_case *t)
{
    return test_open_mpi && t->group->narrow && has(t, TT_NEIGHBOURS) && has(t, TT_TYPES | TT_RECV_COUNTS);
}

bool case_can_be_asked(const struct test_case *t)
{
    return !leaves_too_early(t) && !turns_around(t);
}

void case_ask_native(struct test_case *t)
{
    static const int none = 0;
    struct test_case plain = *t;
    struct tt_call c;

    plain.large = plain.nonsense = false;
    c = case_call(&plain, t->sent, t->want);
    if (t->here_inplace && breaks_in_place(t))
        c.send.buf = t->before;
    if (loses_displacement(t)) {
        c.send.buf = t->sent + (t->send.blocks[0].at - t->send.low);
        c.recv.out = t->want + (t->recv.blocks[0].at - t->recv.low);
        c.send.displs = c.recv.displs = &none;
    }
    test_now("the MPI below: %s", case_words(t));
    test_success(t->row->theirs(&c));
}

static void compare(const struct test_case *t, const char *now)
{
    unsigned long long got = 0, due = 0;
    size_t i = 0, n;

    while (i < t->recv.bytes && (now[i] == t->want[i] || !t->matters[i]))
        i++;
    n = t->recv.bytes - i < 8 ? t->recv.bytes - i : 8;
    memcpy(&got, now + i, n);
    memcpy(&due, t->want + i, n);
    test_check(n == 0, "byte %zu of the %zu of the receive buffer: expected %016llx, got %016llx, before it was %s", i,
               t->recv.bytes, due, got, n && now[i] == t->before[i] ? "that" : "something else");
}

void case_check(const struct test_case *t, const struct region *send, const struct region *recv)
{
    static __thread char *now;

    now = now ? now : malloc(CASE_BYTES);
    test_check(region_holds(send, t->sent), "the send buffer, or bytes around it, were written");
    test_check(region_get(recv, now), "bytes before or behind the receive buffer were written");
    if (t->recv.means)
        compare(t, now);
    else
        test_check(memcmp(now, t->before, t->recv.bytes) == 0, "a buffer that receives nothing was written");
}

const char *case_words(const struct test_case *t)
{
    static __thread char words[256];

    snprintf(words, sizeof words, "%s%s of %d %s, %s, root %d%s%s, rank %d of %d %s, case %llu", t->row->id,
             t->large ? "_c" : "", t->count, t->kind->name, t->kind->op_name, t->root, t->inplace ? ", in place" : "",
             t->nonsense ? ", nonsense" : "", t->group->rank, t->group->size, t->group->topology,
             (unsigned long long)t->key);
    return words;
}
