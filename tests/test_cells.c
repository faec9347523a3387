/* SPDX-License-Identifier: BSD-3-Clause */
/* Every cell of the table type x op, against a reference that is written differently on purpose: integers in 128 bits,
 * small floats by searching a table of all their values, one element at a time. Then the device kernels, compiled for
 * the CPU and run thread by thread, against the host's loops. Lengths and offsets are chosen to meet heads, tails and
 * the ends of vectors; dst is surrounded by bytes that must not change. Takes a few seconds. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/cells.h"
#include "cuda/ops.h"
#include "tests/simcuda/simcuda.h"

enum { LONGEST = 1000, GUARD = 128, ROOM = LONGEST * 32 + 2 * GUARD };

static const size_t lengths[] = {0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, LONGEST};

/* ---- small floats: all values of a format, in order ---- */

struct format {
    int exponent_bits, mantissa_bits;
    unsigned largest; /* bits of the largest finite number */
    bool infinite;    /* what is too large becomes infinity, not the largest number */
    unsigned nan;
};
static const struct format fmt_f16 = {5, 10, 0x7bff, true, 0x7fff}, fmt_bf16 = {8, 7, 0x7f7f, true, 0x7fff},
                           fmt_f8e4m3 = {4, 3, 0x7e, false, 0x7f}, fmt_f8e5m2 = {5, 2, 0x7b, true, 0x7f};

/* The number that those bits stand for; beyond `largest` as if there were one more. */
static double magnitude(const struct format *f, unsigned bits)
{
    const int bias = (1 << (f->exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> f->mantissa_bits), mantissa = (int)(bits & ((1u << f->mantissa_bits) - 1));

    return exponent ? ldexp(mantissa + (1 << f->mantissa_bits), exponent - bias - f->mantissa_bits)
                    : ldexp(mantissa, 1 - bias - f->mantissa_bits);
}

static float decode(const struct format *f, unsigned bits)
{
    const unsigned sign = bits >> (f->exponent_bits + f->mantissa_bits);
    const unsigned rest = bits & ((1u << (f->exponent_bits + f->mantissa_bits)) - 1);
    const double m = rest <= f->largest                      ? magnitude(f, rest)
                     : f->infinite && rest == f->largest + 1 ? (double)INFINITY
                                                             : (double)NAN;

    return (float)(sign ? -m : m);
}

static unsigned encode(const struct format *f, float x)
{
    const unsigned sign = signbit(x) ? 1u << (f->exponent_bits + f->mantissa_bits) : 0;
    const double m = fabs((double)x);
    unsigned low = 0, high = f->largest + 1;

    if (isnan(x))
        return f->nan;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;

        if (magnitude(f, middle) <= m)
            low = middle;
        else
            high = middle;
    }
    if (m - magnitude(f, low) > magnitude(f, high) - m || (m - magnitude(f, low) == magnitude(f, high) - m && low % 2))
        low = high;
    if (m > magnitude(f, f->largest + 1))
        low = f->largest + 1;
    return sign | (low > f->largest && !f->infinite ? f->largest : low);
}

/* ---- the reference, one element at a time: ref_<type>(op, to, from, k); and comparison: same_<type>(a, b) ---- */

static bool same_number(long double a, long double b)
{
    return (isnan(a) && isnan(b)) || (a == b && !signbit(a) == !signbit(b));
}

static long double max_or_min(enum tt_op op, long double a, long double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? a : b;
    return op == TT_OP_max ? (a >= b ? a : b) : a <= b ? a : b;
}

static __int128 integer(enum tt_op op, __int128 a, __int128 b)
{
    switch (op) {
    case TT_OP_sum: return a + b;
    case TT_OP_prod: return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case TT_OP_max: return a > b ? a : b;
    case TT_OP_min: return a < b ? a : b;
    case TT_OP_land: return a && b;
    case TT_OP_lor: return a || b;
    case TT_OP_lxor: return !a != !b;
    case TT_OP_band: return a & b;
    case TT_OP_bor: return a | b;
    default: return a ^ b;
    }
}

