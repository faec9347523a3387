/* SPDX-License-Identifier: BSD-3-Clause */
/* Every cell of the table type x op: each MPI type of mpi_types.def with each op that the standard allows on its
 * class, by Allreduce and Reduce, on the host and on the device, against the MPI below. Then what no MPI below can
 * tell: the formats of tutti_type, against arithmetic done here; NaN; and that all ranks hold the same bits when the
 * order of adding matters. */
#include "tests/mpi/harness.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/tutti.h"
#include "cuda/cells.h"

enum { LENGTH = 67, MAX_EXTENT = 32, SHIFT = 3 /* elements: so that kernels meet unaligned heads */ };

static struct region regions[NMEMORIES][2];

static void make_regions(void)
{
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_make(&regions[m][side], (enum memory)m, 4096 * MAX_EXTENT);
}

static void free_regions(void)
{
    for (int m = 0; m < NMEMORIES; m++)
        for (int side = 0; side < 2 && memory_exists((enum memory)m); side++)
            region_free(&regions[m][side]);
}

/* ---- small floating-point formats, by exact arithmetic in double ---- */

struct small {
    const char *name;
    int exponent, mantissa; /* bits */
    bool infinite;          /* the largest exponent stands for infinity and NaN; else only all ones, for NaN */
};

static const struct small small_formats[] = {
    [TUTTI_FLOAT16] = {"float16", 5, 10, true},
    [TUTTI_BFLOAT16] = {"bfloat16", 8, 7, true},
    [TUTTI_FLOAT8_E4M3] = {"float8 e4m3", 4, 3, false},
    [TUTTI_FLOAT8_E5M2] = {"float8 e5m2", 5, 2, true},
};
enum { NSMALL = sizeof small_formats / sizeof *small_formats };

static int small_bytes(const struct small *f)
{
    return (1 + f->exponent + f->mantissa) / 8;
}

/* The value of the non-negative number with these bits. Of infinities, what would follow the largest number. */
static double small_magnitude(const struct small *f, unsigned bits)
{
    const int bias = (1 << (f->exponent - 1)) - 1, e = (int)(bits >> f->mantissa);
    const double m = bits & ((1u << f->mantissa) - 1);

    return e ? ldexp(m + (1 << f->mantissa), e - bias - f->mantissa) : ldexp(m, 1 - bias - f->mantissa);
}

static double small_value(const struct small *f, unsigned bits)
{
    const unsigned sign = 1u << (f->exponent + f->mantissa);

    return bits & sign ? -small_magnitude(f, bits & ~sign) : small_magnitude(f, bits);
}

/* The largest number's bits. */
static unsigned small_largest(const struct small *f)
{
    return f->infinite ? (((1u << f->exponent) - 1) << f->mantissa) - 1 : (1u << (f->exponent + f->mantissa)) - 2;
}

/* The bits of the number nearest to x, the even one of two; x must not round beyond the largest. By bisection:
 * magnitudes grow with their bits. */
static unsigned small_nearest(const struct small *f, double x)
{
    const unsigned sign = signbit(x) ? 1u << (f->exponent + f->mantissa) : 0;
    unsigned low = 0, high = small_largest(f);
    double below, above;

    x = fabs(x);
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;

        if (small_magnitude(f, middle) <= x)
            low = middle;
        else
            high = middle;
    }
    below = x - small_magnitude(f, low);
    above = small_magnitude(f, high) - x;
    return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

/* a op b. The exact sum or product of two numbers is a double, so rounding it once is the reference. */
static unsigned combine(const struct small *f, MPI_Op op, unsigned a, unsigned b)
{
    const double x = small_value(f, a), y = small_value(f, b);

    if (op == MPI_SUM)
        return small_nearest(f, x + y);
    if (op == MPI_PROD)
        return small_nearest(f, x * y);
    return (op == MPI_MAX ? y > x : y < x) ? b : a;
}

static unsigned number_at(const void *array, int bytes, int i)
{
    unsigned n = 0;

    memcpy(&n, (const char *)array + i * bytes, (size_t)bytes);
    return n;
}

/* ---- elements of any MPI type ---- */

