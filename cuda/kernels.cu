/* SPDX-License-Identifier: BSD-3-Clause */
/* The device kernels: one reduction per cell, and movers of data with gaps, in the common subset of CUDA C++ and C.
 * nvcc builds them into a fatbin; a C compiler builds the same text for the simulated device, which defines threadIdx
 * and its kin (tests/simcuda).
 *
 * A reduction is bound by memory: so each thread moves 16 bytes at a time, every source is read once and dst written
 * once whatever k is, and neither shared memory nor synchronisation is used. When the pointers do not agree in their
 * alignment to 16 bytes, elements go one by one. In a grid-stride loop any number of blocks is right.
 *
 * A mover gives each thread a word of the packed side, so that there neighbours meet neighbours; where the other side
 * has them is a matter of divisions, which cost more than the word. So a thread divides once, for its first word and
 * for the step to its next, and from there on adds digit by digit; only which of several runs a word is in is
 * searched. */
#include "cuda/ops.h"

/* What is moved at once. */
struct chunk {
    uint32_t word[4];
} __attribute__((aligned(16)));

/* The instruction is written out because the compiler, left alone, splits a chunk of bytes into 4-byte loads. */
#ifdef __CUDACC__
extern "C" {
#define UNROLL(n) _Pragma(#n)

TT_FN struct chunk load(const struct chunk *from)
{
    struct chunk c;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
                 : "l"(__cvta_generic_to_global(from)));
    return c;
}

TT_FN void store(struct chunk *to, struct chunk c)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(to)), "r"(c.word[0]), "r"(c.word[1]), "r"(c.word[2]), "r"(c.word[3])
                 : "memory");
}
#else
#define UNROLL(n)
#define __grid_constant__

TT_FN struct chunk load(const struct chunk *from)
{
    return *from;
}

TT_FN void store(struct chunk *to, struct chunk c)
{
    *to = c;
}
#endif

/* The elements that the 16-byte path covers: chunks * (16 / size) of them after the first head. */
struct split {
    size_t head, chunks;
};

TT_FN struct split split(const struct tt_kernel_args *args, unsigned size)
{
    const uintptr_t at = (uintptr_t)args->dst & 15;
    struct split s = {0, 0};

    for (int j = 0; j < args->k; j++)
        if (((uintptr_t)args->src[j] & 15) != at)
            return s;
    s.head = ((16 - at) & 15) / size;
    if (at % size == 0 && s.head < args->n)
        s.chunks = (args->n - s.head) / (16 / size);
    return s;
}

TT_FN size_t first_index(void)
{
    return blockIdx.x * (size_t)blockDim.x + threadIdx.x;
}

TT_FN size_t stride(void)
{
    return gridDim.x * (size_t)blockDim.x;
}

