/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of cells and the host's reductions, expanded from types.def x ops for each instruction set the compiler can
 * be asked for in one file; which one runs is decided by what the processor says. The loops are plain, for the compiler
 * to vectorise: build this file with -O2 -ftree-vectorize -fvect-cost-model=dynamic -fno-trapping-math (without which
 * the conversions of small floats stay scalar) -ffp-contract=off (ops.h says why). It takes half a minute to compile.
 *
 * Two sources, the common case, are one loop. More are accumulated block by block in a buffer that stays in the first
 * cache, so memory sees each source once and dst once, and a narrow float is rounded once. */
#include "cuda/cells.h"

#include "cuda/ops.h"

/* ROW(name, attribute, condition), best first; the last one needs no condition. */
#if defined(__x86_64__) && defined(__GNUC__)
#define EACH_ISA(ROW)                                                                                                  \
    ROW(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))),                                         \
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&                                    \
            __builtin_cpu_supports("avx512vl"))                                                                        \
    ROW(avx2, __attribute__((target("avx2"))), __builtin_cpu_supports("avx2"))                                         \
    ROW(base, , 1)
#else
#define EACH_ISA(ROW) ROW(base, , 1)
#endif

enum { BLOCK_BYTES = 4096 };

/* MPI buffers may lie at any address. */
#define LOOSE(id, ctype, ...)                                                                                          \
    struct loose_##id {                                                                                                \
        ctype is;                                                                                                      \
    } __attribute__((packed, may_alias));
TT_TYPES(LOOSE, )

/* dst may be exactly a source, which a compiler must take for a possible overlap; ivdep says that it is not. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

#define LOOP(op, id, isa, attribute)                                                                                   \
    attribute static void isa##_##op##_##id(void *out, const void *const *src, int k, size_t n)                        \
    {                                                                                                                  \
        enum { BLOCK = BLOCK_BYTES / sizeof(tt_acc_##id) };                                                            \
        struct loose_##id *const dst = out;                                                                            \
        const struct loose_##id *const a = src[0], *const b = src[1];                                                  \
                                                                                                                       \
        if (k == 2) {                                                                                                  \
            INDEPENDENT for (size_t i = 0; i < n; i++)                                                                 \
                dst[i].is = tt_narrow_##id(tt_do_##op##_##id(tt_widen_##id(a[i].is), tt_widen_##id(b[i].is)));         \
            return;                                                                                                    \
        }                                                                                                              \
        for (size_t at = 0; at < n; at += BLOCK) {                                                                     \
            const size_t m = n - at < BLOCK ? n - at : BLOCK;                                                          \
            tt_acc_##id sum[BLOCK];                                                                                    \
                                                                                                                       \
            INDEPENDENT for (size_t i = 0; i < m; i++)                                                                 \
                sum[i] = tt_do_##op##_##id(tt_widen_##id(a[at + i].is), tt_widen_##id(b[at + i].is));                  \
            for (int j = 2; j < k; j++) {                                                                              \
                const struct loose_##id *const c = (const struct loose_##id *)src[j] + at;                             \
                                                                                                                       \
                INDEPENDENT for (size_t i = 0; i < m; i++)                                                             \
                    sum[i] = tt_do_##op##_##id(sum[i], tt_widen_##id(c[i].is));                                        \
            }                                                                                                          \
            INDEPENDENT for (size_t i = 0; i < m; i++)                                                                 \
                dst[at + i].is = tt_narrow_##id(sum[i]);                                                               \
        }                                                                                                              \
    }

/* Where products are alternately added and subtracted, as in those of complex numbers, gcc 12 makes one operation of
 * product and sum whatever -ffp-contract says, and the bits are not the GPU's: so there it is not told of any. */
#define COMPLEX_avx512 __attribute__((target("avx2")))
#define COMPLEX_avx2 __attribute__((target("avx2")))
#define COMPLEX_base
#define FOR_signed(isa, attribute) attribute
#define FOR_unsigned(isa, attribute) attribute
#define FOR_floating(isa, attribute) attribute
#define FOR_pair(isa, attribute) attribute
#define FOR_complex(isa, attribute) COMPLEX_##isa