#define REF_INTEGER(id, ctype, acc)                                                                                    \
    static void ref_##id(enum tt_op op, void *to, const void *const *from, int k)                                      \
    {                                                                                                                  \
        ctype a, b;                                                                                                    \
                                                                                                                       \
        memcpy(&a, from[0], sizeof a);                                                                                 \
        for (int j = 1; j < k; j++) {                                                                                  \
            memcpy(&b, from[j], sizeof b);                                                                             \
            a = (ctype)integer(op, a, b);                                                                              \
        }                                                                                                              \
        memcpy(to, &a, sizeof a);                                                                                      \
    }                                                                                                                  \
    static bool same_##id(const void *a, const void *b)                                                                \
    {                                                                                                                  \
        return memcmp(a, b, sizeof(ctype)) == 0;                                                                       \
    }
#define REF_unsigned(id, ctype, acc, convert) REF_INTEGER(id, ctype, acc)
#define REF_signed(id, ctype, acc, convert) REF_INTEGER(id, ctype, acc)

#define DECODE_exact(id, x) (x)
#define ENCODE_exact(id, x) (x)
#define DECODE_rounded(id, x) decode(&fmt_##id, x)
#define ENCODE_rounded(id, x) encode(&fmt_##id, x)
#define REF_floating(id, ctype, acc, convert)                                                                          \
    static void ref_##id(enum tt_op op, void *to, const void *const *from, int k)                                      \
    {                                                                                                                  \
        ctype x;                                                                                                       \
        volatile acc a, b;                                                                                             \
                                                                                                                       \
        memcpy(&x, from[0], sizeof x);                                                                                 \
        a = DECODE_##convert(id, x);                                                                                   \
        for (int j = 1; j < k; j++) {                                                                                  \
            memcpy(&x, from[j], sizeof x);                                                                             \
            b = DECODE_##convert(id, x);                                                                               \
            a = op == TT_OP_sum ? a + b : op == TT_OP_prod ? a * b : (acc)max_or_min(op, a, b);                        \
        }                                                                                                              \
        x = (ctype)ENCODE_##convert(id, a);                                                                            \
        memcpy(to, &x, sizeof x);                                                                                      \
    }                                                                                                                  \
    static bool same_##id(const void *a, const void *b)                                                                \
    {                                                                                                                  \
        ctype x, y;                                                                                                    \
                                                                                                                       \
        memcpy(&x, a, sizeof x);                                                                                       \
        memcpy(&y, b, sizeof y);                                                                                       \
        return same_number(DECODE_##convert(id, x), DECODE_##convert(id, y));                                          \
    }

#define REF_complex(id, ctype, acc, convert)                                                                           \
    static void ref_##id(enum tt_op op, void *to, const void *const *from, int k)                                      \
    {                                                                                                                  \
        volatile __typeof__(((ctype *)NULL)->re) re, im, p, q;                                                         \
        ctype a, b;                                                                                                    \
                                                                                                                       \
        memcpy(&a, from[0], sizeof a);                                                                                 \
        for (int j = 1; j < k; j++) {                                                                                  \
            memcpy(&b, from[j], sizeof b);                                                                             \
            p = a.re * b.re, q = a.im * b.im;                                                                          \
            re = op == TT_OP_sum ? a.re + b.re : p - q;                                                                \
            p = a.re * b.im, q = a.im * b.re;                                                                          \
            im = op == TT_OP_sum ? a.im + b.im : p + q;                                                                \
            a.re = re, a.im = im;                                                                                      \
        }                                                                                                              \
        memcpy(to, &a, sizeof a);                                                                                      \
    }                                                                                                                  \
    static bool same_##id(const void *a, const void *b)                                                                \
    {                                                                                                                  \
        ctype x, y;                                                                                                    \
                                                                                                                       \
        memcpy(&x, a, sizeof x);                                                                                       \
        memcpy(&y, b, sizeof y);                                                                                       \
        return same_number(x.re, y.re) && same_number(x.im, y.im);                                                     \
    }

/* Whether b goes before a. Values go through long double, which holds all of them. */
static bool goes_before(enum tt_op op, long double a, long double a_index, long double b, long double b_index)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? b_index < a_index : isnan(b);
    if (a == b)
        return b_index < a_index;
    return op == TT_OP_maxloc ? b > a : b < a;
}

