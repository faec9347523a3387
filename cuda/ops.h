/* SPDX-License-Identifier: BSD-3-Clause */
/* The arithmetic of one element, the same text for host and device: tt_do_<op>_<type>(a, b) on accumulators, and
 * tt_widen_<type> / tt_narrow_<type> between memory and accumulator. The rules, where MPI leaves a choice:
 *
 * NaN in max and min: any NaN among the operands gives NaN, so the result does not depend on how an algorithm groups
 *   them. (MPICH 4.0 keeps a NaN only if it is the left operand, Open MPI 4.1 only if it is the right one: with either,
 *   whether a NaN is seen depends on rank order and algorithm.) Equal operands (0 and -0) keep the left one.
 * maxloc, minloc: of equal values the smaller index, as the standard says; a NaN beats every number, and of two NaNs
 *   the smaller index wins. What lies in a pair's padding is of no meaning, before or after.
 * Integer overflow wraps around: everything is computed in unsigned numbers. Logical results are 0 or 1.
 * Complex products are the plain formula, without the standard library's recovery of infinities.
 * 16- and 8-bit floats are computed in binary32 and rounded to nearest even once, after the last operand. e4m3 has no
 *   infinity, so what is too large becomes the largest number, 448, as CUDA's conversions and NCCL do (the other choice
 *   of the OCP specification, NaN, would lose the sign and every later comparison); its NaN stays NaN. e5m2 has
 *   infinities and overflows to them like any IEEE format: 65536 becomes infinity. Every NaN becomes the format's
 *   positive quiet one.
 *
 * Compile without contraction to fused multiply-add (gcc -ffp-contract=off, nvcc -fmad=false): then host, simulated
 * device and GPU give the same bits, except for the sign and payload of a NaN that arithmetic produced. */
#ifndef TT_OPS_H
#define TT_OPS_H

#include "cuda/kernels.h"

#ifdef __CUDACC__
#define TT_FN static __device__ __forceinline__
#else
#define TT_FN static inline __attribute__((always_inline, unused))
#endif

/* ---- composite elements: laid out as the C and Fortran types are ---- */

#define TT_COMPLEX_STRUCT(id, part)                                                                                    \
    struct tt_##id {                                                                                                   \
        part re, im;                                                                                                   \
    };
#define TT_PAIR_STRUCT(id, value_type, index_type)                                                                     \
    struct tt_##id {                                                                                                   \
        value_type value;                                                                                              \
        index_type index;                                                                                              \
    };

TT_COMPLEX_STRUCT(c32, float)
TT_COMPLEX_STRUCT(c64, double)
TT_PAIR_STRUCT(f32_int, float, int32_t)
TT_PAIR_STRUCT(f64_int, double, int32_t)
TT_PAIR_STRUCT(i16_int, int16_t, int32_t)
TT_PAIR_STRUCT(i32_int, int32_t, int32_t)
TT_PAIR_STRUCT(i64_int, int64_t, int32_t)
TT_PAIR_STRUCT(i64_i64, int64_t, int64_t)
TT_PAIR_STRUCT(f32_f32, float, float)
TT_PAIR_STRUCT(f64_f64, double, double)

/* nvcc takes long double for double and says so: what has it stays away from it. */
#ifdef __CUDACC__
#define TT_IF_host(...)
#else
#define TT_IF_host(...) __VA_ARGS__
TT_COMPLEX_STRUCT(c80, long double)
TT_PAIR_STRUCT(f80_int, long double, int32_t)
#endif
#define TT_IF_gpu(...) __VA_ARGS__

/* tt_elem_<id> and tt_acc_<id>, so that a macro that has only the name finds the types. */
#define TT_NAME_TYPES(id, ctype, acc, convert, domain, payload, family, home, like, ...)                               \
    TT_IF_##home(typedef ctype tt_elem_##id; typedef acc tt_acc_##id;)
TT_TYPES(TT_NAME_TYPES, )

/* ---- small floats ---- */

union tt_f32_bits {
    float f;
    uint32_t u;
};