struct type {
    const char *name;
    MPI_Datatype handle;
    enum tt_domain domain;
    enum tt_class class;
    int size; /* MPI_Type_size */
    MPI_Aint extent;
};

/* Where the parts of an element lie that mean something, and how large they are. */
struct parts {
    int n;
    struct {
        size_t at, bytes;
    } part[2];
};

enum { EXTENDED = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double) };

static struct parts parts_of(const struct type *t)
{
    const size_t size = (size_t)t->size, half = size / 2;

    switch (t->domain) {
    case TT_DOMAIN_extended:
        return (struct parts){1, {{0, EXTENDED}}};
    case TT_DOMAIN_extended_complex:
        return (struct parts){2, {{0, EXTENDED}, {sizeof(long double), EXTENDED}}};
    case TT_DOMAIN_extended_int:
        return (struct parts){2, {{0, EXTENDED}, {sizeof(long double), 4}}};
    case TT_DOMAIN_floating_int:
        return (struct parts){2, {{0, size - 4}, {size - 4, 4}}};
    case TT_DOMAIN_signed_int: /* the index is an int, behind padding after a short; in Fortran it is like the value */
        if (size == 16)
            return (struct parts){2, {{0, 8}, {8, 8}}};
        return (struct parts){2, {{0, size - 4}, {size - 4 < 4 ? 4 : size - 4, 4}}};
    case TT_DOMAIN_complex:
    case TT_DOMAIN_floating_twice:
        return (struct parts){2, {{0, half}, {half, half}}};
    default:
        return (struct parts){1, {{0, size}}};
    }
}

static long first_unequal(const struct type *t, const char *a, const char *b)
{
    const struct parts parts = parts_of(t);

    for (long i = 0; i < LENGTH; i++)
        for (int p = 0; p < parts.n; p++)
            if (memcmp(a + i * t->extent + parts.part[p].at, b + i * t->extent + parts.part[p].at, parts.part[p].bytes))
                return i;
    return -1;
}

static void put_float(char *at, size_t bytes, const struct small *format, int v)
{
    const unsigned bits = bytes == 2 ? small_nearest(format, v) : 0;
    const float f = (float)v;
    const double d = v;

    memcpy(at, bytes == 2 ? (const void *)&bits : bytes == 4 ? (const void *)&f : &d, bytes);
}

/* Writes v as part p of an element. Little-endian, as all machines with CUDA are. */
static void put_part(const struct type *t, char *at, size_t bytes, int p, int v)
{
    const long double extended = v;
    const int64_t integer = v;

    if (t->domain == TT_DOMAIN_unsigned || t->domain == TT_DOMAIN_signed || t->domain == TT_DOMAIN_signed_int ||
        (p == 1 && (t->domain == TT_DOMAIN_floating_int || t->domain == TT_DOMAIN_extended_int)))
        memcpy(at, &integer, bytes);
    else if (t->domain == TT_DOMAIN_extended || t->domain == TT_DOMAIN_extended_int ||
             t->domain == TT_DOMAIN_extended_complex)
        memcpy(at, &extended, bytes);
    else
        put_float(at, bytes, &small_formats[t->domain == TT_DOMAIN_brain ? TUTTI_BFLOAT16 : TUTTI_FLOAT16], v);
}

/* A value that gives the same bits in whatever order it is combined with others like it, on up to seven ranks. */
static int value_for(const struct type *t, const char *op, int p, uint64_t r)
{
    static const int factors[] = {1, 2, -1, 1};

    if (t->class == TT_PAIR)
        return p ? (int)(r >> 8 & 63) : (int)(r % 3) - 1;
    if (t->class == TT_COMPLEX && strcmp(op, "MPI_PROD") == 0)
        return p ? 1 : 2; /* (2 + i)^p: no part becomes zero, so that its sign cannot depend on the order */
    if (t->class == TT_LOGICAL)
        return (int)(r & 1);
    if (strncmp(op, "MPI_L", 5) == 0)
        return (int)(r % 4) - 1;
    if (strncmp(op, "MPI_B", 5) == 0)
        return (int)(r >> 7);
    if (strcmp(op, "MPI_PROD") == 0)
        return factors[r % 4];
    if (t->domain == TT_DOMAIN_unsigned || t->class == TT_MULTI_LANGUAGE)
        return (int)(r % 13); /* the MPIs are wrong beyond that: see try_signs */
    return (int)(r % 13) - 6;
}