#define LOOPS_OF(id, ctype, acc, convert, domain, payload, family, home, like, isa, attribute)                         \
    TT_OPS_##family(LOOP, id, isa, FOR_##family(isa, attribute))
#define LOOPS(isa, attribute, condition) TT_TYPES(LOOPS_OF, isa, attribute)
EACH_ISA(LOOPS)

/* ---- the table: one per instruction set ---- */

#define KERNEL_AT_gpu(name) #name
#define KERNEL_AT_host(name) NULL

/* The code of a cell is that of type `code`: the type itself, or the one it is like. */
#define CELL(op, id, code, home, isa)                                                                                  \
    [TT_TYPE_##id][TT_OP_##op] = {TT_TYPE_##id, TT_OP_##op, sizeof(tt_elem_##id), KERNEL_AT_##home(tt_##op##_##code),  \
                                  isa##_##op##_##code},
#define SHARED_signed(X, ...) TT_OPS_wrapping(X, __VA_ARGS__)
#define SHARED_unsigned(X, ...)
#define SHARED_floating(X, ...)
#define SHARED_complex(X, ...)
#define SHARED_pair(X, ...)
#define CELLS_OF(id, ctype, acc, convert, domain, payload, family, home, like, isa)                                    \
    TT_OPS_##family(CELL, id, id, home, isa) SHARED_##family(CELL, id, like, home, isa)

enum isa {
#define ISA(isa, attribute, condition) ISA_##isa,
    EACH_ISA(ISA)
    NISAS
};

#define TABLE(isa, attribute, condition) [ISA_##isa] = {TT_TYPES(CELLS_OF, isa)},
static const struct tt_cell cells[NISAS][TT_NTYPES][TT_NOPS] = {EACH_ISA(TABLE)};

static bool usable(enum isa isa)
{
#define USABLE(isa_name, attribute, condition)                                                                         \
    if (isa == ISA_##isa_name)                                                                                         \
        return condition;
    EACH_ISA(USABLE)
    return false;
}

const struct tt_cell *tt_cell_nth(int nth, enum tt_type type, enum tt_op op)
{
    int isa = 0;

    while (isa < NISAS && (!usable((enum isa)isa) || nth-- > 0))
        isa++;
    if (isa == NISAS || type >= TT_NTYPES || op >= TT_NOPS || !cells[isa][type][op].host)
        return NULL;
    return &cells[isa][type][op];
}

const struct tt_cell *tt_cell_find(enum tt_type type, enum tt_op op)
{
    return tt_cell_nth(0, type, op);
}

/* ---- what the rows say ---- */

bool tt_op_legal(enum tt_op op, enum tt_class class)
{
    static const unsigned legal[TT_NOPS] = {
#define TT_OPERATION(id, name, classes) [TT_OP_##id] = classes,
#include "cuda/ops.def"
#undef TT_OPERATION
    };

    return legal[op] & class;
}

static const struct {
    const char *name;
    enum tt_domain domain;
    size_t payload, size;
} types[TT_NTYPES] = {
#define TYPE(id, ctype, acc, convert, domain, payload, ...) {#id, TT_DOMAIN_##domain, payload, sizeof(ctype)},
    TT_TYPES(TYPE, )};

enum tt_type tt_type_of(enum tt_domain domain, size_t payload)
{
    int t = 0;

    while (t < TT_NTYPES && (types[t].domain != domain || types[t].payload != payload))
        t++;
    return (enum tt_type)t;
}

const char *tt_type_name(enum tt_type type)
{
    return types[type].name;
}

size_t tt_type_size(enum tt_type type)
{
    return types[type].size;
}

const char *tt_op_name(enum tt_op op)
{
    static const char *const names[TT_NOPS] = {
#define TT_OPERATION(id, name, classes) [TT_OP_##id] = #id,
#include "cuda/ops.def"
#undef TT_OPERATION
    };

    return names[op];
}