TT_FN uint32_t tt_bits(float f)
{
    union tt_f32_bits x;
    x.f = f;
    return x.u;
}

TT_FN float tt_float(uint32_t u)
{
    union tt_f32_bits x;
    x.u = u;
    return x.f;
}

/* A small float of the given widths, exactly, as binary32. A subnormal is its mantissa as an integer times the smallest
 * number, which stays right when the program has told the processor to take binary32's own subnormals for zero. */
TT_FN float tt_expand(uint32_t x, int exponent_bits, int mantissa_bits, uint32_t first_special)
{
    const int all_bits = exponent_bits + mantissa_bits;
    const uint32_t sign = x >> all_bits << 31, rest = x & ((1u << all_bits) - 1);
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t normal = (rest << (23 - mantissa_bits)) + ((uint32_t)(127 - bias) << 23);
    const float smallest = tt_float((uint32_t)(127 + 1 - bias - mantissa_bits) << 23);
    const uint32_t finite = rest >> mantissa_bits ? normal : tt_bits((float)(int)rest * smallest);
    const uint32_t special = rest > first_special ? 0x7fc00000u : 0x7f800000u;

    return tt_float(sign | (rest >= first_special ? special : finite));
}

/* binary32 to a small float without its sign, rounded to nearest even; what is at or above limit (as binary32 bits, the
 * first number that rounds beyond the largest) becomes `beyond`, a NaN becomes `nan`. Both ways of rounding are
 * computed and one is taken, so that a loop over it has no branch: normal results by integer arithmetic, subnormal
 * ones by adding a power of two whose last place is the format's smallest number. */
TT_FN uint32_t tt_shrink(float f, int exponent_bits, int mantissa_bits, uint32_t limit, uint32_t beyond, uint32_t nan)
{
    const uint32_t bits = tt_bits(f), sign = bits >> 31 << (exponent_bits + mantissa_bits), x = bits & 0x7fffffffu;
    const int drop = 23 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t odd = x >> drop & 1;
    const uint32_t normal = (x + ((1u << (drop - 1)) - 1) + odd - ((uint32_t)(127 - bias) << 23)) >> drop;
    const uint32_t magic = (uint32_t)(127 - bias + 1 + drop) << 23;
    const uint32_t subnormal = tt_bits(tt_float(x) + tt_float(magic)) - magic;
    const uint32_t finite = x < (uint32_t)(127 - bias + 1) << 23 ? subnormal : normal;

    return x > 0x7f800000u ? nan : sign | (x >= limit ? beyond : finite);
}

TT_FN float tt_widen_bf16(uint16_t x)
{
    return tt_float((uint32_t)x << 16);
}