static void fill(const struct type *t, const char *op, char *at, uint64_t key)
{
    const struct parts parts = parts_of(t);

    memset(at, 0, (size_t)t->extent * LENGTH);
    for (int i = 0; i < LENGTH; i++)
        for (int p = 0; p < parts.n; p++)
            put_part(t, at + i * t->extent + (MPI_Aint)parts.part[p].at, parts.part[p].bytes, p,
                     value_for(t, op, p, test_random(key + (uint64_t)(2 * i + p))));
}

/* ---- cells against the MPI below ---- */

typedef int reduction(const void *send, void *recv, int n, MPI_Datatype type, MPI_Op op);

static int allreduce(const void *send, void *recv, int n, MPI_Datatype type, MPI_Op op)
{
    return MPI_Allreduce(send, recv, n, type, op, MPI_COMM_WORLD);
}

static int reduce(const void *send, void *recv, int n, MPI_Datatype type, MPI_Op op)
{
    return MPI_Reduce(send, recv, n, type, op, test_size - 1, MPI_COMM_WORLD);
}

/* The result of Tutti in got, or its error. */
static int reduce_in(enum memory memory, reduction *how, const struct type *t, MPI_Op op, const char *send, char *got)
{
    const size_t bytes = (size_t)t->extent * LENGTH;
    static char zeros[MAX_EXTENT * LENGTH];
    struct region *from = &regions[memory][0], *to = &regions[memory][1];
    char *in = region_set(from, (size_t)t->extent * SHIFT, send, bytes);
    char *out = region_set(to, (size_t)t->extent * SHIFT, zeros, bytes);
    const int error = how(in, out, LENGTH, t->handle, op);

    test_check(region_holds(from, send), "the send buffer, or bytes around it, were written");
    test_check(region_get(to, got), "bytes around the receive buffer were written");
    return error;
}

static void compare(const struct type *t, const char *want, const char *got)
{
    const long i = first_unequal(t, want, got);
    unsigned long long due[2] = {0}, is[2] = {0};

    if (i >= 0) {
        memcpy(due, want + i * t->extent, (size_t)(t->extent < 16 ? t->extent : 16));
        memcpy(is, got + i * t->extent, (size_t)(t->extent < 16 ? t->extent : 16));
    }
    test_check(i < 0, "element %ld of %d: expected %016llx %016llx, got %016llx %016llx", i, LENGTH, due[0], due[1],
               is[0], is[1]);
}

static void try_in(enum memory memory, const struct type *t, MPI_Op op, const char *op_name, const char *send,
                   const char *want)
{
    char got[MAX_EXTENT * LENGTH];

    if (!memory_exists(memory))
        return;
    test_now("allreduce of %s, %s, %s memory", t->name, op_name, memory_names[memory]);
    if (test_success(reduce_in(memory, allreduce, t, op, send, got)))
        compare(t, want, got);
    test_now("reduce of %s, %s, %s memory", t->name, op_name, memory_names[memory]);
    if (test_success(reduce_in(memory, reduce, t, op, send, got)) && test_rank == test_size - 1)
        compare(t, want, got);
}

struct extended_int {
    long double value;
    int index;
};

/* Of MPI_LONG_DOUBLE_INT, which makes MPICH 4.0 abort: in a op b, into b. */
static void fold_extended(MPI_Op op, const struct extended_int *a, struct extended_int *b)
{
    for (int i = 0; i < LENGTH; i++) {
        const bool better = op == MPI_MAXLOC ? a[i].value > b[i].value : a[i].value < b[i].value;

        if (better || (a[i].value == b[i].value && a[i].index < b[i].index))
            b[i] = a[i];
    }
}

