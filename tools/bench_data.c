/* SPDX-License-Identifier: BSD-3-Clause */
/* Operands are small whole numbers, so chosen that no sum or product of all ranks' leaves what the type holds exactly:
 * then every order of folding gives the same bits, and they are worked out here in double precision, by no code of the
 * library that is to be checked. Data that only moves is noise, of which each rank has another stretch. */
#include "tools/bench_data.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/ops.h"

enum { STRETCH = 37 }; /* elements between what one rank and the next have of the noise */

/* ---- elements as numbers: a value, and what belongs to it: an imaginary part, or an index ---- */

struct number {
    double value, second;
};

#define ENCODE_unsigned(id) *(tt_elem_##id *)to = tt_narrow_##id((tt_acc_##id)x.value);
#define ENCODE_signed(id) ENCODE_unsigned(id)
#define ENCODE_floating(id) ENCODE_unsigned(id)
#define ENCODE_complex(id) *(tt_elem_##id *)to = (tt_elem_##id){.re = x.value, .im = x.second};
#define ENCODE_pair(id)                                                                                                \
    ((tt_elem_##id *)to)->value = x.value;                                                                             \
    ((tt_elem_##id *)to)->index = x.second;
#define DECODE_unsigned(id) return (struct number){(double)tt_widen_##id(*(const tt_elem_##id *)at), 0};
#define DECODE_signed(id) DECODE_unsigned(id)
#define DECODE_floating(id) DECODE_unsigned(id)
#define DECODE_complex(id) return (struct number){((const tt_elem_##id *)at)->re, ((const tt_elem_##id *)at)->im};
#define DECODE_pair(id) return (struct number){((const tt_elem_##id *)at)->value, ((const tt_elem_##id *)at)->index};

static void encode(enum tt_type type, struct number x, void *to)
{
    switch (type) {
#define TT_TYPE(id, ctype, acc, convert, domain, payload, family, ...)                                                 \
    case TT_TYPE_##id:                                                                                                 \
        ENCODE_##family(id) break;
#include "cuda/types.def"
#undef TT_TYPE
    case TT_NTYPES:
        break;
    }
}

static struct number decode(enum tt_type type, const void *at)
{
    switch (type) {
#define TT_TYPE(id, ctype, acc, convert, domain, payload, family, ...)                                                 \
    case TT_TYPE_##id:                                                                                                 \
        DECODE_##family(id)
#include "cuda/types.def"
#undef TT_TYPE
    case TT_NTYPES:
        break;
    }
    return (struct number){0, 0};
}

/* ---- what a type holds exactly ---- */

/* All whole numbers up to so many; and that power of two. */
static const struct limit {
    int whole, power;
} limits[TT_NTYPES] = {[TT_TYPE_u8] = {255, 7},     [TT_TYPE_i8] = {127, 6},    [TT_TYPE_u16] = {60000, 15},
                       [TT_TYPE_i16] = {30000, 14}, [TT_TYPE_f16] = {2048, 15}, [TT_TYPE_bf16] = {256, 20},
                       [TT_TYPE_f8e4m3] = {16, 8},  [TT_TYPE_f8e5m2] = {8, 15}, [TT_TYPE_i16_int] = {30000, 14}};

static struct limit limit_of(enum tt_type type)
{
    return limits[type].whole ? limits[type] : (struct limit){1 << 20, 20};
}

/* ---- operands ---- */

static int mixed(int rank, int at, int most)
{
    return (int)((7LL * at + 31LL * rank) % (most + 1));
}

/* Up to 100; where that many ranks would add up to too much, 1 on as many ranks as may be, others each time. */
static struct number addend(const struct tool_part *part, int rank, int at)
{
    const int whole = limit_of(part->type).whole, each = whole / part->size < 100 ? whole / part->size : 100;

    if (each > 0)
        return (struct number){mixed(rank, at, each), mixed(rank, at / 2, each)};
    return (struct number){(at + rank) % part->size < whole, (at + rank + 1) % part->size < whole};
}

/* 2 on so many ranks as the type allows, others each time, 1 on the others. */
static struct number factor(const struct tool_part *part, int rank, int at)
{
    return (struct number){(at + rank) % (part->size + 3) < limit_of(part->type).power ? 2 : 1, 0};
}

static struct number operand(const struct tool_part *part, int rank, int at)
{
    const int whole = limit_of(part->type).whole;

    switch (part->op) {
    case TT_OP_sum:
        return addend(part, rank, at);
    case TT_OP_prod:
        return factor(part, rank, at);
    case TT_OP_land:
        return (struct number){(at + rank) % (part->size + 1) != 0, 0};
    case TT_OP_lor:
        return (struct number){(at + rank) % (part->size + 1) == 0, 0};
    case TT_OP_lxor:
        return (struct number){mixed(rank, at, 1), 0};
    default:
        return (struct number){mixed(rank, at, whole < 100 ? whole : 100), rank};
    }
}

static struct number whole(int64_t x)
{
    return (struct number){(double)x, 0};
}

/* a has the lower rank: it stays where both are alike. */
static struct number fold(enum tt_op op, struct number a, struct number b)
{
    const int64_t x = (int64_t)a.value, y = (int64_t)b.value;

    switch (op) {
    case TT_OP_sum:
        return (struct number){a.value + b.value, a.second + b.second};
    case TT_OP_prod:
        return whole(x * y);
    case TT_OP_max:
    case TT_OP_maxloc:
        return y > x ? b : a;
    case TT_OP_min:
    case TT_OP_minloc:
        return y < x ? b : a;
    case TT_OP_land:
        return whole(x && y);
    case TT_OP_lor:
        return whole(x || y);
    case TT_OP_lxor:
    case TT_OP_bxor:
        return whole(x ^ y);
    case TT_OP_band:
        return whole(x & y);
    case TT_OP_bor:
        return whole(x | y);
    case TT_NOPS:
        break;
    }
    return a;
}

/* ---- a period of each ---- */

static bool reduces(const struct tool_pattern *p)
{
    return tt_coll_traits(p->part.coll) & TT_REDUCES;
}

static void reduce_period(struct tool_pattern *p)
{
    const struct tool_part *part = &p->part;
    const int end = part->coll == TT_COLL_scan     ? part->rank + 1
                    : part->coll == TT_COLL_exscan ? part->rank
                                                   : part->size;

    for (int at = 0; at < TOOL_PERIOD; at++) {
        struct number sum = operand(part, 0, at);

        encode(part->type, operand(part, part->rank, at), p->input + (size_t)at * p->unit);
        if (tool_pattern_received(p, 1) == 0)
            continue;
        for (int rank = 1; rank < end; rank++)
            sum = fold(part->op, sum, operand(part, rank, at));
        encode(part->type, sum, p->outcome + (size_t)at * p->unit);
    }
}

/* Xorshift (Marsaglia, 2003), the same on all ranks. */
static void noise_period(struct tool_pattern *p)
{
    uint64_t x = 0x9e3779b97f4a7c15u;

    for (size_t i = 0; i < TOOL_PERIOD * p->unit; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p->input[i] = (unsigned char)(x >> 24);
    }
}

int tool_pattern_make(struct tool_pattern *p, const struct tool_part *part)
{
    *p = (struct tool_pattern){.part = *part, .unit = tt_type_size(part->type)};
    p->input = calloc(TOOL_PERIOD, p->unit);
    p->outcome = calloc(TOOL_PERIOD, p->unit);
    if (!p->input || !p->outcome) {
        tool_pattern_free(p);
        return -1;
    }
    (reduces(p) ? reduce_period : noise_period)(p);
    return 0;
}

void tool_pattern_free(struct tool_pattern *p)
{
    free(p->input);
    free(p->outcome);
    *p = (struct tool_pattern){0};
}

/* ---- which elements ---- */

bool tool_has_in_place(enum tt_coll coll)
{
    return tt_coll_traits(coll) & (TT_INPLACE_ALL | TT_INPLACE_ROOT);
}

int64_t tool_pattern_sent(const struct tool_pattern *p, int64_t n)
{
    const unsigned traits = tt_coll_traits(p->part.coll);
    const bool root = p->part.rank == p->part.root;

    if (traits & TT_NO_BUFFER || (traits & (TT_SEND_AT_ROOT | TT_ONE_BUFFER) && !root))
        return 0;
    return traits & TT_SEND_BLOCKS ? n * p->part.size : n;
}

/* In place the root of a scatter leaves its block where it is. */
int64_t tool_pattern_received(const struct tool_pattern *p, int64_t n)
{
    const unsigned traits = tt_coll_traits(p->part.coll);
    const bool root = p->part.rank == p->part.root;

    if (traits & TT_NO_BUFFER || (traits & TT_RECV_AT_ROOT && !root) ||
        (traits & TT_RECV_NOT_FIRST && p->part.rank == 0) || (traits & TT_SEND_AT_ROOT && root && p->part.inplace))
        return 0;
    return traits & TT_RECV_BLOCKS ? n * p->part.size : n;
}

bool tool_pattern_in_receive_buffer(const struct tool_pattern *p, int64_t n, int64_t *at)
{
    const unsigned traits = tt_coll_traits(p->part.coll);

    *at = traits & TT_RECV_BLOCKS && !(traits & TT_SEND_BLOCKS) ? n * p->part.rank : 0;
    if (traits & TT_ONE_BUFFER)
        return p->part.rank == p->part.root;
    return p->part.inplace && !(traits & TT_SEND_AT_ROOT);
}

/* ---- runs of a period ---- */

struct run {
    const unsigned char *data;
    int64_t length; /* elements; less than what is left: a period ends */
};

static struct run run_from(const struct tool_pattern *p, const unsigned char *period, int64_t at, int64_t most)
{
    const int64_t within = at % TOOL_PERIOD, left = TOOL_PERIOD - within;

    return (struct run){period + (size_t)within * p->unit, most < left ? most : left};
}

/* What a rank's send buffer has from an element on. */
static struct run sent_by(const struct tool_pattern *p, int rank, int64_t at, int64_t most)
{
    return run_from(p, p->input, reduces(p) ? at : at + (int64_t)STRETCH * rank, most);
}

/* What must be received from element k on. */
static struct run expected(const struct tool_pattern *p, int64_t n, int64_t k, int64_t most)
{
    const unsigned traits = tt_coll_traits(p->part.coll);
    const int64_t mine = traits & TT_SEND_BLOCKS ? n * p->part.rank : 0;

    if (traits & TT_REDUCES)
        return run_from(p, p->outcome, mine + k, most);
    if (traits & TT_RECV_BLOCKS)
        return sent_by(p, (int)(k / n), mine + k % n, most < n - k % n ? most : n - k % n);
    return sent_by(p, p->part.root, mine + k, most);
}

void tool_pattern_fill(const struct tool_pattern *p, int64_t from, int64_t length, void *out)
{
    unsigned char *to = out;

    while (length > 0) {
        const struct run run = sent_by(p, p->part.rank, from, length);
        const size_t bytes = (size_t)run.length * p->unit;

        memcpy(to, run.data, bytes);
        to += bytes;
        from += run.length;
        length -= run.length;
    }
}

/* ---- checking ---- */

/* Equal but for padding, which no reduction promises anything of. */
static bool alike(const struct tool_pattern *p, const void *a, const void *b)
{
    struct number x, y;

    if (memcmp(a, b, p->unit) == 0)
        return true;
    if (!reduces(p))
        return false;
    x = decode(p->part.type, a);
    y = decode(p->part.type, b);
    return x.value == y.value && x.second == y.second;
}

static int64_t count_wrong(const struct tool_pattern *p, const struct run *run, const unsigned char *got, int64_t at,
                           int64_t *first)
{
    int64_t wrong = 0;

    if (memcmp(run->data, got, (size_t)run->length * p->unit) == 0)
        return 0;
    for (int64_t i = 0; i < run->length; i++)
        if (!alike(p, run->data + (size_t)i * p->unit, got + (size_t)i * p->unit)) {
            *first = *first < 0 ? at + i : *first;
            wrong++;
        }
    return wrong;
}

int64_t tool_pattern_wrong(const struct tool_pattern *p, int64_t n, int64_t from, int64_t length, const void *got,
                           int64_t *first)
{
    const unsigned char *at = got;
    int64_t wrong = 0;

    while (length > 0) {
        const struct run run = expected(p, n, from, length);

        wrong += count_wrong(p, &run, at, from, first);
        at += (size_t)run.length * p->unit;
        from += run.length;
        length -= run.length;
    }
    return wrong;
}