TT_FN uint16_t tt_narrow_bf16(float f)
{
    const uint32_t x = tt_bits(f);

    return (uint16_t)((x & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : (x + 0x7fffu + (x >> 16 & 1)) >> 16);
}

/* The largest e5m2 is 57344, the next step would be 65536: from their middle on (ties go to even) it overflows. */
TT_FN float tt_widen_f8e5m2(uint8_t x)
{
    return tt_expand(x, 5, 2, 0x7c);
}

TT_FN uint8_t tt_narrow_f8e5m2(float f)
{
    return (uint8_t)tt_shrink(f, 5, 2, 0x47700000u, 0x7c, 0x7f);
}

/* e4m3 uses its largest exponent for numbers; only 0x7f is special, a NaN. From 448 on everything is 448. */
TT_FN float tt_widen_f8e4m3(uint8_t x)
{
    return (x & 0x7f) == 0x7f ? tt_float(0x7fc00000u) : tt_expand(x, 4, 3, 0x80);
}

TT_FN uint8_t tt_narrow_f8e4m3(float f)
{
    return (uint8_t)tt_shrink(f, 4, 3, 0x43e00000u, 0x7e, 0x7f);
}

/* Every GPU converts binary16 in hardware; a C compiler is not asked to. Both give the same bits. */
#ifdef __CUDACC__
TT_FN float tt_widen_f16(uint16_t x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}

TT_FN uint16_t tt_narrow_f16(float f)
{
    uint16_t x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
}
#else
TT_FN float tt_widen_f16(uint16_t x)
{
    return tt_expand(x, 5, 10, 0x7c00);
}

/* The largest is 65504; from 65520 on it overflows. */
TT_FN uint16_t tt_narrow_f16(float f)
{
    return (uint16_t)tt_shrink(f, 5, 10, 0x477ff000u, 0x7c00, 0x7fff);
}
#endif

/* The rest is accumulated as it lies in memory. */
#define TT_CONVERT_rounded(id)
#define TT_CONVERT_exact(id)                                                                                           \
    TT_FN tt_acc_##id tt_widen_##id(tt_elem_##id x)                                                                    \
    {                                                                                                                  \
        return x;                                                                                                      \
    }                                                                                                                  \
    TT_FN tt_elem_##id tt_narrow_##id(tt_acc_##id x)                                                                   \
    {                                                                                                                  \
        return x;                                                                                                      \
    }
#define TT_CONVERT(id, ctype, acc, convert, domain, payload, family, home, like, ...)                                  \
    TT_IF_##home(TT_CONVERT_##convert(id))
TT_TYPES(TT_CONVERT, )

/* ---- ops: TT_DO_<family>(id) defines tt_do_<op>_<id> for each op of the family ---- */

#define TT_DO(op, id, ...)                                                                                             \
    TT_FN tt_acc_##id tt_do_##op##_##id(tt_acc_##id a, tt_acc_##id b)                                                  \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* 1u: narrow operands would else be promoted to int, whose overflow is undefined. */
#define TT_DO_unsigned(id)                                                                                             \
    TT_DO(sum, id, return (tt_acc_##id)(1u * a + b);)                                                                  \
    TT_DO(prod, id, return (tt_acc_##id)(1u * a * b);)                                                                 \
    TT_DO(land, id, return (a != 0) & (b != 0);)                                                                       \
    TT_DO(lor, id, return (a | b) != 0;)                                                                               \
    TT_DO(lxor, id, return (a != 0) ^ (b != 0);)                                                                       \
    TT_DO(band, id, return a & b;)                                                                                     \
    TT_DO(bor, id, return a | b;)                                                                                      \
    TT_DO(bxor, id, return a ^ b;)                                                                                     \
    TT_DO_signed(id)

#define TT_DO_signed(id)                                                                                               \
    TT_DO(max, id, return b > a ? b : a;)                                                                              \
    TT_DO(min, id, return b < a ? b : a;)

#define TT_DO_floating(id)                                                                                             \
    TT_DO(sum, id, return a + b;)                                                                                      \
    TT_DO(prod, id, return a * b;)                                                                                     \
    TT_DO(max, id, return ((b > a) | (b != b)) ? b : a;)                                                               \
    TT_DO(min, id, return ((b < a) | (b != b)) ? b : a;)

#define TT_DO_complex(id)                                                                                              \
    TT_DO(sum, id, a.re += b.re; a.im += b.im; return a;)                                                              \
    TT_DO(prod, id, tt_acc_##id r = a; r.re = a.re * b.re - a.im * b.im; r.im = a.re * b.im + a.im * b.re; return r;)

/* A value is unequal to itself only if it is NaN; for integers the compiler drops those terms. */
#define TT_DO_LOC(op, id, better)                                                                                      \
    TT_DO(op, id,                                                                                                      \
          const int a_nan = a.value != a.value, b_nan = b.value != b.value;                                            \
          const int beaten = (b.value better a.value) | (b_nan & !a_nan);                                              \
          const int tie = (b.value == a.value) | (b_nan & a_nan);                                                      \
          return (beaten | (tie & (b.index < a.index))) ? b : a;)
#define TT_DO_pair(id) TT_DO_LOC(maxloc, id, >) TT_DO_LOC(minloc, id, <)

#define TT_DO_TYPE(id, ctype, acc, convert, domain, payload, family, home, like, ...) TT_IF_##home(TT_DO_##family(id))
TT_TYPES(TT_DO_TYPE, )

#endif