/* Of types of half precision, whose handles MPICH 4.0 has but aborts on, too. */
static void fold_half(const struct small *f, MPI_Op op, const char *a, char *b)
{
    for (int i = 0; i < LENGTH; i++) {
        const unsigned result = combine(f, op, number_at(a, 2, i), number_at(b, 2, i));

        memcpy(b + 2 * i, &result, 2);
    }
}

static int fold_two(const struct type *t, MPI_Op op, const char *a, char *b)
{
    const bool floating = t->domain == TT_DOMAIN_floating || t->domain == TT_DOMAIN_brain;

    if (t->domain == TT_DOMAIN_extended_int)
        fold_extended(op, (const struct extended_int *)a, (struct extended_int *)b);
    else if (floating && t->size == 2)
        fold_half(&small_formats[t->domain == TT_DOMAIN_brain ? TUTTI_BFLOAT16 : TUTTI_FLOAT16], op, a, b);
    else
        return PMPI_Reduce_local(a, b, LENGTH, t->handle, op);
    return MPI_SUCCESS;
}

/* The operands of all ranks folded from the left by the MPI below. */
static int fold(const struct type *t, MPI_Op op, const char *send, char *want)
{
    const size_t bytes = (size_t)t->extent * LENGTH;
    char *all = malloc(bytes * (size_t)test_size);
    int error = MPI_SUCCESS;

    PMPI_Allgather(send, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 1; r < test_size && error == MPI_SUCCESS; r++)
        error = fold_two(t, op, all + bytes * (size_t)(r - 1), all + bytes * (size_t)r);
    memcpy(want, all + bytes * (size_t)(test_size - 1), bytes);
    free(all);
    return error;
}

/* ---- the same cells by MPI_Reduce_local, each operand in each memory ---- */

/* Would the MPI below do it, and die of it? */
static bool kills(const struct type *t, enum memory from, enum memory to)
{
    const bool half = (t->domain == TT_DOMAIN_floating || t->domain == TT_DOMAIN_brain) && t->size == 2;

    return from < MANAGED && to < MANAGED && (half || t->domain == TT_DOMAIN_extended_int);
}

static void try_local_in(enum memory from, enum memory to, const struct type *t, MPI_Op op, const char *in,
                         const char *inout, const char *want)
{
    const size_t bytes = (size_t)t->extent * LENGTH, shift = (size_t)t->extent * SHIFT;
    struct region *a = &regions[from][0], *b = &regions[to][1];
    char got[MAX_EXTENT * LENGTH];

    region_set(a, shift, in, bytes);
    region_set(b, shift, inout, bytes);
    test_success(MPI_Reduce_local(a->at, b->at, LENGTH, t->handle, op));
    test_check(region_holds(a, in), "the first operand, or bytes around it, were written");
    test_check(region_get(b, got), "bytes around the second operand were written");
    compare(t, want, got);
}

static void try_local(const struct type *t, MPI_Op op, const char *op_name, const char *in, uint64_t key)
{
    char inout[MAX_EXTENT * LENGTH], want[MAX_EXTENT * LENGTH];

    fill(t, op_name, inout, key);
    memcpy(want, inout, sizeof want);
    if (fold_two(t, op, in, want) != MPI_SUCCESS)
        return;
    for (int from = 0; from < NMEMORIES; from++)
        for (int to = 0; to < NMEMORIES; to++) {
            if (!memory_exists((enum memory)from) || !memory_exists((enum memory)to) ||
                kills(t, (enum memory)from, (enum memory)to))
                continue;
            test_now("reduce_local of %s, %s, %s and %s memory", t->name, op_name, memory_names[from],
                     memory_names[to]);
            try_local_in((enum memory)from, (enum memory)to, t, op, in, inout, want);
        }
}

static int cells, refused;

static void try_cell(const struct type *t, MPI_Op op, const char *op_name)
{
    char send[MAX_EXTENT * LENGTH], want[MAX_EXTENT * LENGTH] = {0};
    int error;

    fill(t, op_name, send, (uint64_t)test_rank * 100000 + (uint64_t)cells * 1000);
    test_now("the MPI below: %s, %s", t->name, op_name);
    cells++;
    try_local(t, op, op_name, send, (uint64_t)test_rank * 100000 + (uint64_t)cells * 1000 + 500);
    error = fold(t, op, send, want);
    if (error != MPI_SUCCESS) { /* it lacks what the standard has: then the host's own result is the measure */
        refused++;
        if (reduce_in(HOST, allreduce, t, op, send, want) != MPI_SUCCESS)
            return;
    }
    try_in(HOST, t, op, op_name, send, want);
    try_in(DEVICE, t, op, op_name, send, want);
}