#define REF_pair(id, ctype, acc, convert)                                                                              \
    static void ref_##id(enum tt_op op, void *to, const void *const *from, int k)                                      \
    {                                                                                                                  \
        ctype a, b;                                                                                                    \
                                                                                                                       \
        memcpy(&a, from[0], sizeof a);                                                                                 \
        for (int j = 1; j < k; j++) {                                                                                  \
            memcpy(&b, from[j], sizeof b);                                                                             \
            if (goes_before(op, a.value, a.index, b.value, b.index))                                                   \
                a = b;                                                                                                 \
        }                                                                                                              \
        memcpy(to, &a, sizeof a);                                                                                      \
    }                                                                                                                  \
    static bool same_##id(const void *a, const void *b)                                                                \
    {                                                                                                                  \
        ctype x, y;                                                                                                    \
                                                                                                                       \
        memcpy(&x, a, sizeof x);                                                                                       \
        memcpy(&y, b, sizeof y);                                                                                       \
        return same_number(x.value, y.value) && same_number(x.index, y.index);                                         \
    }

/* ---- data: fill_<type>(to, n). Small numbers, extremes, ties; whatever the family can trip over. ---- */

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double some_number(void)
{
    static const double odd[] = {0.0,  -0.0,  1.0,     -1.0, 0.5,      3.0,       1e-40,
                                 6e-5, 448.0, 60000.0, 3e38, INFINITY, -INFINITY, NAN};
    const uint64_t r = next_random();

    return r % 4 ? (double)(int64_t)(r >> 20 & 0xfffff) / 65536.0 - 8.0 : odd[r / 4 % (sizeof odd / sizeof odd[0])];
}

#define FILL_BITS(id, ctype)                                                                                           \
    static void fill_##id(void *to)                                                                                    \
    {                                                                                                                  \
        const uint64_t r = next_random();                                                                              \
        const ctype x = (ctype)(r % 5 ? next_random() : r / 5 % 3);                                                    \
        memcpy(to, &x, sizeof x);                                                                                      \
    }
#define FILL_unsigned(id, ctype, convert) FILL_BITS(id, ctype)
#define FILL_signed(id, ctype, convert) FILL_BITS(id, ctype)
#define FILL_FLOAT_rounded(id, ctype) FILL_BITS(id, ctype)
#define FILL_FLOAT_exact(id, ctype)                                                                                    \
    static void fill_##id(void *to)                                                                                    \
    {                                                                                                                  \
        const ctype x = (ctype)some_number();                                                                          \
        memcpy(to, &x, sizeof x);                                                                                      \
    }
#define FILL_floating(id, ctype, convert) FILL_FLOAT_##convert(id, ctype)
#define FILL_complex(id, ctype, convert)                                                                               \
    static void fill_##id(void *to)                                                                                    \
    {                                                                                                                  \
        ctype x;                                                                                                       \
        x.re = (__typeof__(x.re))some_number();                                                                        \
        x.im = (__typeof__(x.im))some_number();                                                                        \
        memcpy(to, &x, sizeof x);                                                                                      \
    }
/* Few values and few indices, so that ties are common; NaN only where there is one. Padding gets other bits. */
#define FILL_pair(id, ctype, convert)                                                                                  \
    static void fill_##id(void *to)                                                                                    \
    {                                                                                                                  \
        const uint64_t r = next_random();                                                                              \
        const bool has_nan = (__typeof__(((ctype *)NULL)->value))0.5 != 0;                                             \
        ctype x;                                                                                                       \
        memset(&x, (int)(r >> 32), sizeof x);                                                                          \
        x.value = (__typeof__(x.value))(has_nan && r % 7 == 0 ? (double)NAN : (double)(r / 7 % 3) - 1);                \
        x.index = (__typeof__(x.index))(r / 64 % 4);                                                                   \
        memcpy(to, &x, sizeof x);                                                                                      \
    }

#define REFERENCE(id, ctype, acc, convert, domain, payload, family, ...)                                               \
    REF_##family(id, ctype, acc, convert) FILL_##family(id, ctype, convert)
TT_TYPES(REFERENCE, )