/* Everything of one type that does not depend on the op: a chunk seen as elements. */
#define CHUNK(id)                                                                                                      \
    union chunk_##id {                                                                                                 \
        struct chunk chunk;                                                                                            \
        tt_elem_##id elem[16 / sizeof(tt_elem_##id)];                                                                  \
    };                                                                                                                 \
    TT_FN union chunk_##id load_##id(const void *src, size_t head, size_t i)                                           \
    {                                                                                                                  \
        union chunk_##id x;                                                                                            \
        x.chunk = load((const struct chunk *)((const tt_elem_##id *)src + head) + i);                                  \
        return x;                                                                                                      \
    }

/* Two chunks, or elements, into one, rounded as if it had been stored. */
#define FOLD(op, id)                                                                                                   \
    TT_FN tt_elem_##id fold_element_##op##_##id(tt_elem_##id a, tt_elem_##id b)                                        \
    {                                                                                                                  \
        return tt_narrow_##id(tt_do_##op##_##id(tt_widen_##id(a), tt_widen_##id(b)));                                  \
    }                                                                                                                  \
    TT_FN union chunk_##id fold_##op##_##id(union chunk_##id a, union chunk_##id b)                                    \
    {                                                                                                                  \
        UNROLL(unroll) for (int e = 0; e < (int)(16 / sizeof(tt_elem_##id)); e++)                                      \
            a.elem[e] = fold_element_##op##_##id(a.elem[e], b.elem[e]);                                                \
        return a;                                                                                                      \
    }

/* All sources in the order that args says (cells.h), up to three values waiting, the last one on top. READ(id, j) is
 * source j, which is read while the one before it is folded; fold makes one of two. Leaves the result in top. */
#define ORDERED(id, value, READ, fold)                                                                                 \
    value top = READ(id, 0), next = READ(id, 1), below = top, bottom = top;                                            \
                                                                                                                       \
    UNROLL(unroll 1) for (int j = 1; j < args.k; j++) {                                                                \
        const value now = next;                                                                                        \
        int foldings = (int)(args.order >> 4 * j & 15);                                                                \
                                                                                                                       \
        if (j + 1 < args.k)                                                                                            \
            next = READ(id, j + 1);                                                                                    \
        if (foldings == 0) {                                                                                           \
            bottom = below;                                                                                            \
            below = top;                                                                                               \
            top = now;                                                                                                 \
        } else {                                                                                                       \
            top = fold(top, now);                                                                                      \
        }                                                                                                              \
        UNROLL(unroll 1) for (; foldings > 1; foldings--) {                                                            \
            top = fold(below, top);                                                                                    \
            below = bottom;                                                                                            \
        }                                                                                                              \
    }
#define READ_CHUNK(id, j) load_##id(args.src[j], part.head, i)
#define READ_ELEMENT(id, j) (((const tt_elem_##id *)args.src[j])[at])

/* A kernel of its own for orders of more than two sources: values that wait are kept as they lie in memory, 16 bytes
 * each whatever the type, and it costs the other one no registers. */
#define TREE_KERNEL(op, id)                                                                                            \
    FOLD(op, id)                                                                                                       \
    __global__ void tt_##op##_##id##_tree(const __grid_constant__ struct tt_kernel_args args)                          \
    {                                                                                                                  \
        enum { PER = 16 / sizeof(tt_elem_##id) };                                                                      \
        const struct split part = split(&args, sizeof(tt_elem_##id));                                                  \
        tt_elem_##id *const dst = (tt_elem_##id *)args.dst;                                                            \
                                                                                                                       \
        UNROLL(unroll 1) for (size_t i = first_index(); i < part.chunks; i += stride()) {                              \
            ORDERED(id, union chunk_##id, READ_CHUNK, fold_##op##_##id)                                               \
            store((struct chunk *)(dst + part.head) + i, top.chunk);                                                   \
        }                                                                                                              \
        UNROLL(unroll 1) for (size_t i = first_index(); i < args.n - part.chunks * PER; i += stride()) {               \
            const size_t at = i < part.head ? i : i + part.chunks * PER;                                               \
            ORDERED(id, tt_elem_##id, READ_ELEMENT, fold_element_##op##_##id)                                         \
            dst[at] = top;                                                                                             \
        }                                                                                                              \
    }

/* The first two sources are read together, so that a thread has both on their way at once; dst is written last, since
 * it may be one of the sources. */
#define KERNEL(op, id)                                                                                                 \
    __global__ void tt_##op##_##id(const __grid_constant__ struct tt_kernel_args args)                                 \
    {                                                                                                                  \
        enum { PER = 16 / sizeof(tt_elem_##id) };                                                                      \
        const struct split part = split(&args, sizeof(tt_elem_##id));                                                  \
        tt_elem_##id *const dst = (tt_elem_##id *)args.dst;                                                            \
                                                                                                                       \
        UNROLL(unroll 1) for (size_t i = first_index(); i < part.chunks; i += stride()) {                              \
            union chunk_##id x = load_##id(args.src[0], part.head, i), y = load_##id(args.src[1], part.head, i);       \
            tt_acc_##id sum[PER];                                                                                      \
                                                                                                                       \
            UNROLL(unroll) for (int e = 0; e < PER; e++)                                                               \
                sum[e] = tt_do_##op##_##id(tt_widen_##id(x.elem[e]), tt_widen_##id(y.elem[e]));                        \
            UNROLL(unroll 2) for (int j = 2; j < args.k; j++) {                                                        \
                y = load_##id(args.src[j], part.head, i);                                                              \
                UNROLL(unroll) for (int e = 0; e < PER; e++)                                                           \
                    sum[e] = tt_do_##op##_##id(sum[e], tt_widen_##id(y.elem[e]));                                      \
            }                                                                                                          \
            UNROLL(unroll) for (int e = 0; e < PER; e++)                                                               \
                x.elem[e] = tt_narrow_##id(sum[e]);                                                                    \
            store((struct chunk *)(dst + part.head) + i, x.chunk);                                                     \
        }                                                                                                              \
        UNROLL(unroll 1) for (size_t i = first_index(); i < args.n - part.chunks * PER; i += stride()) {               \
            const size_t at = i < part.head ? i : i + part.chunks * PER;                                               \
            tt_acc_##id sum = tt_widen_##id(((const tt_elem_##id *)args.src[0])[at]);                                  \
                                                                                                                       \
            UNROLL(unroll 1) for (int j = 1; j < args.k; j++)                                                          \
                sum = tt_do_##op##_##id(sum, tt_widen_##id(((const tt_elem_##id *)args.src[j])[at]));                  \
            dst[at] = tt_narrow_##id(sum);                                                                             \
        }                                                                                                              \
    }

#define CHUNK_OF(id, ctype, acc, convert, domain, payload, family, home, like, ...) CHUNK_AT_##home(id)
#define CHUNK_AT_gpu(id) CHUNK(id)
#define CHUNK_AT_host(id)
TT_TYPES(CHUNK_OF, )
TT_EACH_KERNEL(KERNEL)
TT_EACH_KERNEL(TREE_KERNEL)

/* ---- movers ---- */

#define WORD(size, ctype)                                                                                              \
    TT_FN void copy_##size(char *to, const char *from)                                                                 \
    {                                                                                                                  \
        *(ctype *)to = *(const ctype *)from;                                                                           \
    }
WORD(1, uint8_t)
WORD(2, uint16_t)
WORD(4, uint32_t)
WORD(8, uint64_t)

TT_FN void copy_16(char *to, const char *from)
{
    store((struct chunk *)to, load((const struct chunk *)from));
}

#define MOVE_pack(word, spread, packed) copy_##word(packed, spread)
#define MOVE_unpack(word, spread, packed) copy_##word(spread, packed)

/* A byte of the packed side: in which element, which row of its run, where in the row. */
struct digits {
    int64_t element, row, byte;
};

TT_FN struct digits digits_of(int64_t i, int64_t per_row, int64_t rows)
{
    const uint64_t row = (uint64_t)i / (uint64_t)per_row;
    const struct digits d = {(int64_t)(row / (uint64_t)rows), (int64_t)(row % (uint64_t)rows),
                             i - (int64_t)row * per_row};

    return d;
}

TT_FN struct digits add_digits(struct digits a, struct digits b, int64_t per_row, int64_t rows)
{
    a.byte += b.byte;
    a.row += b.row;
    a.element += b.element;
    if (a.byte >= per_row) {
        a.byte -= per_row;
        a.row++;
    }
    if (a.row >= rows) {
        a.row -= rows;
        a.element++;
    }
    return a;
}

/* The last run that begins at or before that byte of the element. */
TT_FN int64_t find_run(const struct tt_run *run, int64_t n, int64_t byte)
{
    int64_t low = 0;

    while (n > 1) {
        const int64_t half = n / 2;

        low += run[low + half].before <= byte ? half : 0;
        n -= half;
    }
    return low;
}

#define MOVER_run(way, word)                                                                                           \
    __global__ void tt_##way##_run_##word(const __grid_constant__ struct tt_mover_args args)                           \
    {                                                                                                                  \
        const struct tt_run r = args.few[0];                                                                           \
        const int64_t end = args.count * args.size, ahead = (int64_t)stride() * word;                                  \
        const struct digits step = digits_of(ahead, r.length, r.n);                                                    \
        char *const spread = (char *)args.spread, *const packed = (char *)args.packed;                                 \
        const int64_t first = args.origin + r.at;                                                                      \
        int64_t i = (int64_t)first_index() * word;                                                                     \
        struct digits at = digits_of(i, r.length, r.n);                                                                \
                                                                                                                       \
        UNROLL(unroll 1) for (; i < end; i += ahead) {                                                                 \
            MOVE_##way(word, spread + (first + at.element * args.extent + at.row * r.stride + at.byte), packed + i);   \
            at = add_digits(at, step, r.length, r.n);                                                                  \
        }                                                                                                              \
    }

/* The element is taken for one row. */
#define MOVER_runs(way, word)                                                                                          \
    __global__ void tt_##way##_runs_##word(const __grid_constant__ struct tt_mover_args args)                          \
    {                                                                                                                  \
        const struct tt_run *const runs = args.table ? args.table : args.few;                                          \
        const int64_t end = args.count * args.size, ahead = (int64_t)stride() * word;                                  \
        const struct digits step = digits_of(ahead, args.size, 1);                                                     \
        char *const spread = (char *)args.spread, *const packed = (char *)args.packed;                                 \
        int64_t i = (int64_t)first_index() * word;                                                                     \
        struct digits at = digits_of(i, args.size, 1);                                                                 \
                                                                                                                       \
        UNROLL(unroll 1) for (; i < end; i += ahead) {                                                                 \
            const struct tt_run *const r = runs + find_run(runs, args.nruns, at.byte);                                 \
            const struct digits in = digits_of(at.byte - r->before, r->length, r->n);                                  \
            const int64_t to = args.origin + at.element * args.extent + r->at + in.row * r->stride + in.byte;          \
                                                                                                                       \
            MOVE_##way(word, spread + to, packed + i);                                                                 \
            at = add_digits(at, step, args.size, 1);                                                                   \
        }                                                                                                              \
    }

#define MOVER(way, form, word) MOVER_##form(way, word)
TT_EACH_MOVER(MOVER)

#ifdef __CUDACC__
}
#endif