static void try_type(struct type t)
{
    MPI_Aint lb;
    int error;

    if (t.handle == MPI_DATATYPE_NULL)
        return;
    test_now("the size of %s", t.name);
    error = PMPI_Type_size(t.handle, &t.size);
    PMPI_Type_get_extent(t.handle, &lb, &t.extent);
    if (!test_success(error) || (t.domain == TT_DOMAIN_floating && t.size > 8) ||
        (t.domain == TT_DOMAIN_complex && t.size > 16))
        return; /* quadruple precision: nobody here can write one */
#define TT_OPERATION(id, OP, classes)                                                                                  \
    if ((classes)&t.class)                                                                                             \
        try_cell(&t, OP, #OP);
#include "cuda/ops.def"
#undef TT_OPERATION
}

static void try_types(void)
{
#define TT_MPI_TYPE(handle_, domain_, class_)                                                                          \
    try_type((struct type){.name = #handle_, .handle = handle_, .domain = TT_DOMAIN_##domain_, .class = class_});
#include "cuda/mpi_types.def"
#undef TT_MPI_TYPE
    test_now("the table");
    test_check(cells > 200, "expected more than 200 cells of type and op, met %d", cells);
    if (test_rank == 0 && refused)
        printf("  of %d cells the MPI below refuses %d that the standard has\n", cells, refused);
}

/* Numbers with the highest bit set, which no MPI can be the measure of: MPICH 4.0 compares unsigned numbers as
 * signed ones, Open MPI 4.1 adds small unsigned ones with saturation and takes MPI_OFFSET for unsigned. Odd ranks
 * have -6, even ones 5. */
static void try_sign(enum memory memory, MPI_Datatype type, int bytes, MPI_Op op, const char *what, int64_t want)
{
    const int64_t mine = test_rank % 2 ? -6 : 5;
    int64_t got = 0;
    struct region *from = &regions[memory][0], *to = &regions[memory][1];

    test_now("allreduce of -6 and 5 as %s of %d bytes, %s memory", what, bytes, memory_names[memory]);
    region_set(from, 8, &mine, (size_t)bytes);
    region_set(to, 8, &mine, (size_t)bytes);
    test_success(MPI_Allreduce(from->at, to->at, 1, type, op, MPI_COMM_WORLD));
    region_get(to, &got);
    test_check(memcmp(&got, &want, (size_t)bytes) == 0, "expected the low bytes of %llx, got %llx",
               (unsigned long long)want, (unsigned long long)got);
}

static void try_signs_in(enum memory memory)
{
    const MPI_Datatype types[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T};
    const int64_t sum = (test_size + 1) / 2 * 5 - test_size / 2 * 6;

    for (int i = 0; i < 4; i++) {
        try_sign(memory, types[i], 1 << i, MPI_MAX, "unsigned numbers, max,", -6);
        try_sign(memory, types[i], 1 << i, MPI_MIN, "unsigned numbers, min,", 5);
        try_sign(memory, types[i], 1 << i, MPI_SUM, "unsigned numbers, sum,", sum);
    }
    try_sign(memory, MPI_OFFSET, sizeof(MPI_Offset), MPI_MAX, "MPI_OFFSET, max,", 5);
    try_sign(memory, MPI_OFFSET, sizeof(MPI_Offset), MPI_MIN, "MPI_OFFSET, min,", -6);
    try_sign(memory, MPI_OFFSET, sizeof(MPI_Offset), MPI_SUM, "MPI_OFFSET, sum,", sum);
}

static void try_signs(void)
{
    try_signs_in(HOST);
    if (test_gpus > 0)
        try_signs_in(DEVICE);
}

/* ---- Tutti's own formats ---- */

/* Numbers whose sums and products stay below the largest: exponents around 1. */
static unsigned some_number(const struct small *f, uint64_t r)
{
    const int bias = (1 << (f->exponent - 1)) - 1;
    const unsigned e = (unsigned)(bias + (int)(r % 5) - 2);
    const unsigned sign = (unsigned)(r >> 32 & 1), m = (unsigned)(r >> 8) & ((1u << f->mantissa) - 1);

    return sign << (f->exponent + f->mantissa) | e << f->mantissa | m;
}

enum { NUMBERS = 1001 };

static void compare_formats(const struct small *f, MPI_Op op, const char *got, const unsigned *a, const unsigned *b)
{
    const int bytes = small_bytes(f);

    for (int i = 0; i < NUMBERS; i++) {
        const unsigned want = combine(f, op, a[i], b[i]), is = number_at(got, bytes, i);

        if (small_value(f, want) == 0 && small_value(f, is) == 0)
            continue; /* the sign of zero is nobody's promise */
        if (!test_check(want == is, "of %#x and %#x: expected %#x (%g), got %#x (%g)", a[i], b[i], want,
                        small_value(f, want), is, small_value(f, is)))
            break;
    }
}

static void try_format(int format, MPI_Op op, const char *op_name, enum memory memory, MPI_Comm pair, int side)
{
    const struct small *f = &small_formats[format];
    const int bytes = small_bytes(f);
    unsigned numbers[2][NUMBERS];
    char send[2 * NUMBERS], got[2 * NUMBERS];
    struct region *from = &regions[memory][0], *to = &regions[memory][1];
    MPI_Datatype type;

    for (int i = 0; i < NUMBERS; i++)
        for (int s = 0; s < 2; s++)
            numbers[s][i] = some_number(f, test_random((uint64_t)(i * 2 + s + 10000 * format)));
    for (int i = 0; i < NUMBERS; i++)
        memcpy(send + i * bytes, &numbers[side][i], (size_t)bytes);
    test_now("allreduce of %s, %s, %s memory, two ranks", f->name, op_name, memory_names[memory]);
    if (!test_success(test_format(format, &type)))
        return;
    region_set(from, (size_t)bytes, send, (size_t)(NUMBERS * bytes));
    region_set(to, (size_t)bytes, send, (size_t)(NUMBERS * bytes));
    if (!test_success(MPI_Allreduce(from->at, to->at, NUMBERS, type, op, pair)))
        return;
    test_check(region_get(to, got), "bytes around the receive buffer were written");
    compare_formats(f, op, got, numbers[0], numbers[1]);
}

/* Sums beyond 2048, where float16 no longer has every integer, and beyond 4096, where it has every fourth. */
static void try_ones(enum memory memory)
{
    const struct small *f = &small_formats[TUTTI_FLOAT16];
    const unsigned one = small_nearest(f, 1024), want = small_nearest(f, 1024.0 * test_size);
    struct region *from = &regions[memory][0], *to = &regions[memory][1];
    MPI_Datatype type;
    char send[2 * 64], got[2 * 64];

    for (int i = 0; i < 64; i++)
        memcpy(send + 2 * i, &one, 2);
    test_now("allreduce of float16 numbers 1024, sum, %s memory", memory_names[memory]);
    test_success(test_format(TUTTI_FLOAT16, &type));
    region_set(from, 2, send, sizeof send);
    region_set(to, 2, send, sizeof send);
    if (!test_success(MPI_Allreduce(from->at, to->at, 64, type, MPI_SUM, MPI_COMM_WORLD)))
        return;
    region_get(to, got);
    test_check(number_at(got, 2, 63) == want, "expected %#x, got %#x", want, number_at(got, 2, 63));
}

static void try_formats(void)
{
    static const struct {
        const char *name;
        MPI_Op op;
    } ops[] = {{"sum", MPI_SUM}, {"prod", MPI_PROD}, {"max", MPI_MAX}, {"min", MPI_MIN}};
    static const enum memory memories[] = {HOST, DEVICE};
    MPI_Datatype type;
    MPI_Comm pair;
    int side, pairs;

    PMPI_Comm_split(MPI_COMM_WORLD, test_rank / 2, test_rank, &pair);
    PMPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(pair, &side);
    PMPI_Comm_size(pair, &pairs);
    for (int m = 0; m < 2 && memory_exists(memories[m]); m++) {
        for (int format = 0; format < NSMALL && pairs == 2; format++)
            for (int o = 0; o < 4; o++)
                try_format(format, ops[o].op, ops[o].name, memories[m], pair, side);
        try_ones(memories[m]);
    }
    test_now("tutti_type of an unknown format");
    test_check(test_format(99, &type) == MPI_ERR_ARG, "expected MPI_ERR_ARG");
    MPI_Comm_free(&pair);
}

/* ---- NaN ---- */

/* Any NaN among the operands gives NaN, by every algorithm, on the host and on the device; else the bits are equal. */
static void try_nan(const char *algorithm, MPI_Op op, const char *op_name, enum memory memory)
{
    struct region *from = &regions[memory][0], *to = &regions[memory][1];
    double send[LENGTH], got[LENGTH];

    for (int i = 0; i < LENGTH; i++)
        send[i] = i % (test_size + 1) == test_rank ? NAN : (double)(i * (test_rank + 1));
    region_set(from, 0, send, sizeof send);
    region_set(to, 0, send, sizeof send);
    test_now("allreduce by %s of doubles with NaN among them, %s, %s memory", algorithm, op_name, memory_names[memory]);
    if (!test_success(MPI_Allreduce(from->at, to->at, LENGTH, MPI_DOUBLE, op, MPI_COMM_WORLD)))
        return;
    region_get(to, got);
    for (int i = 0; i < LENGTH; i++) {
        const double want = i % (test_size + 1) < test_size ? NAN : op == MPI_MAX ? (double)(i * test_size) : (double)i;

        if (!test_check(isnan(want) ? isnan(got[i]) : want == got[i], "element %d: expected %g, got %g", i, want,
                        got[i]))
            break;
    }
}

/* ---- the same bits on all ranks ---- */

static void try_same_bits(const char *algorithm, enum memory memory)
{
    static const double awkward[] = {1e16, 1, -1e16, 1};
    const size_t bytes = sizeof(double) * LENGTH;
    struct region *from = &regions[memory][0], *to = &regions[memory][1];
    double send[LENGTH], got[LENGTH], *all = malloc(bytes * (size_t)test_size);

    for (int i = 0; i < LENGTH; i++)
        send[i] = i < 8 ? awkward[(test_rank + i) % 4] : (double)test_random((uint64_t)(test_rank * LENGTH + i)) / 3e17;
    region_set(from, 0, send, sizeof send);
    region_set(to, 0, send, sizeof send);
    test_now("allreduce by %s of 1e16, 1, -1e16, 1 and the like, %s memory", algorithm, memory_names[memory]);
    if (test_success(MPI_Allreduce(from->at, to->at, LENGTH, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD))) {
        region_get(to, got);
        PMPI_Allgather(got, LENGTH, MPI_DOUBLE, all, LENGTH, MPI_DOUBLE, MPI_COMM_WORLD);
        for (int r = 0; r < test_size; r++)
            test_check(memcmp(got, all + r * LENGTH, bytes) == 0, "rank %d holds other bits than this one", r);
    }
    free(all);
}

static void try_algorithms(void)
{
    static const enum memory memories[] = {HOST, DEVICE};
    const char *algorithm;

    for (int a = 0; (algorithm = test_algorithm("allreduce", a)); a++) {
        if (strcmp(algorithm, "native") == 0)
            continue; /* its own rules */
        test_pin("allreduce", algorithm);
        for (int m = 0; m < 2 && memory_exists(memories[m]); m++) {
            try_nan(algorithm, MPI_MAX, "max", memories[m]);
            try_nan(algorithm, MPI_MIN, "min", memories[m]);
            try_same_bits(algorithm, memories[m]);
        }
    }
    test_pin("allreduce", NULL);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, 120);
    make_regions();
    try_types();
    try_signs();
    try_formats();
    try_algorithms();
    free_regions();
    return test_end();
}