static const struct reference {
    void (*run)(enum tt_op op, void *to, const void *const *from, int k);
    bool (*same)(const void *a, const void *b);
    void (*fill)(void *to);
    size_t alignment;
    bool on_gpu;
} references[TT_NTYPES] = {
#define ON_gpu true
#define ON_host false
#define ENTRY(id, ctype, acc, convert, domain, payload, family, home, ...)                                             \
    [TT_TYPE_##id] = {ref_##id, same_##id, fill_##id, _Alignof(ctype), ON_##home},
    TT_TYPES(ENTRY, )};

/* ---- the kernels, thread by thread ---- */

_Thread_local struct simcuda_where sim_here;

typedef void kernel(struct tt_kernel_args args);
#define DECLARE(op, type) void tt_##op##_##type(struct tt_kernel_args args);
TT_EACH_KERNEL(DECLARE)

static const struct {
    const char *name;
    kernel *code;
} kernels[] = {
#define KERNEL(op, type) {"tt_" #op "_" #type, tt_##op##_##type},
    TT_EACH_KERNEL(KERNEL)};

static kernel *kernel_named(const char *name)
{
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return kernels[i].code;
    ck_abort_msg("there is no kernel %s", name);
}

static void run_kernel(const struct tt_cell *cell, void *dst, const void *const *src, int k, size_t n)
{
    kernel *const code = kernel_named(cell->kernel);
    struct tt_kernel_args args = {.dst = dst, .n = n, .k = k};

    memcpy(args.src, src, (size_t)k * sizeof src[0]);
    sim_here = (struct simcuda_where){.threads = {5, 1, 1}, .blocks = {3, 1, 1}};
    for (sim_here.block.x = 0; sim_here.block.x < 3; sim_here.block.x++)
        for (sim_here.thread.x = 0; sim_here.thread.x < 5; sim_here.thread.x++)
            code(args);
}

static void run_host(const struct tt_cell *cell, void *dst, const void *const *src, int k, size_t n)
{
    cell->host(dst, src, k, n);
}

/* ---- one run, checked. Check writes down every assertion it passes, so loops compare first. ---- */

static unsigned char area[TT_MAX_SOURCES][ROOM] __attribute__((aligned(64)));
static unsigned char expected[ROOM], out[ROOM] __attribute__((aligned(64))), before[ROOM];

static const char *hex(const unsigned char *p, size_t n, char *to)
{
    for (size_t i = 0; i < n; i++)
        sprintf(to + 2 * i, "%02x", p[i]);
    return to;
}

static void check_elements(const struct tt_cell *cell, const unsigned char *got, int k, size_t n, const char *how)
{
    char want_hex[80], got_hex[80];

    for (size_t i = 0; i < n; i++) {
        const unsigned char *want = expected + i * cell->size;

        if (!references[cell->type].same(want, got + i * cell->size))
            ck_abort_msg("%s %s, %s, k %d, n %zu, element %zu: expected %s, got %s", tt_op_name(cell->op),
                         tt_type_name(cell->type), how, k, n, i, hex(want, cell->size, want_hex),
                         hex(got + i * cell->size, cell->size, got_hex));
    }
}

static void check_guards(const struct tt_cell *cell, const unsigned char *room, size_t offset, size_t bytes)
{
    for (size_t i = 0; i < offset + bytes + GUARD / 2; i++)
        if ((i < offset || i >= offset + bytes) && room[i] != before[i])
            ck_abort_msg("%s %s wrote byte %zd of its result of %zu", tt_op_name(cell->op), tt_type_name(cell->type),
                         (ssize_t)i - (ssize_t)offset, bytes);
}

typedef void runner(const struct tt_cell *cell, void *dst, const void *const *src, int k, size_t n);

/* src[j] lies in area[j]; dst_room is one of the areas (in place) or out. */
static void check_run(runner *run, const struct tt_cell *cell, unsigned char *dst_room, size_t offset,
                      const void *const *src, int k, size_t n, const char *how)
{
    const size_t room = offset + n * cell->size + GUARD / 2;

    memcpy(before, dst_room, room);
    run(cell, dst_room + offset, src, k, n);
    check_elements(cell, dst_room + offset, k, n, how);
    check_guards(cell, dst_room, offset, n * cell->size);
    memcpy(dst_room, before, room);
}

/* step: how far apart in alignment the sources lie; 0 for all alike. */
static void check_shape(runner *run, const struct tt_cell *cell, int k, size_t n, size_t start, size_t step)
{
    const void *src[TT_MAX_SOURCES] = {NULL}, *at[TT_MAX_SOURCES];
    size_t offset[TT_MAX_SOURCES];

    for (int j = 0; j < k; j++) {
        offset[j] = GUARD / 2 + (start + (size_t)j * step) % 32;
        src[j] = area[j] + offset[j];
        for (size_t i = 0; i < n; i++)
            references[cell->type].fill(area[j] + offset[j] + i * cell->size);
    }
    for (size_t i = 0; i < n; i++) {
        for (int j = 0; j < k; j++)
            at[j] = (const char *)src[j] + i * cell->size;
        references[cell->type].run(cell->op, expected + i * cell->size, at, k);
    }
    check_run(run, cell, out, GUARD / 2 + start % 32, src, k, n, "out of place");
    for (int j = 0; j < k; j++)
        check_run(run, cell, area[j], offset[j], src, k, n, "in place");
}

static void check_cell(runner *run, const struct tt_cell *cell, size_t unit)
{
    for (int k = 2; k <= TT_MAX_SOURCES; k++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            if (lengths[l] == LONGEST && k > 3 && k < TT_MAX_SOURCES)
                continue;
            check_shape(run, cell, k, lengths[l], 0, 0);
            check_shape(run, cell, k, lengths[l], 3 * unit, 0);
            check_shape(run, cell, k, lengths[l], unit, unit);
        }
}

/* ---- the tests ---- */

/* For every instruction set this processor has, at any address. */
START_TEST(host_cells_agree_with_the_reference)
{
    for (int op = 0; op < TT_NOPS; op++)
        for (int nth = 0; tt_cell_nth(nth, (enum tt_type)_i, (enum tt_op)op); nth++)
            check_cell(run_host, tt_cell_nth(nth, (enum tt_type)_i, (enum tt_op)op), 1);
}
END_TEST

START_TEST(kernels_agree_with_the_reference)
{
    for (int op = 0; op < TT_NOPS; op++) {
        const struct tt_cell *cell = tt_cell_find((enum tt_type)_i, (enum tt_op)op);

        if (!cell)
            continue;
        ck_assert_msg(!cell->kernel == !references[_i].on_gpu, "%s on %s: kernel %s", tt_op_name(cell->op),
                      tt_type_name(cell->type), cell->kernel ? cell->kernel : "missing");
        if (cell->kernel)
            check_cell(run_kernel, cell, references[_i].alignment);
    }
}
END_TEST

/* Arithmetic that rounds to nearest even at every bit pattern, and to the right neighbour around every midpoint. */
static void check_format(const char *name, const struct format *f, float (*widen)(unsigned), unsigned (*narrow)(float))
{
    const unsigned all = 1u << (1 + f->exponent_bits + f->mantissa_bits);

    for (unsigned bits = 0; bits < all; bits++) {
        const unsigned rest = bits & (all / 2 - 1);
        const float x = decode(f, bits), seen = widen(bits);
        const float middle = (float)((magnitude(f, rest) + magnitude(f, rest + 1)) / 2);
        const float near[] = {x, middle, nextafterf(middle, 0), nextafterf(middle, INFINITY), -middle};

        if (!same_number(x, seen))
            ck_abort_msg("%s %x widens to %a, expected %a", name, bits, (double)seen, (double)x);
        for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
            if (narrow(near[i]) != encode(f, near[i]))
                ck_abort_msg("%s: %a narrows to %x, expected %x", name, (double)near[i], narrow(near[i]),
                             encode(f, near[i]));
    }
}

#define FORMAT(id)                                                                                                     \
    static float widen_##id(unsigned x)                                                                                \
    {                                                                                                                  \
        return tt_widen_##id((tt_elem_##id)x);                                                                         \
    }                                                                                                                  \
    static unsigned narrow_##id(float x)                                                                               \
    {                                                                                                                  \
        return tt_narrow_##id(x);                                                                                      \
    }
FORMAT(f16)
FORMAT(bf16)
FORMAT(f8e4m3)
FORMAT(f8e5m2)

START_TEST(small_floats_convert_exactly)
{
    check_format("f16", &fmt_f16, widen_f16, narrow_f16);
    check_format("bf16", &fmt_bf16, widen_bf16, narrow_bf16);
    check_format("f8e4m3", &fmt_f8e4m3, widen_f8e4m3, narrow_f8e4m3);
    check_format("f8e5m2", &fmt_f8e5m2, widen_f8e5m2, narrow_f8e5m2);
}
END_TEST

START_TEST(too_large_saturates_in_e4m3_and_is_infinite_elsewhere)
{
    ck_assert_uint_eq(tt_narrow_f8e4m3(1e6f), 0x7e);
    ck_assert_uint_eq(tt_narrow_f8e4m3(-INFINITY), 0xfe);
    ck_assert_uint_eq(tt_narrow_f8e4m3(NAN), 0x7f);
    ck_assert_uint_eq(tt_narrow_f8e5m2(1e6f), 0x7c);
    ck_assert_uint_eq(tt_narrow_f16(65520.0f), 0x7c00);
    ck_assert_uint_eq(tt_narrow_f16(65519.0f), 0x7bff);
}
END_TEST

static void reduce8(enum tt_type type, enum tt_op op, void *dst, const void *const *src, int k, size_t n)
{
    tt_cell_find(type, op)->host(dst, src, k, n);
}

/* Eight at a time, 4096 ones are four levels of sums, exact because the accumulator is wider. In binary16 alone, 2048
 * and seven ones would stay 2048. */
START_TEST(half_precision_is_accumulated_in_single)
{
    uint16_t ones[4096], seven[8] = {0x6800, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00, 0x3c00}, sum;
    const void *src[8];

    for (int i = 0; i < 4096; i++)
        ones[i] = 0x3c00;
    for (size_t n = 512; n > 0; n /= 8) {
        for (size_t j = 0; j < 8; j++)
            src[j] = ones + j * n;
        reduce8(TT_TYPE_f16, TT_OP_sum, ones, src, 8, n);
    }
    ck_assert_uint_eq(ones[0], 0x6c00); /* 4096 */
    for (int j = 0; j < 8; j++)
        src[j] = &seven[j];
    reduce8(TT_TYPE_f16, TT_OP_sum, &sum, src, 8, 1);
    ck_assert_uint_eq(sum, 0x6804); /* 2055, to even: 2056 */
}
END_TEST

/* A NaN survives max and min wherever it stands, in every floating type. */
START_TEST(a_nan_wins_max_and_min_at_every_position)
{
    const float numbers[3] = {1, NAN, -2};

    for (int op = TT_OP_max; op <= TT_OP_min; op++)
        for (int first = 0; first < 3; first++) {
            const void *src[3] = {&numbers[first], &numbers[(first + 1) % 3], &numbers[(first + 2) % 3]};
            float r;

            reduce8(TT_TYPE_f32, (enum tt_op)op, &r, src, 3, 1);
            ck_assert_msg(isnan(r), "%s with a NaN at place %d gave %g", tt_op_name((enum tt_op)op), (4 - first) % 3,
                          (double)r);
        }
}
END_TEST

START_TEST(integers_wrap_around)
{
    const int32_t largest = INT32_MAX, one = 1;
    const uint16_t all = 65535;
    const void *src[2] = {&largest, &one}, *squares[2] = {&all, &all};
    int32_t sum;
    uint16_t square;

    reduce8(TT_TYPE_i32, TT_OP_sum, &sum, src, 2, 1);
    ck_assert_int_eq(sum, INT32_MIN);
    reduce8(TT_TYPE_u16, TT_OP_prod, &square, squares, 2, 1);
    ck_assert_uint_eq(square, 1);
}
END_TEST

START_TEST(pairs_take_the_smaller_index_and_ignore_padding)
{
    struct tt_f64_int a, b, r;
    const void *src[2] = {&a, &b};

    memset(&a, 0xff, sizeof a);
    memset(&b, 0x00, sizeof b);
    a.value = b.value = 2.5;
    a.index = 7;
    b.index = 3;
    for (int op = TT_OP_maxloc; op <= TT_OP_minloc; op++) {
        reduce8(TT_TYPE_f64_int, (enum tt_op)op, &r, src, 2, 1);
        ck_assert_int_eq(r.index, 3);
        ck_assert(r.value == 2.5);
    }
    ck_assert_uint_eq(tt_type_size(TT_TYPE_f64_int), 16);
    ck_assert_uint_eq(tt_type_size(TT_TYPE_i16_int), 8);
}
END_TEST

/* MPI 4.0, section 6.9.2, by class, in words. */
static const struct {
    enum tt_class class;
    const char *ops;
} standard[] = {
    {TT_C_INTEGER, " sum prod max min land lor lxor band bor bxor "},
    {TT_FORTRAN_INTEGER, " sum prod max min band bor bxor "},
    {TT_FLOATING, " sum prod max min "},
    {TT_LOGICAL, " land lor lxor "},
    {TT_COMPLEX, " sum prod "},
    {TT_BYTE, " band bor bxor "},
    {TT_MULTI_LANGUAGE, " sum prod max min land lor lxor band bor bxor "},
    {TT_PAIR, " maxloc minloc "},
};

START_TEST(legality_is_what_the_standard_says)
{
    char word[32];

    for (size_t c = 0; c < sizeof standard / sizeof standard[0]; c++)
        for (int op = 0; op < TT_NOPS; op++) {
            snprintf(word, sizeof word, " %s ", tt_op_name((enum tt_op)op));
            ck_assert_msg(tt_op_legal((enum tt_op)op, standard[c].class) == (strstr(standard[c].ops, word) != NULL),
                          "op%son class %#x: table says %s", word, standard[c].class,
                          tt_op_legal((enum tt_op)op, standard[c].class) ? "legal" : "illegal");
        }
}
END_TEST

static void check_row(const char *handle, enum tt_domain domain, enum tt_class class)
{
    int found = 0;

    for (size_t payload = 1; payload <= 32; payload++) {
        const enum tt_type type = tt_type_of(domain, payload);

        found += type < TT_NTYPES;
        for (int op = 0; op < TT_NOPS && type < TT_NTYPES; op++)
            ck_assert_msg(!tt_op_legal((enum tt_op)op, class) || tt_cell_find(type, (enum tt_op)op),
                          "%s may be %s, but %s has no code for it", handle, tt_op_name((enum tt_op)op),
                          tt_type_name(type));
    }
    ck_assert_msg(found > 0, "%s: no representation at all", handle);
}

/* Whatever size an MPI type turns out to have: where it has a representation, every op that is legal on it has code. */
START_TEST(every_legal_op_has_code)
{
#define TT_MPI_TYPE(handle, domain, class) check_row(#handle, TT_DOMAIN_##domain, class);
#include "cuda/mpi_types.def"
#undef TT_MPI_TYPE
}
END_TEST

START_TEST(sizes_find_the_right_representation)
{
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_signed, 8), TT_TYPE_i64);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_floating, 2), TT_TYPE_f16);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_floating_int, 12), TT_TYPE_f64_int);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_signed_int, 12), TT_TYPE_i64_int);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_floating_twice, 8), TT_TYPE_f32_f32);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_extended, sizeof(long double)), TT_TYPE_f80);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_signed, 16), TT_NTYPES);
    ck_assert_int_eq(tt_type_of(TT_DOMAIN_floating, 16), TT_NTYPES);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cells");
    TCase *rules = tcase_create("rules"), *all = tcase_create("cells");
    SRunner *runner;
    int failed;

    tcase_add_test(rules, small_floats_convert_exactly);
    tcase_add_test(rules, too_large_saturates_in_e4m3_and_is_infinite_elsewhere);
    tcase_add_test(rules, half_precision_is_accumulated_in_single);
    tcase_add_test(rules, a_nan_wins_max_and_min_at_every_position);
    tcase_add_test(rules, integers_wrap_around);
    tcase_add_test(rules, pairs_take_the_smaller_index_and_ignore_padding);
    tcase_add_test(rules, legality_is_what_the_standard_says);
    tcase_add_test(rules, every_legal_op_has_code);
    tcase_add_test(rules, sizes_find_the_right_representation);
    tcase_add_loop_test(all, host_cells_agree_with_the_reference, 0, TT_NTYPES);
    tcase_add_loop_test(all, kernels_agree_with_the_reference, 0, TT_NTYPES);
    tcase_set_timeout(rules, 60);
    tcase_set_timeout(all, 60);
    suite_add_tcase(suite, rules);
    suite_add_tcase(suite, all);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
